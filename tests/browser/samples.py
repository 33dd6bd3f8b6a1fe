"""Requests and a history for the page, so that pictures always show the same."""

from dataclasses import replace
from datetime import timedelta

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.times import timestamp, utc_now
from tests.console import sample_requests as samples
from tests.console.history_gate import records
from tests.console.tool_requests import everyday_tools


def lasting(request: Request, number: int, seconds: int = 280) -> Request:
    """The request as one that was asked a moment ago."""
    now = utc_now()
    return replace(
        request,
        id=f"act-{number}",
        requested_at=timestamp(now - timedelta(seconds=300 - seconds)),
        expires_at=timestamp(now + timedelta(seconds=seconds)),
        fields=request.fields | {"previewed_at": timestamp(now - timedelta(seconds=2))},
    )


def everyday() -> tuple[Request, ...]:
    """What an ordinary day brings."""
    move = samples.prompt(
        (Row("File id", "f-1001"), Row("To folder", "d-reports")),
        (Row("Name", "Quarterly report.pdf"), Row("From folder", "d-inbox"), Row("Owner", "sam@example.com")),
        action="move-file",
        risk=samples.MOVES,
    )
    found = (samples.worked(), samples.item(move), samples.not_found(), *everyday_tools()[:3])
    return tuple(lasting(one, number, 210 + 11 * number) for number, one in enumerate(found, start=1))


def move(number: int = 1) -> Request:
    """A short request of normal risk."""
    return replace(everyday()[1], id=f"act-{number}")


def past(count: int = 90) -> list[JsonObject]:
    """Requests of the last days."""
    return records(count, utc_now())

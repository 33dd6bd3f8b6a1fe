"""Requests as text: the whole prompt, and a few lines in a list."""

import shutil
from collections.abc import Iterator
from datetime import datetime
from shlex import quote
from typing import Final, TextIO

from aileron_tui.cli.output import columns
from aileron_tui.core.daemon_kinds import FILLED_IN, split_by_origin
from aileron_tui.core.prompt import lines
from aileron_tui.core.request import Request
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.times import moment, utc_now
from aileron_tui.core.visible_text import Visible, cells, clip, inline, wrap

_WIDEST: Final = 100
_INDENT: Final = " " * 12


def prompt_lines(request: Request, out: TextIO) -> Iterator[str]:
    """The prompt as the operator sees it, and further details of the request."""
    width = columns(out)
    yield from lines(request.prompt, width, request.edited_from)
    for caution in request.cautions_at(utc_now()):
        yield from wrap(Visible(f"  ! {inline(caution)}"), width, _INDENT[:4])
    if request.fetching:
        yield "  (the preview is still being fetched)"
    yield ""
    for name, value in _details(request).items():
        if value:
            yield from wrap(Visible(f"{name:<11} {inline(value)}"), width, _INDENT)


def _details(request: Request) -> dict[str, str]:
    connector, asker = request.prompt.connector, request.prompt.asker
    agent = " · ".join(filter(None, (asker.agent, asker.session, asker.folder)))
    hash_ = connector.hash.removeprefix("sha256:")[:12]
    connector_parts = (connector.name, connector.version, f"{hash_}…" if hash_ else "", connector.trust)
    again = request.asked_again
    prompt = request.prompt
    filled = split_by_origin(prompt.kind, prompt.args, prompt.inputs)[1] if request.daemon else ()
    return {
        "request": request.id,
        "source": request.source,
        "state": f"{request.state}{_time_left(request)}",
        "risk": f"{request.prompt.risk.level}: {request.prompt.risk.reason}",
        "asked by": f"{agent} (the agent's own words)" if agent else "an agent that gave no name",
        "connector": " ".join(filter(None, connector_parts)),
        "by daemon": f"{', '.join(row.label for row in filled)} ({FILLED_IN}, not by the agent)" if filled else "",
        "digest": request.digest,
        "asked again": f"{again} may have taken effect already" if again else "",
        "reason": request.reason,
    }


def answer_commands(request: Request) -> Iterator[str]:
    """The commands that answer a request."""
    # The id is foreign text, and users paste these lines into a shell.
    id_ = quote(inline(request.id[-8:] if request.id[-8:].isalnum() else request.id))
    source = f" --source {request.source}" if request.source else ""
    yield f"[Approve]   aileron-tui approve{source} -- {id_}"
    yield f"[Deny]      aileron-tui deny{source} --reason … -- {id_}"


def list_lines(request: Request, now: datetime, width: int) -> Iterator[str]:
    """A request in a list: the action and the time left, its id, its inputs."""
    mark = "⚠ " if request.prompt.risk.level is RiskLevel.HIGH else ""
    left = _clock(request.seconds_left(now)) if request.expires_at else _waiting_since(request, now)
    name = clip(Visible(f"{mark}{inline(request.prompt.action)}"), max(width - len(left) - 1, 10))
    yield f"{name}{' ' * max(1, width - cells(name) - len(left))}{left}"
    yield f"  {inline(request.id)}{f' · {request.source}' if request.source else ''}"
    inputs = ", ".join(f"{row.label}: {'n/a' if row.missing else row.value}" for row in request.prompt.inputs)
    if inputs:
        yield f"  {clip(inline(inputs), max(width - 2, 10))}"


def list_width() -> int:
    """The width of a list."""
    return min(shutil.get_terminal_size().columns, _WIDEST)


def _time_left(request: Request) -> str:
    if not request.state.decidable or not request.expires_at:
        return ""
    return f", {_clock(request.seconds_left(utc_now()))} left"


def _waiting_since(request: Request, now: datetime) -> str:
    """How long a request without a deadline has waited."""
    try:
        return f"waiting {_clock(max(0.0, (now - moment(request.requested_at)).total_seconds()))}"
    except ValueError:
        return "time unknown"


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"

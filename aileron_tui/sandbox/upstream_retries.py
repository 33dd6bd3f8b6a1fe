"""Repeats a request that the service asked to send again later: 429 or 503 with Retry-After.

A request is repeated only if nothing can happen twice (`sent_changes`), at most twice, and only if the time of the call
allows it.
"""

import time
from collections.abc import Callable
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

from aileron_tui.core.times import utc_now
from aileron_tui.sandbox.network import UpstreamRequest, UpstreamResponse
from aileron_tui.sandbox.sent_changes import SentChanges

_RETRY_STATUSES: Final = frozenset({429, 503})
_MOST_REPEATS: Final = 2
_LONGEST_VALUE: Final = 64
_TIMES: Final = {1: "once", 2: "twice"}


class UpstreamRetries:
    """The repeats of one call, and what is said about them."""

    def __init__(self, deadline: float, changes: SentChanges) -> None:
        self._deadline = deadline
        self._changes = changes
        self._hosts: dict[str, None] = {}
        self._count = 0
        self._seconds = 0.0

    def send(self, request: UpstreamRequest, send: Callable[[], UpstreamResponse]) -> UpstreamResponse:
        """Sends a request, and again if it may be repeated and the service asks for that."""
        response = send()
        for _ in range(_MOST_REPEATS):
            if not self._changes.may_repeat(request, response.status):
                break
            seconds = wait_asked_for(response)
            if seconds is None or seconds >= self._deadline - time.monotonic():
                break
            self._hosts[request.url.host_port] = None
            self._count += 1
            self._seconds += seconds
            time.sleep(seconds)
            response = send()
        return response

    @property
    def words(self) -> str:
        """How often requests were repeated and why, or "" if none was."""
        if not self._count:
            return ""
        times = _TIMES.get(self._count, f"{self._count:,} times")
        in_all = " in all" if self._count > 1 else ""
        return f"retried {times}: {' and '.join(self._hosts)} asked to wait {self._seconds:.3g} s{in_all}"


def wait_asked_for(response: UpstreamResponse) -> float | None:
    """The seconds that a service asks to wait before the request is sent again, or None if it does not ask."""
    value = response.headers.get("retry-after", "").strip()
    if response.status not in _RETRY_STATUSES or not value or len(value) > _LONGEST_VALUE:
        return None
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return max((moment - utc_now()).total_seconds(), 0.0)

"""Waiting for the outcome of an approved request. Stopping early does not undo the approval."""

import argparse
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from aileron_tui.cli.exit_codes import FAILED, INTERRUPTED, OK, OUTCOME_UNKNOWN, WAITING
from aileron_tui.core.daemon_kinds import NO_EFFECT
from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from aileron_tui.core.values import dataclass
from aileron_tui.runtime.errors import NotFound, RuntimeFault

if TYPE_CHECKING:
    from aileron_tui.surface.source import Source

DEFAULT_SECONDS: Final = 60
LONGEST_SECONDS: Final = 3600

_CODES: Final = {
    RequestState.EXECUTED: OK,
    RequestState.HANDED_OVER: OK,
    RequestState.UNKNOWN: OUTCOME_UNKNOWN,
    RequestState.INTERRUPTED: OUTCOME_UNKNOWN,
}
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The request as it was last seen, the exit code for it, and a note about its state."""

    request: Request
    code: int
    note: str = ""


def seconds(text: str) -> int:
    """The value of --wait."""
    if not (text.isascii() and text.isdigit()) or len(text) > 6 or int(text) > LONGEST_SECONDS:
        raise argparse.ArgumentTypeError(f"must be a whole number of seconds, {LONGEST_SECONDS:,} or less")
    return int(text)


def wait_for_outcome(source: "Source", request: Request, limit: int) -> Outcome:
    """Waits until an approved request has ended, for at most `limit` seconds."""
    if request.abandoned:
        return Outcome(replace(request, state=RequestState.UNKNOWN), OUTCOME_UNKNOWN, NO_EFFECT)
    if not request.reports_end:
        return Outcome(request, OK, "the daemon does not report how this kind of request ends")
    end, pause, note = time.monotonic() + limit, _FIRST_PAUSE, ""
    try:
        while True:
            try:
                request, note = source.item(request.id), ""
            except NotFound:
                note = "the source no longer knows this request, so its outcome is unknown"
                return Outcome(replace(request, state=RequestState.INTERRUPTED), OUTCOME_UNKNOWN, note)
            except RuntimeFault as error:
                note = str(error)
            if request.state.settled:
                return Outcome(request, _CODES.get(request.state, FAILED), note)
            left = end - time.monotonic()
            if left <= 0:
                return Outcome(request, WAITING, note or request.reason)
            time.sleep(min(pause, left))
            pause = min(_LONGEST_PAUSE, pause * 1.5)
    except KeyboardInterrupt:
        return Outcome(request, INTERRUPTED, "stopped waiting; the request stays approved")

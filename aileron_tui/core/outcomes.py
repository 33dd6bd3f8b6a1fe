"""How a request ended, as a glyph and words, for every list of past requests."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, Protocol

from aileron_tui.core.states import RequestState
from aileron_tui.core.times import moment

OUTCOMES: Final[Mapping[str, tuple[str, str]]] = {
    RequestState.EXECUTED: ("✓", "done"),
    RequestState.FAILED: ("✗", "failed"),
    RequestState.DENIED: ("–", "denied"),
    RequestState.EXPIRED: ("○", "nobody answered"),
    RequestState.WITHDRAWN: ("○", "withdrawn"),
    RequestState.INTERRUPTED: ("!", "interrupted"),
    RequestState.PENDING: ("…", "waiting"),
    RequestState.APPROVED: ("…", "approved"),
    RequestState.RUNNING: ("…", "running"),
}
UNDER_WAY: Final = frozenset({RequestState.APPROVED, RequestState.RUNNING})
SHELL: Final = "shell"
QUIET: Final = timedelta(minutes=1)
"""How long a daemon may be silent after an approval before that is shown."""

ELSEWHERE: Final = "elsewhere"
"""The surface of an answer that was not given here."""

EDITED_ELSEWHERE: Final = "elsewhere; the changes are not known here"

_ALLOWED: Final = ("→", "allowed")
_NO_NEWS: Final = ("…", "no news")


class PastRequest(Protocol):
    """What must be known about a request to describe its outcome."""

    @property
    def outcome(self) -> str:
        """Its state, as its source names it."""

    @property
    def kind(self) -> str:
        """The kind of request, as a daemon names it."""

    @property
    def daemon(self) -> str:
        """The daemon that runs it, or "" if the gate does."""

    @property
    def decided(self) -> str:
        """When it was answered."""

    @property
    def edited(self) -> bool:
        """Whether the inputs were changed before the call was approved."""


def ending(request: PastRequest, now: datetime) -> tuple[str, str]:
    """A glyph and a word. An outcome that is not known here is foreign text and is returned as it is.

    A shell gets its answer from the daemon, and nobody learns the result of the command. For other calls a daemon may
    report an end or not, so after a while the word is that there is no news.
    """
    glyph, word = OUTCOMES.get(request.outcome) or ("?", request.outcome)
    if request.outcome in UNDER_WAY and request.daemon and request.decided:
        if request.kind == SHELL:
            glyph, word = _ALLOWED
        elif is_overdue(request.decided, now):
            glyph, word = _NO_NEWS
    return (glyph, f"{word}, edited") if request.edited else (glyph, word)


def unknown_outcome(request: PastRequest, now: datetime) -> str:
    """Why the outcome of an approved request is not known, or "" if it is known or may still be reported."""
    if request.outcome not in UNDER_WAY or not request.daemon or not request.decided:
        return ""
    if request.kind == SHELL:
        return "the shell has its answer; the result of the command is not reported"
    return f"no report since {clock(moment(request.decided), now)}" if is_overdue(request.decided, now) else ""


def clock(time: datetime, now: datetime) -> str:
    """A local time for people: without the date if it is today."""
    here = time.astimezone()
    return f"{here:%H:%M}" if here.date() == now.astimezone().date() else f"{here:%Y-%m-%d %H:%M}"


def is_overdue(since: str, now: datetime) -> bool:
    """Whether a report should have come by now."""
    try:
        return now - moment(since) > QUIET
    except (ValueError, OverflowError):
        return False

"""How it went with a request, in a glyph and a word, wherever one looks back."""

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
"""How long after an approval a daemon may say nothing before that is what there is to say."""

ELSEWHERE: Final = "elsewhere"
"""The surface of an answer that was not given here."""

EDITED_ELSEWHERE: Final = "elsewhere; what was changed is not known here"

_ALLOWED: Final = ("→", "allowed")
_NO_NEWS: Final = ("…", "no news")


class PastRequest(Protocol):
    """What must be known of a request to say how it went."""

    @property
    def outcome(self) -> str:
        """Its state, as its source names it."""

    @property
    def kind(self) -> str:
        """What kind of request a daemon calls it."""

    @property
    def daemon(self) -> str:
        """Which daemon carries it out; "" if the gate does."""

    @property
    def decided(self) -> str:
        """When it was answered."""

    @property
    def edited(self) -> bool:
        """Whether another call was approved than the one that was asked."""


def ending(request: PastRequest, now: datetime) -> tuple[str, str]:
    """A glyph and a word; the word is foreign if the outcome is none we know.

    A shell gets its answer from the daemon and tells nobody what came of it. Of other calls a daemon may tell an end or
    none, so after a while there is only to say that no news has come.
    """
    glyph, word = OUTCOMES.get(request.outcome) or ("?", request.outcome)
    if request.outcome in UNDER_WAY and request.daemon and request.decided:
        if request.kind == SHELL:
            glyph, word = _ALLOWED
        elif quiet(request.decided, now):
            glyph, word = _NO_NEWS
    return (glyph, f"{word}, edited") if request.edited else (glyph, word)


def unheard(request: PastRequest, now: datetime) -> str:
    """Why it is not known how a request went on that was approved, in words; "" if that can still be told or was."""
    if request.outcome not in UNDER_WAY or not request.daemon or not request.decided:
        return ""
    if request.kind == SHELL:
        return "the shell has its answer; what came of the command is not told"
    return f"nothing was heard since {clock(moment(request.decided), now)}" if quiet(request.decided, now) else ""


def clock(time: datetime, now: datetime) -> str:
    """A moment for a person here: today only the hour."""
    here = time.astimezone()
    return f"{here:%H:%M}" if here.date() == now.astimezone().date() else f"{here:%Y-%m-%d %H:%M}"


def quiet(since: str, now: datetime) -> bool:
    """Whether it is so long ago that more should have been heard by now."""
    try:
        return now - moment(since) > QUIET
    except (ValueError, OverflowError):
        return False

"""How it went with a request, in a glyph and a word, wherever one looks back."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, Protocol

from aileron_tui.core.daemon_kinds import reports_end
from aileron_tui.core.decision import moment
from aileron_tui.core.state_words import STATE_WORDS
from aileron_tui.core.states import RequestState
from aileron_tui.core.time_words import local_time

OUTCOMES: Final[Mapping[str, tuple[str, str]]] = {
    state: (words.glyph, words.word) for state, words in STATE_WORDS.items()
}
UNDER_WAY: Final = frozenset({RequestState.APPROVED, RequestState.RUNNING})
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

    A daemon never reports the end of some kinds of request. For the others it may or may not, so after a while all we
    can say is that no news has come.
    """
    glyph, word = OUTCOMES.get(request.outcome) or ("?", request.outcome)
    if request.outcome in UNDER_WAY and request.daemon and request.decided:
        if not reports_end(request.kind):
            glyph, word = _ALLOWED
        elif quiet(request.decided, now):
            glyph, word = _NO_NEWS
    return (glyph, f"{word}, edited") if request.edited else (glyph, word)


def unheard(request: PastRequest, now: datetime) -> str:
    """Why it is not known how a request went on that was approved, in words; "" if that can still be told or was."""
    if request.outcome not in UNDER_WAY or not request.daemon or not request.decided:
        return ""
    if not reports_end(request.kind):
        return "allowed; the daemon does not report how this kind of request ends"
    return f"nothing was heard since {local_time(moment(request.decided), now)}" if quiet(request.decided, now) else ""


def quiet(since: str, now: datetime) -> bool:
    """Whether it is so long ago that more should have been heard by now."""
    try:
        return now - moment(since) > QUIET
    except (ValueError, OverflowError):
        return False

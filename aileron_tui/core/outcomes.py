"""The outcome of a request as a glyph and a word, for the history."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, Protocol

from aileron_tui.core.decision import moment
from aileron_tui.core.state_words import STATE_WORDS
from aileron_tui.core.states import RequestState

OUTCOMES: Final[Mapping[str, tuple[str, str]]] = {
    state: (words.glyph, words.word) for state, words in STATE_WORDS.items()
}
UNDER_WAY: Final = frozenset({RequestState.APPROVED, RequestState.RUNNING})
SHELL: Final = "shell"
QUIET: Final = timedelta(minutes=1)
"""How long a daemon may take to report after an approval before that is shown."""

ELSEWHERE: Final = "elsewhere"
"""The surface of an answer that was not given here."""

EDITED_ELSEWHERE: Final = "elsewhere; the changes are not known here"

_ALLOWED: Final = ("→", "allowed")
_NO_NEWS: Final = ("…", "no news")


class PastRequest(Protocol):
    """What the outcome of a request depends on."""

    @property
    def outcome(self) -> str:
        """Its state, in the words of its source."""

    @property
    def kind(self) -> str:
        """The daemon's kind of request."""

    @property
    def daemon(self) -> str:
        """The daemon that runs it; "" if a gate does."""

    @property
    def decided(self) -> str:
        """When it was answered."""

    @property
    def edited(self) -> bool:
        """Whether an edited call was approved."""


def ending(request: PastRequest, now: datetime) -> tuple[str, str]:
    """A glyph and a word; the word is foreign text if the outcome is unknown to us.

    A daemon does not report how a shell command ended. It may also not report the end of another call, so after a while
    the word is "no news".
    """
    glyph, word = OUTCOMES.get(request.outcome) or ("?", request.outcome)
    if request.outcome in UNDER_WAY and request.daemon and request.decided:
        if request.kind == SHELL:
            glyph, word = _ALLOWED
        elif quiet(request.decided, now):
            glyph, word = _NO_NEWS
    return (glyph, f"{word}, edited") if request.edited else (glyph, word)


def missing_outcome(request: PastRequest, now: datetime) -> str:
    """Why the outcome of an approved request is not known, in words; "" if it is, or may still be reported."""
    if request.outcome not in UNDER_WAY or not request.daemon or not request.decided:
        return ""
    if request.kind == SHELL:
        return "the shell has its answer; how the command ended is not reported"
    return f"no news since {clock(moment(request.decided), now)}" if quiet(request.decided, now) else ""


def clock(time: datetime, now: datetime) -> str:
    """A time in the local zone; without the date if it is today."""
    here = time.astimezone()
    return f"{here:%H:%M}" if here.date() == now.astimezone().date() else f"{here:%Y-%m-%d %H:%M}"


def quiet(since: str, now: datetime) -> bool:
    """Whether the daemon should have reported by now."""
    try:
        return now - moment(since) > QUIET
    except (ValueError, OverflowError):
        return False

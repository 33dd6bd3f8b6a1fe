"""The outcome of a request as a glyph and words, for every list of past requests."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, Protocol

from aileron_tui.core.state_words import STATE_WORDS
from aileron_tui.core.states import RequestState
from aileron_tui.core.time_words import local_time
from aileron_tui.core.times import moment

OUTCOMES: Final[Mapping[str, tuple[str, str]]] = {
    state: (words.glyph, words.word) for state, words in STATE_WORDS.items()
}
UNDER_WAY: Final = frozenset({RequestState.APPROVED, RequestState.RUNNING})
QUIET: Final = timedelta(minutes=1)
"""How long after an approval a missing report of the daemon is pointed out."""

ELSEWHERE: Final = "elsewhere"
"""Recorded as the surface of an answer that was not given here."""

EDITED_ELSEWHERE: Final = "elsewhere; the changes are not known here"

_ALLOWED: Final = ("→", "allowed")
_NO_NEWS: Final = ("…", "no news")


class PastRequest(Protocol):
    """The fields of a request that its outcome is described from."""

    @property
    def outcome(self) -> str:
        """The state of the request, as its source names it."""

    @property
    def kind(self) -> str:
        """The kind of request, as a daemon names it."""

    @property
    def daemon(self) -> str:
        """The daemon that runs the request, or "" if the gate does."""

    @property
    def decided(self) -> str:
        """The time of the answer."""

    @property
    def edited(self) -> bool:
        """Whether the inputs were changed before the call was approved."""


def ending(request: PastRequest, now: datetime) -> tuple[str, str]:
    """A glyph and a word for the outcome. An unknown outcome is foreign text and is returned unchanged.

    A daemon never reports the end of some kinds of request. For the other kinds it may never report it either, so after
    a while the outcome is "no news".
    """
    glyph, word = OUTCOMES.get(request.outcome) or ("?", request.outcome)
    if request.outcome in UNDER_WAY and request.daemon and request.decided:
        if not _reports_end(request.kind):
            glyph, word = _ALLOWED
        elif is_overdue(request.decided, now):
            glyph, word = _NO_NEWS
    return (glyph, f"{word}, edited") if request.edited else (glyph, word)


def unknown_outcome(request: PastRequest, now: datetime) -> str:
    """Why the outcome of an approved request is not known, or "" if it is known or may still be reported."""
    if request.outcome not in UNDER_WAY or not request.daemon or not request.decided:
        return ""
    if not _reports_end(request.kind):
        return "allowed; the daemon does not report how this kind of request ends"
    return f"no report since {local_time(moment(request.decided), now)}" if is_overdue(request.decided, now) else ""


def is_overdue(since: str, now: datetime) -> bool:
    """Whether a daemon should have reported the end by now."""
    try:
        return now - moment(since) > QUIET
    except (ValueError, OverflowError):
        return False


def _reports_end(kind: str) -> bool:
    from aileron_tui.core.daemon_kinds import reports_end  # noqa: PLC0415  # not needed before the first frame

    return reports_end(kind)

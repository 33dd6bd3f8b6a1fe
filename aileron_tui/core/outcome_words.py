"""The words by which the history can be filtered: the outcomes on screen, and `approved` for all that was allowed."""

from collections.abc import Mapping
from typing import Final

from aileron_tui.core.state_words import STATE_WORDS
from aileron_tui.core.states import RequestState

APPROVED: Final = "approved"
"""Finds every request that was allowed, however it ended."""

BY_RULE: Final = "by_rule"
"""Stands in a filter for every request that a rule allowed; it is not a state."""
RULE_SURFACE: Final = "rule"
"""Recorded as the surface of an answer that a rule gave."""

_ALLOWED_BY_RULE: Final = "allowed by a rule"

ALLOWED: Final = (
    RequestState.APPROVED,
    RequestState.RUNNING,
    RequestState.HANDED_OVER,
    RequestState.EXECUTED,
    RequestState.FAILED,
    RequestState.UNKNOWN,
    RequestState.INTERRUPTED,
)
_UNDER_WAY: Final = (RequestState.APPROVED, RequestState.RUNNING)

OUTCOME_FILTERS: Final[Mapping[str, tuple[str, ...]]] = {
    APPROVED: ALLOWED,
    **{STATE_WORDS[state].word: (state,) for state in STATE_WORDS if state not in _UNDER_WAY},
    STATE_WORDS[RequestState.RUNNING].word: _UNDER_WAY,
    _ALLOWED_BY_RULE: (BY_RULE,),
}
"""The states that each word finds, or BY_RULE, in the order in which the console offers the words."""

# A daemon's request that was approved and has not ended is shown as one of these.
_ALIASES: Final = {"allowed": _UNDER_WAY, "no news": _UNDER_WAY}


def states_of(word: str) -> tuple[str, ...]:
    """What a word finds, as in OUTCOME_FILTERS, () if it is not known.

    `nobody-answered` is the same as `nobody answered`. The names of states, such as `executed`, are known too.
    """
    plain = " ".join(word.lower().replace("-", " ").split())
    if found := OUTCOME_FILTERS.get(plain) or _ALIASES.get(plain):
        return found
    return (RequestState(plain),) if plain in set(RequestState) else ()


def as_typed(word: str) -> str:
    """A word as it is typed in a search, without spaces."""
    return word.replace(" ", "-")


def outcome_glyph(word: str) -> str:
    """The glyph of a word, or ""."""
    return next((words.glyph for words in STATE_WORDS.values() if words.word == word != APPROVED), "")

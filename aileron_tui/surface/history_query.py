"""The search grammar of the history, for the console and for the command line.

    weekly recap since:tuesday outcome:approved

All words must occur in a request. `since:` and `until:` take a local date or time, `today`, `yesterday`, a weekday, or
how long ago. A weekday is the last one, or today, and a day begins at midnight. `outcome:` takes the words on screen
with dashes for spaces, and `approved` for all that was allowed. `action:`, `surface:`, `agent:` and, where there are
several sources, `source:` take a name. `agent:` finds an agent by the name of its token, not by what it calls itself.
The same filter given twice finds both. A text in quotes is not a filter.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Final, TypeAlias

from aileron_tui.core.errors import AileronError
from aileron_tui.core.outcome_words import OUTCOME_FILTERS, as_typed, states_of
from aileron_tui.core.time_spans import DAYS, WEEKDAYS, read_time
from aileron_tui.core.values import dataclass

Query: TypeAlias = dict[str, str | int | list[str]]
"""The parameters of `GET /v1/history`."""

LONGEST: Final = 900
OUTCOMES: Final = tuple(map(as_typed, OUTCOME_FILTERS))
"""The words that `outcome:` takes, as they are typed."""

_NAMES: Final = ("action", "surface", "outcome", "agent", "source")
_TIMES: Final = ("since", "until")
_FILTERS: Final = (*_TIMES, "outcome", "agent", "action", "surface", "source")
_DAY_WORDS: Final = (*DAYS, *WEEKDAYS)

_TERM: Final = re.compile(r'[A-Za-z]+:"[^"]*"?|"[^"]*"?|\S+')
_FILTER: Final = re.compile(r'([A-Za-z]+):(?!//)"?([^"]*)"?')
_LONGEST_SHOWN: Final = 40
_ALIKE: Final = 0.7
"""How similar to a filter a name must be to count as a typing mistake. Others are words to find: `localhost:80`."""


class SearchError(AileronError):
    """The search text is not valid."""


@dataclass(frozen=True, slots=True)
class HistorySearch:
    """What a search text asks for. Empty fields do not restrict the search."""

    words: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    actions: tuple[str, ...] = ()
    surfaces: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HistoryQuery:
    """The search text in the console, and the outcome chosen next to it, one of OUTCOME_FILTERS."""

    text: str = ""
    outcome: str = ""

    @property
    def all(self) -> bool:
        """Whether every request matches."""
        return not self.text.strip() and not self.outcome

    def query(self, now: datetime) -> Query:
        """The parameters for a source. The last word may be unfinished, so it matches as a prefix."""
        text = self.text[:LONGEST]
        search = read_search(text[: -len(_unfinished(text)) or None], now)
        found: Query = {}
        if words := search.words:
            unfinished = not text[-1:].isspace() and words[-1][-1].isalnum() and text.endswith(words[-1])
            found["text"] = " ".join(words) + ("*" if unfinished else "")
        for name, at in (("since", search.since), ("until", search.until)):
            if at is not None:
                found[name] = f"{at.astimezone(UTC).isoformat()[:19]}Z"
        outcomes = _unique((*states_of(self.outcome), *search.outcomes))
        lists = (search.actions, search.surfaces, outcomes, search.agents, search.sources)
        found.update((name, list(values)) for name, values in zip(_NAMES, lists, strict=True) if values)
        return found


def read_search(text: str, now: datetime) -> HistorySearch:
    """Reads a search text; raises SearchError if it is not valid."""
    words: list[str] = []
    times: dict[str, datetime] = {}
    names: dict[str, list[str]] = {name: [] for name in _NAMES}
    for term in _TERM.findall(text):
        found = _FILTER.fullmatch(term)
        name, value = (found[1].lower(), found[2]) if found else ("", "")
        if name not in _FILTERS:
            if value and (near := get_close_matches(name, _FILTERS, n=1, cutoff=_ALIKE)):
                hint = f"Did you mean {near[0]}:? To find the text itself, put it in quotes."
                raise SearchError(f"unknown filter {_quoted(f'{name}:')}".rstrip(), hint=hint)
            words += term.split()
        elif not value:
            continue  # still being typed
        elif name in _TIMES:
            times[name] = read_when(value, now, f"{name}:")
        else:
            names[name] += read_outcome(value, "outcome:") if name == "outcome" else (value,)
    lists = (_unique(names[name]) for name in _NAMES)
    return HistorySearch(tuple(words), times.get("since"), times.get("until"), *lists)


def read_outcome(value: str, prefix: str = "") -> tuple[str, ...]:
    """The states that an outcome's word on screen finds; raises SearchError if it is not known.

    `prefix` is what comes before a value in the hint.
    """
    if states := states_of(value):
        return states
    near = get_close_matches(as_typed(value.lower()), OUTCOMES, n=1)
    hint = f"Did you mean {prefix}{near[0]}?" if near else f"Use one of {', '.join(OUTCOMES)}."
    raise SearchError(f"unknown outcome {_quoted(value)}".rstrip(), hint=hint)


def read_when(value: str, now: datetime, prefix: str = "") -> datetime:
    """The time that a user means; raises SearchError if it is not valid. `prefix` is as in `read_outcome`."""
    try:
        return read_time(value, now)
    except ValueError:
        near = get_close_matches(value.lower(), _DAY_WORDS, n=1)
        hint = f"Use a weekday, a date such as {prefix}2026-05-12, or how long ago, such as {prefix}7d."
        hint = f"Did you mean {prefix}{near[0]}?" if near else hint
        raise SearchError(f"{_quoted(value) or 'this'} is not a date or time", hint=hint) from None


def completed(text: str) -> str:
    """The search text with its last word completed to a filter, an outcome or a day; "" if there is nothing to add."""
    term = text.rsplit(" ", maxsplit=1)[-1]
    name, colon, _ = term.partition(":")
    if not colon:
        known: Iterable[str] = (f"{filter_}:" for filter_ in _FILTERS) if len(term) > 1 else ()
    else:
        known = (f"{name}:{word}" for word in _values(name))
    found = next((word for word in known if word.startswith(term) and word != term), "")
    return text + found[len(term) :] if found else ""


def _unfinished(text: str) -> str:
    """The last term if it is the start of an outcome or a day that is still being typed."""
    name, colon, value = text.rsplit(" ", maxsplit=1)[-1].partition(":")
    started = colon and value and any(word.startswith(value) and word != value for word in _values(name))
    known = name == "outcome" and states_of(value)
    return f"{name}:{value}" if started and not known and not _is_time(name, value) else ""


def _values(name: str) -> tuple[str, ...]:
    return OUTCOMES if name == "outcome" else _DAY_WORDS if name in _TIMES else ()


def _is_time(name: str, value: str) -> bool:
    try:
        return name in _TIMES and bool(read_time(value, datetime.now(UTC)))
    except ValueError:
        return False


def _quoted(text: str) -> str:
    """The text in quotes, or "" if it is long or has characters that must be made visible."""
    return f'"{text}"' if text.isascii() and text.isprintable() and len(text) <= _LONGEST_SHOWN else ""


def _unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(str, values)))

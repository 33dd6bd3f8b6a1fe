"""The search grammar of the history, for the console and for the command line.

    weekly recap since:7d surface:tui

All words must occur in a request. `since:` and `until:` take a local date, a time, or how long ago; `action:`,
`surface:`, `outcome:`, `agent:` and, where there are several sources, `source:` take a name. `agent:` finds an agent by
the name of its token, not by what it calls itself.
"""

from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Final, TypeAlias

from aileron_tui.core.errors import AileronError
from aileron_tui.core.state_words import state_named
from aileron_tui.core.states import RequestState
from aileron_tui.core.time_spans import read_time
from aileron_tui.core.values import dataclass

Query: TypeAlias = dict[str, str | int | list[str]]
"""The parameters of `GET /v1/history`."""

LONGEST: Final = 900

_NAMES: Final = ("action", "surface", "outcome", "agent", "source")
_TIMES: Final = ("since", "until")


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
    """The search text in the console, and the outcome chosen next to it."""

    text: str = ""
    outcome: str = ""

    @property
    def all(self) -> bool:
        """Whether every request matches."""
        return not self.text.strip() and not self.outcome

    def query(self, now: datetime) -> Query:
        """The parameters for a source. The last word may be unfinished, so it matches as a prefix."""
        search = read_search(self.text[:LONGEST], now)
        found: Query = {}
        if words := search.words:
            unfinished = not self.text[-1:].isspace() and words[-1][-1].isalnum() and self.text.endswith(words[-1])
            found["text"] = " ".join(words) + ("*" if unfinished else "")
        for name, at in (("since", search.since), ("until", search.until)):
            if at is not None:
                found[name] = f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        chosen = (self.outcome,) if self.outcome else ()
        lists = (search.actions, search.surfaces, chosen + search.outcomes, search.agents, search.sources)
        found.update((name, list(values)) for name, values in zip(_NAMES, lists, strict=True) if values)
        return found


def read_search(text: str, now: datetime) -> HistorySearch:
    """Reads a search text; raises SearchError if it is not valid."""
    words: list[str] = []
    times: dict[str, datetime] = {}
    names: dict[str, list[str]] = {name: [] for name in _NAMES}
    for word in text.split():
        name, colon, value = word.partition(":")
        if not colon or name not in (*_NAMES, *_TIMES):
            words.append(word)
        elif not value:
            continue  # still being typed
        elif name in _TIMES:
            times[name] = _time(name, value, now)
        else:
            names[name].append(read_outcome(value) if name == "outcome" else value)
    lists = (tuple(names[name]) for name in _NAMES)
    return HistorySearch(tuple(words), times.get("since"), times.get("until"), *lists)


def read_outcome(value: str) -> str:
    """The state with this name, or with this word on screen; raises SearchError if there is none."""
    if state := state_named(value):
        return state
    near = get_close_matches(value, list(RequestState), n=1)
    hint = f"Did you mean outcome:{near[0]}?" if near else f"Use one of {', '.join(RequestState)}."
    raise SearchError("unknown outcome", hint=hint)


def _time(name: str, value: str, now: datetime) -> datetime:
    try:
        return read_time(value, now)
    except ValueError:
        hint = f"Use a date such as {name}:2026-05-12, or how long ago, such as {name}:7d."
        raise SearchError(f"{name}: not a date or time", hint=hint) from None

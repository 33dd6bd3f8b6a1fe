"""What a person types to search the history, read as the parameters of `GET /v1/history`.

    weekly recap since:7d surface:tui

Words must all occur; the last one may be a beginning, since one is still typing it. `since:` and `until:` take a date
of the person's own zone, a time, or a span back from now; `action:`, `surface:`, `outcome:` and, where there are
several, `source:` take a name.
"""

import re
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import Final, TypeAlias

from aileron_tui.core.errors import AileronError
from aileron_tui.core.states import RequestState
from aileron_tui.core.values import dataclass

Query: TypeAlias = dict[str, str | int | list[str]]

LONGEST: Final = 900

_AGO: Final = re.compile(r"(\d{1,4})([mhdw])", re.ASCII)
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_NAMES: Final = ("action", "surface", "outcome", "source")
_TIMES: Final = ("since", "until")


class SearchError(AileronError):
    """A search that cannot be understood."""


@dataclass(frozen=True, slots=True)
class HistoryQuery:
    """What is typed, and the outcome chosen beside it."""

    text: str = ""
    outcome: str = ""

    @property
    def all(self) -> bool:
        """Whether nothing is left out."""
        return not self.text.strip() and not self.outcome

    def query(self, now: datetime) -> Query:
        """The parameters, or SearchError."""
        found: Query = {}
        words: list[str] = []
        names: dict[str, list[str]] = {"outcome": [self.outcome] if self.outcome else []}
        for word in self.text[:LONGEST].split():
            name, colon, value = word.partition(":")
            if colon and name in _TIMES:
                if value:
                    found[name] = _time(name, value, now)
            elif colon and name in _NAMES:
                if value:
                    names.setdefault(name, []).append(_outcome(value) if name == "outcome" else value)
            else:
                words.append(word)
        if words:
            unfinished = not self.text[-1:].isspace() and words[-1][-1].isalnum() and self.text.endswith(words[-1])
            found["text"] = " ".join(words) + ("*" if unfinished else "")
        found.update((name, values) for name, values in names.items() if values)
        return found


def _outcome(value: str) -> str:
    if value in set(RequestState):
        return value
    near = get_close_matches(value, list(RequestState), n=1)
    hint = f"Did you mean outcome:{near[0]}?" if near else f"Use one of {', '.join(RequestState)}."
    raise SearchError("there is no such outcome", hint=hint)


def _time(name: str, value: str, now: datetime) -> str:
    try:
        if found := _AGO.fullmatch(value):
            at = now - timedelta(**{_UNITS[found[2]]: int(found[1])})
        else:
            at = datetime.fromisoformat(value)
        return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError):
        hint = f"Write a date, as {name}:2026-05-12, or a span back from now, as {name}:7d."
        raise SearchError("the time cannot be read", hint=hint) from None

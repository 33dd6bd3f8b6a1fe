"""The record of a reduction: which bodies were removed from the ledger, and what is left of their requests.

A `ledger.reduced` entry is written in the transaction that removes the bodies, and has this body:

    keep       the setting `[ledger] keep`, such as `365d`
    before     the time before which everything was written that was removed, a day before the entry or earlier
    entries    the numbers of the entries whose bodies were removed, in order, as pairs of a first and a last number
    requests   an object for each request, with its id and those of LEFT that are not empty
    counters   the counters of security keys in the decisions that were removed, because they must still grow

Anybody who can write the ledger can write such an entry, so it proves nothing about what was removed. It says which
bodies may be missing: any other missing body is damage.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import starmap
from typing import Final

from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.jsontext import Json, JsonError, JsonObject
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import moment
from aileron_tui.core.values import dataclass

SHORTEST_KEEP: Final = timedelta(days=1)
"""The shortest time that bodies are kept. No request waits longer than that."""

LEFT: Final = (
    "action",
    "connector",
    "agent",
    "risk",
    "kind",
    "outcome",
    "decided",
    "took",
    "surface",
    "signer",
    "ended",
    "rule",
    "edited",
)
"""What the history still shows of a request, by the names of `core/history_record.py`."""

_SETTLED: Final = [str(state) for state in RequestState if state.settled]


@dataclass(frozen=True, slots=True)
class Reduction:
    """What a `ledger.reduced` entry says."""

    keep: str
    before: str
    entries: tuple[tuple[int, int], ...]
    requests: tuple[JsonObject, ...]
    counters: Mapping[str, int]

    def body(self) -> JsonObject:
        """The body of the entry."""
        return {
            "keep": self.keep,
            "before": self.before,
            "entries": [[first, last] for first, last in self.entries],
            "requests": [*self.requests],
            "counters": {**self.counters},
        }

    def names(self, seq: int) -> bool:
        """Whether the body of an entry was removed."""
        return any(first <= seq <= last for first, last in self.entries)

    def numbers(self) -> Iterator[int]:
        """The numbers of the entries whose bodies were removed."""
        for first, last in self.entries:
            yield from range(first, last + 1)


def read_reduction(entry: Entry) -> Reduction:
    """The reduction in an entry. Raises JsonError if it is not valid there."""
    body = entry.body
    keep, before = body.get("keep"), body.get("before")
    if body.keys() != set(Reduction.__dataclass_fields__) or not isinstance(keep, str) or not isinstance(before, str):
        raise JsonError("not the record of a reduction", "$.body")
    try:
        late = moment(before) > moment(entry.time) - SHORTEST_KEEP
    except (ValueError, OverflowError):
        raise JsonError("not a valid time", "$.body.before") from None
    if late:
        raise JsonError("bodies are kept for a day at least", "$.body.before")
    pairs = tuple(_pairs(body["entries"], entry.seq))
    return Reduction(keep, before, pairs, tuple(_requests(body["requests"])), dict(_counters(body["counters"])))


def in_runs(numbers: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Numbers in order as pairs of the first and the last number of each run."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return tuple(runs)


def _pairs(value: Json, seq: int) -> Iterator[tuple[int, int]]:
    after = 0
    for item in _list(value, "entries"):
        match item:
            case [first, last] if type(first) is type(last) is int and after < first <= last < seq:
                yield first, last
                after = last
            case _:
                raise JsonError("not the numbers of earlier entries in order", "$.body.entries")


def _requests(value: Json) -> Iterator[JsonObject]:
    for item in _list(value, "requests"):
        if not isinstance(item, dict) or not all(starmap(_is_left, item.items())) or not {"id", "outcome"} <= set(item):
            raise JsonError("not what is left of a request", "$.body.requests")
        yield item


def _is_left(name: str, value: Json) -> bool:
    match name:
        case "took":
            return type(value) in (int, float)
        case "edited":
            return value is True
        case "outcome":
            return value in _SETTLED
    return isinstance(value, str) and name in {"id", *LEFT}


def _counters(value: Json) -> Iterator[tuple[str, int]]:
    if not isinstance(value, dict):
        raise JsonError("expected an object", "$.body.counters")
    for name, counter in value.items():
        if type(counter) is not int:
            raise JsonError("expected numbers", "$.body.counters")
        yield name, counter


def _list(value: Json, name: str) -> Sequence[Json]:
    if not isinstance(value, list | tuple):
        raise JsonError("expected a list", f"$.body.{name}")
    return value

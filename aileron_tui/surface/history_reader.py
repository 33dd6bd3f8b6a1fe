"""The past of every source as one list, newest first. All of this blocks: call it from a thread."""

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Final, Protocol

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.request import Request
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import clip, inline
from aileron_tui.runtime.errors import NoGate, NoReply, NotFound
from aileron_tui.surface.history_query import Query
from aileron_tui.surface.history_records import (
    HistoryPage,
    ShownPrompt,
    SourcedRecord,
    local,
    read_page,
    shown_in_item,
    shown_in_past,
)

PAGE: Final = 50
MOST: Final = 500
PATIENCE: Final = 3.0

_PLACES: Final = 32


class HistorySource(Protocol):
    """What the history needs of one source."""

    def history(self, **filters: str | int | list[str]) -> JsonObject:
        """A page of the past."""

    def item(self, id_: str) -> Request:
        """One request, if it is still at hand."""

    def past(self, id_: str) -> JsonObject:
        """All that the ledger has of one request: `{"entries": [{"kind", "body", …}, …], "edit": … or null}`."""


@dataclass(frozen=True, slots=True)
class _Place:
    """How far one source has been read: what was fetched and not yet shown, and where the rest begins."""

    ahead: tuple[SourcedRecord, ...] = ()
    older: int | None = None
    ended: bool = False


@dataclass(frozen=True, slots=True)
class _Reading:
    """How far all sources have been read, and which fell out on the way."""

    places: Mapping[str, _Place]
    missing: Mapping[str, AileronError] = field(default_factory=dict)


class HistoryReader:
    """The past of whichever sources are connected; a screen that stays open outlives connections.

    `shelves` gives the sources by name each time it is asked, None for one that cannot be reached.
    """

    def __init__(self, shelves: Callable[[], Mapping[str, HistorySource | None]]) -> None:
        self._shelves = shelves
        self._readings: dict[int, _Reading] = {}
        self._numbers = count(1)
        self._guard = threading.Lock()

    @property
    def several(self) -> bool:
        """Whether there is more than one source, so that one has to say which."""
        return len(self._shelves()) > 1

    def page(
        self, query: Query, before: int | None = None, limit: int = PAGE, patience: float | None = PATIENCE
    ) -> HistoryPage:
        """The newest requests that are wanted, or those older than `before`, which an earlier page gave.

        A source that fails, or takes longer than `patience`, is left out and told as missing; a single one raises.
        """
        shelves = dict(self._shelves())
        names = query.get("source")
        query = {name: value for name, value in query.items() if name != "source"}
        if isinstance(names, list):
            shelves = {name: shelf for name, shelf in shelves.items() if name in names}
        reading = self._resumed(before, shelves)
        short = [name for name, place in reading.places.items() if not place.ended and len(place.ahead) < limit]
        asks = {name: _ask(shelves.get(name), name, query, reading.places[name].older, limit) for name in short}
        told = _all_told(asks, patience) if self.several else {name: _told(ask) for name, ask in asks.items()}
        places, missing = dict(reading.places), dict(reading.missing)
        for name, answer in told.items():
            if isinstance(answer, AileronError):
                if not self.several:
                    raise answer
                missing[name] = answer
                places[name] = replace(places[name], ended=True)
            else:
                ahead = places[name].ahead + answer.requests
                # A source that goes round in circles has no more to tell.
                ended = answer.older is None or not answer.requests or answer.older == places[name].older
                places[name] = _Place(ahead, answer.older, ended)
        shown, places = _merged(places, limit)
        more = any(place.ahead or not place.ended for place in places.values())
        return HistoryPage(tuple(shown), self._kept(_Reading(places, missing)) if more else None, missing)

    def _resumed(self, before: int | None, shelves: Mapping[str, HistorySource | None]) -> _Reading:
        if before is None:
            return _Reading(dict.fromkeys(shelves, _Place()))
        with self._guard:
            reading = self._readings.get(before)
        if reading is None:
            raise AileronError("it cannot be said any more what comes next", hint="Load it again.")
        return reading

    def _kept(self, reading: _Reading) -> int:
        with self._guard:
            number = next(self._numbers)
            self._readings[number] = reading
            while len(self._readings) > _PLACES:
                del self._readings[next(iter(self._readings))]
        return number

    def pages(self, query: Query) -> Iterator[HistoryPage]:
        """Everything that is wanted, a large page at a time; raises rather than leave a source out."""
        before: int | None = None
        while True:
            found = self.page(query, before, MOST, None)
            for name, error in found.missing.items():
                raise AileronError(f"{inline(name)}: {error.title}", error.detail, error.hint)
            yield found
            if found.older is None:
                return
            before = found.older

    def sample(self, days: int) -> HistoryPage:
        """The requests of the last days, at most one large page of them: there are no sums to ask for."""
        since = datetime.now(UTC) - timedelta(days=days)
        return self.page({"since": f"{since:%Y-%m-%dT%H:%M:%SZ}"}, limit=MOST)

    def look_up(self, request: SourcedRecord) -> tuple[ShownPrompt, Request | None]:
        """What was shown for a request, from its source's memory or from the ledger, else where to find it."""
        shelf = self._shelves().get(request.source)
        try:
            if shelf is None:
                raise _unreachable()
            try:
                item = shelf.item(request.id)
            except NotFound:
                pass
            else:
                return shown_in_item(item), replace(item, source=request.source)
            return shown_in_past(shelf.past(request.id)), None
        except NotFound:
            name = clip(inline(request.id), 80)
            return ShownPrompt(note=f"The ledger has what was shown: aileron-tui history show {name}"), None
        except AileronError as error:
            return ShownPrompt(note=f"What was shown cannot be looked up now: {inline(error.title)}"), None


def _unreachable() -> AileronError:
    return NoGate("not connected", hint="It is tried again by itself.")


def _ask(
    shelf: HistorySource | None, name: str, query: Query, older: int | None, limit: int
) -> Callable[[], HistoryPage]:
    def ask() -> HistoryPage:
        if shelf is None:
            raise _unreachable()
        place: Query = {} if older is None else {"before": older}
        return read_page(shelf.history(**query, **place, limit=limit), name)

    return ask


def _all_told(
    asks: Mapping[str, Callable[[], HistoryPage]], patience: float | None
) -> dict[str, HistoryPage | AileronError]:
    """What each source answers, all asked at once and none waited for longer than `patience`."""
    answers: SimpleQueue[tuple[str, HistoryPage | AileronError]] = SimpleQueue()
    for name, ask in asks.items():
        # Daemons: one that never answers must not keep the program alive.
        work = partial(_answer, answers, name, ask)
        threading.Thread(target=work, name=f"history {name}", daemon=True).start()
    told: dict[str, HistoryPage | AileronError] = {}
    end = None if patience is None else monotonic() + patience
    while len(told) < len(asks):
        try:
            name, answer = answers.get(timeout=None if end is None else max(0.0, end - monotonic()))
        except Empty:
            late = NoReply("it has not answered yet")
            return {name: told.get(name, late) for name in asks}
        told[name] = answer
    return told


def _answer(
    answers: "SimpleQueue[tuple[str, HistoryPage | AileronError]]", name: str, ask: Callable[[], HistoryPage]
) -> None:
    answers.put((name, _told(ask)))


def _told(ask: Callable[[], HistoryPage]) -> HistoryPage | AileronError:
    try:
        return ask()
    except AileronError as error:
        return error
    except Exception as error:  # noqa: BLE001  # whoever waits for an answer must get one
        return AileronError("it cannot be read", f"{type(error).__name__}: {error}")


def _merged(places: Mapping[str, _Place], limit: int) -> tuple[list[SourcedRecord], dict[str, _Place]]:
    """The newest of all that was fetched ahead, each source in its own order, and what is left."""
    heads = dict.fromkeys(places, 0)
    shown: list[SourcedRecord] = []
    while len(shown) < limit:
        first = {name: places[name].ahead[at] for name, at in heads.items() if at < len(places[name].ahead)}
        if not first:
            break
        name = max(first, key=lambda name: _moment(first[name]))
        shown.append(first[name])
        heads[name] += 1
    return shown, {name: replace(place, ahead=place.ahead[heads[name] :]) for name, place in places.items()}


def _moment(request: SourcedRecord) -> float:
    """When it was asked; one whose time cannot be read does not hold up what comes after it."""
    at = local(request.asked)
    return at.timestamp() if at else float("inf")

"""The history of every source as one list, newest first. Its calls block, so make them in a thread."""

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from datetime import timedelta
from functools import partial
from itertools import count
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Final, Protocol

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.request import Request
from aileron_tui.core.times import utc_now
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline, short
from aileron_tui.runtime.errors import NoGate, NoReply, NotFound
from aileron_tui.surface.history_query import Query
from aileron_tui.surface.history_records import (
    HistoryPage,
    ShownPrompt,
    SourcedRecord,
    alerted_in_ledger,
    parse_local_time,
    read_page,
    read_record,
    shown_in_ledger,
    shown_in_request,
)

PAGE_SIZE: Final = 50
LARGEST_PAGE: Final = 500
OWN_DECISIONS: Final = 20
REPLY_SECONDS: Final = 3.0

_KEPT_PLACES: Final = 32


class HistorySource(Protocol):
    """What the history needs from a source."""

    def history(self, **filters: str | int | list[str]) -> JsonObject:
        """One page of the history."""

    def item(self, id_: str) -> Request:
        """One request, if the source still holds it in memory."""

    def past(self, id_: str) -> JsonObject:
        """What the ledger has of one request: `{"entries": [{"kind", "body", …}, …], "edit": … or null}`."""


@dataclass(frozen=True, slots=True)
class _SourcePlace:
    """How far one source has been read: records that were fetched but not shown yet, and where the rest begins."""

    fetched: tuple[SourcedRecord, ...] = ()
    older: int | None = None
    ended: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    """How far all sources have been read, and which ones failed on the way."""

    sources: Mapping[str, _SourcePlace]
    missing: Mapping[str, AileronError] = field(default_factory=dict)


class HistoryReader:
    """The history of the sources that are connected at the time of each call.

    `sources` returns the sources by name, with None for one that is not connected.
    """

    def __init__(self, sources: Callable[[], Mapping[str, HistorySource | None]]) -> None:
        self._sources = sources
        self._places: dict[int, _Place] = {}
        self._numbers = count(1)
        self._lock = threading.Lock()

    @property
    def several(self) -> bool:
        """Whether there is more than one source."""
        return len(self._sources()) > 1

    def page(
        self,
        query: Query,
        before: int | None = None,
        limit: int = PAGE_SIZE,
        reply_seconds: float | None = REPLY_SECONDS,
    ) -> HistoryPage:
        """The newest requests that match, or those after an earlier page, if `before` is the `older` of that page.

        A source that fails, or takes longer than `reply_seconds`, is reported as missing; a single source raises.
        """
        sources, query = self._chosen(query)
        page, place = self._read(query, sources, self._resume(before, sources), limit, reply_seconds)
        more = any(at.fetched or not at.ended for at in place.sources.values())
        return replace(page, older=self._keep(place)) if more else page

    def newest(self, query: Query, limit: int = PAGE_SIZE) -> HistoryPage:
        """The newest requests that match, without a place for older ones."""
        sources, query = self._chosen(query)
        return self._read(query, sources, self._resume(None, sources), limit, REPLY_SECONDS)[0]

    def _chosen(self, query: Query) -> tuple[dict[str, HistorySource | None], Query]:
        """The sources that a query asks for, and the query for each of them."""
        sources, names = dict(self._sources()), query.get("source")
        if isinstance(names, list):
            sources = {name: source for name, source in sources.items() if name in names}
        return sources, {name: value for name, value in query.items() if name != "source"}

    def _read(
        self,
        query: Query,
        sources: Mapping[str, HistorySource | None],
        place: _Place,
        limit: int,
        reply_seconds: float | None,
    ) -> tuple[HistoryPage, _Place]:
        """The page at a place, and the place after it."""
        short = [name for name, at in place.sources.items() if not at.ended and len(at.fetched) < limit]
        fetches = {name: _fetch(sources.get(name), name, query, place.sources[name].older, limit) for name in short}
        if self.several:
            replies = _fetch_all(fetches, reply_seconds)
        else:
            replies = {name: _reply(fetch) for name, fetch in fetches.items()}
        places, missing = dict(place.sources), dict(place.missing)
        for name, reply in replies.items():
            if isinstance(reply, AileronError):
                if not self.several:
                    raise reply
                missing[name] = reply
                places[name] = replace(places[name], ended=True)
            else:
                fetched = places[name].fetched + reply.requests
                # A source that returns the same place again would never end.
                ended = reply.older is None or not reply.requests or reply.older == places[name].older
                places[name] = _SourcePlace(fetched, reply.older, ended)
        shown, places = _merge(places, limit)
        return HistoryPage(tuple(shown), None, missing), _Place(places, missing)

    def _resume(self, before: int | None, sources: Mapping[str, HistorySource | None]) -> _Place:
        if before is None:
            return _Place(dict.fromkeys(sources, _SourcePlace()))
        with self._lock:
            place = self._places.get(before)
        if place is None:
            raise AileronError("the next page is no longer available", hint="Reload the history.")
        return place

    def _keep(self, place: _Place) -> int:
        with self._lock:
            number = next(self._numbers)
            self._places[number] = place
            while len(self._places) > _KEPT_PLACES:
                del self._places[next(iter(self._places))]
        return number

    def pages(self, query: Query) -> Iterator[HistoryPage]:
        """Everything that matches, in large pages; raises if a source is missing."""
        before: int | None = None
        while True:
            found = self.page(query, before, LARGEST_PAGE, None)
            for name, error in found.missing.items():
                raise AileronError(f"{inline(name)}: {error.title}", error.detail, error.hint)
            yield found
            if found.older is None:
                return
            before = found.older

    def sample(self, days: int) -> HistoryPage:
        """The requests of the last `days` days, at most one large page. Sources do not report totals."""
        since = utc_now() - timedelta(days=days)
        return self.page({"since": f"{since:%Y-%m-%dT%H:%M:%SZ}"}, limit=LARGEST_PAGE)

    def record(self, source: str, id_: str) -> SourcedRecord | None:
        """One request as it is now, or None if it cannot be read."""
        found = self._sources().get(source)
        try:
            return read_record(found.past(id_).get("request"), source) if found is not None else None
        except AileronError:
            return None

    def own_decisions(self, signer: str) -> tuple[SourcedRecord, ...]:
        """The last decisions signed with this key at any source, the last one first."""
        page = self.newest({"signer": signer}, OWN_DECISIONS * max(1, len(self._sources())))
        return tuple(sorted(page.requests, key=lambda record: record.decided, reverse=True)[:OWN_DECISIONS])

    def look_up(self, record: SourcedRecord) -> tuple[ShownPrompt, Request | None]:
        """What was shown for a request, from the source's memory or the ledger, else a note on where to find it."""
        source = self._sources().get(record.source)
        try:
            if source is None:
                raise _not_connected()
            try:
                request = source.item(record.id)
            except NotFound:
                pass
            else:
                shown = replace(shown_in_request(request), alerted=_alerted(source, record.id))
                return shown, replace(request, source=record.source)
            return shown_in_ledger(source.past(record.id)), None
        except NotFound:
            id_ = short(record.id, 80)
            return ShownPrompt(note=f"The prompt is in the ledger: aileron-tui history show {id_}"), None
        except AileronError as error:
            return ShownPrompt(note=f"The prompt cannot be loaded now: {inline(error.title)}"), None


def _alerted(source: HistorySource, id_: str) -> str:
    """Who was alerted to a request that its source still holds; "" if that is not known."""
    try:
        return alerted_in_ledger(source.past(id_))
    except AileronError:
        return ""


def _not_connected() -> AileronError:
    return NoGate("not connected", hint="Reconnecting…")


def _fetch(
    source: HistorySource | None, name: str, query: Query, older: int | None, limit: int
) -> Callable[[], HistoryPage]:
    def fetch() -> HistoryPage:
        if source is None:
            raise _not_connected()
        before: Query = {} if older is None else {"before": older}
        return read_page(source.history(**query, **before, limit=limit), name)

    return fetch


def _fetch_all(
    fetches: Mapping[str, Callable[[], HistoryPage]], seconds: float | None
) -> dict[str, HistoryPage | AileronError]:
    """The replies by source. All sources are asked at the same time and have `seconds` to reply."""
    queue: SimpleQueue[tuple[str, HistoryPage | AileronError]] = SimpleQueue()
    for name, fetch in fetches.items():
        # Daemon threads: a source that never replies must not keep the program alive.
        work = partial(_put_reply, queue, name, fetch)
        threading.Thread(target=work, name=f"history {name}", daemon=True).start()
    replies: dict[str, HistoryPage | AileronError] = {}
    end = None if seconds is None else monotonic() + seconds
    while len(replies) < len(fetches):
        try:
            name, reply = queue.get(timeout=None if end is None else max(0.0, end - monotonic()))
        except Empty:
            late = NoReply("no reply yet")
            return {name: replies.get(name, late) for name in fetches}
        replies[name] = reply
    return replies


def _put_reply(
    queue: "SimpleQueue[tuple[str, HistoryPage | AileronError]]", name: str, fetch: Callable[[], HistoryPage]
) -> None:
    queue.put((name, _reply(fetch)))


def _reply(fetch: Callable[[], HistoryPage]) -> HistoryPage | AileronError:
    try:
        return fetch()
    except AileronError as error:
        return error
    except Exception as error:  # noqa: BLE001  # the thread that waits for a reply must get one
        return AileronError("cannot read the history", f"{type(error).__name__}: {error}")


def _merge(places: Mapping[str, _SourcePlace], limit: int) -> tuple[list[SourcedRecord], dict[str, _SourcePlace]]:
    """The newest of the fetched records, those of each source in its own order, and the places after them."""
    used = dict.fromkeys(places, 0)
    shown: list[SourcedRecord] = []
    while len(shown) < limit:
        first = {name: places[name].fetched[at] for name, at in used.items() if at < len(places[name].fetched)}
        if not first:
            break
        name = max(first, key=lambda name: _asked_at(first[name]))
        shown.append(first[name])
        used[name] += 1
    return shown, {name: replace(place, fetched=place.fetched[used[name] :]) for name, place in places.items()}


def _asked_at(record: SourcedRecord) -> float:
    """When the request was made. One with an unreadable time comes first, so that it does not block older ones."""
    at = parse_local_time(record.asked)
    return at.timestamp() if at else float("inf")

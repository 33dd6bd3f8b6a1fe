"""Loads pages of the history in threads, so that the history screen never waits for a source."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeAlias

from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer

from aileron_tui.console.timers import call_after
from aileron_tui.core.errors import AileronError
from aileron_tui.core.times import utc_now
from aileron_tui.runtime.errors import NoGate, NoReply
from aileron_tui.surface.history_query import HistoryQuery, Query, SearchError
from aileron_tui.surface.history_reader import LARGEST_PAGE, PAGE_SIZE, HistoryReader
from aileron_tui.surface.history_records import HistoryPage, SourcedRecord

if TYPE_CHECKING:
    from aileron_tui.runtime.source_events import SourceEvent

RETRY_SECONDS: Final = 5.0
UPDATE_SECONDS: Final = 1.0
MAX_LOOKUPS: Final = 20
"""How many requests that are not on the newest page are looked up in one update."""

RequestKey: TypeAlias = tuple[str, str]
"""The source and the id of a request."""


class PageLoaded(Message):
    """A page of the history is loaded."""

    def __init__(self, search: int, page: HistoryPage, *, first: bool) -> None:
        super().__init__()
        self.search = search
        self.page = page
        self.first = first


class PageFailed(Message):
    """A page of the history could not be loaded."""

    def __init__(self, search: int, error: AileronError, *, first: bool) -> None:
        super().__init__()
        self.search = search
        self.error = error
        self.first = first


class PageUpdated(Message):
    """Requests were made or changed while the history is open: the newest page, and requests that are not on it.

    `has_gap` means that there may be requests between the page and those that are listed.
    """

    def __init__(self, search: int, page: HistoryPage, changed: Sequence[SourcedRecord], *, has_gap: bool) -> None:
        super().__init__()
        self.search = search
        self.page = page
        self.changed = changed
        self.has_gap = has_gap


class HistoryLoader:
    """Loads the results of the history screen's search page by page.

    Posts `PageLoaded`, `PageFailed` or `PageUpdated` to the screen, and calls `state_changed` when a load starts or
    cannot start. `listed` returns the requests on the list.
    """

    def __init__(
        self,
        screen: Screen[None],
        reader: HistoryReader,
        state_changed: Callable[[], None],
        listed: Callable[[], Iterable[RequestKey]],
    ) -> None:
        self._screen = screen
        self._reader = reader
        self._state_changed = state_changed
        self._listed = listed
        self._search = 0
        self._older: int | None = None
        self._retry: Timer | None = None
        self._update: Timer | None = None
        self._updated_at = 0.0
        self._changed: set[RequestKey] = set()
        self.query = HistoryQuery()
        self.is_loading = False
        self.error: AileronError | None = None
        self.incomplete: Mapping[str, AileronError] = {}

    @property
    def has_older(self) -> bool:
        """Whether there are older requests that are not loaded."""
        return self._older is not None

    def search(self, query: HistoryQuery) -> None:
        """Starts a new search."""
        self.query, self.error = query, None
        self.load(first=True)

    def load(self, *, first: bool) -> None:
        """Loads the newest page, or the next older one."""
        try:
            query = self.query.query(utc_now())
        except SearchError as error:
            self.error = error
            self._state_changed()
            return
        if first:
            self._search += 1
        self.is_loading = True
        if self._retry:
            self._retry.stop()
        self._state_changed()
        self._screen.run_worker(
            partial(self._load_in_thread, self._search, query, None if first else self._older),
            group="pages",
            exit_on_error=False,
            thread=True,
        )

    def load_older(self) -> None:
        """Loads the next page if there is one, nothing is loading, and there was no error."""
        if self.has_older and not self.is_loading and self.error is None:
            self.load(first=False)

    def events_received(self, events: "Sequence[SourceEvent]") -> None:
        """Updates the list soon. What changed while a source was not connected is not in its events."""
        if any(event.name != "health" for event in events):
            requests = (request for event in events if event.name != "snapshot" for request in event.requests)
            self.update((request.source, request.id) for request in requests)

    def update(self, changed: Iterable[RequestKey]) -> None:
        """Loads what is new, and these requests if they are listed, soon, at most once in UPDATE_SECONDS."""
        self._changed.update(changed)
        if self._update is None:
            wait = self._updated_at + UPDATE_SECONDS - monotonic()
            self._update = call_after(self._screen, max(0.0, wait), self._load_update)

    def _load_update(self) -> None:
        self._update, self._updated_at = None, monotonic()
        changed, self._changed = self._changed, set()
        try:
            query = self.query.query(utc_now())
        except SearchError:
            return
        listed = frozenset(self._listed())
        self._screen.run_worker(
            partial(self._update_in_thread, self._search, query, listed, listed & changed),
            group="updates",
            exit_on_error=False,
            thread=True,
        )

    def _update_in_thread(
        self, search: int, query: Query, listed: frozenset[RequestKey], changed: frozenset[RequestKey]
    ) -> None:
        try:
            page = self._reader.newest(query)
            if has_gap := _has_gap(page, PAGE_SIZE, listed):
                page = self._reader.newest(query, LARGEST_PAGE)
                has_gap = _has_gap(page, LARGEST_PAGE, listed)
        except AileronError:
            return  # a lost connection is shown elsewhere, and the next change loads everything that is new
        others = changed - {record.key for record in page.requests}
        found = [self._reader.record(*key) for key in sorted(others)[:MAX_LOOKUPS]]
        self._screen.post_message(PageUpdated(search, page, [record for record in found if record], has_gap=has_gap))

    def is_current(self, event: PageUpdated) -> bool:
        """Whether an update belongs to the search on screen."""
        return event.search == self._search and self.error is None

    def _load_in_thread(self, search: int, query: Query, before: int | None) -> None:
        try:
            page = self._reader.page(query, before)
        except AileronError as error:
            self._screen.post_message(PageFailed(search, error, first=before is None))
        else:
            self._screen.post_message(PageLoaded(search, page, first=before is None))

    def finish(self, event: PageLoaded) -> bool:
        """Records that a page is loaded; returns False if another search was started since."""
        if event.search != self._search:
            return False
        self.is_loading = False
        self.error = None
        self.incomplete = event.page.missing
        self._older = event.page.older
        return True

    def fail(self, event: PageFailed) -> bool:
        """Records an error; retries if there was no connection. Returns False if another search was started since."""
        if event.search != self._search:
            return False
        self.is_loading = False
        self.error = event.error
        if isinstance(event.error, NoGate | NoReply):
            self._retry = call_after(self._screen, RETRY_SECONDS, lambda: self.load(first=event.first))
        return True


def _has_gap(page: HistoryPage, limit: int, listed: frozenset[RequestKey]) -> bool:
    """Whether a full page ends before the requests that are listed. One that is not full has everything there is."""
    full = len(page.requests) >= limit
    return bool(full and listed and listed.isdisjoint(record.key for record in page.requests))

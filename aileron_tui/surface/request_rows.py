"""The rows of the list of requests: one for each request, or for several identical ones."""

from collections.abc import Callable, Iterable, Mapping

from aileron_tui.core.request import Request
from aileron_tui.core.request_queue import Arrived, Changed, EditApproved, Forgotten, QueueEvent, Snapshot
from aileron_tui.surface.row_folding import RowFolding


class RequestRows:
    """Computes the rows when they are needed, and adds new requests at the end without computing them again."""

    def __init__(self) -> None:
        self._folding = RowFolding()
        self._rows: list[str] | None = None
        self._folded: dict[str, tuple[str, ...]] = {}
        self._row_keys: dict[str, str] = {}

    @property
    def is_current(self) -> bool:
        """Whether the rows do not have to be computed again."""
        return self._rows is not None

    def note_events(
        self, events: Iterable[QueueEvent], before: Mapping[str, Request], after: Mapping[str, Request]
    ) -> None:
        """These events changed the requests."""
        for key in _changed_keys(events, before, after):
            if (request := after.get(key)) is not before.get(key):
                self._folding.note(key, request)

    def reset(self) -> None:
        """The list of requests is different now."""
        self._rows = None

    def pill_changed(self, key: str) -> None:
        """What is shown about the state of a request changed."""
        if self._folding.pill_changed(key):
            self._rows = None

    def open(self, key: str, *, opened: bool) -> bool:
        """Gives identical requests a row each, or one row again; returns whether that changed anything."""
        changed = self._folding.open(key, opened=opened)
        if changed:
            self._rows = None
        return changed

    def compute(self, keys: list[str], requests: Mapping[str, Request], pill: Callable[[str], str]) -> list[str]:
        """The first request of each row, from the keys of all listed requests in order."""
        if self._rows is None:
            self._folded = self._folding.fold(keys, requests, pill) if self._folding.identical else {}
            self._row_keys = {key: first for first, row in self._folded.items() for key in row[1:]}
            self._rows = [key for key in keys if key not in self._row_keys] if self._row_keys else [*keys]
        return self._rows

    def append(self, keys: Iterable[str], requests: Mapping[str, Request], pill: Callable[[str], str]) -> None:
        """Adds new requests below the last row, or to it."""
        rows = [*(self._rows or ())]
        for key in keys:
            row = self._folded.get(rows[-1], (rows[-1],)) if rows else ()
            if row and self._folding.joins(row, key, requests, pill):
                self._folded[row[0]] = (*row, key)
                self._row_keys[key] = row[0]
            else:
                rows.append(key)
        self._rows = rows

    def first(self, key: str) -> str:
        """The first request of the row that a request is in."""
        return self._row_keys.get(key, key)

    def all(self, key: str) -> tuple[str, ...]:
        """All requests of the row that a request is in."""
        return self._folded.get(self.first(key), (key,))


def _changed_keys(
    events: Iterable[QueueEvent], before: Mapping[str, Request], after: Mapping[str, Request]
) -> Iterable[str]:
    """The keys of the requests that these events may have changed."""
    keys: dict[str, None] = {}
    for event in events:
        match event:
            case Snapshot():
                return before.keys() | after.keys()
            case Arrived(request) | Changed(request) | EditApproved(request):
                keys[request.key] = None
            case Forgotten(key):
                keys[key] = None
    return keys

"""What happens to requests at other surfaces: who is reading them there, and who answered first."""

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from aileron_tui.core.request import request_key
from aileron_tui.core.surface_words import FirstAnswer, Reader

if TYPE_CHECKING:
    from aileron_tui.runtime.source_events import SourceEvent


class OtherSurfaces:
    """The readers and first answers of requests, by the key of each request.

    A gate reports the readers at this surface too. `own` has the requests that this surface has reported as read, and
    `surface` and `name` are how the gate lists it. Of several readers at a surface like this one, the one with this
    name is taken for this surface itself.
    """

    def __init__(self, surface: str = "console", name: str = "") -> None:
        self.surface = surface
        self.name = name
        self.own: Collection[str] = frozenset()
        self._readers: dict[str, tuple[Reader, ...]] = {}
        self._first: dict[str, FirstAnswer] = {}

    def receive(self, events: "Iterable[SourceEvent]") -> None:
        """Notes what sources report about other surfaces."""
        for event in events:
            if event.name == "snapshot":
                self.source_lost(event.source)
            for id_, readers in (event.readers or {}).items():
                self._note_readers(request_key(event.source, id_), readers)
            if answer := event.first_answer:
                self._first[request_key(event.source, event.about)] = answer

    def _note_readers(self, key: str, readers: tuple[Reader, ...]) -> None:
        if readers:
            self._readers[key] = readers
        else:
            self._readers.pop(key, None)

    def source_lost(self, source: str) -> None:
        """Nobody knows any more who reads the requests of a source."""
        prefix = request_key(source, "")  # empty if there is only one source
        self._readers = {key: readers for key, readers in self._readers.items() if not key.startswith(prefix)}

    def keep(self, requests: Mapping[str, object]) -> None:
        """Forgets all requests but these."""
        for known in (self._readers, self._first):
            for key in [key for key in known if key not in requests]:
                del known[key]

    def readers(self, key: str) -> tuple[Reader, ...]:
        """Who reads a request at other surfaces."""
        readers = self._readers.get(key, ())
        if not readers or key not in self.own:
            return readers
        alike = [reader for reader in readers if reader.surface == self.surface]
        own = next((reader for reader in alike if reader.name == self.name), alike[0] if alike else None)
        return tuple(reader for reader in readers if reader is not own)

    def first(self, key: str) -> FirstAnswer | None:
        """Where and by whom a request was answered, None if that is not known."""
        return self._first.get(key)

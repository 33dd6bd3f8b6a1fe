"""Which requests this surface calls attention to: those that it is alerted to, and those that nobody is alerted to.

A gate decides whom to alert and tells every surface. Other sources leave that to their surfaces. A request that nobody
was alerted to, because nobody seems to be anywhere, is announced wherever there is a surface: it may be heard.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from aileron_tui.core.request import Request, request_key

if TYPE_CHECKING:
    from aileron_tui.runtime.source_events import SourceEvent


class RequestAlerts:
    """The requests that wait quietly here, and whether another surface was alerted to each; all others were announced.

    `routed` has the names of the sources whose alerts are decided elsewhere.
    """

    def __init__(self, surface: str = "console") -> None:
        self.routed: set[str] = set()
        self._surface = surface
        self._quiet: dict[str, bool] = {}

    def receive(self, events: "Iterable[SourceEvent]", new: Iterable[str], requests: Mapping[str, Request]) -> int:
        """Notes what sources reported; returns how many requests to announce now."""
        events = tuple(events)
        for event in events:
            if event.name == "snapshot" and event.readers is not None:
                self.routed.add(event.source)
        count = 0
        for key in new:
            if requests[key].source in self.routed or requests[key].daemon:
                self._quiet.setdefault(key, False)
            else:
                count += 1
        for event in events:
            key = request_key(event.source, event.about)
            if event.alerted:
                count += self._alerted(event, (key, *self._others(event, key)), requests)
            elif event.data.get("reminder") is True:
                count += not self._quiet.get(key, False)
        self._keep(requests)
        return count

    def _alerted(self, event: "SourceEvent", keys: Iterable[str], requests: Mapping[str, Request]) -> int:
        if event.alerted == self._surface:
            return sum(self.alerted_here(key, requests) for key in keys)
        for key in keys:
            self.alerted_elsewhere(key)
        return 0

    def _others(self, event: "SourceEvent", first: str) -> list[str]:
        """The requests that an alert stands for besides the one it names: it has only their number."""
        more = event.data.get("more")
        prefix = request_key(event.source, "")
        unclaimed = (key for key, elsewhere in self._quiet.items() if not elsewhere and key != first)
        own = (key for key in unclaimed if key.startswith(prefix))
        return list(islice(own, more)) if isinstance(more, int) and more > 0 else []

    def alerted_here(self, key: str, requests: Mapping[str, Request]) -> bool:
        """This surface is alerted to a request; returns whether it waits."""
        self._quiet.pop(key, None)
        return _waits(key, requests)

    def alerted_elsewhere(self, key: str) -> None:
        """Another surface is alerted to a request."""
        if key in self._quiet:
            self._quiet[key] = True

    def take_unclaimed(self, requests: Mapping[str, Request]) -> int:
        """How many requests nobody was alerted to; they count as announced from now on."""
        self._keep(requests)
        unclaimed = [key for key, elsewhere in self._quiet.items() if not elsewhere and not requests[key].fetching]
        for key in unclaimed:
            del self._quiet[key]
        return len(unclaimed)

    @property
    def has_unclaimed(self) -> bool:
        """Whether there are requests that nobody was alerted to so far."""
        return not all(self._quiet.values())

    @property
    def quiet_count(self) -> int:
        """How many requests wait here without having been announced."""
        return len(self._quiet)

    def _keep(self, requests: Mapping[str, Request]) -> None:
        ended = [key for key in self._quiet if not _waits(key, requests)]
        for key in ended:
            del self._quiet[key]


def _waits(key: str, requests: Mapping[str, Request]) -> bool:
    request = requests.get(key)
    return request is not None and request.state.decidable

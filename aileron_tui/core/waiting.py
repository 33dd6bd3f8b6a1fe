"""The list of requests a console shows, as a value: `apply(queue, event)` gives the next one.

Workers post what happened; nothing else changes the queue. An order of arrival that the network shuffled (a state
before its request, a request twice, an old snapshot) must not lose or revive anything. A source that puts in order
itself what it hears is `certain`: what it says waits does wait, even if it was told to have ended. Several sources may
tell of requests: each speaks of its own only, and what it says of another's is not heard.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from aileron_tui.core.states import RequestState
from aileron_tui.core.values import dataclass

if TYPE_CHECKING:
    from aileron_tui.core.prompt import Prompt

_NOTHING: Final[Mapping[str, "Request"]] = MappingProxyType({})
_HEARD: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Request:
    """One gated call as the operator sees it; its id is unique over all sources.

    `revision` grows with each change its gate makes to it. `unseen` means that it was no longer among what waits, and
    nobody has told what became of it.
    """

    id: str
    prompt: "Prompt"
    requested_at: str
    expires_at: str = ""
    state: RequestState = RequestState.PENDING
    note: str = ""
    revision: int = 0
    source: str = ""
    unseen: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that waits, as this source has it now."""

    waiting: tuple[Request, ...]
    source: str = ""
    certain: bool = False


@dataclass(frozen=True, slots=True)
class Arrived:
    """A request began to wait, or waits with a new prompt."""

    request: Request
    certain: bool = False


@dataclass(frozen=True, slots=True)
class Changed:
    """A request moved on; `note` says why, where there is something to say."""

    id: str
    state: RequestState
    note: str = ""
    source: str = ""
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A request that no longer waits was dismissed from the list."""

    id: str


@dataclass(frozen=True, slots=True)
class Lost:
    """The source cannot be heard since this time: what is shown of it may be out of date."""

    since: str
    source: str = ""


Event: TypeAlias = Snapshot | Arrived | Changed | Forgotten | Lost


@dataclass(frozen=True, slots=True)
class Queue:
    """Requests by id, in the order of asking. `stale` has the sources that cannot be heard, and since when."""

    requests: Mapping[str, Request] = field(default_factory=lambda: _NOTHING)
    stale: Mapping[str, str] = field(default_factory=lambda: _HEARD)

    @property
    def waiting(self) -> tuple[Request, ...]:
        """The requests that can be answered, oldest first."""
        return tuple(request for request in self.requests.values() if request.state.decidable)


def apply(queue: Queue, event: Event) -> Queue:
    """The queue after an event. Never raises: an event that makes no sense changes nothing."""
    return apply_all(queue, (event,))


def apply_all(queue: Queue, events: Iterable[Event]) -> Queue:
    """The queue after several events, at the cost of one copy."""
    requests = dict(queue.requests)
    stale = dict(queue.stale)
    for event in events:
        match event:
            case Snapshot():
                requests = _replaced(requests, event)
                stale.pop(event.source, None)
            case Arrived(request, certain):
                _arrive(requests, request, certain=certain)
            case Changed():
                _change(requests, event)
            case Forgotten(id=gone):
                if gone in requests and not requests[gone].state.decidable:
                    del requests[gone]
            case Lost(since, source):
                stale.setdefault(source, since)
    return Queue(MappingProxyType(requests), MappingProxyType(stale))


def _replaced(requests: dict[str, Request], snapshot: Snapshot) -> dict[str, Request]:
    """What waits comes from the snapshot; what was answered stays in view; what vanished unseen is withdrawn.

    Only a certain snapshot brings back what was answered.
    """
    source = snapshot.source
    waiting = {
        request.id: request for request in snapshot.waiting if request.state.decidable and request.source == source
    }
    kept: dict[str, Request] = {}
    for id_, request in requests.items():
        told = waiting.get(id_)
        ended = not (request.state.decidable or request.unseen)
        if request.source != source or (ended and (told is None or not snapshot.certain)):
            kept[id_] = request
        elif told is not None:
            kept[id_] = _newer(request, told) if request.state.decidable else told
        else:
            kept[id_] = replace(request, state=RequestState.WITHDRAWN, note="", unseen=True)
    arrivals = [request for id_, request in waiting.items() if id_ not in kept]
    merged = kept | {request.id: request for request in arrivals}
    if not arrivals:
        return merged
    return dict(sorted(merged.items(), key=lambda item: (item[1].requested_at, item[0])))


def _arrive(requests: dict[str, Request], request: Request, *, certain: bool) -> None:
    known = requests.get(request.id)
    if known is None:
        requests[request.id] = request
    elif known.source == request.source and known.state.decidable:
        requests[request.id] = _newer(known, request)
    elif known.source == request.source and certain:
        requests[request.id] = request


def _newer(known: Request, told: Request) -> Request:
    return told if told.revision >= known.revision else known


def _change(requests: dict[str, Request], change: Changed) -> None:
    known = requests.get(change.id)
    if known is None or known.source != change.source or change.state.decidable:
        return
    further = _ORDER[change.state] - _ORDER[known.state]
    # The same step again may say something else about it. What was only missed is known once it is told.
    again = further == 0 and not known.state.final and change.revision >= known.revision
    if further > 0 or again or known.unseen:
        revision = max(known.revision, change.revision)
        requests[change.id] = replace(known, state=change.state, note=change.note, revision=revision, unseen=False)


_ORDER: Final = {
    RequestState.PENDING: 0,
    RequestState.APPROVED: 1,
    RequestState.RUNNING: 2,
    RequestState.EXECUTED: 3,
    RequestState.FAILED: 3,
    RequestState.DENIED: 3,
    RequestState.EXPIRED: 3,
    RequestState.WITHDRAWN: 3,
    RequestState.INTERRUPTED: 3,
}

"""The requests that a surface shows, as an immutable queue: `apply(queue, event)` returns the next queue.

Workers post events, and nothing else changes the queue. Events that arrive out of order (a state before its request, a
request twice, an old snapshot) must neither lose a request nor bring one back. A source that orders its own events is
`certain`: a request that it lists as waiting does wait, even if it was reported as ended before. With several sources,
each can change only its own requests; events about those of another source are ignored.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import Final, TypeAlias, TypeVar

from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from aileron_tui.core.values import dataclass

_Value = TypeVar("_Value")

_NO_REQUESTS: Final[Mapping[str, Request]] = MappingProxyType({})
_NONE_STALE: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All requests that wait at a source now."""

    waiting: tuple[Request, ...]
    source: str = ""
    certain: bool = False


@dataclass(frozen=True, slots=True)
class Arrived:
    """A request is waiting, either newly or with a new prompt."""

    request: Request
    certain: bool = False


@dataclass(frozen=True, slots=True)
class Changed:
    """A request reached another state."""

    request: Request


@dataclass(frozen=True, slots=True)
class EditApproved:
    """An edited call was approved here; the request shows the edited prompt from now on."""

    request: Request


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A request that no longer waits is removed from the list."""

    key: str


@dataclass(frozen=True, slots=True)
class Lost:
    """The source has been unreachable since this time, so its requests may be out of date."""

    since: str
    source: str = ""


QueueEvent: TypeAlias = Snapshot | Arrived | Changed | EditApproved | Forgotten | Lost


@dataclass(frozen=True, slots=True)
class Queue:
    """Requests by key, oldest first. `stale` maps each unreachable source to the time its connection was lost.

    Nothing can be changed through a queue. It does not copy what it is made from, because one is made for every frame.
    """

    requests: Mapping[str, Request] = field(default_factory=lambda: _NO_REQUESTS)
    stale: Mapping[str, str] = field(default_factory=lambda: _NONE_STALE)

    def __post_init__(self) -> None:
        object.__setattr__(self, "requests", _read_only(self.requests))
        object.__setattr__(self, "stale", _read_only(self.stale))

    @property
    def waiting(self) -> tuple[Request, ...]:
        """The requests that can be answered, oldest first."""
        return tuple(request for request in self.requests.values() if request.state.decidable)


def apply(queue: Queue, event: QueueEvent) -> Queue:
    """The queue after an event. Never raises: an event that does not apply changes nothing."""
    return apply_all(queue, (event,))


def apply_all(queue: Queue, events: Iterable[QueueEvent]) -> Queue:
    """The queue after several events, copied only once."""
    requests = dict(queue.requests)
    stale = dict(queue.stale)
    for event in events:
        match event:
            case Snapshot():
                requests = _replaced(requests, event)
                stale.pop(event.source, None)
            case Arrived(request, certain):
                _arrive(requests, request, certain=certain)
            case Changed(request):
                _change(requests, request)
            case EditApproved(request):
                if request.key in requests:
                    requests[request.key] = request
            case Forgotten(key):
                if key in requests and not requests[key].state.decidable:
                    del requests[key]
            case Lost(since, source):
                stale.setdefault(source, since)
    return Queue(requests, stale)


def _read_only(mapping: Mapping[str, _Value]) -> Mapping[str, _Value]:
    return mapping if isinstance(mapping, MappingProxyType) else MappingProxyType(mapping)


def _replaced(requests: dict[str, Request], snapshot: Snapshot) -> dict[str, Request]:
    """Takes waiting requests from the snapshot, keeps answered ones, and marks those it does not list as vanished.

    Only a certain snapshot can make an answered request wait again.
    """
    source = snapshot.source
    waiting = {
        request.key: request for request in snapshot.waiting if request.state.decidable and request.source == source
    }
    kept: dict[str, Request] = {}
    for key, request in requests.items():
        listed = waiting.get(key)
        ended = not (request.state.decidable or request.vanished)
        if request.source != source or (ended and (listed is None or not snapshot.certain)):
            kept[key] = request
        elif listed is not None:
            kept[key] = _newer(request, listed) if request.state.decidable else listed
        else:
            kept[key] = replace(request, state=RequestState.WITHDRAWN, reason="", vanished=True)
    arrivals = {key: request for key, request in waiting.items() if key not in kept}
    if not arrivals:
        return kept
    return dict(sorted((kept | arrivals).items(), key=lambda pair: (pair[1].requested_at, pair[0])))


def _arrive(requests: dict[str, Request], request: Request, *, certain: bool) -> None:
    known = requests.get(request.key)
    if known is None:
        requests[request.key] = request
    elif known.source == request.source and known.state.decidable:
        requests[request.key] = _newer(known, request)
    elif known.source == request.source and certain:
        requests[request.key] = request


def _newer(known: Request, other: Request) -> Request:
    return other if other.revision >= known.revision else known


def _change(requests: dict[str, Request], change: Request) -> None:
    known = requests.get(change.key)
    if known is None or known.source != change.source or change.state.decidable:
        return
    progress = _ORDER[change.state] - _ORDER[known.state]
    newer = _newer(known, change)
    # The same state may be reported again with another reason, unless it is final. A vanished request takes any state.
    repeated = progress == 0 and not known.state.final and newer is change
    if progress > 0 or repeated or known.vanished:
        revision = max(known.revision, change.revision)
        requests[change.key] = replace(
            newer, state=change.state, reason=change.reason, revision=revision, vanished=False
        )
    elif change.state is known.state and newer is change:
        requests[change.key] = replace(change, reason=known.reason)  # the details of a final state may arrive later


_ORDER: Final = {
    RequestState.PENDING: 0,
    RequestState.APPROVED: 1,
    RequestState.RUNNING: 2,
    RequestState.HANDED_OVER: 2,
    RequestState.EXECUTED: 3,
    RequestState.FAILED: 3,
    RequestState.DENIED: 3,
    RequestState.EXPIRED: 3,
    RequestState.WITHDRAWN: 3,
    RequestState.INTERRUPTED: 3,
    RequestState.UNKNOWN: 3,
}

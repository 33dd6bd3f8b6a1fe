"""The list of requests a console shows, as a value: `apply(queue, event)` gives the next one.

Workers post what happened; nothing else changes the queue. An order of arrival that the network shuffled (a state
before its request, a request twice, an old snapshot) must not lose or revive anything.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, TypeAlias

from aileron_tui.core.prompt import Prompt
from aileron_tui.core.states import State

_NOTHING: Final[Mapping[str, "Request"]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Request:
    """One gated call as the operator sees it. `revision` grows with each change its gate makes to it."""

    id: str
    prompt: Prompt
    requested_at: str
    expires_at: str = ""
    state: State = State.PENDING
    note: str = ""
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that waits, as the gate has it now."""

    waiting: tuple[Request, ...]


@dataclass(frozen=True, slots=True)
class Arrived:
    """A request began to wait, or waits with a new prompt."""

    request: Request


@dataclass(frozen=True, slots=True)
class Changed:
    """A request moved on; `note` says why, where there is something to say."""

    id: str
    state: State
    note: str = ""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A request that no longer waits was dismissed from the list."""

    id: str


@dataclass(frozen=True, slots=True)
class Lost:
    """The gate cannot be heard since this time: what is shown may be out of date."""

    since: str


Event: TypeAlias = Snapshot | Arrived | Changed | Forgotten | Lost


@dataclass(frozen=True, slots=True)
class Queue:
    """Requests by id, in the order of asking. `stale_since` is set while the gate cannot be heard."""

    requests: Mapping[str, Request] = field(default_factory=lambda: _NOTHING)
    stale_since: str = ""

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
    stale_since = queue.stale_since
    for event in events:
        match event:
            case Snapshot():
                requests = _replaced(requests, event)
                stale_since = ""
            case Arrived(request):
                _arrive(requests, request)
            case Changed():
                _change(requests, event)
            case Forgotten(id=gone):
                if gone in requests and not requests[gone].state.decidable:
                    del requests[gone]
            case Lost(since):
                stale_since = stale_since or since
    return Queue(MappingProxyType(requests), stale_since)


def _replaced(requests: dict[str, Request], snapshot: Snapshot) -> dict[str, Request]:
    """What waits comes from the snapshot; what was answered stays in view; what vanished unseen is withdrawn."""
    waiting = {request.id: request for request in snapshot.waiting if request.state.decidable}
    kept: dict[str, Request] = {}
    for id_, request in requests.items():
        if not request.state.decidable:
            kept[id_] = request
        elif id_ not in waiting:
            kept[id_] = replace(request, state=State.WITHDRAWN, note="no longer waiting; the answer was not seen here")
        else:
            kept[id_] = _newer(request, waiting[id_])
    arrivals = [request for id_, request in waiting.items() if id_ not in kept]
    merged = kept | {request.id: request for request in arrivals}
    if not arrivals:
        return merged
    return dict(sorted(merged.items(), key=lambda item: (item[1].requested_at, item[0])))


def _arrive(requests: dict[str, Request], request: Request) -> None:
    known = requests.get(request.id)
    if known is None:
        requests[request.id] = request
    elif known.state.decidable:
        requests[request.id] = _newer(known, request)


def _newer(known: Request, told: Request) -> Request:
    return told if told.revision >= known.revision else known


def _change(requests: dict[str, Request], change: Changed) -> None:
    known = requests.get(change.id)
    if known is None or known.state.final or _ORDER[change.state] <= _ORDER[known.state]:
        return
    requests[change.id] = replace(known, state=change.state, note=change.note)


_ORDER: Final = {
    State.PENDING: 0,
    State.APPROVED: 1,
    State.RUNNING: 2,
    State.EXECUTED: 3,
    State.FAILED: 3,
    State.DENIED: 3,
    State.EXPIRED: 3,
    State.WITHDRAWN: 3,
    State.INTERRUPTED: 3,
}

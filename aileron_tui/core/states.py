"""The states of a request and the transitions between them. Every other transition is refused."""

from enum import StrEnum
from typing import Final

from aileron_tui.core.errors import AileronError

LONGEST_TIMEOUT: Final = 300
"""The longest time that a request waits, in seconds, unless an approver extends it. A manifest cannot."""


class RequestState(StrEnum):
    """The state of a request.

    `HANDED_OVER` means that the agent's own program was allowed to execute a tool call; it may report how that ended.
    `UNKNOWN` is the end of an op that may have taken effect, because the reply to something it sent was lost, late or
    unreadable, or of a tool call that was interrupted. `INTERRUPTED` is found after a crash.
    """

    PENDING = "pending"
    APPROVED = "approved"
    RUNNING = "running"
    HANDED_OVER = "handed over"
    EXECUTED = "executed"
    FAILED = "failed"
    DENIED = "denied"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"

    @property
    def final(self) -> bool:
        """Whether no other state can follow."""
        return not any(before is self for before, _ in _NEXT)

    @property
    def settled(self) -> bool:
        """Whether nothing more is to be awaited: the request has ended, or was handed over to the agent's program."""
        return self.final or self is RequestState.HANDED_OVER

    @property
    def decidable(self) -> bool:
        """Whether the request can still be answered."""
        return self is RequestState.PENDING


class RequestEvent(StrEnum):
    """Something that happens to a request and may change its state."""

    ASK = "ask"
    EXTEND = "extend"
    APPROVE = "approve"
    DENY = "deny"
    EXPIRE = "expire"
    WITHDRAW = "withdraw"
    START = "start"
    HAND_OVER = "hand over"
    SUCCEED = "succeed"
    FAIL = "fail"
    INTERRUPT = "interrupt"
    END_UNKNOWN = "end without a known outcome"


_NEXT: Final[dict[tuple[RequestState | None, RequestEvent], RequestState]] = {
    (None, RequestEvent.ASK): RequestState.PENDING,
    (RequestState.PENDING, RequestEvent.EXTEND): RequestState.PENDING,
    (RequestState.PENDING, RequestEvent.APPROVE): RequestState.APPROVED,
    (RequestState.PENDING, RequestEvent.DENY): RequestState.DENIED,
    (RequestState.PENDING, RequestEvent.EXPIRE): RequestState.EXPIRED,
    (RequestState.PENDING, RequestEvent.WITHDRAW): RequestState.WITHDRAWN,
    (RequestState.APPROVED, RequestEvent.START): RequestState.RUNNING,
    (RequestState.APPROVED, RequestEvent.HAND_OVER): RequestState.HANDED_OVER,
    (RequestState.APPROVED, RequestEvent.WITHDRAW): RequestState.WITHDRAWN,
    (RequestState.HANDED_OVER, RequestEvent.SUCCEED): RequestState.EXECUTED,
    (RequestState.HANDED_OVER, RequestEvent.FAIL): RequestState.FAILED,
    (RequestState.HANDED_OVER, RequestEvent.END_UNKNOWN): RequestState.UNKNOWN,
    (RequestState.RUNNING, RequestEvent.SUCCEED): RequestState.EXECUTED,
    (RequestState.RUNNING, RequestEvent.FAIL): RequestState.FAILED,
    (RequestState.RUNNING, RequestEvent.INTERRUPT): RequestState.INTERRUPTED,
    (RequestState.RUNNING, RequestEvent.END_UNKNOWN): RequestState.UNKNOWN,
}


class InvalidTransition(AileronError):
    """An event that is not possible in the current state of the request, which is `state`."""

    def __init__(self, state: RequestState | None, event: RequestEvent) -> None:
        where = "a request that does not exist yet" if state is None else f"a request that is {state}"
        super().__init__(f"cannot {event} {where}")
        self.state = state
        self.event = event


def advance(state: RequestState | None, event: RequestEvent) -> RequestState:
    """The state after an event. `state` is None for a new request. Raises InvalidTransition."""
    after = _NEXT.get((state, event))
    if after is None:
        raise InvalidTransition(state, event)
    return after


_WIRE: Final = {
    RequestState.PENDING: ("pending_approval", ""),
    RequestState.APPROVED: ("running", ""),
    RequestState.RUNNING: ("running", ""),
    RequestState.HANDED_OVER: ("running", ""),
    RequestState.EXECUTED: ("completed", ""),
    RequestState.FAILED: ("failed", ""),
    RequestState.DENIED: ("denied", ""),
    RequestState.EXPIRED: ("failed", "approval_timeout"),
    RequestState.WITHDRAWN: ("failed", "withdrawn"),
    RequestState.INTERRUPTED: ("failed", "outcome_unknown"),
    RequestState.UNKNOWN: ("failed", "outcome_unknown"),
}


def on_the_wire(state: RequestState) -> tuple[str, str]:
    """The status of a state in Aileron's protocol, and a failure class that tells states with the same status apart."""
    return _WIRE[state]

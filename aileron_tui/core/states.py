"""The life of a request: which step may follow which. Anything not written here is refused."""

from enum import StrEnum
from typing import Final

from aileron_tui.core.errors import AileronError

LONGEST_TIMEOUT: Final = 300
"""Seconds after which nobody has answered, whatever a manifest says."""


class State(StrEnum):
    """Where a request stands."""

    PENDING = "pending"
    APPROVED = "approved"
    RUNNING = "running"
    EXECUTED = "executed"
    FAILED = "failed"
    DENIED = "denied"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    INTERRUPTED = "interrupted"

    @property
    def final(self) -> bool:
        """Whether nothing can follow."""
        return not any(before is self for before, _ in _NEXT)

    @property
    def decidable(self) -> bool:
        """Whether an answer is still possible."""
        return self is State.PENDING


class Event(StrEnum):
    """What happens to a request."""

    ASK = "ask"
    APPROVE = "approve"
    DENY = "deny"
    EXPIRE = "expire"
    WITHDRAW = "withdraw"
    START = "start"
    SUCCEED = "succeed"
    FAIL = "fail"
    INTERRUPT = "interrupt"


_NEXT: Final[dict[tuple[State | None, Event], State]] = {
    (None, Event.ASK): State.PENDING,
    (State.PENDING, Event.APPROVE): State.APPROVED,
    (State.PENDING, Event.DENY): State.DENIED,
    (State.PENDING, Event.EXPIRE): State.EXPIRED,
    (State.PENDING, Event.WITHDRAW): State.WITHDRAWN,
    (State.APPROVED, Event.START): State.RUNNING,
    (State.RUNNING, Event.SUCCEED): State.EXECUTED,
    (State.RUNNING, Event.FAIL): State.FAILED,
    (State.RUNNING, Event.INTERRUPT): State.INTERRUPTED,
}


class InvalidTransition(AileronError):
    """A step that cannot follow; `state` is where the request stands."""

    def __init__(self, state: State | None, event: Event) -> None:
        where = "a request that does not exist yet" if state is None else f"a request that is {state}"
        super().__init__(f"cannot {event} {where}")
        self.state = state
        self.event = event


def advance(state: State | None, event: Event) -> State:
    """The state after an event (None before the first), or InvalidTransition."""
    after = _NEXT.get((state, event))
    if after is None:
        raise InvalidTransition(state, event)
    return after


_WIRE: Final = {
    State.PENDING: ("pending_approval", ""),
    State.APPROVED: ("running", ""),
    State.RUNNING: ("running", ""),
    State.EXECUTED: ("completed", ""),
    State.FAILED: ("failed", ""),
    State.DENIED: ("denied", ""),
    State.EXPIRED: ("failed", "approval_timeout"),
    State.WITHDRAWN: ("failed", "withdrawn"),
    State.INTERRUPTED: ("failed", "outcome_unknown"),
}


def on_the_wire(state: State) -> tuple[str, str]:
    """The status Aileron's protocol has for a state, and the failure class that tells apart what it merges."""
    return _WIRE[state]

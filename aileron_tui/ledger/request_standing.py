"""Where a request stands, and what a runtime that carries it out itself may tell of it after that.

A request of a daemon is known by the text `daemon` in its `request.made`. Nothing of it is run here: how it goes on is
what the daemon says in `runtime.told`, whose body has

    outcome    one of OUTCOMES; `pending` means that it waits after all, so that our answer did not arrive
    elsewhere  whether somebody else gave the answer
    reason, error, at    text; `at` is a time as entries write it, or empty

An end that the daemon told is the end. An answer that was given here is not, until the daemon has said so.
`runtime.edited` may come after either; it says that the answer given elsewhere was to an edited call.
"""

from typing import Final

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import moment, timestamp
from aileron_tui.core.values import dataclass

ENDS: Final = frozenset(
    {RequestState.EXECUTED, RequestState.FAILED, RequestState.DENIED, RequestState.WITHDRAWN, RequestState.INTERRUPTED}
)
OUTCOMES: Final = ENDS | {RequestState.PENDING, RequestState.APPROVED, RequestState.RUNNING}
ANSWERED: Final = OUTCOMES - {RequestState.PENDING, RequestState.WITHDRAWN}
"""What can follow only when somebody has answered; the failure of a request that nobody answered is the exception."""


@dataclass(frozen=True, slots=True)
class RequestStanding:
    """Where a request stands; `told` says that this is the word of the daemon and not an answer of ours."""

    seq: int
    state: RequestState
    daemon: bool = False
    told: bool = False
    surface: str = ""
    edited: bool = False


@dataclass(frozen=True, slots=True)
class DaemonReport:
    """What a daemon said of a request."""

    outcome: RequestState
    elsewhere: bool = False
    reason: str = ""
    error: str = ""
    at: str = ""

    def body(self) -> JsonObject:
        """The body of the entry."""
        return {
            "outcome": self.outcome,
            "elsewhere": self.elsewhere,
            "reason": self.reason,
            "error": self.error,
            "at": self.at,
        }


def daemon_of(body: JsonObject) -> str:
    """Which daemon a request is of; empty for one of a gate."""
    return _text(body.get("daemon"))


def read_told(body: JsonObject) -> DaemonReport | None:
    """What an entry says, or None if it says nothing."""
    outcome = body.get("outcome")
    if not isinstance(outcome, str) or outcome not in OUTCOMES:
        return None
    reason, error = _text(body.get("reason")), _text(body.get("error"))
    return DaemonReport(
        RequestState(outcome), body.get("elsewhere") is True, reason, error, written_time(body.get("at"))
    )


def objection(state: RequestState, told: bool, outcome: RequestState) -> str:
    """Why a daemon cannot say this of a request that stands so, in words; empty if it can."""
    if told and state in ENDS:
        return f"its end was told already: {state}"
    if outcome is state and (told or state is RequestState.PENDING):
        return f"that it is {state} is known"
    if outcome is RequestState.APPROVED and state is RequestState.RUNNING:
        return "it runs already"
    return ""


def written_time(value: Json) -> str:
    """A time if it is written as entries write it, else nothing."""
    try:
        return value if isinstance(value, str) and timestamp(moment(value)) == value else ""
    except (ValueError, OverflowError):
        return ""


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""

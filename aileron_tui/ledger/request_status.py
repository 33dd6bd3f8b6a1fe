"""The state of a request, and what a daemon may report about it next.

A request of a daemon has the field `daemon` in its `request.made` entry. It does not run here: the daemon reports what
happens to it, which is recorded as `runtime.told`, with this body:

    outcome    one of OUTCOMES; `pending` means that the request still waits, because our answer did not arrive
    elsewhere  whether somebody else gave the answer
    reason, error, at    text; `at` is a time as entries write it, or empty

An end that the daemon reported is final. An answer that was given here is final only once the daemon has confirmed it.
`runtime.edited` may follow either; it says that the call was edited before it was approved elsewhere.
"""

from typing import Final

from aileron_tui.core.call_kinds import NOT_RUN_HERE
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import moment, timestamp
from aileron_tui.core.values import dataclass

ENDS: Final = frozenset(
    {
        RequestState.EXECUTED,
        RequestState.FAILED,
        RequestState.DENIED,
        RequestState.WITHDRAWN,
        RequestState.INTERRUPTED,
        RequestState.UNKNOWN,
    }
)
OUTCOMES: Final = ENDS | {RequestState.PENDING, RequestState.APPROVED, RequestState.RUNNING}
ANSWERED: Final = OUTCOMES - {RequestState.PENDING, RequestState.WITHDRAWN}
"""Outcomes that are possible only after an answer, except for a failure, which is also possible before."""


@dataclass(frozen=True, slots=True)
class RequestStanding:
    """The state of a request; `told` means that the daemon reported the state, so it is not an answer given here.

    `tool` means that the agent's own program executes the call, not this gate.
    """

    seq: int
    state: RequestState
    daemon: bool = False
    told: bool = False
    surface: str = ""
    edited: bool = False
    tool: bool = False


@dataclass(frozen=True, slots=True)
class DaemonReport:
    """What a daemon reported about a request."""

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


def is_tool(body: JsonObject) -> bool:
    """Whether a request is a tool call, which the agent's own program executes."""
    return body.get("kind") in NOT_RUN_HERE and "daemon" not in body


def daemon_of(body: JsonObject) -> str:
    """The daemon a request belongs to, or "" if it belongs to a gate."""
    return _text(body.get("daemon"))


def asked_by(body: JsonObject) -> tuple[str, str]:
    """The name of the agent's token and what the agent called itself, from the body of a request.

    Before agents had tokens of their own, there was only the claim, in `agent`. A daemon also reports only that.
    """
    if "says" in body and not daemon_of(body):
        return _text(body.get("agent")), _text(body.get("says"))
    return "", _text(body.get("says")) or _text(body.get("agent"))


def read_told(body: JsonObject) -> DaemonReport | None:
    """The report in the body of an entry, or None if it has no outcome."""
    outcome = body.get("outcome")
    if not isinstance(outcome, str) or outcome not in OUTCOMES:
        return None
    reason, error = _text(body.get("reason")), _text(body.get("error"))
    return DaemonReport(
        RequestState(outcome), body.get("elsewhere") is True, reason, error, written_time(body.get("at"))
    )


def objection(state: RequestState, told: bool, outcome: RequestState) -> str:
    """Why a daemon cannot report this outcome in this state, in words, or "" if it can."""
    if told and state in ENDS:
        return f"its end was already reported: {state}"
    if outcome is state and (told or state is RequestState.PENDING):
        return f"it is already known to be {state}"
    if outcome is RequestState.APPROVED and state is RequestState.RUNNING:
        return "it is already running"
    return ""


def written_time(value: Json) -> str:
    """The value if it is a time in the format of entries, or else ""."""
    try:
        return value if isinstance(value, str) and timestamp(moment(value)) == value else ""
    except (ValueError, OverflowError):
        return ""


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""

"""How agents are told the end of a request. Never a word of what the operator was shown."""

from typing import Final

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.states import RequestState, on_the_wire
from aileron_tui.ledger.store import StoredResult

_UNRUN: Final = {
    RequestState.EXPIRED: ("nobody answered in time, so nothing was run; this is not a denial", True),
    RequestState.WITHDRAWN: ("the agent went away, so nothing was run", True),
    RequestState.INTERRUPTED: ("the gate stopped while it ran; whether it took effect is not known", False),
}


def completed(request: str, text: str) -> StoredResult:
    """The op ran."""
    return StoredResult(request, {"status": "completed", "audit_id": f"audit-{request}", "result": text})


def failed(request: str, envelope: JsonObject) -> StoredResult:
    """The op ran into an error, which is passed on whole."""
    return StoredResult(request, {"status": "failed", "failure": envelope})


def denied(request: str, reason: str) -> StoredResult:
    """A person said no."""
    body: JsonObject = {"status": "denied"}
    return StoredResult(request, body | {"reason": reason} if reason else body)


def ended(request: str, state: RequestState, why: str = "", **details: str) -> StoredResult:
    """An end that is neither a denial nor a result; its class tells it apart."""
    status, class_ = on_the_wire(state)
    message, retriable = _UNRUN[state]
    error: JsonObject = {"class": class_, "message": why or message, "retriable": retriable, "boundary": "runtime"}
    if details:
        error["details"] = dict(details)
    return StoredResult(request, {"status": status, "failure": {"error": error}})

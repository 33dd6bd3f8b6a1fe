"""The results that agents receive when a request ends. They never contain anything from the preview."""

from typing import TYPE_CHECKING, Final

from aileron_tui.core.jsontext import JsonError, JsonLimits, JsonObject, read
from aileron_tui.core.states import RequestState, on_the_wire
from aileron_tui.ledger.store import StoredResult

if TYPE_CHECKING:
    from aileron_tui.gate.gate_request import GateRequest

_END_MESSAGES: Final = {
    RequestState.EXPIRED: ("nobody answered in time, so nothing was run; this is not a denial", True),
    RequestState.WITHDRAWN: ("the agent disconnected, so nothing was run", True),
    RequestState.INTERRUPTED: (
        "the gate stopped while the action was running; whether it took effect is unknown",
        False,
    ),
    RequestState.UNKNOWN: ("the action may have taken effect; its outcome is unknown", False),
}

_OUTPUT_LIMITS: Final = JsonLimits(1024 * 1024, 32, 20_000)
"""A result beyond these limits is only sent as text."""


def output_of(text: str) -> str:
    """Returns the JSON in the text of a result, or "" if it is not strict JSON or is too large."""
    try:
        read(text, _OUTPUT_LIMITS)
    except JsonError:
        return ""
    return text.strip(" \t\r\n")


def completed(request_id: str, text: str) -> StoredResult:
    """The result of a request whose action succeeded."""
    return StoredResult(request_id, {"status": "completed", "audit_id": f"audit-{request_id}", "result": text})


def failed(request_id: str, envelope: JsonObject) -> StoredResult:
    """The result of a request whose action failed, with the complete error."""
    return StoredResult(request_id, {"status": "failed", "failure": envelope})


def denied(request_id: str, reason: str) -> StoredResult:
    """The result of a request that was denied."""
    body: JsonObject = {"status": "denied"}
    return StoredResult(request_id, body | {"reason": reason} if reason else body)


def allowed(request: "GateRequest") -> JsonObject:
    """The answer that a program may execute a tool call: exactly what was approved, and what proves it.

    `shown` is only a digest. With the call, it is what the decision is bound to.
    """
    by: JsonObject = {"decision": request.decision}
    if request.rule:
        by = {"rule": request.rule, "rule_envelope": request.rule_envelope}
    return {
        "status": "allowed",
        "approval_id": request.id,
        "input": request.args,
        "edited": request.edited_from is not None,
        "shown": request.prompt.shown,
        **by,
    }


def already_handed_over(request_id: str) -> JsonObject:
    """The answer to an agent that asks again for an approval that it was given."""
    message = "this call was allowed, and its answer was fetched before; ask again for another call"
    error: JsonObject = {"class": "already_handed_over", "message": message, "retriable": False, "boundary": "runtime"}
    return {"status": "failed", "approval_id": request_id, "failure": {"error": error}}


def is_withdrawal(result: StoredResult) -> bool:
    """Whether a request ended because it was withdrawn."""
    match result.body:
        case {"failure": {"error": {"class": class_}}}:
            return class_ == on_the_wire(RequestState.WITHDRAWN)[1]
    return False


def ended(request_id: str, state: RequestState, message_override: str = "", **details: str) -> StoredResult:
    """The result of a request that expired, was withdrawn or has no known outcome; the error class says which."""
    status, class_ = on_the_wire(state)
    message, retriable = _END_MESSAGES[state]
    error: JsonObject = {
        "class": class_,
        "message": message_override or message,
        "retriable": retriable,
        "boundary": "runtime",
    }
    if details:
        error["details"] = dict(details)
    return StoredResult(request_id, {"status": status, "failure": {"error": error}})

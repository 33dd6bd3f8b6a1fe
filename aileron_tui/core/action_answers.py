"""What an MCP client is told about a call of an action: the gate's reply in words, and the same as structured content.

The agent sees the complete result or the real error. A denial, a call that nobody answered and one whose outcome is
unknown are never mixed up.
"""

import json
from collections.abc import Collection
from typing import Final

from aileron_tui.core.action_tools import RESULT_TOOL, STATUS_TOOL
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonError, JsonLimits, JsonObject, read
from aileron_tui.core.values import dataclass

UNFINISHED: Final = ("pending_approval", "running")

_OUTPUT_LIMITS: Final = JsonLimits(size=64 * 1024 * 1024, count=2_000_000)


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The result of a tool. The text says everything that the structured content says."""

    text: str
    content: JsonObject
    is_error: bool = False


def read_answer(action: str, status: int, reply: JsonObject) -> ToolAnswer:
    """The answer to a call of an action that has ended, or that the gate refused."""
    match reply:
        case {"status": "denied"}:
            return _denied(action, reply.get("reason"))
        case {"status": "failed", "failure": {"error": dict(error)}}:
            return _failed(action, error)
        case {"error": dict(error)} if "class" in error:
            return _failed(action, error)
        case {"error": dict(error)} if _says_not_run(status, error):
            return _refused(action, status, error)
        case {"error": dict(error)} if status >= 400:
            return lost(action, AileronError(f"the gate reports an error (status {status})", _words(error, "")))
        case {"status": "completed", "result": _} | {"audit_id": str(), "result": _} if status == 200:
            return _completed(reply)
    return lost(action, AileronError("the gate sent a reply that cannot be understood", f"status {status}"))


def still_waiting(action: str, approval_id: str, reply: JsonObject, problem: str = "") -> ToolAnswer:
    """The answer while a call has not ended. `problem` is why that is not certain at the moment."""
    running = reply.get("status") == "running"
    state = "was approved and is still running" if running else "is still waiting for the approval of a person"
    message = (
        f"{action} {state}. This is neither a denial nor a failure. Call {RESULT_TOOL} with the approval_id "
        f"{approval_id} to wait for the result. Do not call {action} again for this, and do not ask for confirmation "
        "in chat."
    )
    if problem:
        message = f"{message} At the moment the gate cannot be asked: {problem}"
    content: JsonObject = {"status": "running" if running else "waiting", "approval_id": approval_id}
    if not running and isinstance(until := reply.get("expires_at"), str):
        content["expires_at"] = until
    return ToolAnswer(message, content | {"message": message})


def not_called(action: str, error: AileronError) -> ToolAnswer:
    """The answer if the gate could not be called, so that nothing was asked or run."""
    message = f"{action} was not called, and nothing was run: {_sentence(error)}"
    return _error("gate_unavailable", message)


def lost(action: str, error: AileronError) -> ToolAnswer:
    """The answer if the connection was lost after the call had been sent."""
    message = (
        f"It is not known what became of this call of {action}: {_sentence(error)} It may still be waiting for "
        f"approval, and it may have run. {STATUS_TOOL} lists what is waiting. Find out before you call it again; a "
        "call with the same arguments joins one that is still waiting."
    )
    return _error("outcome_unknown", message)


def unknown_request(approval_id: str) -> ToolAnswer:
    """The answer if this agent has no such request."""
    message = (
        f"No call with the approval_id {json.dumps(approval_id)} is known here, or its result is gone. {STATUS_TOOL} "
        "lists your calls that are waiting."
    )
    return _error("failed", message, {"class": "not_found", "message": message})


def wrong_arguments(problem: str) -> ToolAnswer:
    """The answer to arguments that cannot be sent to the gate."""
    message = f"The arguments are wrong, so nothing was called: {problem}"
    return _error("refused", message, {"code": "invalid_inputs", "message": problem})


def waiting_calls(reply: JsonObject, actions: Collection[str]) -> list[JsonObject]:
    """The waiting calls of these actions in what the gate says about an agent.

    The same agent may have asked about tool calls in other ways; those are left out.
    """
    found: list[JsonObject] = []
    listed = reply.get("waiting")
    for item in listed if isinstance(listed, list) else ():
        match item:
            case {"id": str(id_), "action": str(name), "asked_at": str(asked), "expires_at": str(expires)}:
                if name in actions:
                    found.append({"approval_id": id_, "action": name, "asked_at": asked, "expires_at": expires})
    return found


def gate_status(agent: str, waiting: list[JsonObject], hold: int) -> ToolAnswer:
    """What an agent is told while the gate is running."""
    content: JsonObject = {"gate": "running", "agent": agent, "waiting": [*waiting], "a_call_waits_up_to_seconds": hold}
    return ToolAnswer(_json(content), content)


def no_status(error: AileronError) -> ToolAnswer:
    """What is known about the gate if it cannot be asked."""
    message = f"The approval gate cannot be reached, so no action can be called now: {_sentence(error)}"
    return _error("gate_unavailable", message)


def refused_token(agent: str) -> ToolAnswer:
    """The answer if the gate does not accept the token of the agent."""
    message = (
        f"The gate does not accept the token of agent {agent}: it was revoked or replaced. A call of this agent that "
        "was waiting is withdrawn if the agent was revoked. The user can run `aileron-tui agent list`, and "
        f"`aileron-tui agent rotate {agent}` for a new token."
    )
    return _error("token_refused", message)


def _completed(reply: JsonObject) -> ToolAnswer:
    content: JsonObject = {"status": "completed"}
    result = reply.get("result")
    if "output" in reply:
        content["output"] = reply["output"]
    elif isinstance(result, str):
        try:
            content["output"] = read(result, _OUTPUT_LIMITS)
        except JsonError:
            content["text"] = result
    else:
        content["output"] = result
    if isinstance(audit := reply.get("audit_id"), str):
        content["audit_id"] = audit
    return ToolAnswer(_json(content), content)


def _denied(action: str, reason: Json) -> ToolAnswer:
    why = f" The reason: {reason}" if isinstance(reason, str) and reason else " No reason was given."
    message = (
        f"A person denied this call of {action}, so nothing was run.{why}\n"
        "Do not repeat the call unchanged, and do not try to reach the same effect in another way."
    )
    content: JsonObject = {"status": "denied", "message": message}
    return ToolAnswer(message, content | {"reason": reason} if why and isinstance(reason, str) else content, True)


def _failed(action: str, error: JsonObject) -> ToolAnswer:
    class_, words = error.get("class"), _words(error, "no message was given")
    match class_:
        case "approval_timeout":
            message = (
                f"Nobody answered in time, so {action} was not run. This is not a denial: you may call it again when "
                "somebody is there to answer in aileron-tui."
            )
            return _error("unanswered", message, error)
        case "withdrawn":
            return _error("withdrawn", f"This call of {action} was withdrawn, so nothing was run: {words}.", error)
        case "outcome_unknown":
            message = (
                f"The outcome of {action} is unknown: it may have taken effect, or not. "
                f"{words[:1].upper()}{words[1:]}. Find out before you call it again, or ask the user to."
            )
            return _error("outcome_unknown", message, error)
    again = "It may be tried again." if error.get("retriable") is True else "Repeating it unchanged will not help."
    return _error("failed", f"{action} failed: {words} (class {class_}). {again}", error)


def _says_not_run(status: int, error: JsonObject) -> bool:
    """Whether a refusal means that nothing was run. Other errors of the gate can come after the call was accepted."""
    return (400 <= status < 500 and status not in (401, 408)) or error.get("code") == "not_recorded"


def _refused(action: str, status: int, error: JsonObject) -> ToolAnswer:
    words = _words(error, f"status {status}")
    return _error("refused", f"The gate refused this call of {action}, so nothing was run: {words}.", error)


def _words(error: JsonObject, otherwise: str) -> str:
    message = error.get("message")
    return message if isinstance(message, str) and message else otherwise


def _error(status: str, message: str, error: JsonObject | None = None) -> ToolAnswer:
    content: JsonObject = {"status": status, "message": message}
    return ToolAnswer(message, content | {"error": error} if error else content, is_error=True)


def _sentence(error: AileronError) -> str:
    text = f"{str(error).rstrip('.')}."
    return f"{text} {error.hint}" if error.hint else text


def _json(content: JsonObject) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))

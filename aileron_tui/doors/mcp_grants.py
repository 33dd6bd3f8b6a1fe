"""The check that an answer of the gate carries a valid signature, before the MCP proxy sends a call to the server."""

from pathlib import Path

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.doors.mcp_questions import Check, Question


def grants(data: Path, agent: str) -> Check:
    """Checks answers for an agent. Each approval counts once, and the keys are those that may approve now."""
    used: set[str] = set()

    def check(reply: JsonObject, id_: str, question: Question) -> JsonObject:
        from aileron_tui.core.call_kinds import CallKind  # noqa: PLC0415  # the proxy must start fast
        from aileron_tui.core.tool_call import ToolCall  # noqa: PLC0415
        from aileron_tui.doors.executor import GrantCheck, approvers_of  # noqa: PLC0415  # needs cryptography

        if id_ in used:
            raise AileronError("this approval was used before", id_)
        kind = CallKind.DEFINITION if question.is_definition else CallKind.TOOL
        call = ToolCall(question.tool, question.args, question.server, "", question.definition, kind)
        args = GrantCheck(agent, approvers_of(data, agent)).args(reply, id_, call)
        used.add(id_)
        return args

    return check

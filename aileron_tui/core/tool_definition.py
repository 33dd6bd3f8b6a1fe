"""The prompt that asks whether the changed definition of a tool is accepted."""

from typing import Final

from aileron_tui.core.jsontext import plain
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.text_diff import unified_diff
from aileron_tui.core.tool_call import ToolCall, ToolPrompt

_QUESTION: Final = "Accept this changed tool?"
_RISK: Final = Risk(RiskLevel.NORMAL, "changes what agents are told about a tool")
_WARNING: Final = "the definition of this tool has changed since it was accepted"


def definition_prompt(call: ToolCall) -> ToolPrompt:
    """What the operator is shown: what has changed, and the whole new definition."""
    before, after = plain(call.args.get("before")), plain(call.args.get("after"))
    changed = unified_diff(f"{before}\n", f"{after}\n") or "nothing that its text shows"
    rows = (
        Row("Server", call.server),
        Row("Tool", call.tool),
        Row("Changes", changed, multiline=True),
        Row("New definition", after, multiline=True),
    )
    return ToolPrompt(_QUESTION, rows, _RISK, (_WARNING,))

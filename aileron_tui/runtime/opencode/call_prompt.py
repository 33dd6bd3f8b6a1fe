"""The question, the rows, the risk and the warnings of a tool call about which opencode asks."""

from collections.abc import Sequence
from typing import Final

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.risk import Risk, RiskLevel, RiskRule
from aileron_tui.core.tool_call import ToolCall, ToolPrompt
from aileron_tui.core.tool_prompts import tool_prompt

_BY_PERMISSION: Final = {
    "external_directory": "Let this call use a folder outside the project?",
    "doom_loop": "Let the agent repeat this call?",
}
_QUESTION: Final = "Allow this call?"


def call_prompt(
    tool: str, permission: str, args: JsonObject | None, folder: str, rules: Sequence[RiskRule]
) -> ToolPrompt:
    """What is shown for a call of a tool; `args` is None if its arguments are not known.

    opencode may run on another machine, so the files that the call names are not read here.
    """
    question = _BY_PERMISSION.get(permission, "")
    if args is None:
        unknown = Risk(RiskLevel.HIGH, "arguments unknown")
        return ToolPrompt(question or _QUESTION, (Row("Arguments", missing=True),), unknown)
    made = tool_prompt(ToolCall(tool, args, folder=folder), {}, rules)
    risk = made.risk
    if question and risk.level is RiskLevel.LOW:  # opencode asks because something is unusual about the call
        risk = Risk(RiskLevel.NORMAL, risk.reason)
    return ToolPrompt(question or made.question or _QUESTION, made.rows, risk, made.warnings)

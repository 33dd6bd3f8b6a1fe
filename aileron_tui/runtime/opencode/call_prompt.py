"""The question, the rows and the risk of a tool call about which opencode asks."""

from collections.abc import Sequence
from typing import Final

from aileron_tui.core.action import Step
from aileron_tui.core.caution import Caution
from aileron_tui.core.jsontext import JsonObject, plain
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.risk import Risk, RiskLevel, RiskRule, by_names, by_rule
from aileron_tui.core.values import dataclass

_QUESTIONS: Final = {
    "bash": "Run this command?",
    "edit": "Change this file?",
    "read": "Read this file?",
    "webfetch": "Fetch this address?",
    "task": "Start this subagent?",
}
_BY_PERMISSION: Final = {
    "external_directory": "Let this call use a folder outside the project?",
    "doom_loop": "Let the agent repeat this call?",
}
_OTHER_QUESTION: Final = "Allow this call?"


@dataclass(frozen=True, slots=True)
class CallPrompt:
    """What is shown for a call."""

    question: str
    rows: tuple[Row, ...]
    risk: Risk
    cautions: tuple[Caution, ...] = ()


def call_prompt(
    tool: str, permission: str, args: JsonObject | None, folder: str, rules: Sequence[RiskRule]
) -> CallPrompt:
    """What is shown for a call of a tool; `args` is None if its arguments are not known."""
    del folder
    question = _BY_PERMISSION.get(permission) or _QUESTIONS.get(permission, _OTHER_QUESTION)
    if args is None:
        return CallPrompt(question, (Row("Arguments", missing=True),), Risk(RiskLevel.HIGH, "arguments unknown"))
    rows = tuple(
        Row(name, plain(value), multiline=isinstance(value, list | dict) or "\n" in plain(value))
        for name, value in args.items()
    )
    risk = by_rule(tool, (Step("", "", tool, None, {}),), rules)
    if risk is None:
        risk = Risk(RiskLevel.HIGH, "can do what you can") if tool == "bash" else by_names(tool, ())
    return CallPrompt(question, rows, risk)

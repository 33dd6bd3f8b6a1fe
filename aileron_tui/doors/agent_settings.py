"""The settings of every agent that can be put behind the gate, by its word."""

from collections.abc import Iterator
from types import ModuleType
from typing import Final

from aileron_tui.doors import claude_settings, codex_settings, copilot_settings, gemini_settings, opencode_settings
from aileron_tui.doors.settings_findings import Finding
from aileron_tui.doors.setup_plan import SetupContext, SetupPlan

_MODULES: Final[dict[str, ModuleType]] = {
    module.WORD: module
    for module in (claude_settings, codex_settings, gemini_settings, copilot_settings, opencode_settings)
}


def plan_for(word: str, context: SetupContext) -> SetupPlan:
    """What would be written for an agent. Raises SettingsFault if its settings cannot be read."""
    plan: SetupPlan = _MODULES[word].plan(context)
    return plan


def findings_for(word: str, context: SetupContext) -> tuple[Finding, ...]:
    """What around an agent weakens the gate."""
    found: Iterator[Finding] = _MODULES[word].findings(context)
    return tuple(found)


def has_hook(word: str) -> bool:
    """Whether an agent reaches the gate by a hook, and so needs a token."""
    return word != opencode_settings.WORD

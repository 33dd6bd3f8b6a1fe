"""The risk of a tool call."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from aileron_tui.core.risk import Risk, RiskLevel, RiskRule
from aileron_tui.core.risk_words import Effect, risk_word
from aileron_tui.core.shell_risk import NOT_TAKEN_APART, command_risk
from aileron_tui.core.tool_call import FileFacts, ToolCall
from aileron_tui.core.tool_kind import ToolKind, ToolUse
from aileron_tui.core.tool_kinds import uses_of
from aileron_tui.core.tool_names import ToolName
from aileron_tui.core.tool_places import is_outside, protection
from aileron_tui.core.tool_reading import ToolReading

_UNKNOWN: Final = Risk(RiskLevel.NORMAL, "effect unknown")


def tool_risk(
    reading: ToolReading, files: Mapping[str, FileFacts], rules: Sequence[RiskRule], own: Sequence[str]
) -> Risk:
    """The risk by the user's first matching `[[risk]]` entry, else by what the tool would do."""
    call, name, kind = reading.call, reading.name, reading.kind
    for number, rule in enumerate(rules, start=1):
        if _matches(rule, call, name):
            return Risk(rule.level, f"by [[risk]] entry {number}")
    if kind is None:
        return _by_name(call, name)
    risks = [_of_kind(kind, reading, own)]
    if reading.more_places:
        writes = any(place.changes for place in reading.places)
        risks.append(Risk(RiskLevel.HIGH if writes else RiskLevel.NORMAL, "names very many paths"))
    if reading.unknown:
        risks.append(Risk(RiskLevel.NORMAL, "has unknown args"))
    if kind.use is ToolUse.PATCH and (reading.more_places or not reading.places):
        risks.append(Risk(RiskLevel.HIGH, "not all files are known"))
    if reading.powers:
        risks.append(Risk(RiskLevel.HIGH, "asks for more than usual"))
    for place in reading.places:
        if place.changes and protection(place, files, own):
            risks.append(Risk(RiskLevel.HIGH, "changes protected files"))
        elif is_outside(place, call.folder, files):
            level = RiskLevel.HIGH if place.changes else RiskLevel.NORMAL
            risks.append(Risk(level, f"{'writes' if place.changes else 'reads'} outside the folder"))
    return max(risks, key=lambda risk: risk.level.rank)


def _matches(rule: RiskRule, call: ToolCall, name: ToolName) -> bool:
    tools = (call.tool, name.tool)
    return (
        (not rule.action or any(fnmatchcase(tool, rule.action) for tool in tools))
        and (not rule.op or any(fnmatchcase(tool, rule.op) for tool in tools))
        and (not rule.connector or fnmatchcase(name.server, rule.connector))
    )


def _by_name(call: ToolCall, name: ToolName) -> Risk:
    """The risk of a tool whose effect is not known: by the words of its name, and never low."""
    if not name.server and (uses := uses_of(call.tool)):
        return NOT_TAKEN_APART if ToolUse.SHELL in uses else Risk(RiskLevel.HIGH, "args not known")
    found = risk_word(name.tool)
    if found is None:
        return _UNKNOWN
    if found.effect is Effect.READS:
        return Risk(RiskLevel.NORMAL, "reads, by its name")
    return Risk(RiskLevel.HIGH if found.effect.is_high else RiskLevel.NORMAL, found.effect.value)


def _of_kind(kind: ToolKind, reading: ToolReading, own: Sequence[str]) -> Risk:
    if reading.shell is not None:
        return command_risk(reading.shell, reading.folder, own)
    if kind.use is ToolUse.READ:
        return Risk(RiskLevel.LOW, "only reads")
    return Risk(RiskLevel.LOW if kind.use is ToolUse.NOTES else RiskLevel.NORMAL, kind.reason)

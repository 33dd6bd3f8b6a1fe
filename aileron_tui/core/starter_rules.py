"""The rules that `setup` offers, so that nobody is asked about every file that an agent reads.

They allow the tools that only read and search, and those of which an MCP server says so. A path outside the folder, or
anything else with a warning, still asks, because no rule allows a call with a warning.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from aileron_tui.core.call_kinds import CallKind
from aileron_tui.core.mcp_tools import PinnedTool, hints
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.rule import Rule, RuleReach, RuleVerdict, new_rule_id
from aileron_tui.core.times import timestamp

STARTER_SPAN: Final = timedelta(days=30)
"""How long starter rules are in force."""

_LONGEST_NAME: Final = 200  # no rule has room for a longer one
_TOOLS: Final = {
    "claude": ("Read", "Grep", "Glob", "LS"),
    "gemini": ("read_file", "read_many_files", "grep_search", "search_file_content", "glob", "list_directory"),
    "copilot": ("view", "grep", "glob"),
}


def starter_tools(word: str) -> tuple[str, ...]:
    """The tools of an agent that read and search. Codex has none: it reads with its shell."""
    return _TOOLS.get(word, ())


def starter_rules(agent: str, tools: Iterable[str], now: datetime, known: Iterable[Rule] = ()) -> tuple[Rule, ...]:
    """The rules for an agent's tools, without those that a rule in force (`known`) already covers."""
    covered = {rule.action for rule in known if _covers(rule, agent)}
    return tuple(
        Rule(
            id=new_rule_id(),
            verdict=RuleVerdict.ALLOW,
            agent=agent,
            action=tool,
            reach=RuleReach.ANY,
            ends=timestamp(now + STARTER_SPAN),
            kind=CallKind.TOOL,
            risk=RiskLevel.LOW,
        )
        for tool in tools
        if tool not in covered
    )


def _covers(rule: Rule, agent: str) -> bool:
    return rule.agent == agent and rule.kind is CallKind.TOOL and rule.reach is RuleReach.ANY


def server_rules(
    agent: str, server: str, tools: Iterable[PinnedTool], now: datetime, known: Iterable[Rule] = ()
) -> tuple[Rule, ...]:
    """The rules for the tools that an MCP server calls read-only, without those that a rule in force already covers.

    Each is bound to the definition that was pinned: once a server changes it, the rule no longer matches.
    """
    offered = [tool for tool in tools if hints(tool.definition).read_only and len(tool.name) <= _LONGEST_NAME]
    covered = {
        (rule.action, rule.runs)
        for rule in known
        if _covers(rule, agent) and rule.connector == server and rule.verdict is RuleVerdict.ALLOW
    }
    return tuple(
        Rule(
            id=new_rule_id(),
            verdict=RuleVerdict.ALLOW,
            agent=agent,
            action=tool.name,
            reach=RuleReach.ANY,
            ends=timestamp(now + STARTER_SPAN),
            kind=CallKind.TOOL,
            connector=server,
            runs=tool.hash,
            risk=RiskLevel.NORMAL,
        )
        for tool in offered
        if (tool.name, tool.hash) not in covered
    )

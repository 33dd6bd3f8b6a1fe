"""The rules that setup offers: valid, for reading tools only, and not twice."""

from datetime import timedelta

from aileron_tui.core.call_kinds import CallKind
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.rule_match import RuleCall, answer
from aileron_tui.core.rule_reader import read_rule
from aileron_tui.core.starter_rules import starter_rules, starter_tools
from aileron_tui.core.times import moment, utc_now


def call(tool: str, risk: RiskLevel = RiskLevel.LOW, warning: str = "", command: str = "") -> RuleCall:
    return RuleCall("claude", tool, {}, kind=CallKind.TOOL, risk=risk, warning=warning, command=command)


def test_reading_is_allowed_and_everything_else_asks() -> None:
    now = utc_now()
    rules = starter_rules("claude", starter_tools("claude"), now)
    assert [read_rule(rule.fields()) for rule in rules] == list(rules)
    assert all(moment(rule.ends) <= now + timedelta(days=30) for rule in rules)
    assert answer(rules, call("Read"))
    assert not answer(rules, call("Read", warning="outside the folder"))
    assert not answer(rules, call("Read", RiskLevel.NORMAL))
    for tool in ("Bash", "Write", "Edit", "WebFetch", "mcp__files__read", "Agent"):
        assert not answer(rules, call(tool))


def test_a_rule_that_is_there_is_not_made_again() -> None:
    now = utc_now()
    rules = starter_rules("claude", starter_tools("claude"), now)
    assert starter_rules("claude", starter_tools("claude"), now, rules) == ()
    assert len(starter_rules("other", starter_tools("claude"), now, rules)) == len(rules)
    assert starter_tools("codex") == ()

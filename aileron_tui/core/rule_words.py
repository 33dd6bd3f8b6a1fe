"""Rules in words, the same on every surface. The words contain names that agents and manifests chose: foreign text."""

from datetime import datetime
from typing import Final

from aileron_tui.core.call_kinds import CallKind
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.rule import Rule, RuleReach, RuleVerdict
from aileron_tui.core.times import moment

ALLOWED: Final = "allowed by a rule"
DENIED: Final = "denied by a rule"

_VERBS: Final = {
    RuleVerdict.DENY: "Denies",
    RuleVerdict.ASK: "Always asks about",
    RuleVerdict.ALLOW: "Allows",
}


def rule_words(rule: Rule, now: datetime) -> str:
    """A rule as one sentence: what it answers, how far it goes, and when it ends."""
    pinned = ", as long as its definition is the same" if rule.kind is CallKind.TOOL and rule.runs else ""
    server = f" of the server {rule.connector}" if rule.kind is CallKind.TOOL and rule.connector else ""
    what = f"{rule.action}{server} from {rule.agent}"
    return f"{_VERBS[rule.verdict]} {what} {reach_words(rule)}{pinned}, {end_words(rule, now)}"


def reach_words(rule: Rule) -> str:
    """How far a rule goes."""
    where = f" in {rule.folder}" if rule.folder else ""
    match rule.reach:
        case RuleReach.CALL:
            preview = ", as long as the preview shows the same" if rule.shown else ""
            return f"with exactly these inputs{where}{preview}"
        case RuleReach.COMMAND:
            return f"with exactly the command {rule.command}{where}"
        case _:
            only_reads = rule.kind is CallKind.TOOL and rule.risk is RiskLevel.LOW and rule.verdict is RuleVerdict.ALLOW
            return f"with any inputs{where}{' that only read' if only_reads else ''}"


def end_words(rule: Rule, now: datetime) -> str:
    """When a rule ends, in the local time zone."""
    try:
        end = moment(rule.ends).astimezone()
    except (ValueError, OverflowError):
        return "which has ended"
    if end <= now:
        return f"ended {end:%Y-%m-%d %H:%M}"
    today = end.date() == now.astimezone().date()
    return f"until {end:%H:%M} today" if today else f"until {end:%Y-%m-%d %H:%M}"


def denial_reason(rule: Rule) -> str:
    """What an agent is told when a rule denies its call."""
    return f"{DENIED} of the operator ({rule.id}); calling again does not help while the rule is in force"

"""The texts of the sheet that makes a rule, and of the list of rules."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from textual.content import Content

from aileron_tui.console.render import MUTED, STRONG, WARNING, foreign_line, trusted
from aileron_tui.console.widgets.fields import Field
from aileron_tui.core.call_kinds import CallKind
from aileron_tui.core.edits import arg_rows
from aileron_tui.core.outcomes import OUTCOMES
from aileron_tui.core.rule import Rule, RuleReach
from aileron_tui.core.rule_list import ListedRule, PastCall, RefusedOffer, RuleOffer
from aileron_tui.core.rule_words import rule_words
from aileron_tui.core.summary import of_rows, shortened, summary_line
from aileron_tui.core.time_words import local_time
from aileron_tui.core.times import moment
from aileron_tui.core.visible_text import Visible, inline

REACHES: Final = {
    RuleReach.CALL: "exactly this call",
    RuleReach.COMMAND: "exactly this command",
    RuleReach.FOLDER: "this tool here",
    RuleReach.ANY: "any inputs",
}
"""The reaches as the sheet names them."""

_LONGEST_SUMMARY: Final = 200
_EMPTY: Final = "empty"


def sentence(rule: Rule, now: datetime) -> Content:
    """What the rule answers, how far it goes and when it ends."""
    return foreign_line(f"{rule_words(rule, now)}.", STRONG)


def covered_fields(rule: Rule) -> tuple[Field, ...]:
    """Everything that a call must have to be covered by the rule, in full."""
    is_tool = rule.kind is CallKind.TOOL
    about = (("Server", rule.connector), ("Definition", rule.runs)) if is_tool else ()
    server = tuple(Field(label, value) for label, value in about if value)
    where = (Field("Folder", rule.folder),) if rule.folder else ()
    whose = (Field("Agent", rule.agent), Field("Tool" if is_tool else "Action", rule.action), *server, *where)
    if rule.command:
        return *whose, Field("Command", rule.command)
    if rule.args is None:
        return *whose, Field("Inputs", placeholder="any")
    inputs = tuple(Field(row.label, row.value or None, "" if row.value else _EMPTY) for row in arg_rows(rule.args))
    return *whose, *(inputs or (Field("Inputs", placeholder="none"),))


def past_line(offer: RuleOffer, days: int) -> Content:
    """What the rule would have answered."""
    if not offer.asked:
        what = _called(offer.rule)
        return trusted(f"In the last {days} days this agent did not call this {what} before.", MUTED)
    calls = "1 call" if offer.asked == 1 else f"{offer.asked:,} calls"
    answered = f"{offer.answered:,} of {calls} of this agent to this {_called(offer.rule)}"
    words = f"In the last {days} days it would have answered {answered}"
    return trusted(f"{words}{':' if offer.examples else '.'}")


def _called(rule: Rule) -> str:
    return "tool" if rule.kind is CallKind.TOOL else "action"


def example_fields(offer: RuleOffer, now: datetime) -> tuple[Field, ...]:
    """Some of the calls that the rule would have answered: when, how each ended, and a summary of its inputs."""
    fields = [_example(past, now) for past in offer.examples]
    more = offer.answered - len(offer.examples)
    return (*fields, Field("", placeholder=f"and {more:,} more")) if more > 0 and fields else tuple(fields)


def refused_line(refused: Sequence[RefusedOffer], *, none_left: bool) -> Content:
    """Why wider rules, or any, are not offered."""
    lines = [
        trusted("⚠ No rule can be made: " if none_left else f"Not offered: {_reach(one.reach)}, because ", WARNING)
        + foreign_line(one.why, WARNING)
        for one in (refused[:1] if none_left else refused)
    ]
    return trusted("\n").join(lines)


def listed_use(listed: ListedRule, now: datetime) -> Content:
    """How often a rule was used, who made it, and why it ended before its time."""
    used = "not used yet" if not listed.used else f"used {'once' if listed.used == 1 else f'{listed.used:,} times'}"
    last = f", last {minute(listed.last_used, now)}" if listed.last_used else ""
    words = trusted(f"{used}{last} · made {minute(listed.made, now)} with the key ", MUTED)
    words += foreign_line(listed.made_by, MUTED)
    if listed.ended:
        words += trusted(f" · ended {minute(listed.ended, now)}: ", MUTED) + foreign_line(listed.why, MUTED)
    return words


def listed_inputs(rule: Rule) -> Content:
    """A summary of the inputs of a rule for an exact call."""
    return trusted(summary_line(of_rows(arg_rows(rule.args)), _LONGEST_SUMMARY)) if rule.args else Content("")


def minute(time: str, now: datetime) -> Visible:
    """A time from a source in the local time zone."""
    try:
        return inline(local_time(moment(time), now))
    except (ValueError, OverflowError):
        return inline(time)


def _example(past: PastCall, now: datetime) -> Field:
    word = OUTCOMES[past.outcome][1] if past.outcome in OUTCOMES else past.outcome
    values = shortened(of_rows(arg_rows(past.args)))
    return Field(f"{minute(past.asked, now)} {word}", " · ".join(values) or None, "" if values else "no inputs")


def _reach(name: str) -> str:
    return REACHES[RuleReach(name)] if name in set(RuleReach) else inline(name)

"""Rules as text and as JSON."""

from datetime import datetime

from aileron_tui.cli.output import counted
from aileron_tui.core.edits import arg_rows, paired
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import row_lines
from aileron_tui.core.rule import Rule
from aileron_tui.core.rule_words import rule_words
from aileron_tui.core.time_words import local_time
from aileron_tui.core.times import moment
from aileron_tui.core.visible_text import inline
from aileron_tui.ledger.rule_calls import RuleUse
from aileron_tui.ledger.rule_replay import Replay
from aileron_tui.signing.rules import KnownRule


def rule_fields(known: KnownRule, use: RuleUse, *, in_force: bool) -> JsonObject:
    """A rule as JSON, with who made it, how often it was used, and whether it is in force."""
    return known.rule.fields() | known.listed(use.times, use.last, in_force=in_force).facts()


def rule_lines(known: KnownRule, use: RuleUse, now: datetime, *, in_force: bool) -> list[str]:
    """A rule as lines: its id, its words, who made it and how often it was used."""
    used = f"used {counted(use.times, 'time')}" if use.times else "not used yet"
    last = f", last {_minute(use.last, now)}" if use.last else ""
    lines = [
        f"{known.rule.id}{'' if in_force else '  ended'}",
        f"  {inline(rule_words(known.rule, now))}",
        *input_lines(known.rule),
        f"  made {_minute(known.made, now)} with the key {inline(known.made_by)}; {used}{last}",
    ]
    return [*lines, f"  ended {_minute(known.ended, now)}: {inline(known.why)}"] if known.ended else lines


def input_lines(rule: Rule) -> list[str]:
    """The inputs of a rule for an exact call."""
    rows = arg_rows(rule.args) if rule.args else ()
    return [f"  {line}" for line in row_lines(paired(rows, None))]


def replay_lines(replay: Replay, since: str, now: datetime) -> list[str]:
    """What a rule would have answered, and some of the calls."""
    when = f" since {_minute(since, now)}" if since else ""
    calls = counted(replay.asked, "call")
    lines = [f"would have answered {replay.answered:,} of {calls} of this agent to this action{when}"]
    lines += [f"  {_minute(call.asked, now)}  {inline(call.id)}  {inline(call.outcome)}" for call in replay.examples]
    more = replay.answered - len(replay.examples)
    return [*lines, f"  and {more:,} more"] if more > 0 and replay.examples else lines


def _minute(time: str, now: datetime) -> str:
    try:
        return local_time(moment(time), now)
    except (ValueError, OverflowError):
        return inline(time)

"""Says what a rule would have answered in the past, as far as the ledger knows."""

import argparse
from datetime import datetime, timedelta

from aileron_tui.cli.commands.rules.rule_text import replay_lines
from aileron_tui.cli.exit_codes import OK, USAGE
from aileron_tui.cli.ledger_reading import local_reader
from aileron_tui.cli.output import print_json, print_lines, write_error
from aileron_tui.core.jsontext import JsonError, JsonObject, read_object, with_canonical_numbers
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.rule import Rule, RuleReach, RuleVerdict, new_rule_id
from aileron_tui.core.rule_words import rule_words
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.core.visible_text import inline
from aileron_tui.files.boot_clock import boot_clock
from aileron_tui.ledger.rule_replay import Replay, replay
from aileron_tui.ledger.store import LedgerReader
from aileron_tui.signing.rules import Rules
from aileron_tui.surface.local_ledgers import gate_ledger


def run(options: argparse.Namespace) -> int:
    """Returns 2 if the options do not say which rule."""
    named = options.agent or options.action or options.args
    if named and (options.id or not (options.agent and options.action)):
        write_error("give either a rule, or --agent and --action")
        return USAGE
    now = utc_now()
    since = timestamp(options.since) if options.since else ""
    with local_reader(gate_ledger(), indexed=True) as reader:
        rules = [_named_rule(options, now)] if named else _chosen(options.id, reader, now)
        found = [(rule, replay(reader, rule, since) if reader else Replay(0, 0, ())) for rule in rules]
    if options.json:
        items: list[JsonObject] = [
            {"rule": None if named else rule.id, "words": rule_words(rule, now), **result.fields()}
            for rule, result in found
        ]
        print_json({"since": since or None, "replays": [*items]})
        return OK
    if not found:
        print_lines("no rules in force")
    for rule, result in found:
        title = "a rule for these calls" if named else f"{rule.id}  {inline(rule_words(rule, now))}"
        print_lines(title, *(f"  {line}" for line in replay_lines(result, since, now)))
    return OK


def _chosen(id_: str, reader: LedgerReader | None, now: datetime) -> list[Rule]:
    rules = Rules.of(reader) if reader else Rules()
    if id_:
        return [rules.named(id_).rule]
    return [known.rule for known in rules.in_force(now, boot_clock())]


def _named_rule(options: argparse.Namespace, now: datetime) -> Rule:
    """A rule that is not made yet, for the calls that the options describe."""
    try:
        args = None if options.args is None else with_canonical_numbers(read_object(options.args))
    except JsonError as error:
        raise JsonError(f"--args: {error.title}", error.path, error.hint) from None
    reach, risk = (RuleReach.ANY, RiskLevel.NORMAL) if args is None else (RuleReach.CALL, RiskLevel.HIGH)
    ends = timestamp(now + timedelta(hours=1))
    return Rule(new_rule_id(), RuleVerdict.ALLOW, options.agent, options.action, reach, ends, args, risk=risk)

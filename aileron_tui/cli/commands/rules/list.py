"""Lists the rules of this gate."""

import argparse
import sys

from aileron_tui.cli.commands.rules.rule_text import rule_fields, rule_lines
from aileron_tui.cli.exit_codes import OK
from aileron_tui.cli.ledger_reading import local_reader
from aileron_tui.cli.output import print_json, print_lines
from aileron_tui.core.times import utc_now
from aileron_tui.core.visible_text import inline
from aileron_tui.files.boot_clock import boot_clock
from aileron_tui.ledger.rule_calls import RuleUse
from aileron_tui.signing.rules import Rules
from aileron_tui.surface.local_ledgers import gate_ledger


def run(options: argparse.Namespace) -> int:
    """Prints the rules, newest first."""
    now, clock = utc_now(), boot_clock()
    with local_reader(gate_ledger(), indexed=True) as reader:
        rules, uses = (Rules.of(reader), reader.rule_uses()) if reader else (Rules(), {})
    in_force = rules.in_force(now, clock)
    listed = sorted(rules.values(), key=lambda known: -known.seq) if options.all else in_force
    none = RuleUse(0, "")
    if options.json:
        items = [rule_fields(known, uses.get(known.rule.id, none), in_force=known in in_force) for known in listed]
        print_json({"rules": [*items], "invalid": [*rules.invalid]})
        return OK
    if not listed:
        print_lines("no rules in force", "  Make one with R in the console, or with `aileron-tui rules add`.")
    for known in listed:
        print_lines(*rule_lines(known, uses.get(known.rule.id, none), now, in_force=known in in_force))
    for line in rules.invalid:
        sys.stderr.write(f"warning: ignored {inline(line)}\n")
    return OK

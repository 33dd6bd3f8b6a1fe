"""Ends a rule before its time."""

import argparse

from aileron_tui.cli import confirmation
from aileron_tui.cli.exit_codes import OK
from aileron_tui.cli.ledger_reading import local_reader
from aileron_tui.cli.output import print_json, print_lines
from aileron_tui.cli.source_options import unlocked_key
from aileron_tui.core.rule_words import rule_words
from aileron_tui.core.times import utc_now
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths
from aileron_tui.signing.rules import Rules
from aileron_tui.signing.secret_memory import protect_process
from aileron_tui.surface.local_ledgers import gate_ledger
from aileron_tui.surface.rule_changes import end_rule, open_rule


def run(options: argparse.Namespace) -> int:
    """Ends a rule. What can be refused without the passphrase is refused before asking for it."""
    protect_process()
    ledger = gate_ledger()
    confirmation.check_terminal(load_config(paths().config).policy, "ending a rule")
    with local_reader(ledger, indexed=True) as reader:
        known = open_rule(Rules.of(reader) if reader else Rules(), options.id)
    with unlocked_key(options.key) as key:
        known = end_rule(ledger, known.rule.id, key)
    if options.json:
        print_json({"id": known.rule.id, "state": "ended"})
    else:
        print_lines(f"ended {known.rule.id}", f"  {inline(rule_words(known.rule, utc_now()))}")
        print_lines("  Calls that it answered are asked about again.")
    return OK

"""Prints the head of the ledger's chain."""

import argparse
import sys
from pathlib import Path

from aileron_tui.cli.exit_codes import OK
from aileron_tui.cli.ledger_reading import local_reader
from aileron_tui.cli.output import print_json
from aileron_tui.ledger.head import Head


def run(ledger: Path, options: argparse.Namespace) -> int:
    """Prints the number and the hash of the last entry."""
    with local_reader(ledger) as reader:
        head = reader.head() if reader else Head()
    if options.json:
        print_json({"seq": head.seq, "hash": head.hash})
    else:
        sys.stdout.write(f"{head}\n")
    return OK

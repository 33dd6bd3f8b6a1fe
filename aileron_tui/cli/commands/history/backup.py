"""Backs up a ledger."""

import argparse
from pathlib import Path

from aileron_tui.cli.commands.history.verify import fault_lines
from aileron_tui.cli.exit_codes import FAILED, OK
from aileron_tui.cli.ledger_reading import local_reader
from aileron_tui.cli.output import counted, print_json, print_lines, write_error
from aileron_tui.cli.progress import Progress
from aileron_tui.core.visible_text import inline
from aileron_tui.ledger.errors import LedgerError
from aileron_tui.surface.ledger_backup import back_up


def run(ledger: Path, options: argparse.Namespace) -> int:
    """Copies a ledger to a new file, and verifies the copy."""
    path = Path(options.file)
    with local_reader(ledger) as reader:
        if reader is None:
            raise LedgerError("nothing recorded yet", hint="There is nothing to back up.")
        with Progress("copied {} of {} pages") as copying, Progress("checked {} of {} entries") as checking:
            report = back_up(reader, path, copying, checking)
    if report.fault:
        write_error("the ledger is damaged, so no backup was made", *fault_lines(report.fault))
        return FAILED
    if options.json:
        print_json({"file": str(path.absolute()), "entries": report.entries, "head": str(report.head)})
    else:
        entries = counted(report.entries, "entry", "entries")
        print_lines(f"backed up {entries} to {inline(str(path))}", f"  head {report.head}")
    return OK

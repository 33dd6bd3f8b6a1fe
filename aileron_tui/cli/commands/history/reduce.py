"""Removes what is older than `[ledger] keep` from the gate's ledger, or says what would be removed."""

import argparse
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

from aileron_tui.cli import confirmation
from aileron_tui.cli.exit_codes import OK
from aileron_tui.cli.ledger_reading import local_reader
from aileron_tui.cli.output import counted, print_json, print_lines, write
from aileron_tui.core.reduction import SHORTEST_KEEP
from aileron_tui.core.time_spans import read_span
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config import Config
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths
from aileron_tui.ledger.errors import LedgerError
from aileron_tui.ledger.open_store import open_ledger, reducible
from aileron_tui.ledger.store import Ledger, ReductionStep
from aileron_tui.surface.local_ledgers import gate_ledger


def run(ledger: Path, options: argparse.Namespace) -> int:
    """Prints what is removed, asks, and removes it."""
    if ledger != gate_ledger():
        raise LedgerError("only the gate's ledger can be reduced", str(ledger), "Use --source gate.")
    config = load_config(paths().config)
    keep, span = _keep(options.keep, config)
    now = utc_now()
    before = timestamp(now - span)
    with ExitStack() as opened:
        if not options.dry_run:
            confirmation.check_terminal(config.policy, "reducing the ledger")
        with local_reader(ledger, indexed=True) as reader:
            found = _total(reducible(ledger, before, timestamp(now))) if reader else ReductionStep(0, 0, 0, 0)
        if options.dry_run or not reader:
            return _report(options, found, before, removed=False)
        writer = opened.enter_context(open_ledger(ledger, role="history reduce"))
        if found.entries:
            write(sys.stderr, *_question(found, before))
            confirmation.confirm_change("Remove them?", "nothing was removed")
            found = _total(_steps(writer, before, keep))
        more = writer.unerased and writer.erase(whole=True)  # also what a gate has removed, or an interrupted command
        while more:
            more = writer.erase(go_on=True, whole=True)
    return _report(options, found, before, removed=bool(found.entries))


def _keep(option: str | None, config: Config) -> tuple[str, timedelta]:
    keep = option or config.ledger.keep
    if not keep:
        hint = 'Write keep = "365d" under [ledger] in config.toml, or use --keep.'
        raise LedgerError("the ledger keeps everything", "[ledger] keep is not set", hint)
    span = read_span(keep)
    if span is None or span < SHORTEST_KEEP:
        raise LedgerError(f"{inline(keep)!r} is not a time of a day or more", hint="Write days or weeks, such as 365d.")
    return keep, span


def _steps(ledger: Ledger, before: str, keep: str) -> Iterator[ReductionStep]:
    after = 0
    while True:
        step = ledger.reduce(before, keep, after)
        yield step
        if not (after := step.next):
            return


def _total(steps: Iterable[ReductionStep]) -> ReductionStep:
    requests = entries = size = 0
    for step in steps:
        requests, entries, size = requests + step.requests, entries + step.entries, size + step.bytes
    return ReductionStep(requests, entries, size, 0)


def _question(found: ReductionStep, before: str) -> Iterator[str]:
    yield f"{_words(found)} from before {before[:10]} will be removed for good."
    yield "Who asked for what, when, and how it ended stays. Backups and exports are not changed."


def _words(found: ReductionStep) -> str:
    requests, entries = counted(found.requests, "request"), counted(found.entries, "entry", "entries")
    return f"The contents of {requests} ({entries}, {found.bytes:,} bytes)"


def _report(options: argparse.Namespace, found: ReductionStep, before: str, *, removed: bool) -> int:
    if options.json:
        fields = {"requests": found.requests, "entries": found.entries, "bytes": found.bytes}
        print_json({**fields, "before": before, "removed": removed})
    elif not found.entries:
        print_lines(f"nothing to remove from before {before[:10]}")
    else:
        print_lines(f"{_words(found)} from before {before[:10]} {'were' if removed else 'would be'} removed.")
    return OK

"""Restores the gate's ledger from a backup."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from aileron_tui.cli import confirmation
from aileron_tui.cli.exit_codes import OK
from aileron_tui.cli.output import counted, print_json, print_lines, write
from aileron_tui.cli.progress import Progress
from aileron_tui.cli.source_options import unlocked_key
from aileron_tui.core.states import RequestState
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths
from aileron_tui.ledger.errors import LedgerError
from aileron_tui.ledger.open_store import is_ledger
from aileron_tui.signing import key_store
from aileron_tui.signing.secret_memory import protect_process
from aileron_tui.surface.ledger_restore import Restore, RestorePlan, restoring
from aileron_tui.surface.local_ledgers import checkpoint_folder, gate_ledger


def run(ledger: Path, options: argparse.Namespace) -> int:
    """Shows what will be in force, asks, and restores."""
    backup, here = Path(options.file), paths()
    confirmation.check_terminal(load_config(here.config).policy, "restoring a ledger")
    if ledger != gate_ledger():
        hint = "A daemon has its own record. To keep this one, move it with `history set-aside`."
        raise LedgerError("only the gate's ledger can be restored", str(ledger), hint)
    if not is_ledger(backup):
        hint = "Give a file that `aileron-tui history backup` made. An export cannot be restored."
        raise LedgerError("not a backup of a ledger", str(backup), hint)
    protect_process()
    key_store.choose(here.keys, options.key)  # without a key, nobody needs to wait
    with (
        Progress("copied {} of {} pages") as copying,
        Progress("checked {} of {} entries") as checking,
        restoring(ledger, backup, copying, checking) as work,
    ):
        copying.end()
        checking.end()
        write(sys.stderr, *_lines(work, backup))
        confirmation.confirm_change("Restore this backup?", "nothing was restored")
        with unlocked_key(options.key) as key:
            kept = work.finish(key, checkpoint_folder())
    if options.json:
        print_json({"entries": work.report.entries, "head": str(work.report.head), "kept": str(kept) if kept else None})
        return OK
    print_lines(f"restored {counted(work.report.entries, 'entry', 'entries')}")
    if kept:
        print_lines(f"kept the ledger that was here as {inline(str(kept))}")
    return OK


def _in_force(plan: RestorePlan) -> Iterator[str]:
    """What differs from the backup in what is in force afterwards."""
    for fingerprint in plan.keys:
        yield f"  the key {inline(plan.names.get(fingerprint, ''))} stays revoked ({inline(fingerprint)})"
    for name in plan.agents:
        yield f"  the agent {inline(name)} stays revoked"
    for name, _ in plan.tokens:
        yield f"  the agent {inline(name)} keeps its present token"
    for id_ in plan.rules:
        yield f"  the rule {inline(id_)} {'stays ended' if plan.known else 'ends'}"
    for package in plan.packages:
        yield f"  the package {inline(package.name)} {inline(package.version)} is not installed"
    for binding in plan.bindings:
        yield f"  the account {inline(binding.account)} of {inline(binding.connector)} stays unbound"
    for what in plan.later:
        yield f"  {inline(what)} must be added again"


def _lines(work: Restore, backup: Path) -> Iterator[str]:
    """What will be in force afterwards."""
    plan = work.plan
    yield f"{inline(str(backup))} has {counted(work.report.entries, 'entry', 'entries')}; all of them are valid."
    if plan.replaced:
        entries = counted(plan.replaced.seq, "entry", "entries")
        yield f"The ledger here has {entries}. It will be kept beside the new one."
    if plan.known:
        yield "Only what both of them allow will be in force:"
    else:
        yield "WARNING: nobody knows what was revoked after the backup, because the ledger here has no keys."
        yield "  Afterwards, revoke such keys and agents again, and rotate tokens that were replaced."
    yield from _in_force(plan)
    states = Counter(state for _, state in plan.requests)
    if waiting := states[RequestState.PENDING]:
        yield f"  {counted(waiting, 'waiting request')} will expire"
    if approved := states[RequestState.APPROVED]:
        yield f"  {counted(approved, 'approved request')} that had not started will not run"
    if running := states[RequestState.RUNNING]:
        yield f"  {counted(running, 'request')} that ran will have an unknown outcome"

"""Verifies a ledger or an export."""

import argparse
import os
import sys
from pathlib import Path

from aileron_tui.cli.exit_codes import FAILED, OK
from aileron_tui.cli.ledger_reading import local_reader
from aileron_tui.cli.output import counted, print_json, print_lines
from aileron_tui.cli.progress import Progress
from aileron_tui.core.entry_chain import ChainFault, Damage
from aileron_tui.core.jsontext import JsonError, JsonObject, read_object
from aileron_tui.core.key_change import is_security_key
from aileron_tui.core.visible_text import inline
from aileron_tui.ledger.entry_check import CheckReport, verify
from aileron_tui.ledger.errors import LedgerDamaged
from aileron_tui.ledger.export import Exported
from aileron_tui.ledger.file_names import FILE as LEDGER_NAME
from aileron_tui.ledger.full_check import audit_export
from aileron_tui.ledger.head import Head
from aileron_tui.ledger.open_store import is_ledger, open_reader
from aileron_tui.ledger.quick_check import QuickCheck
from aileron_tui.runtime.gate_discovery import FILE
from aileron_tui.signing.recorded_signers import RecordedSigners
from aileron_tui.surface.history_records import parse_local_time
from aileron_tui.surface.local_ledgers import checkpoint_folder


def run(ledger: Path, options: argparse.Namespace, source: str) -> int:
    """Checks a ledger of this home and prints a report."""
    if elsewhere := _written_elsewhere(ledger):
        raise LedgerDamaged(ledger, elsewhere)
    signers = RecordedSigners()
    with local_reader(ledger) as reader, Progress("checked {} of {} entries") as progress:
        expected = _expected(options)
        if reader:
            folder = None if options.all else checkpoint_folder()
            report, signers = QuickCheck(RecordedSigners, folder, progress).run(reader, expected)
        else:
            report = verify((), signers, expected)
    return _finish(report, signers, options, source)


def run_on_file(path: Path, options: argparse.Namespace) -> int:
    """Checks an export or another ledger and prints a report."""
    signers = RecordedSigners()
    if is_ledger(path):
        with open_reader(path, foreign=True) as reader, Progress("checked {} of {} entries") as progress:
            report, signers = QuickCheck(RecordedSigners, None, progress).run(reader, _expected(options))
    else:
        report = audit_export(Exported(path), signers, _expected(options))
    return _finish(report, signers, options)


def _written_elsewhere(ledger: Path) -> str:
    """A warning if a gate is running on this home and its ledger is no longer this file, else ""."""
    try:
        gate = read_object((ledger.parent / FILE).read_bytes())
        pid, written = gate.get("pid"), gate.get("ledger")
        if not isinstance(pid, int) or not isinstance(written, str):
            return ""
        os.kill(pid, 0)
    except (OSError, OverflowError, JsonError):
        return ""
    try:
        status = ledger.stat()
        found = f"{status.st_dev}:{status.st_ino}"
    except OSError:
        found = ""
    if found == written or ledger.name != LEDGER_NAME:
        return ""
    return f"the running gate (process {pid}) was writing to another file, which was removed or replaced"


def _expected(options: argparse.Namespace) -> list[Head]:
    return [options.against] if options.against else []


def _finish(report: CheckReport, signers: RecordedSigners, options: argparse.Namespace, source: str = "") -> int:
    names = {fingerprint: approver.name for fingerprint, approver in signers.approvers.items()}
    if options.json:
        print_json(_report_fields(report, names))
    elif report.fault:
        _print_fault(report.fault, report.head, source)
    else:
        _print_report(report, names)
    return FAILED if report.fault else OK


def _report_fields(report: CheckReport, names: dict[str, str]) -> JsonObject:
    fault = report.fault
    return {
        "good": fault is None,
        "entries": report.entries,
        "head": str(report.head),
        "decisions": [
            {"key": fingerprint, "name": names.get(fingerprint, ""), "count": count}
            for fingerprint, count in report.decisions.items()
        ],
        "unsigned_denials": report.unsigned_denials,
        "rules": [{"rule": rule, "count": count} for rule, count in report.rule_answers.items()],
        "reduced": {"entries": report.reduced, "before": report.reduced_before} if report.reduced else None,
        "fault": _fault_fields(fault) if fault else None,
        "notes": list(report.notes),
        "trusted": {"entries": report.trusted, "checked": report.trusted_since} if report.trusted else None,
    }


def _fault_fields(fault: ChainFault) -> JsonObject:
    return {"entry": fault.seq, "damage": fault.damage.name.lower(), "words": fault.damage, "detail": fault.detail}


def fault_lines(fault: ChainFault) -> tuple[str, str]:
    """What is wrong with a ledger, in two lines."""
    return f"entry {fault.seq}: {fault.damage}", fault.detail


def _print_fault(fault: ChainFault, head: Head, source: str) -> None:
    sys.stdout.write(f"DAMAGED at entry {fault.seq}: {fault.damage}\n  {inline(fault.detail)}\n")
    sys.stdout.write(f"  good up to {head}\n")
    if fault.damage is Damage.INDEX:
        rebuild = f"aileron-tui history rebuild{f' --source {inline(source)}' if source else ''}"
        sys.stdout.write(f"  The entries are intact. Rebuild the index from them: `{rebuild}`\n")


def _print_report(report: CheckReport, names: dict[str, str]) -> None:
    sys.stdout.write(f"good: {counted(report.entries, 'entry', 'entries')}\n  head {report.head}\n")
    if report.trusted:
        checked = parse_local_time(report.trusted_since)
        numbers = f"entries 1–{report.trusted:,}" if report.trusted < report.entries else "all entries"
        print_lines(f"  {numbers} were checked on {checked:%Y-%m-%d} and are trusted; --all checks them again")
    for fingerprint, count in report.decisions.items():
        name = inline(names.get(fingerprint, "?"))
        kind = "the security key " if is_security_key(fingerprint) else ""
        sys.stdout.write(f"  {counted(count, 'decision')} signed by {kind}{name} ({inline(fingerprint)})\n")
    if report.unsigned_denials:
        sys.stdout.write(f"  {counted(report.unsigned_denials, 'denial')} without a signature\n")
    for rule, count in report.rule_answers.items():
        sys.stdout.write(f"  {counted(count, 'request')} answered by {inline(rule)}\n")
    if report.reduced:
        entries, were = counted(report.reduced, "entry", "entries"), "was" if report.reduced == 1 else "were"
        print_lines(
            f"  {entries} from before {report.reduced_before[:10]} {were} reduced to digests by [ledger] keep:"
            " the contents and signatures in them can no longer be checked"
        )
    for note in report.notes:
        sys.stderr.write(f"note: {inline(note)}\n")

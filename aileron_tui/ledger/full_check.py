"""Verifies a whole ledger or an export: the entries and everything derived from them."""

from collections.abc import Sequence
from dataclasses import replace

from aileron_tui.core.entry_chain import ChainFault, Damage
from aileron_tui.ledger.entry_check import CheckReport, Signers, verify
from aileron_tui.ledger.errors import LedgerDamaged
from aileron_tui.ledger.export import Exported
from aileron_tui.ledger.head import Head
from aileron_tui.ledger.range_check import Progress, counted
from aileron_tui.ledger.store import LedgerReader


def audit(
    reader: LedgerReader, signers: Signers, expected: Sequence[Head] = (), progress: Progress = lambda _: None
) -> CheckReport:
    """Verifies a ledger at one moment: its entries, the head noted beside it, its index and its file."""
    noted = reader.noted()
    with reader.snapshot():
        heads = [*expected, noted] if noted else expected
        report = verify(counted(reader.rows(), progress), signers, heads, reader.shown)
        return report if report.fault else replace(report, fault=around(report, reader))


def audit_export(exported: Exported, signers: Signers, expected: Sequence[Head] = ()) -> CheckReport:
    """Verifies an export, which states the head it must end with."""
    return verify(exported.rows(), signers, [*expected, exported.head])


def around(report: CheckReport, reader: LedgerReader, *, storage: bool = True) -> ChainFault | None:
    """What is wrong with what is derived from the entries, or with the file itself, which takes long."""
    after = report.head.seq + 1
    try:
        indexed = {entry.seq for entry in reader.key_changes()}
        if differing := indexed ^ set(report.key_changes):
            return ChainFault(min(differing), Damage.INDEX, "the list of key changes differs from the entries")
        indexed = {entry.seq for entry in reader.agent_changes()}
        if differing := indexed ^ set(report.agent_changes):
            return ChainFault(min(differing), Damage.INDEX, "the list of changes of agents differs from the entries")
        indexed = {entry.seq for entry in reader.rule_changes()}
        if differing := indexed ^ set(report.rule_changes):
            return ChainFault(min(differing), Damage.INDEX, "the list of changes of rules differs from the entries")
        indexed = {entry.seq for entry in reader.package_changes()}
        if differing := indexed ^ set(report.package_changes):
            return ChainFault(min(differing), Damage.INDEX, "the list of changes of packages differs from the entries")
        indexed = {entry.seq for entry in reader.binding_changes()}
        if differing := indexed ^ set(report.binding_changes):
            return ChainFault(min(differing), Damage.INDEX, "the list of changes of bindings differs from the entries")
        indexed = {entry.seq for entry in reader.publisher_changes()}
        if differing := indexed ^ set(report.publisher_changes):
            return ChainFault(
                min(differing), Damage.INDEX, "the list of changes of publishers differs from the entries"
            )
        if storage and (found := reader.check_storage()):
            return ChainFault(after, Damage.UNREADABLE, f"the entries are intact, but the file is damaged: {found}")
    except LedgerDamaged as error:
        return ChainFault(after, Damage.UNREADABLE, f"the entries are intact, but the file is damaged: {error.detail}")
    return None

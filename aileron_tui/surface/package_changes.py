"""Adds and removes packages of the gate of a data folder. Its ledger records them, even while the gate runs."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from aileron_tui.core.entry_chain import GENESIS
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.errors import AileronError
from aileron_tui.core.package_change import LARGEST, PackageChange, PackageRef, added, declined_body, removed
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.ledger.errors import EntryRefused
from aileron_tui.ledger.open_store import open_ledger, open_reader
from aileron_tui.ledger.store import LedgerView
from aileron_tui.packages.installed import installed_packages
from aileron_tui.packages.proposal import Proposal, check_fit
from aileron_tui.packages.store import PackageStore
from aileron_tui.signing.envelope import Envelope
from aileron_tui.signing.errors import PackageFault
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.signing.packages import Packages, check_package_signature
from aileron_tui.surface import signed_changes
from aileron_tui.surface.signed_changes import ChangeRules

Consent: TypeAlias = tuple[PackageChange, Envelope]
"""A change, and what another key than the operator's, such as a security key, signed over it."""

MakeChange: TypeAlias = Callable[[str, str], PackageChange]
"""Makes a change for a head of the ledger and a time."""

_RULES: Final = ChangeRules("packages", LARGEST, "Add fewer packages at once.", PackageFault, check_package_signature)


def adding(proposals: Sequence[Proposal]) -> MakeChange:
    """The change that installs what was proposed."""
    return lambda head, time: added(tuple(proposal.grant for proposal in proposals), head, time)


def removing(packages: Sequence[PackageRef]) -> MakeChange:
    """The change that removes packages."""
    return lambda head, time: removed(tuple(packages), head, time)


def check_size(proposals: Sequence[Proposal]) -> None:
    """Refuses what is too much for one consent, so that nobody reads it in vain."""
    signed_changes.check_size(adding(proposals)(GENESIS, timestamp(utc_now())), _RULES)


def statement(ledger: Path, make: MakeChange) -> PackageChange:
    """What is to be signed by a security key."""
    return signed_changes.statement(ledger, make, _RULES)


def install(ledger: Path, proposals: Sequence[Proposal], consent: UnlockedKey | Consent) -> None:
    """Installs what was proposed and approved: first the files, then the grant, which makes them count."""
    store = PackageStore(ledger.parent)
    with store.locked():
        clean(ledger)
        _check_still_fits(ledger, proposals)
        for proposal in proposals:
            store.put(proposal.grant, proposal.content)
        try:
            _record(ledger, adding(proposals), consent)
        finally:
            clean(ledger)


def restore(ledger: Path, proposals: Sequence[Proposal]) -> None:
    """Writes the files of packages again that are installed with the same content."""
    store = PackageStore(ledger.parent)
    with store.locked():
        for proposal in proposals:
            store.put(proposal.grant, proposal.content)


def remove(ledger: Path, packages: Sequence[PackageRef], consent: UnlockedKey | Consent) -> None:
    """Removes packages: first their grant, then the files."""
    with PackageStore(ledger.parent).locked():
        _record(ledger, removing(packages), consent)
        clean(ledger)


def record_declined(ledger: Path, packages: Sequence[PackageRef], source: str) -> None:
    """Records that packages were offered and declined. That changes nothing, so nobody signs it."""
    with open_ledger(ledger, role="packages", guest=True) as opened:
        opened.append(EntryKind.PACKAGE_DECLINED, declined_body(tuple(packages), source))


def clean(ledger: Path) -> None:
    """Removes files of packages that the ledger does not name. Only for who holds the lock of the store."""
    if not ledger.exists():
        return
    try:
        with open_reader(ledger) as reader:
            keep = [known.grant.hash for known in Packages.of(reader).values()]
    except AileronError:
        return  # what cannot be read is not known to be superfluous
    PackageStore(ledger.parent).clean(keep)


def _record(ledger: Path, make: MakeChange, consent: UnlockedKey | Consent) -> None:
    try:
        signed_changes.record(ledger, make, consent, _RULES, _check_fits)
    except EntryRefused as error:
        raise _changed_meanwhile(error.detail) from None


def _check_still_fits(ledger: Path, proposals: Sequence[Proposal]) -> None:
    """Refuses what clashes with a package that was installed since it was shown, or breaks more than was said."""
    with open_reader(ledger) as reader:
        installed = installed_packages(ledger.parent, Packages.of(reader))
    said = {name for proposal in proposals for name in proposal.broken}
    if more := [name for name in check_fit(proposals, installed) if name not in said]:
        raise _changed_meanwhile(f"{more[0]} would stop working")


def _check_fits(view: LedgerView, change: PackageChange) -> None:
    """Refuses a change for something else than what is installed, as far as approvers signed for it."""
    if why := Packages.of(view).objection(change, timestamp(utc_now())):
        raise _changed_meanwhile(why)


def _changed_meanwhile(detail: str) -> PackageFault:
    hint = "Nothing was changed. Run the command again."
    return PackageFault("the installed packages have changed meanwhile", detail, hint)

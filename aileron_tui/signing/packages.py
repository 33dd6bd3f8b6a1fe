"""The packages of a gate, as the ledger lists them.

The ledger is the only list, as it is for approvers, agents and rules. An approver signs every change, and what is not
signed does not count. A key must be able to approve when its change is recorded; what it has signed before it is
revoked stays.
"""

from typing import Protocol

from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import Json, JsonError
from aileron_tui.core.package_change import (
    PACKAGE_CHANGES,
    PAYLOAD_TYPE,
    PackageChange,
    apply_change,
    objection,
    read_change,
    read_declined,
)
from aileron_tui.core.package_grant import PackageGrant
from aileron_tui.core.values import dataclass
from aileron_tui.signing.approvers import Approver, Approvers
from aileron_tui.signing.change_signature import ChangeLedger, IsRecent, change_signer, recent
from aileron_tui.signing.errors import EnvelopeRefused, NoPackage, PackageFault


class PackageLedger(ChangeLedger, Protocol):
    """What is needed from a ledger to know its packages."""

    def package_changes(self) -> tuple[Entry, ...]:
        """Every entry that adds, removes or declines packages, in order."""


@dataclass(frozen=True, slots=True)
class KnownPackage:
    """An installed package: its grant, and when and by which key it was approved.

    `signer` is the fingerprint of the key. `revoked` is when that key was revoked, "" if it was not.
    """

    grant: PackageGrant
    seq: int
    approved: str
    approved_by: str
    signer: str
    revoked: str = ""


class Packages(dict[str, KnownPackage]):
    """Installed packages by name. `invalid` has what is wrong with the entries that were `ignored`, by number.

    `replace_samples` is whether a package with an action is or was installed. From then on the samples are not used: if
    the last package is removed, a waiting request must not become one of a sample that has the same name.
    """

    def __init__(self) -> None:
        super().__init__()
        self.replace_samples = False
        self.invalid: list[str] = []
        self.ignored: set[int] = set()
        self._hashes: dict[str, str] = {}
        self._used: set[str] = set()

    @classmethod
    def of(cls, ledger: PackageLedger) -> "Packages":
        """The packages according to a ledger. An entry that is not valid changes nothing."""
        packages, approvers = cls(), Approvers()
        revoked: dict[str, str] = {}
        for entry in sorted((*ledger.key_changes(), *ledger.package_changes()), key=lambda entry: entry.seq):
            approvers.learn(entry)
            if entry.kind == EntryKind.KEY_REVOKED:
                revoked[str(entry.body.get("fingerprint"))] = entry.time
            try:
                packages.learn(entry, approvers, lambda head, seq: recent(ledger, head, seq))
            except PackageFault as error:
                packages.invalid.append(f"entry {entry.seq}: {error}")
                packages.ignored.add(entry.seq)
        for name, known in packages.items():
            if time := revoked.get(known.signer):
                about = (known.grant, known.seq, known.approved, known.approved_by, known.signer)
                packages[name] = KnownPackage(*about, time)
        return packages

    def learn(self, entry: Entry, approvers: Approvers, is_recent: IsRecent) -> None:
        """Processes one entry and ignores all but changes of packages. Raises PackageFault if it is not valid."""
        if entry.kind not in PACKAGE_CHANGES:
            return
        try:
            if entry.kind == EntryKind.PACKAGE_DECLINED:
                read_declined(entry)
                return
            change, envelope = read_change(entry)
        except JsonError as error:
            raise PackageFault("the change to packages cannot be read", str(error)) from None
        if why := objection(self._hashes, self._used, change, entry.time):
            raise PackageFault("the packages cannot be changed", why)
        approver = check_package_signature(envelope, approvers)
        if not is_recent(change.head, entry.seq):
            raise PackageFault("the change to packages was signed over another history", change.head)
        self._used.add(change.id)
        apply_change(self._hashes, change)
        for gone in change.removed:
            self.pop(gone.name, None)
        for grant in change.added:
            about = (entry.seq, entry.time, approver.name, approver.public.fingerprint)
            self[grant.name] = KnownPackage(grant, *about)
            self.replace_samples |= bool(grant.actions)

    def objection(self, change: PackageChange, time: str) -> str:
        """Why a change cannot be made now, in words, or "" if it can."""
        return objection(self._hashes, self._used, change, time)

    def named(self, name: str) -> KnownPackage:
        """The package with this name, or the only one whose name ends with it. Raises NoPackage."""
        if known := self.get(name):
            return known
        found = [known for each, known in self.items() if each.endswith(f"/{name}")]
        if len(found) == 1:
            return found[0]
        hint = "`aileron-tui installed` shows all packages."
        if found:
            names = ", ".join(known.grant.name for known in found)
            raise NoPackage(f"several packages are named {name}", names, "Give the whole name.")
        raise NoPackage(f"there is no installed package named {name}", hint=hint)


def check_package_signature(envelope: Json, approvers: Approvers) -> Approver:
    """The approver who signed a change to packages. Raises PackageFault."""
    try:
        return change_signer(envelope, PAYLOAD_TYPE, approvers)
    except EnvelopeRefused as error:
        raise PackageFault("no approver signed the change to packages", f"{error.reason}: {error.detail}") from None

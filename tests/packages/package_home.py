"""A home in which packages are installed without a terminal: what a command does once somebody has approved."""

from collections.abc import Sequence
from pathlib import Path

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.package_change import PackageRef
from aileron_tui.ledger.open_store import open_ledger, open_reader
from aileron_tui.packages.installed import InstalledContent, InstalledPackages, installed_content, installed_packages
from aileron_tui.packages.offer import read_offer
from aileron_tui.packages.proposal import Proposal, propose
from aileron_tui.packages.store import PackageStore
from aileron_tui.sandbox.connector_package import PublisherKeyring
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from aileron_tui.signing.packages import Packages
from aileron_tui.surface import package_changes
from tests.packages.made_packages import keyring


class PackageHome:
    """A data folder with a ledger, one key that may approve, and a keyring that trusts the publisher."""

    def __init__(self, data: Path, trusted: PublisherKeyring | None = None, key: UnlockedKey | None = None) -> None:
        self.data = data
        self.ledger = data / "ledger.db"
        self.key = key or for_this_run("laptop")
        self.keyring = trusted or keyring()
        if key is not None:
            return  # it may approve already
        with open_ledger(self.ledger) as opened:
            opened.append(EntryKind.KEY_ENROLLED, Approvers().enrolment(self.key.name, self.key.public))

    @property
    def store(self) -> PackageStore:
        return PackageStore(self.data)

    def packages(self) -> Packages:
        with open_reader(self.ledger) as reader:
            return Packages.of(reader)

    def installed(self) -> InstalledPackages:
        return installed_packages(self.data, self.packages())

    def content(self) -> InstalledContent:
        return installed_content(self.installed())

    def proposals(self, *sources: Path | str, name: str = "") -> tuple[Proposal, ...]:
        return propose([(name, read_offer(str(source))) for source in sources], self.installed(), self.keyring)

    def add(self, *sources: Path | str, name: str = "") -> tuple[Proposal, ...]:
        proposals = self.proposals(*sources, name=name)
        self.install(proposals)
        return proposals

    def install(self, proposals: Sequence[Proposal]) -> None:
        package_changes.install(self.ledger, proposals, self.key)

    def remove(self, name: str) -> None:
        grant = self.packages().named(name).grant
        package_changes.remove(self.ledger, [PackageRef(grant.name, grant.version, grant.hash)], self.key)

    def stored(self) -> set[str]:
        """The hashes of everything in the store, and what is left over."""
        found = [*self.store.root.glob("sha256/*"), *self.store.root.glob(".new-*")]
        return {f"sha256:{path.name}" if path.parent.name == "sha256" else path.name for path in found}

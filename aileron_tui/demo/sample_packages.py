"""Installs the sample suite in a sample home and binds its accounts, as `add` and `bind` do after the consent.

The key of the home signs both. The secrets are in the encrypted file of the home, never in the keyring of the system.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from aileron_tui.accounts.secret_document import SecretDocument
from aileron_tui.accounts.secret_store import SecretStores
from aileron_tui.core.binding_change import FILE, Binding
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.values import dataclass
from aileron_tui.demo.sample_home import SampleHome
from aileron_tui.demo.sample_service import FILES_CREDENTIAL, MAIL_CREDENTIAL
from aileron_tui.gate.gate_state import GateSetup
from aileron_tui.ledger.file_names import FILE as LEDGER_FILE
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.packages.connectors_in_use import connectors_in_use
from aileron_tui.packages.installed import InstalledPackages, installed_packages
from aileron_tui.packages.offer import read_offer
from aileron_tui.packages.proposal import Proposal, propose
from aileron_tui.runtime.gate_client import ApproverClient
from aileron_tui.runtime.gate_discovery import FoundGate
from aileron_tui.signing.packages import Packages
from aileron_tui.surface import binding_changes, package_changes

ACCOUNT: Final = "demo"
"""The name of the account of each sample connector."""

_SECRETS: Final[Mapping[str, JsonObject]] = {
    "local://aileron/mail": {"kind": "oauth2", "access_token": MAIL_CREDENTIAL},
    "local://aileron/files": {"kind": "api_key", "key": FILES_CREDENTIAL},
}


@dataclass(frozen=True, slots=True)
class SamplePackages:
    """What was installed and bound in a sample home."""

    home: SampleHome
    package: Proposal
    bindings: tuple[Binding, ...]

    @property
    def setup(self) -> GateSetup:
        """The setup of a gate that uses what is installed and bound, and no credential of the configuration."""
        setup = self.home.setup
        return replace(setup, packages=True, config=replace(setup.config, connectors={}))

    def unlock(self, gate: FoundGate) -> None:
        """Lets a gate of this home use the accounts."""
        vault, key = SecretStores(self.home.setup.data).vault, self.home.key
        with ApproverClient(gate, key) as client:
            client.unlock_accounts(vault.open_with(key))


def install_samples(home: SampleHome) -> SamplePackages:
    """Installs the suite of this home, and binds an account of the sample service to each connector."""
    data, ledger = home.setup.data, home.setup.data / LEDGER_FILE
    (package,) = propose([("", read_offer(str(home.setup.manifests)))], InstalledPackages(), home.setup.keyring)
    package_changes.install(ledger, [package], home.key)
    with open_reader(ledger) as reader:
        connectors = connectors_in_use(installed_packages(data, Packages.of(reader)), (), home.setup.keyring)
    stores = SecretStores(data)
    stores.vault.create_or_open([home.key])
    try:
        bindings = tuple(binding_changes.new_binding(used, ACCOUNT, FILE) for used in connectors.values())
        for binding in bindings:
            binding_changes.bind(ledger, stores, binding, SecretDocument(_SECRETS[binding.connector]), home.key)
    finally:
        stores.vault.lock()
    return SamplePackages(home, package, bindings)

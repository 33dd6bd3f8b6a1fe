"""A home in which accounts are bound without a terminal: what a command does once somebody has approved."""

from pathlib import Path

from aileron_tui.accounts.keyring_store import KeyringStore
from aileron_tui.accounts.secret_document import SecretDocument
from aileron_tui.accounts.secret_store import SecretStores
from aileron_tui.core.binding_change import Binding, new_binding_id
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.ledger.open_store import open_ledger, open_reader
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.bindings import Bindings
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from aileron_tui.surface import binding_changes
from tests.accounts.keyrings import MemoryKeyring

CONNECTOR = "github://acme/mail"


def api_key(text: str) -> SecretDocument:
    """The document of an API key."""
    return SecretDocument({"kind": "api_key", "key": text})


class AccountHome:
    """A data folder with a ledger, one key that may approve, an encrypted file and a keyring."""

    def __init__(self, data: Path, backend: MemoryKeyring | None = None, key: UnlockedKey | None = None) -> None:
        self.data = data
        self.ledger = data / "ledger.db"
        self.key = key or for_this_run("laptop")
        self.backend = backend or MemoryKeyring()
        self.stores = SecretStores(data, KeyringStore(data, lambda: self.backend))
        if key is None:
            with open_ledger(self.ledger) as opened:
                opened.append(EntryKind.KEY_ENROLLED, Approvers().enrolment(self.key.name, self.key.public))
        self.stores.vault.create_or_open([self.key])

    def bindings(self) -> Bindings:
        with open_reader(self.ledger) as reader:
            return Bindings.of(reader)

    def binding(self, account: str = "default", store: str = "file") -> Binding:
        """A new binding that replaces the one in force."""
        known = self.bindings().get((CONNECTOR, account))
        replaces = known.binding.id if known else ""
        return Binding(new_binding_id(), CONNECTOR, "api_key", account, store=store, replaces=replaces)

    def bind(self, secret: str, account: str = "default", store: str = "file") -> Binding:
        made = self.binding(account, store)
        self.bind_as(made, secret)
        return made

    def bind_as(self, binding: Binding, secret: str) -> None:
        assert binding_changes.bind(self.ledger, self.stores, binding, api_key(secret), self.key) == []

    def unbind(self, account: str = "default") -> list[str]:
        binding = self.bindings()[CONNECTOR, account].binding
        return binding_changes.unbind(self.ledger, self.stores, binding, self.key)

    def secrets(self) -> dict[str, str]:
        """The API key of each account that is bound; fails if one is missing."""
        found: dict[str, str] = {}
        for (_, account), known in self.bindings().items():
            document = self.stores.read(known.binding)
            assert document is not None, f"the secret of {account} is missing"
            found[account] = str(document.reveal()["key"])
        return found

    def refs(self) -> set[str]:
        """The names of all secrets that are stored."""
        return {*self.stores.vault.refs(), *self.stores.keyring.refs()}

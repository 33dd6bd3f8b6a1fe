"""The accounts that the connectors of a gate use, as its ledger lists them now."""

from aileron_tui.accounts.account_secrets import AccountSecrets, ConfiguredAccounts
from aileron_tui.accounts.secret_store import SecretStores
from aileron_tui.gate.gate_state import GateSetup
from aileron_tui.ledger.store import LedgerView
from aileron_tui.signing.bindings import Bindings


class AccountRegistry:
    """The accounts of a gate. `note` is for the event loop, because it reads the ledger."""

    def __init__(self, setup: GateSetup, stores: SecretStores) -> None:
        self.secrets = AccountSecrets(setup.data, stores, ConfiguredAccounts.of(setup.config))
        self._seen = (-1, -1)

    def note(self, ledger: LedgerView) -> None:
        """Reads from the ledger which accounts are bound, if that may have changed."""
        marks = (ledger.last_binding_change(), ledger.last_key_change())
        if marks != self._seen:
            self.secrets.note(Bindings.of(ledger))
            self._seen = marks

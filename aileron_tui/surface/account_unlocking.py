"""Unlocks the accounts of the gate of this home, with an operator key that is unlocked."""

from aileron_tui.accounts.secret_store import SecretStores
from aileron_tui.accounts.vault import DataKey, Vault
from aileron_tui.core.errors import AileronError
from aileron_tui.files.paths import paths
from aileron_tui.runtime.errors import NoGate
from aileron_tui.runtime.gate_client import ApproverClient
from aileron_tui.runtime.gate_discovery import discover_here
from aileron_tui.runtime.viewer_client import ViewerClient
from aileron_tui.signing.key_store import UnlockedKey


def data_key_here(key: UnlockedKey) -> DataKey | None:
    """The key of the secrets of this home, None if this operator key cannot decrypt it or there are none."""
    vault = Vault(paths().data)
    return vault.open_with(key) if key.public.fingerprint in vault.fingerprints() else None


def unlock_gate(key: UnlockedKey, stores: SecretStores) -> str:
    """Sends the key of the secrets to the gate of this home. Returns why it did not get it, or "".

    If no gate runs, there is nothing to unlock: the next one is unlocked by whoever answers its requests.
    """
    try:
        with ApproverClient(discover_here(), key) as client:
            client.unlock_accounts(stores.vault.open_with(key))
    except NoGate:
        return ""
    except AileronError as error:
        return str(error)
    return ""


def gate_accounts() -> str:
    """What the running gate of this home says about its accounts: "none", "locked" or "unlocked"; "" if none runs."""
    try:
        with ViewerClient(discover_here()) as client:
            client.open()
            return client.accounts
    except AileronError:
        return ""

"""The checks of `doctor` on the accounts of connectors: where secrets are kept, and whether each can be used."""

from collections.abc import Iterator

from aileron_tui.accounts.binding_state import StateName
from aileron_tui.accounts.errors import AccountError, KeyringFault
from aileron_tui.accounts.keyring_store import KeyringStore
from aileron_tui.accounts.secret_store import SecretStores
from aileron_tui.cli.binding_states import listed_bindings, vault_keys
from aileron_tui.cli.bindings_here import bindings_here, connectors_here
from aileron_tui.cli.machine_checks import Check, Status, failed
from aileron_tui.core.errors import AileronError
from aileron_tui.files.paths import Paths
from aileron_tui.signing.key_store import INSECURE

_STATUS = {
    StateName.OK: Status.OK,
    StateName.LOCKED: Status.WARN,
    StateName.UNUSED: Status.WARN,
    StateName.EXPIRED: Status.FAIL,
    StateName.SIGN_IN_AGAIN: Status.FAIL,
    StateName.FAILED: Status.FAIL,
}


def accounts(here: Paths) -> Iterator[Check]:
    """Where new secrets would go, and the state of every account that is bound."""
    stores = SecretStores(here.data)
    yield _place(stores)
    try:
        bindings = bindings_here()
        able = vault_keys(stores, here.keys)
        rows = listed_bindings(bindings, connectors_here(()), stores, able)
    except AccountError as error:
        yield failed("accounts", error, error.hint)
        return
    except AileronError:
        return  # the checks of the ledger and of what is installed say why
    if bindings.invalid:
        fix = "Run `aileron-tui history verify`."
        yield Check("accounts", Status.FAIL, "entries of the ledger about accounts were ignored", fix=fix)
    for row in rows:
        binding, state = row.known.binding, row.state
        words = f"{binding.connector}, account {binding.account}: {state.name}"
        why = f" ({state.why})" if state.why else ""
        yield Check("accounts", _STATUS[state.name], words + why, fix=state.fix)
        if row.insecure:
            words = f"the secret of {binding.connector} is encrypted with the key {row.insecure}, which is {INSECURE}"
            fix = f"Give it one with `aileron-tui key passphrase {row.insecure}`."
            yield Check("accounts", Status.WARN, words, fix=fix)


def _place(stores: SecretStores) -> Check:
    """Whether the keyring of the system works. Without one, the encrypted file is used, which is as good."""
    keyring = stores.keyring
    try:
        if isinstance(keyring, KeyringStore):
            keyring.check()
            return Check("accounts.store", Status.OK, f"the secrets of new accounts go to {keyring.name()}")
    except KeyringFault as error:
        words = f"{error.title}; the secrets of new accounts go to {stores.vault.path}, encrypted"
        return Check("accounts.store", Status.OK, words)
    return Check("accounts.store", Status.OK, f"the secrets of new accounts go to {stores.vault.path}, encrypted")

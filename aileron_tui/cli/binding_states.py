"""The state of every binding of this home, as `bindings` and `doctor` show it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from aileron_tui.accounts.binding_state import BindingState, StateName, binding_state
from aileron_tui.accounts.secret_store import SecretStores
from aileron_tui.core.binding_change import FILE
from aileron_tui.core.values import dataclass
from aileron_tui.packages.connectors_in_use import ConnectorInUse
from aileron_tui.signing import key_store
from aileron_tui.signing.bindings import Bindings, KnownBinding
from aileron_tui.signing.key_store import StoredKey


@dataclass(frozen=True, slots=True)
class ListedBinding:
    """A binding and its state. `insecure` names a key without a passphrase that can decrypt its secret, or ""."""

    known: KnownBinding
    state: BindingState
    insecure: str = ""


def vault_keys(stores: SecretStores, keys: Path) -> Sequence[StoredKey]:
    """The operator keys on this machine that can unlock the encrypted file."""
    fingerprints = stores.vault.fingerprints()
    return [key for key in key_store.stored(keys) if key.public.fingerprint in fingerprints] if fingerprints else ()


def listed_bindings(
    bindings: Bindings, connectors: Mapping[str, ConnectorInUse], stores: SecretStores, able: Sequence[StoredKey]
) -> list[ListedBinding]:
    """Every binding by connector and account. An encrypted file that a key without passphrase opens is looked into."""
    open_keys = [key for key in able if key.insecure]
    if stores.vault.locked and open_keys:
        key = open_keys[0]
        with key_store.unlock(key.path.parent, key.name, None) as unlocked:
            stores.vault.unlock(stores.vault.open_with(unlocked))
    found: list[ListedBinding] = []
    for (connector, _), known in sorted(bindings.items()):
        used = connectors.get(connector)
        insecure = open_keys[0].name if open_keys and known.binding.store == FILE else ""
        state = binding_state(known.binding, used.grant if used else None, stores.read)
        if state.name is StateName.LOCKED:
            state = _locked(state, able)
        found.append(ListedBinding(known, state, insecure))
    return found


def _locked(state: BindingState, able: Sequence[StoredKey]) -> BindingState:
    """What is known of a secret that is encrypted: whether the gate can use it, and who could unlock it."""
    from aileron_tui.surface.account_unlocking import gate_accounts  # noqa: PLC0415  # loads an HTTP client

    if not able:
        fix = "Put the key that can back, or bind the account again after moving accounts.vault away."
        return BindingState(StateName.FAILED, "no key on this machine can unlock it", fix)
    match gate_accounts():
        case "unlocked":
            return BindingState(StateName.OK, "the running gate has unlocked it")
        case "locked":
            return BindingState(StateName.LOCKED, "the running gate cannot use it yet", state.fix)
    return BindingState(StateName.LOCKED, "no gate is running", "It is unlocked when you open the console.")

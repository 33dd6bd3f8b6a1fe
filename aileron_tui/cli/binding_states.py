"""The state of every binding of this home, as `bindings` and `doctor` show it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from aileron_tui.accounts.binding_state import BindingState, binding_state
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
        found.append(ListedBinding(known, state, insecure))
    return found

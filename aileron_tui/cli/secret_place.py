"""Where the secret of a new binding will be kept, and the keys that this needs."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from aileron_tui.accounts.errors import AccountsLocked, KeyringFault, StoreFault
from aileron_tui.accounts.keyring_store import KeyringStore
from aileron_tui.accounts.secret_store import SecretStores
from aileron_tui.cli import source_options
from aileron_tui.cli.ledger_reading import local_reader
from aileron_tui.core.binding_change import FILE, KEYRING
from aileron_tui.core.values import dataclass
from aileron_tui.signing import key_store
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.errors import NoKey
from aileron_tui.signing.key_store import StoredKey, UnlockedKey
from aileron_tui.surface.local_ledgers import gate_ledger


@dataclass(frozen=True, slots=True)
class SecretPlace:
    """A store, in words too. For the encrypted file, `key` is the operator key that will be able to unlock it.

    `opener` is another key that is needed once, because the file was made for it. `no_keyring` says why the keyring is
    not used.
    """

    store: str
    words: str
    key: StoredKey | None = None
    opener: StoredKey | None = None
    no_keyring: str = ""

    @property
    def insecure(self) -> bool:
        """Whether nothing protects the secret but the permissions of files."""
        return self.key is not None and self.key.insecure


def choose_place(stores: SecretStores, keys: Path, key_name: str | None) -> SecretPlace:
    """The keyring if it works, else the encrypted file. Raises StoreFault if neither can be used."""
    why = ""
    if isinstance(stores.keyring, KeyringStore):
        try:
            stores.keyring.check()
            return SecretPlace(KEYRING, f"the keyring of this system ({stores.keyring.name()})")
        except KeyringFault as error:
            why = error.title
    known = key_store.stored(keys)
    if not known:
        detail = f"{why or 'the keyring cannot be used'}, and the encrypted file needs an operator key on this machine"
        hint = "Create one with `aileron-tui key init`, or use a system with a keyring."
        raise StoreFault("there is no place for the secret", detail, hint)
    key = key_store.choose(keys, key_name)
    fingerprints = stores.vault.fingerprints()
    opener = None
    if fingerprints and key.public.fingerprint not in fingerprints:
        opener = next((each for each in known if each.public.fingerprint in fingerprints), None)
        if opener is None:
            raise AccountsLocked(f"no key on this machine can unlock {stores.vault.path}")
    words = f"the encrypted file {stores.vault.path}, which the key {key.name} unlocks"
    return SecretPlace(FILE, words, key, opener, why)


@contextmanager
def opened_place(place: SecretPlace, stores: SecretStores) -> Iterator[UnlockedKey | None]:
    """Unlocks the encrypted file, and creates it if needed. Yields the operator key; None for the keyring."""
    with ExitStack() as stack:
        if place.key is None:
            yield None
            return
        keys = [stack.enter_context(source_options.unlocked_key(place.key.name))]
        if place.opener:
            keys.append(stack.enter_context(source_options.unlocked_key(place.opener.name)))
        with local_reader(gate_ledger()) as reader:
            approvers = Approvers.of(reader.key_changes()) if reader else Approvers()
        stores.vault.create_or_open(keys, [print_ for print_, known in approvers.items() if known.revoked])
        try:
            yield keys[0]
        finally:
            stores.vault.lock()


def able_key(stores: SecretStores, keys: Path, name: str | None) -> StoredKey:
    """The operator key that unlocks the encrypted file: the named one, or the only one that can. Raises NoKey."""
    fingerprints = stores.vault.fingerprints()
    if name is not None:
        return key_store.find(keys, name)
    able = [key for key in key_store.stored(keys) if key.public.fingerprint in fingerprints]
    if not able:
        raise NoKey("no key on this machine can unlock the accounts", ", ".join(fingerprints))
    return min(able, key=lambda key: not key.insecure) if len(able) > 1 else able[0]

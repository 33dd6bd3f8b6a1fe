"""Where the secret of a new binding goes, and which keys that needs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from aileron_tui.accounts.errors import AccountsLocked, StoreFault
from aileron_tui.accounts.keyring_store import KeyringStore
from aileron_tui.accounts.secret_document import SecretDocument
from aileron_tui.accounts.secret_store import SecretStores
from aileron_tui.cli import source_options
from aileron_tui.cli.secret_place import SecretPlace, able_key, choose_place, opened_place
from aileron_tui.core.binding_change import new_binding_id
from aileron_tui.signing import key_store
from aileron_tui.signing.errors import NoKey
from tests.accounts.keyrings import BrokenKeyring, ForgetfulKeyring, MemoryKeyring

PASSPHRASES = {"old": b"old passphrase", "new": b"new passphrase"}
REF = new_binding_id()
DOCUMENT = SecretDocument({"kind": "api_key", "key": "x"})


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AILERON_TUI_HOME", str(tmp_path))
    monkeypatch.setattr(source_options, "ask_passphrase", _typed)
    return tmp_path / "keys"


def _typed(question: str) -> bytearray:
    return bytearray(PASSPHRASES[question.rpartition(" ")[2]])


def stores_in(tmp_path: Path, backend: Callable[[], MemoryKeyring] = BrokenKeyring) -> SecretStores:
    return SecretStores(tmp_path / "data", KeyringStore(tmp_path / "data", backend))


def test_the_keyring_comes_first_if_it_works(tmp_path: Path, keys: Path) -> None:
    backend = MemoryKeyring()
    place = choose_place(stores_in(tmp_path, lambda: backend), keys, None)
    assert place == SecretPlace("keyring", "the keyring of this system (memory keyring)")
    assert not backend.passwords  # nothing of the check is left


@pytest.mark.parametrize("backend", [BrokenKeyring, ForgetfulKeyring])
def test_without_a_keyring_the_file_needs_a_key(tmp_path: Path, keys: Path, backend: type[MemoryKeyring]) -> None:
    stores = stores_in(tmp_path, backend)
    with pytest.raises(StoreFault, match="no place for the secret") as error:
        choose_place(stores, keys, None)
    assert "key init" in error.value.hint
    key_store.create(keys, "old", bytearray(PASSPHRASES["old"]))
    place = choose_place(stores, keys, None)
    assert (place.store, place.insecure, bool(place.no_keyring)) == ("file", False, True)
    assert not stores.vault.exists  # nothing is made before somebody approves


def test_a_new_key_is_let_in_by_one_that_can_unlock(tmp_path: Path, keys: Path) -> None:
    stores = stores_in(tmp_path)
    key_store.create(keys, "old", bytearray(PASSPHRASES["old"]))
    with opened_place(choose_place(stores, keys, None), stores):
        stores.vault.write(REF, DOCUMENT)
    assert bool(stores.vault.locked)
    key_store.create(keys, "new", bytearray(PASSPHRASES["new"]))
    place = choose_place(stores, keys, "new")
    assert place.opener
    assert place.opener.name == "old"
    with opened_place(place, stores) as key:
        assert key
        assert key.name == "new"
        assert stores.vault.read(REF) == DOCUMENT
    assert choose_place(stores, keys, "new").opener is None
    (keys / "old.pem").unlink()
    assert able_key(stores, keys, None).name == "new"
    (keys / "new.pem").unlink()
    with pytest.raises(NoKey, match="no key on this machine can unlock"):
        able_key(stores, keys, None)
    (keys / "new.pub").unlink()
    key_store.create(keys, "new", bytearray(PASSPHRASES["new"]))
    with pytest.raises(AccountsLocked, match="no key on this machine can unlock"):
        choose_place(stores, keys, None)

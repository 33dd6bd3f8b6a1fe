"""Stores of secrets: what was written can be read, by who may read it, and nothing shows it."""

import json
import os
import pickle
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from aileron_tui.accounts import keyring_store
from aileron_tui.accounts.errors import AccountsLocked, KeyringFault, StoreFault
from aileron_tui.accounts.keyring_store import SERVICE, KeyringStore, system_keyring
from aileron_tui.accounts.secret_document import SecretDocument
from aileron_tui.accounts.secret_store import SecretStores
from aileron_tui.accounts.vault import DataKey, Vault
from aileron_tui.core.binding_change import Binding, new_binding_id
from aileron_tui.signing import key_store
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from tests.accounts.keyrings import BrokenKeyring, ForgetfulKeyring, HangingKeyring, MemoryKeyring

CANARY = "canary-7f3a9b"
DOCUMENT = SecretDocument({"kind": "api_key", "key": CANARY})
OTHER = SecretDocument({"kind": "api_key", "key": "other"})
REF, SECOND = new_binding_id(), new_binding_id()


@pytest.fixture
def key() -> Iterator[UnlockedKey]:
    with for_this_run("laptop") as made:
        yield made


@pytest.fixture
def vault(tmp_path: Path, key: UnlockedKey) -> Vault:
    made = Vault(tmp_path / "data")
    made.create_or_open([key])
    return made


def test_a_vault_returns_what_was_stored_and_its_file_has_none_of_it(vault: Vault) -> None:
    vault.write(REF, DOCUMENT)
    vault.write(SECOND, OTHER)
    assert vault.read(REF) == DOCUMENT
    assert set(vault.refs()) == {REF, SECOND}
    assert vault.read(new_binding_id()) is None
    assert CANARY not in vault.path.read_text()
    assert vault.path.stat().st_mode & 0o777 == 0o600
    vault.remove(REF)
    assert vault.read(REF) is None
    assert vault.read(SECOND) == OTHER


def test_another_program_needs_the_operator_key(vault: Vault, key: UnlockedKey) -> None:
    vault.write(REF, DOCUMENT)
    again = Vault(vault.path.parent)
    assert bool(again.locked)
    with pytest.raises(AccountsLocked) as locked:
        again.read(REF)
    assert "bindings --unlock" in locked.value.hint
    with pytest.raises(AccountsLocked):
        again.write(REF, OTHER)
    with pytest.raises(AccountsLocked, match="stranger cannot unlock"), for_this_run("stranger") as stranger:
        again.open_with(stranger)
    again.unlock(again.open_with(key))
    assert not bool(again.locked)
    assert again.read(REF) == DOCUMENT
    again.lock()
    with pytest.raises(AccountsLocked):
        again.read(REF)
    again.remove(REF)  # needs no key
    assert again.refs() == ()


def test_a_wrong_data_key_is_not_kept(vault: Vault) -> None:
    vault.write(REF, DOCUMENT)
    again = Vault(vault.path.parent)
    with pytest.raises(StoreFault, match="cannot be decrypted"):
        again.unlock(DataKey(os.urandom(32)))
    assert again.locked
    with pytest.raises(StoreFault, match="not a key of the accounts"):
        DataKey(b"short")


def test_a_second_key_can_unlock_the_file_once_both_were_there(vault: Vault, key: UnlockedKey) -> None:
    vault.write(REF, DOCUMENT)
    with for_this_run("second") as second:
        other = Vault(vault.path.parent)
        with pytest.raises(AccountsLocked, match="second cannot unlock"):
            other.create_or_open([second])
        other.create_or_open([second, key])
        third = Vault(vault.path.parent)
        third.unlock(third.open_with(second))
        assert third.read(REF) == DOCUMENT
        assert set(third.fingerprints()) == {key.public.fingerprint, second.public.fingerprint}


def test_a_revoked_key_unlocks_nothing_after_the_next_bind(vault: Vault, key: UnlockedKey) -> None:
    vault.write(REF, DOCUMENT)
    with for_this_run("second") as second:
        other = Vault(vault.path.parent)
        other.create_or_open([second, key])
        old = other.open_with(key)
        revoked = [key.public.fingerprint]
        other.create_or_open([second, key], revoked)
        other.write(SECOND, OTHER)
        assert (other.read(REF), other.read(SECOND)) == (DOCUMENT, OTHER)
        again = Vault(vault.path.parent)
        again.unlock(again.open_with(second))
        assert again.read(REF) == DOCUMENT
        with pytest.raises(AccountsLocked):
            again.open_with(key)
        with pytest.raises(StoreFault, match="cannot be decrypted"):
            again.unlock(old)
        with pytest.raises(AccountsLocked, match="cannot unlock"):
            again.create_or_open([key], revoked)


def test_a_file_that_only_a_revoked_key_unlocks_is_left_as_it_is(vault: Vault, key: UnlockedKey) -> None:
    vault.write(REF, DOCUMENT)
    before = vault.path.read_bytes()
    Vault(vault.path.parent).create_or_open([key], [key.public.fingerprint])
    assert vault.path.read_bytes() == before


def test_a_new_passphrase_of_the_operator_key_changes_nothing(tmp_path: Path) -> None:
    keys, old, new = tmp_path / "keys", bytearray(b"old passphrase"), bytearray(b"new passphrase")
    key_store.create(keys, "laptop", old)
    vault = Vault(tmp_path / "data")
    vault.create_or_open([key_store.unlock(keys, "laptop", bytearray(b"old passphrase"))])
    vault.write(REF, DOCUMENT)
    key_store.change_passphrase(keys, "laptop", bytearray(b"old passphrase"), new)
    again = Vault(tmp_path / "data")
    again.unlock(again.open_with(key_store.unlock(keys, "laptop", bytearray(b"new passphrase"))))
    assert again.read(REF) == DOCUMENT


def test_a_secret_counts_only_under_its_own_name(vault: Vault) -> None:
    vault.write(REF, DOCUMENT)
    fields = json.loads(vault.path.read_text())
    fields["secrets"][SECOND] = fields["secrets"][REF]
    vault.path.write_text(json.dumps(fields))
    with pytest.raises(StoreFault, match="cannot be decrypted"):
        vault.read(SECOND)


def test_a_file_that_was_replaced_locks_who_had_the_old_key(vault: Vault, key: UnlockedKey) -> None:
    vault.write(REF, DOCUMENT)
    vault.path.unlink()
    other = Vault(vault.path.parent)
    other.create_or_open([key])
    other.write(REF, OTHER)
    with pytest.raises(AccountsLocked):
        vault.read(REF)
    with pytest.raises(AccountsLocked):
        vault.write(REF, DOCUMENT)
    assert other.read(REF) == OTHER


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "damaged"),
        ("{", "damaged"),
        ("[]", "damaged"),
        ('{"version":1}', "damaged"),
        ('{"version":1,"keys":[],"secrets":{}}', "damaged"),
        ('{"version":2,"check":{},"keys":{},"secrets":{}}', "newer"),
        ('{"version":"1","keys":{},"secrets":{}}', "damaged"),
    ],
)
def test_a_damaged_file_is_reported_and_left_alone(vault: Vault, text: str, why: str) -> None:
    vault.path.write_text(text)
    with pytest.raises(StoreFault, match=why):
        vault.read(REF)
    with pytest.raises(StoreFault, match=why):
        vault.write(REF, DOCUMENT)
    assert vault.path.read_text() == text


@pytest.mark.parametrize("part", ["nonce", "data"])
def test_damaged_secrets_are_said_to_be(vault: Vault, part: str) -> None:
    vault.write(REF, DOCUMENT)
    fields = json.loads(vault.path.read_text())
    fields["secrets"][REF][part] = "AAAA"
    vault.path.write_text(json.dumps(fields))
    with pytest.raises(StoreFault, match="cannot be decrypted"):
        vault.read(REF)


def test_nothing_is_stored_in_a_file_whose_key_nobody_would_have(vault: Vault, key: UnlockedKey) -> None:
    vault.write(REF, DOCUMENT)
    fields = json.loads(vault.path.read_text())
    del fields["check"]
    vault.path.write_text(json.dumps(fields))
    with pytest.raises(StoreFault, match="damaged"):
        Vault(vault.path.parent).create_or_open([key])
    assert json.loads(vault.path.read_text()) == fields


def test_a_file_that_others_can_read_is_refused(vault: Vault) -> None:
    vault.path.chmod(0o644)
    with pytest.raises(StoreFault, match="open to others"):
        vault.read(REF)


def test_two_writers_do_not_undo_each_other(vault: Vault, key: UnlockedKey) -> None:
    refs = [new_binding_id() for _ in range(20)]
    other = Vault(vault.path.parent)
    other.create_or_open([key])

    def write(where: Vault, names: list[str]) -> None:
        for name in names:
            where.write(name, DOCUMENT)

    threads = [threading.Thread(target=write, args=pair) for pair in ((vault, refs[:10]), (other, refs[10:]))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(vault.refs()) == set(refs)


def test_what_is_no_longer_bound_is_not_written_again(vault: Vault, tmp_path: Path) -> None:
    with pytest.raises(StoreFault, match="no longer bound"):
        vault.write(REF, DOCUMENT, existing=True)
    keyring = KeyringStore(tmp_path, MemoryKeyring)
    with pytest.raises(StoreFault, match="no longer bound"):
        keyring.write(REF, DOCUMENT, existing=True)


def test_nothing_shows_a_secret(vault: Vault) -> None:
    data_key = DataKey(CANARY.encode().ljust(32))
    for thing in (DOCUMENT, data_key, vault):
        assert CANARY not in f"{thing!r} {thing}"
    for secret in (DOCUMENT, data_key):
        with pytest.raises(TypeError):
            pickle.dumps(secret)
    with pytest.raises(StoreFault) as error:
        SecretDocument.decode(CANARY.encode())
    assert CANARY not in f"{error.value!r} {error.value}"


def test_the_keyring_is_written_and_read_back(tmp_path: Path) -> None:
    backend = MemoryKeyring()
    store = KeyringStore(tmp_path, lambda: backend)
    store.check()
    assert not backend.passwords
    store.write(REF, DOCUMENT)
    assert set(backend.passwords) == {(SERVICE, REF)}
    assert store.read(REF) == DOCUMENT
    assert store.refs() == (REF,)
    store.remove(REF)
    assert not backend.passwords
    assert store.refs() == ()
    assert store.read(REF) is None


@contextmanager
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[HangingKeyring]:
    monkeypatch.setattr(keyring_store, "SECONDS", 0.05)
    backend = HangingKeyring()
    try:
        yield backend
    finally:
        backend.released.set()


def test_a_keyring_that_hangs_hangs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hanging(monkeypatch) as backend:
        store = KeyringStore(tmp_path, lambda: backend)
        for _ in range(5):
            with pytest.raises(KeyringFault, match="does not answer"):
                store.write(REF, DOCUMENT)
        assert backend.calls == 1  # no thread is left behind for each call
        assert store.refs() == (REF,)  # it may be there later
        backend.released.set()
    for thread in threading.enumerate():
        if thread.name == "keyring":
            thread.join(10)
    assert SecretStores(tmp_path, store).clean([]) == []
    assert not backend.passwords


@pytest.mark.parametrize(
    ("backend", "why"), [(ForgetfulKeyring, "does not return what was stored"), (BrokenKeyring, "RuntimeError")]
)
def test_a_keyring_that_fails_is_said_to(tmp_path: Path, backend: type[MemoryKeyring], why: str) -> None:
    store = KeyringStore(tmp_path, backend)
    with pytest.raises(KeyringFault, match=why) as error:
        store.write(REF, DOCUMENT)
    assert CANARY not in f"{error.value!r} {error.value} {error.value.__cause__!r}"


@pytest.mark.parametrize("name", ["fail", "null"])
def test_keyrings_that_keep_nothing_safe_do_not_count(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import keyring  # noqa: PLC0415  # searches for backends on import

    backend = __import__(f"keyring.backends.{name}", fromlist=["Keyring"]).Keyring()
    monkeypatch.setattr(keyring, "get_keyring", lambda: backend)
    with pytest.raises(KeyringFault, match="no keyring that can be used"):
        system_keyring()


def test_a_keyring_with_plain_files_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    import keyring  # noqa: PLC0415  # searches for backends on import

    plain = type("PlaintextKeyring", (MemoryKeyring,), {"priority": 0.5, "__module__": "keyrings.alt.file"})()
    monkeypatch.setattr(keyring, "get_keyring", lambda: plain)
    with pytest.raises(KeyringFault, match="no keyring that can be used"):
        system_keyring()
    good = type("Good", (MemoryKeyring,), {"priority": 5, "__module__": "keyring.backends.SecretService"})()
    monkeypatch.setattr(keyring, "get_keyring", lambda: good)
    assert system_keyring() is good


def test_what_no_binding_names_is_removed(tmp_path: Path, key: UnlockedKey) -> None:
    backend = MemoryKeyring()
    stores = SecretStores(tmp_path, KeyringStore(tmp_path, lambda: backend))
    stores.vault.create_or_open([key])
    kept = Binding(REF, "github://acme/mail", "api_key", "default", store="file")
    for store in (stores.vault, stores.keyring):
        store.write(REF, DOCUMENT)
        store.write(SECOND, OTHER)
    with stores.locked():
        assert stores.clean([kept]) == []
    assert stores.vault.refs() == (REF,)
    assert stores.keyring.refs() == ()
    assert not backend.passwords
    assert stores.read(kept) == DOCUMENT

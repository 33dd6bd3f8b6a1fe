"""Binding and unbinding: what fails leaves the old account as it was, with its secret."""

import errno
import os
import threading
from pathlib import Path

import pytest

from aileron_tui.accounts import keyring_store
from aileron_tui.accounts.binding_state import StateName, binding_state
from aileron_tui.accounts.errors import AccountsLocked, KeyringFault, StoreFault
from aileron_tui.accounts.secret_document import SecretDocument
from aileron_tui.core.binding_change import ended
from aileron_tui.core.errors import AileronError
from aileron_tui.core.package_grant import ConnectorGrant, CredentialGrant
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.ledger.errors import LedgerUnusable
from aileron_tui.ledger.open_store import open_ledger
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.errors import BindingFault
from aileron_tui.signing.key_store import for_this_run
from aileron_tui.surface import binding_changes, signed_changes
from tests.accounts.account_home import CONNECTOR, AccountHome, api_key
from tests.accounts.keyrings import HangingKeyring, MemoryKeyring

GRANT = ConnectorGrant(CONNECTOR, "1.0.0", "sha256:" + "0" * 64, "unsigned", (), CredentialGrant("api_key"))


@pytest.fixture
def home(tmp_path: Path) -> AccountHome:
    return AccountHome(tmp_path / "data")


def test_a_second_bind_replaces_the_secret_and_unbind_removes_it(home: AccountHome) -> None:
    home.bind("first")
    second = home.bind("second")
    other = home.bind("third", account="home", store="keyring")
    assert home.secrets() == {"default": "second", "home": "third"}
    assert home.refs() == {second.id, other.id}
    assert home.unbind() == []
    assert home.secrets() == {"home": "third"}
    assert home.unbind("home") == []
    assert home.refs() == set()
    assert not home.backend.passwords


@pytest.mark.parametrize("store", ["file", "keyring"])
def test_a_ledger_that_cannot_be_written_leaves_the_old_account(
    home: AccountHome, monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    home.bind("first", store=store)
    kept = home.refs()

    def fails(*_: object, **__: object) -> None:
        raise LedgerUnusable("the ledger cannot be written", "the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(signed_changes, "open_ledger", fails)
        with pytest.raises(LedgerUnusable):
            home.bind("second", store=store)
        with pytest.raises(LedgerUnusable):
            home.unbind()
    assert home.secrets() == {"default": "first"}
    assert home.refs() == kept


def test_a_full_disk_leaves_the_old_account(home: AccountHome, monkeypatch: pytest.MonkeyPatch) -> None:
    home.bind("first")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreFault, match="no space left on device"):
            home.bind("second")
    assert home.secrets() == {"default": "first"}
    home.bind("second")
    assert home.secrets() == {"default": "second"}
    assert len(home.refs()) == 1


def test_a_keyring_that_hangs_leaves_the_old_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = HangingKeyring()
    backend.released.set()
    home = AccountHome(tmp_path / "data", backend)
    home.bind("first", store="keyring")
    monkeypatch.setattr(keyring_store, "SECONDS", 0.2)
    backend.released.clear()
    try:
        with pytest.raises(KeyringFault, match="does not answer"):
            home.bind("second", store="keyring")
    finally:
        backend.released.set()
    for thread in threading.enumerate():
        if thread.name == "keyring":
            thread.join(10)
    assert home.secrets() == {"default": "first"}
    home.bind("third")
    assert not backend.passwords
    assert home.secrets() == {"default": "third"}


def test_an_unbound_account_counts_no_longer_even_if_its_secret_stays(tmp_path: Path) -> None:
    class Sticky(MemoryKeyring):
        def delete_password(self, service: str, username: str) -> None:
            raise RuntimeError("no")

    home = AccountHome(tmp_path / "data", Sticky())
    home.bind("first", store="keyring")
    assert home.unbind() == ["the keyring cannot be used (RuntimeError)"]
    assert not home.bindings()


def test_two_binds_at_once_end_with_one_account_and_one_secret(home: AccountHome) -> None:
    bindings = [home.binding(), home.binding()]
    faults: list[AileronError] = []

    def bind(index: int) -> None:
        try:
            home.bind_as(bindings[index], f"secret {index}")
        except AileronError as error:
            faults.append(error)

    threads = [threading.Thread(target=bind, args=(index,)) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [type(fault) for fault in faults] == [BindingFault]
    assert "changed meanwhile" in str(faults[0])
    won = home.bindings()[CONNECTOR, "default"].binding
    assert home.secrets() == {"default": f"secret {bindings.index(won)}"}
    assert home.refs() == {won.id}


def test_a_key_that_may_not_approve_binds_nothing(home: AccountHome) -> None:
    with for_this_run("stranger") as stranger:
        with pytest.raises(BindingFault, match="may not approve here"):
            binding_changes.check_key(home.ledger, stranger)
        with pytest.raises(BindingFault, match="may not approve here"):
            binding_changes.bind(home.ledger, home.stores, home.binding(), api_key("x"), stranger)
    assert home.refs() == set()


@pytest.mark.parametrize("store", ["file", "keyring"])
def test_a_forged_entry_locks_nobody_out(home: AccountHome, store: str) -> None:
    first = home.bind("first", store=store)
    with open_ledger(home.ledger) as opened, for_this_run("stranger") as stranger:
        change = ended(first, opened.head.hash, timestamp(utc_now()))
        opened.append(change.change, change.body(sign(change, stranger).fields()))
    second = home.binding(store=store)
    left = binding_changes.bind(home.ledger, home.stores, second, api_key("second"), home.key)
    assert ["not valid" in why for why in left] == [True]
    assert home.secrets() == {"default": "second"}
    assert home.refs() == {second.id}
    assert len(home.unbind()) == 1
    assert not home.bindings()
    assert home.refs() == set()


def test_no_secret_is_in_the_ledger_or_an_error(home: AccountHome, monkeypatch: pytest.MonkeyPatch) -> None:
    canary = "canary-1c4e77"
    home.bind(canary)
    home.bind(canary, account="home")
    monkeypatch.setattr(signed_changes, "record", _explode)
    with pytest.raises(BindingFault) as caught:
        home.bind(canary)
    shown = f"{caught.value!r} {caught.value} {home.bindings()} {home.stores!r}"
    assert canary not in shown
    for file in home.data.rglob("*"):
        if file.is_file():
            assert canary.encode() not in file.read_bytes(), file


def _explode(*_: object) -> None:
    raise BindingFault("something went wrong")


def test_states(home: AccountHome) -> None:
    binding = home.bind("first")

    def state(grant: ConnectorGrant | None = GRANT, **fields: object) -> StateName:
        document = SecretDocument(fields) if fields else home.stores.read(binding)  # type: ignore[arg-type]  # any JSON
        return binding_state(binding, grant, lambda _: document, lambda: 1000.0).name

    assert state() is StateName.OK
    assert state(None) is StateName.UNUSED
    bare = ConnectorGrant(CONNECTOR, "1.0.0", GRANT.hash, "unsigned")
    assert state(bare) is StateName.UNUSED
    more = ConnectorGrant(CONNECTOR, "1.0.0", GRANT.hash, "unsigned", (), CredentialGrant("api_key", ("more",)))
    assert state(more) is StateName.SIGN_IN_AGAIN
    assert state(expires_at=999, refresh_token="") is StateName.EXPIRED
    assert state(expires_at=999, refresh_token="x") is StateName.OK
    assert state(expires_at=1001, refresh_token="") is StateName.OK
    assert binding_state(binding, GRANT, lambda _: None).name is StateName.SIGN_IN_AGAIN
    home.stores.vault.lock()
    locked = binding_state(binding, GRANT, home.stores.read)
    assert locked.name is StateName.LOCKED
    assert "bindings --unlock" in locked.fix
    home.stores.vault.path.write_text("{")
    assert binding_state(binding, GRANT, home.stores.read).name is StateName.FAILED


def test_what_is_locked_is_not_cleaned_away(home: AccountHome) -> None:
    binding = home.bind("first")
    home.stores.vault.lock()
    with pytest.raises(AccountsLocked):
        home.bind("second")
    assert home.refs() == {binding.id}
    home.stores.vault.path.write_text("{")
    with pytest.raises(StoreFault, match="damaged"):
        home.bind("second")
    assert home.stores.vault.path.read_text() == "{"

"""What doctor says about accounts."""

from pathlib import Path

import pytest

from aileron_tui.accounts.secret_document import SecretDocument
from aileron_tui.accounts.secret_store import SecretStores
from aileron_tui.cli.account_checks import accounts
from aileron_tui.cli.bindings_here import connectors_here
from aileron_tui.core.binding_change import Binding, new_binding_id
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.files.paths import paths
from aileron_tui.ledger.open_store import open_ledger
from aileron_tui.signing import key_store
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.surface import binding_changes

FILES = "local://aileron/files"
MAIL = "local://aileron/mail"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AILERON_TUI_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir(mode=0o700)
    return tmp_path / "home"


def checks() -> list[tuple[str, str, str]]:
    return [(str(check.status), check.words, check.fix) for check in accounts(paths())]


def operator_key(home: Path, passphrase: bytes | None) -> UnlockedKey:
    made = key_store.create(home / "keys", "laptop", bytearray(passphrase) if passphrase else None)
    with open_ledger(home / "data" / "ledger.db") as ledger:
        ledger.append(EntryKind.KEY_ENROLLED, Approvers().enrolment("laptop", made.public))
    return key_store.unlock(home / "keys", "laptop", bytearray(passphrase) if passphrase else None)


def bind(home: Path, operator: UnlockedKey, connector: str, account: str, **fields: object) -> Binding:
    """Binds a connector as it is now, or one that there is not."""
    stores = SecretStores(home / "data")
    stores.vault.create_or_open([operator])
    used = connectors_here(()).get(connector)
    asked = used.grant.credential if used else None
    scopes, addresses = (asked.scopes, asked.addresses) if asked else ((), ())
    kind = asked.kind if asked else "api_key"
    binding = Binding(
        new_binding_id(), connector, kind, account, scopes, addresses, hosts=used.grant.hosts if used else ()
    )
    document = SecretDocument({"kind": kind, **fields})  # type: ignore[dict-item]  # any JSON
    assert binding_changes.bind(home / "data" / "ledger.db", stores, binding, document, operator) == []
    return binding


def test_a_new_home_has_no_accounts_and_a_place_for_them(home: Path) -> None:
    ((status, words, _),) = checks()
    assert status == "ok"
    assert "no keyring that can be used" in words
    assert "accounts.vault, encrypted" in words


def test_what_is_encrypted_is_locked_until_a_gate_is_unlocked(home: Path) -> None:
    with operator_key(home, b"correct horse") as key:
        bind(home, key, FILES, "work", key="x")
    _, (status, words, fix) = checks()
    assert (status, words) == ("warn", f"{FILES}, account work: locked (no gate is running)")
    assert "console" in fix
    (home / "keys" / "laptop.pem").unlink()
    _, (status, words, _) = checks()
    assert (status, words) == ("fail", f"{FILES}, account work: failed (no key on this machine can unlock it)")


def test_each_account_has_its_state(home: Path) -> None:
    with operator_key(home, None) as key:
        bind(home, key, FILES, "work", key="x")
        bind(home, key, MAIL, "home", access_token="a", refresh_token="", expires_at=1)
        bind(home, key, MAIL, "work", access_token="a", refresh_token="b", expires_at=1)
        bind(home, key, "github://acme/gone", "work", key="x")
        lost = bind(home, key, FILES, "lost", key="x")
    SecretStores(home / "data").vault.remove(lost.id)
    found = {words.partition(" (")[0]: (status, fix) for status, words, fix in checks()}
    assert found[f"{FILES}, account work: ok"][0] == "ok"
    assert found[f"{MAIL}, account work: ok"][0] == "ok"
    assert found[f"{MAIL}, account home: expired"] == ("fail", f"Run `aileron-tui bind {MAIL} --account home`.")
    assert found[f"{FILES}, account lost: sign in again"][0] == "fail"
    assert found["github://acme/gone, account work: unused"][0] == "warn"
    insecure = f"the secret of {FILES} is encrypted with the key laptop, which is insecure: no passphrase"
    assert found[insecure] == ("warn", "Give it one with `aileron-tui key passphrase laptop`.")


def test_a_damaged_file_is_reported(home: Path) -> None:
    with operator_key(home, b"correct horse") as key:
        bind(home, key, FILES, "work", key="x")
    (home / "data" / "accounts.vault").write_text("{")
    _, (status, words, fix) = checks()
    assert status == "fail"
    assert "damaged" in words
    assert "backup" in fix

"""`preview` fetches with the account that a gate would use, and says what is missing."""

import shutil
from pathlib import Path

import pytest

from aileron_tui.accounts.secret_document import SecretDocument
from aileron_tui.accounts.secret_store import SecretStores
from aileron_tui.cli.exit_codes import FAILED, OK
from aileron_tui.core.binding_change import Binding, new_binding_id
from aileron_tui.core.connector import read_connector
from aileron_tui.core.package_grant import connector_grant
from aileron_tui.demo.sample_bundle import materialise
from aileron_tui.demo.sample_service import MAIL_CREDENTIAL, SampleService
from aileron_tui.signing import key_store
from aileron_tui.surface import binding_changes
from tests.compiled import shared_cache
from tests.packages.test_commands import PASSPHRASE, command_home

MAIL = "local://aileron/mail"


@pytest.mark.few(1)
@pytest.mark.parametrize("account", ["work", ""])
def test_a_preview_uses_the_account_or_names_the_command(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, account: str
) -> None:
    with SampleService() as service, command_home(tmp_path / "home") as home:
        shutil.copytree(shared_cache(tmp_path_factory), home.folder / "cache")
        (home.folder / "config.toml").unlink()
        manifests = materialise(tmp_path / "manifests", service.port)
        words = ("preview", "send-draft", "--arg", "draft_id=r-12345", "--manifests", str(manifests))
        if account:
            data, stores = home.folder / "data", SecretStores(home.folder / "data")
            manifest = manifests / "connectors" / "mail" / "manifest.toml"
            connector = read_connector(manifest.read_bytes(), "manifest.toml").value
            granted = connector_grant(connector, "", "") if connector else None
            asked = granted.credential if granted else None
            assert granted
            assert asked
            with key_store.unlock(home.folder / "keys", "default", bytearray(PASSPHRASE.encode())) as key:
                stores.vault.create_or_open([key])
                about = (asked.scopes, asked.addresses, "client")
                binding = Binding(new_binding_id(), MAIL, "oauth2", account, *about, hosts=granted.hosts)
                document = SecretDocument({"kind": "oauth2", "access_token": MAIL_CREDENTIAL, "expires_at": None})
                binding_changes.bind(data / "ledger.db", stores, binding, document, key)
        terminal = home.terminal(*words, size=(60, 160))
        if account:
            terminal.until("Passphrase of default: ")
            terminal.type(f"{PASSPHRASE}\n")
        assert terminal.end() == (OK if account else FAILED), terminal.screen
        if account:
            assert "account work" in terminal.screen
            assert "team@example.com" in terminal.screen
        else:
            assert f"! {MAIL} needs an account: run `aileron-tui bind {MAIL}`" in terminal.screen
        assert MAIL_CREDENTIAL not in terminal.screen

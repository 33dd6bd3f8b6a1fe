"""The commands bind, bindings and unbind on a real terminal."""

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from aileron_tui.accounts.vault import Vault
from aileron_tui.cli.exit_codes import DENIED, FAILED, NOT_FOUND, OK
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.files.paths import bundled
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.signing import key_store
from tests.accounts.oauth_server import OAuthServer, oauth_server
from tests.compiled import shared_cache
from tests.packages.test_commands import PASSPHRASE, CommandHome, Terminal, command_home

FILES = "local://aileron/files"
CANARY = "canary-9d2f81"
AWS_KEY = "AKIA0123456789ABCDEF"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[CommandHome]:
    with command_home(tmp_path / "home") as made:
        yield made


def passphrase(terminal: Terminal, name: str = "default") -> None:
    terminal.until(f"Passphrase of {name}: ")
    terminal.type(f"{PASSPHRASE}\n")


def bind_files(home: CommandHome, *words: str, secret: str = CANARY, size: tuple[int, int] = (60, 120)) -> str:
    """Binds the sample connector with an API key; returns what was shown."""
    terminal = home.terminal("bind", "files", *words, size=size)
    terminal.answer("a")
    passphrase(terminal)
    terminal.until("API key (not shown): ")
    terminal.type(f"{secret}\n")
    assert terminal.end() == OK, terminal.screen
    assert secret not in terminal.screen
    return terminal.screen


def kinds(home: CommandHome) -> list[str]:
    with open_reader(home.folder / "data" / "ledger.db") as reader:
        return [entry.kind for entry in reader.binding_changes()]


def secret_of(home: CommandHome, account: str = "default") -> object:
    """The stored document of an account."""
    (row,) = [row for row in home.json("bindings")["bindings"] if row["account"] == account]
    vault = Vault(home.folder / "data")
    with key_store.unlock(home.folder / "keys", "default", bytearray(PASSPHRASE.encode())) as key:
        vault.unlock(vault.open_with(key))
    found = vault.read(row["id"])
    return found and found.reveal()


def test_an_api_key_is_bound_replaced_listed_and_unbound(home: CommandHome) -> None:
    shown = bind_files(home)
    for words in (
        f"Let {FILES} use your account?",
        "! Publisher none",
        "Account   default",
        "api_key: you enter a key of your account",
        "Scope     Read and change the files of the sample account",
        "Sent to   127.0.0.1:8725",
        "Sent as   the header X-Api-Key",
        "From      the samples of aileron-tui",
        "Kept in   the encrypted file ",
        "this system has no keyring that can be used",
        f"bound {FILES} to the account default",
    ):
        assert words in shown
    assert secret_of(home) == {"kind": "api_key", "key": CANARY}
    assert "! Replaces  what you bound as default on" in bind_files(home, secret="another-key")
    assert secret_of(home) == {"kind": "api_key", "key": "another-key"}
    (row,) = home.json("bindings")["bindings"]
    assert (row["connector"], row["kind"], row["state"]) == (FILES, "api_key", "locked")
    end = home.terminal("unbind", "files")
    assert "use the provider's own page." in end.until("[y/N] ")
    end.type("y\n")
    passphrase(end)
    assert end.end() == OK
    assert f"unbound {FILES}" in end.screen
    assert "until you revoke it there" in end.screen
    assert kinds(home) == [EntryKind.BINDING_MADE, EntryKind.BINDING_MADE, EntryKind.BINDING_ENDED]
    assert home.json("bindings")["bindings"] == []
    assert home.command("history", "verify").returncode == OK
    for file in home.folder.rglob("*"):
        if file.is_file():
            assert CANARY.encode() not in file.read_bytes(), file


def test_declining_is_recorded_and_changes_nothing(home: CommandHome) -> None:
    terminal = home.terminal("bind", FILES, "--account", "work", size=(24, 40))
    while "eny" not in (shown := terminal.until("> ")) or "ore" in shown.rpartition("────")[2]:
        terminal.type("m")
    terminal.type("d")
    assert terminal.end() == DENIED
    assert "nothing was changed" in terminal.screen
    assert max(len(line) for line in terminal.screen.splitlines()) <= 40
    assert kinds(home) == [EntryKind.BINDING_DECLINED]
    assert not (home.folder / "data" / "accounts.vault").exists()


@contextmanager
def running_gate(home: CommandHome, log: Path) -> Iterator[None]:
    line = [sys.executable, "-m", "aileron_tui", "gate", "--port", "0"]
    with log.open("w") as out:
        gate = subprocess.Popen(line, env=home.environment, stdout=subprocess.PIPE, stderr=out, text=True)
        assert gate.stdout is not None
        try:
            assert gate.stdout.readline()
            yield
        finally:
            gate.send_signal(signal.SIGTERM)
            gate.wait(30)
            gate.stdout.close()


def test_a_running_gate_is_unlocked(
    home: CommandHome, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    shutil.copytree(shared_cache(tmp_path_factory), home.folder / "cache")
    bind_files(home)
    log = tmp_path / "gate.log"
    with running_gate(home, log):
        assert home.json("bindings")["bindings"][0]["why"] == "the running gate cannot use it yet"
        wrong = home.terminal("bindings", "--unlock")
        wrong.until("Passphrase of default: ")
        wrong.type("wrong passphrase\n")
        assert wrong.end() == FAILED
        terminal = home.terminal("bindings", "--unlock")
        passphrase(terminal)
        assert terminal.end() == OK
        assert "the gate can use the accounts until it stops" in terminal.screen
        (row,) = home.json("bindings")["bindings"]
        assert (row["state"], row["why"]) == ("ok", "the running gate has unlocked it")
    assert CANARY not in log.read_text()
    assert "locked" in home.command("bindings").stdout


def with_manifest(folder: Path, old: str, new: str) -> Path:
    """The sample connector for files with another credential."""
    shutil.copytree(bundled("manifests") / "connectors" / "files", folder / "connectors" / "files")
    manifest = folder / "connectors" / "files" / "manifest.toml"
    text = manifest.read_text()
    assert old in text
    manifest.write_text(text.replace(old, new))
    return folder


SCOPE = 'scope = "Read and change the files of the sample account"'
API_KEY = f'kind = "api_key"\n{SCOPE}\nheader = "X-Api-Key"\nformat = "{{key}}"\n'


def test_aws_keys(home: CommandHome, tmp_path: Path) -> None:
    aws = 'kind = "aws_sigv4"\nservice = "athena"\nregion = "eu-west-1"\n'
    folder = with_manifest(tmp_path / "aws", API_KEY, aws)
    terminal = home.terminal("bind", "files", "--manifests", str(folder))
    terminal.until("AWS access key id: ")
    terminal.type(f"{AWS_KEY}\n")
    terminal.until("AWS region [eu-west-1]: ")
    terminal.type("\n")
    shown = terminal.answer("a")
    for words in (f"AWS key   {AWS_KEY}", "Region    eu-west-1", "requests are signed with your AWS keys"):
        assert words in shown
    passphrase(terminal)
    terminal.until("AWS secret access key (not shown): ")
    terminal.type(f"{CANARY}\n")
    terminal.until("(not shown): ")
    terminal.type("\n")
    assert terminal.end() == OK
    expected = {"kind": "aws_sigv4", "access_key_id": AWS_KEY, "secret_access_key": CANARY, "region": "eu-west-1"}
    assert secret_of(home) == expected


@contextmanager
def oauth_bundle(folder: Path) -> Iterator[OAuthServer]:
    """A provider, and a folder with a connector that signs in there."""
    with oauth_server() as server:
        oauth2 = server.oauth2()
        block = (
            'kind = "oauth2"\nscope = "Mail"\n[capabilities.credential.oauth2]\n'
            f'authorize_url = "{oauth2.authorize_url}"\ntoken_url = "{oauth2.token_url}"\nclient_id = "test-client"\n'
            f"scopes = {json.dumps(oauth2.scopes)}\n"
        )
        with_manifest(folder, API_KEY, block)
        yield server


def check_tokens(home: CommandHome, terminal: Terminal, server: OAuthServer) -> None:
    """What the provider gave out is stored, and was not shown."""
    assert terminal.end() == OK, terminal.screen
    issued = [secret for secret in server.issued if secret.startswith(("access", "refresh"))]
    assert issued
    assert not any(secret in terminal.screen for secret in issued)
    stored = secret_of(home, "work")
    assert isinstance(stored, dict)
    assert stored["access_token"] in issued


def test_signing_in_with_a_pasted_address(home: CommandHome, tmp_path: Path) -> None:
    folder = tmp_path / "oauth"
    with oauth_bundle(folder) as server:
        oauth2 = server.oauth2()
        terminal = home.terminal("bind", "files", "--paste", "--manifests", str(folder), "--account", "work")
        shown = terminal.answer("a")
        for words in (
            "In short  > Mail",
            "Scope     mail.read",
            f"Signs in  {oauth2.token_url}",
            "Client    test-client",
        ):
            assert words in shown
        passphrase(terminal)
        page = terminal.until("Address or code: ")
        (address,) = [line for line in page.splitlines() if line.startswith(oauth2.authorize_url)]
        reply = httpx.get(address, follow_redirects=False)
        terminal.type(f"{reply.headers['location']}\n")
        check_tokens(home, terminal, server)
    listed = home.json("bindings", "--manifests", str(folder))["bindings"][0]
    assert (listed["kind"], listed["client_id"], listed["state"]) == ("oauth2", "test-client", "locked")
    assert urlsplit(listed["addresses"][0]).path == "/authorize"
    changed = home.json("bindings")["bindings"][0]  # as the samples have it, it is another kind
    assert (changed["state"], changed["why"]) == (
        "sign in again",
        "the connector now uses another kind of account: api_key",
    )


_BROWSER = """
import html, pathlib, re, sys, urllib.request
pathlib.Path(sys.argv[0]).with_name("arguments").write_text(sys.argv[1])  # what other users of this machine can read
address = sys.argv[1]
if address.startswith("file:"):
    page = urllib.request.urlopen(address).read().decode()
    address = html.unescape(re.search('data-url="([^"]*)"', page)[1])
urllib.request.urlopen(address).read()
"""


def test_signing_in_with_a_browser(home: CommandHome, tmp_path: Path) -> None:
    browser = tmp_path / "browser.py"
    browser.write_text(_BROWSER)
    home.environment["BROWSER"] = f"{sys.executable} {browser} %s"
    with oauth_bundle(tmp_path / "oauth") as server:
        terminal = home.terminal("bind", "files", "--manifests", str(tmp_path / "oauth"), "--account", "work")
        terminal.answer("a")
        passphrase(terminal)
        check_tokens(home, terminal, server)
    arguments = browser.with_name("arguments").read_text()
    assert arguments.startswith("file://")
    assert not list((home.folder / "data" / "page").iterdir())


def test_what_is_wrong_is_said_before_anything_is_asked(home: CommandHome) -> None:
    for words, code, said in (
        (("bind", "flies"), NOT_FOUND, f"Did you mean {FILES}?"),
        (("bind", "nothing-like-it"), NOT_FOUND, "connectors with an account: "),
        (("bind", "aileron"), NOT_FOUND, "Write more of the name."),
        (("bind", "files", "--account", "a b"), FAILED, "invalid account name"),
        (("unbind", "files"), NOT_FOUND, "there are no connectors with a bound account"),
        (("bind", "files", "--key", "other"), FAILED, "there is no key named other"),
    ):
        terminal = home.terminal(*words)
        assert (terminal.end(), said in terminal.screen) == (code, True), terminal.screen
    done = home.command("bind", "files")
    assert (done.returncode, "this needs a terminal" in done.stderr) == (FAILED, True)
    assert kinds(home) == []


@pytest.mark.slow
def test_an_insecure_key_is_said_to_be(tmp_path: Path) -> None:
    with command_home(tmp_path / "home", passphrase=None) as home:
        terminal = home.terminal("bind", "files")
        shown = terminal.answer("a")
        assert "! The key default is insecure: no passphrase" in shown
        terminal.until("API key (not shown): ")
        terminal.type(f"{CANARY}\n")
        assert terminal.end() == OK
        (row,) = home.json("bindings")["bindings"]
        assert (row["state"], row["insecure"]) == ("ok", True)


def test_a_secret_that_cannot_be_sent_is_refused(home: CommandHome) -> None:
    terminal = home.terminal("bind", "files")
    terminal.answer("a")
    passphrase(terminal)
    terminal.until("API key (not shown): ")
    terminal.type("canarý\n")
    assert terminal.end() == FAILED
    assert "not plain ASCII" in terminal.screen
    assert "canar" not in terminal.screen
    assert home.json("bindings")["bindings"] == []
    assert kinds(home) == []


@pytest.mark.slow
def test_two_binds_at_once(home: CommandHome) -> None:
    first, second = home.terminal("bind", "files"), home.terminal("bind", "files")
    for terminal in (first, second):
        terminal.answer("a")
        passphrase(terminal)
        terminal.until("API key (not shown): ")
    first.type("first-key\n")
    assert first.end() == OK
    second.type("second-key\n")
    assert second.end() == FAILED
    assert "the accounts have changed meanwhile" in second.screen
    assert secret_of(home) == {"kind": "api_key", "key": "first-key"}

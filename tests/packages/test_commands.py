"""The commands add, update, remove and installed on a real terminal, with releases from an https server."""

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from aileron_tui.cli import main
from aileron_tui.cli.exit_codes import DENIED, FAILED, INTERRUPTED, NOT_FOUND, OK
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.package_change import added
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.demo.sample_service import MAIL_CREDENTIAL, SampleService
from aileron_tui.ledger.open_store import open_ledger, open_reader
from aileron_tui.packages.installed import InstalledPackages
from aileron_tui.packages.keyring_file import add_key
from aileron_tui.packages.offer import read_offer
from aileron_tui.packages.proposal import propose
from aileron_tui.sandbox.connector_package import PublisherKeyring
from aileron_tui.signing import key_store
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.public_key import PublicKey
from aileron_tui.surface import package_changes
from aileron_tui.surface.publisher_changes import trust_publisher
from tests.accounts.oauth_server import final_address, oauth_server
from tests.compiled import shared_cache
from tests.packages.https_server import HttpsServer, https_server, make_authority
from tests.packages.made_packages import (
    ACTIONS,
    AUTHORITY,
    FIRST,
    NEW_ACTION,
    NEW_HOST,
    NEW_SCOPE,
    OWNER,
    PUBLISHER,
    REPO,
    SECOND,
    STRANGER,
    MadeFrom,
    made_release,
    raw_public,
)
from tests.skeletons.stored_module import built_repository

PASSPHRASE = "correct horse"
CONFIG = f'[connectors."{AUTHORITY}".credential]\nenv = "TEST_MAIL_TOKEN"\n'


PAGE_END = re.compile(r"\n\(\d+ of \d+ lines\)\n─+\n.*?> more", re.DOTALL)
"""Where one page of a question ends and the next begins; where that is depends on the length of a path."""


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, environment: dict[str, str], *words: str, size: tuple[int, int] = (60, 120)) -> None:
        self.screen = ""
        self.process, self.descriptor = pty.fork()
        if self.process == 0:
            termios.tcsetwinsize(0, size)
            os.execve(sys.executable, [sys.executable, "-m", "aileron_tui", *words], environment)

    def until(self, text: str = "") -> str:
        """Reads until the text is on the screen, or to the end; returns what is new."""
        seen, end = len(self.screen), time.monotonic() + 60
        while time.monotonic() < end and not (text and text in self.screen[seen:]):
            if select.select([self.descriptor], [], [], 0.1)[0]:
                try:
                    data = os.read(self.descriptor, 65_536)
                except OSError:
                    break
                if not data:
                    break
                self.screen += data.decode(errors="replace").replace("\r\n", "\n")
        assert text in self.screen[seen:], self.screen
        return self.screen[seen:]

    def type(self, text: str) -> None:
        os.write(self.descriptor, text.encode())

    def end(self) -> int:
        self.until()
        os.close(self.descriptor)
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])

    def answer(self, key: str) -> str:
        """Waits for the question, and answers it; returns what was shown before it."""
        shown = self.until("iew\n")
        if "> " not in shown.rpartition("iew\n")[2]:
            shown += self.until("> ")
        self.type(key)
        return shown

    def approve(self) -> str:
        """Approves and signs."""
        shown = self.answer("a")
        self.until("Passphrase of default: ")
        self.type(f"{PASSPHRASE}\n")
        return shown


@dataclass
class CommandHome:
    """A home with a key, a trusted publisher, and the services behind it."""

    folder: Path
    environment: dict[str, str]
    server: HttpsServer | None = None
    service: SampleService | None = None
    log: list[str] = field(default_factory=list)

    def address(self, version: str) -> str:
        assert self.server
        return self.server.url(f"/{OWNER}/{REPO}/releases/download/v{version}/suite.toml")

    def command(self, *words: str) -> "subprocess.CompletedProcess[str]":
        line = [sys.executable, "-m", "aileron_tui", *words]
        return subprocess.run(line, env=self.environment, capture_output=True, text=True, timeout=60, check=False)

    def json(self, *words: str) -> Any:
        return json.loads(self.command(*words, "--json").stdout)

    def terminal(self, *words: str, size: tuple[int, int] = (60, 120)) -> Terminal:
        return Terminal(self.environment, *words, size=size)


@contextmanager
def command_home(folder: Path, passphrase: str | None = PASSPHRASE) -> Iterator[CommandHome]:
    folder.mkdir(mode=0o700)
    secret = passphrase.encode() if passphrase else None
    made = key_store.create(folder / "keys", "default", bytearray(secret) if secret else None)
    with open_ledger(folder / "data" / "ledger.db", role="test") as ledger:
        ledger.append(EntryKind.KEY_ENROLLED, Approvers().enrolment("default", made.public, insecure=made.insecure))
    (folder / "config.toml").write_text(CONFIG)
    with key_store.unlock(folder / "keys", "default", bytearray(secret) if secret else None) as key:
        public = PublicKey(raw_public(PUBLISHER))
        trust_publisher(folder / "data" / "ledger.db", folder / "keyring.json", AUTHORITY, public, key)
    variables = {"AILERON_TUI_HOME": str(folder), "TEST_MAIL_TOKEN": MAIL_CREDENTIAL, "TERM": "xterm-256color"}
    yield CommandHome(folder, {**os.environ, **variables, "NO_COLOR": "1"})


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_cache(tmp_path_factory)


def wait_for_prompts(home: CommandHome, request: str) -> list[Any]:
    """Why the prompt of a request was made again, once it was."""
    end = time.monotonic() + 60
    while True:
        with open_reader(home.folder / "data" / "ledger.db") as reader:
            changes = [entry.body for entry in reader.of_request(request) if entry.kind == EntryKind.CONFIG_CHANGED]
        if changes or time.monotonic() > end:
            return [body["change"] for body in changes]
        time.sleep(0.1)


def wait_for_actions(home: CommandHome, wanted: set[str]) -> None:
    """Waits until the gate has these actions."""
    place = json.loads((home.folder / "data" / "gate.json").read_text())
    token = (home.folder / "data" / "agent.token").read_text().strip()
    for _ in range(300):
        reply = httpx.get(f"{place['url']}/v1/actions", headers={"Authorization": f"Bearer {token}"})
        if {item["name"] for item in reply.json()["items"]} == wanted:
            return
        time.sleep(0.1)
    raise AssertionError(reply.text)


@pytest.mark.slow
def test_add_bind_run_update_decline_accept_unbind_and_remove(tmp_path: Path, compiled: Path) -> None:
    authority = make_authority(tmp_path / "authority")
    with (
        command_home(tmp_path / "home") as home,
        SampleService() as service,
        oauth_server() as provider,
        https_server(authority) as server,
        (tmp_path / "gate.log").open("w") as log,
    ):
        shutil.copytree(compiled, home.folder / "cache")
        (home.folder / "config.toml").unlink()  # the account is the only credential
        home.environment["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
        provider.client_id, provider.answer = "aileron-samples", {"access_token": MAIL_CREDENTIAL}
        made_from = MadeFrom(service=f"127.0.0.1:{service.port}", sign_in=provider.base)
        for version in (FIRST, SECOND):
            server.files.update(made_release(version, made_from).files())
        home.server = server
        home.environment["SSL_CERT_FILE"] = str(authority.ca_file)
        line = [sys.executable, "-m", "aileron_tui", "gate", "--port", "0"]
        gate = subprocess.Popen(line, env=home.environment, stdout=subprocess.PIPE, stderr=log, text=True)
        assert gate.stdout is not None
        try:
            assert gate.stdout.readline()
            _follow(home, service)
        finally:
            gate.send_signal(signal.SIGTERM)
            gate.wait(30)
            gate.stdout.close()


def _follow(home: CommandHome, service: SampleService) -> None:
    add = home.terminal("add", home.address(FIRST))
    shown = add.approve()
    for words in (
        "Install mail 1.0.0?",
        "> Read, write and send mail.",
        home.address(FIRST),
        f"Publisher signed by {AUTHORITY}, which you trust",
        f"127.0.0.1:{service.port}",
        "mail.send",
        "Actions that ask you first (2)",
        "! Actions that run WITHOUT asking you (2)",
        str(home.folder / "data" / "packages" / "sha256"),
    ):
        assert words in shown
    assert add.end() == OK
    assert PASSPHRASE not in add.screen
    assert f"aileron-tui bind {AUTHORITY}" in add.screen
    wait_for_actions(home, set(ACTIONS))
    _bind(home, "Scope     mail.compose", "Scope     mail.send")
    listed = home.command("run", "list-drafts")
    assert "r-12345" in listed.stdout
    sent = _asked(home, "send-draft", "draft_id=r-12345")
    approve = home.terminal("approve", sent)
    approve.until("Passphrase of default: ")
    approve.type(f"{PASSPHRASE}\n")
    approve.until("High risk. Approve? [y/N] ")
    approve.type("y\n")
    assert approve.end() == OK
    assert len(service.sent) == 1
    waiting = _asked(home, "send-draft", "draft_id=r-20000")

    update = home.terminal("update", "mail", home.address(SECOND))
    shown = update.answer("d")
    for words in (
        "Update mail from 1.0.0 to 1.1.0?",
        "! draft-mail no longer asks you first",
        f"+ Host {NEW_HOST}",
        f"+ Scope {NEW_SCOPE}",
        f"+ New action {NEW_ACTION}",
        "The same as before: 1 host, 2 scopes.",
    ):
        assert words in shown
    assert update.end() == DENIED
    assert "mail stays as it is." in update.screen
    (package,) = home.json("installed")["packages"]
    assert (package["version"], package["approved_by"], package["problems"]) == (FIRST, "default", [])

    update = home.terminal("update", "mail", home.address(SECOND))
    update.approve()
    assert update.end() == OK
    wait_for_actions(home, {*ACTIONS, NEW_ACTION})
    assert wait_for_prompts(home, waiting)[0] == "the manifests were reloaded, so the prompt was made again"
    (bound,) = home.json("bindings")["bindings"]
    assert bound["state"] == "sign in again", "the new version asks for a scope that nobody agreed to"
    _bind(home, f"Scope     {NEW_SCOPE}", "! Replaces")

    notes = built_repository(home.folder / "notes")
    assert home.command("pin", str(notes)).returncode == OK
    add = home.terminal("add", str(notes))
    add.approve()
    assert add.end() == OK

    remove = home.terminal("remove", "mail")
    remove.until("Remove? [y/N] ")
    remove.type("y\n")
    remove.until("Passphrase of default: ")
    remove.type(f"{PASSPHRASE}\n")
    assert remove.end() == OK
    assert [package["name"] for package in home.json("installed")["packages"]] == ["local://dev/notes"]
    again = home.terminal("add", home.address(FIRST))
    shown = again.answer("d")
    assert f"! The credential that you set up for {AUTHORITY} would go to 127.0.0.1:{service.port}." in shown
    assert again.end() == DENIED
    unbind = home.terminal("unbind", AUTHORITY)
    unbind.until("[y/N] ")
    unbind.type("y\n")
    unbind.until("Passphrase of default: ")
    unbind.type(f"{PASSPHRASE}\n")
    assert unbind.end() == OK
    assert home.json("bindings")["bindings"] == []
    wait_for_actions(home, {"get-note", "publish-note"})
    changes = home.json("installed", "--history")["changes"]
    assert [(change["change"], change["packages"][0]["version"]) for change in changes] == [
        ("approved", FIRST),
        ("declined", SECOND),
        ("approved", SECOND),
        ("approved", "0.1.0"),
        ("removed", SECOND),
        ("declined", FIRST),
    ]
    assert "good: " in home.command("history", "verify").stdout
    assert len(service.sent) == 1
    assert _recorded(home, sent)[-3:] == [EntryKind.DECIDED, EntryKind.RUNNING, EntryKind.EXECUTED]
    end = time.monotonic() + 60
    while _recorded(home, waiting)[-1] != EntryKind.WITHDRAWN:
        assert time.monotonic() < end, _recorded(home, waiting)
        time.sleep(0.1)
    with open_reader(home.folder / "data" / "ledger.db") as reader:
        kinds = [entry.kind for entry in reader.entries()]
    steps = [kind for kind in kinds if kind in _STEPS]
    assert steps == [
        EntryKind.KEY_ENROLLED,
        EntryKind.PACKAGE_ADDED,
        EntryKind.BINDING_MADE,
        EntryKind.EXECUTED,  # list-drafts, which asks nobody
        EntryKind.DECIDED,
        EntryKind.EXECUTED,
        EntryKind.PACKAGE_DECLINED,
        EntryKind.PACKAGE_ADDED,
        EntryKind.BINDING_MADE,
        EntryKind.PACKAGE_ADDED,
        EntryKind.PACKAGE_REMOVED,
        EntryKind.PACKAGE_DECLINED,
        EntryKind.BINDING_ENDED,
    ]


_STEPS = {
    EntryKind.KEY_ENROLLED,
    EntryKind.PACKAGE_ADDED,
    EntryKind.PACKAGE_DECLINED,
    EntryKind.PACKAGE_REMOVED,
    EntryKind.BINDING_MADE,
    EntryKind.BINDING_ENDED,
    EntryKind.DECIDED,
    EntryKind.EXECUTED,
}


def _bind(home: CommandHome, *rows: str) -> None:
    """Signs in to the account of the connector, as a person without a browser on this machine does."""
    bind = home.terminal("bind", AUTHORITY, "--paste", size=(60, 200))
    shown = bind.answer("a")
    for row in (*rows, f"Publisher signed by {AUTHORITY}"):
        assert row in shown
    bind.until("Passphrase of default: ")
    bind.type(f"{PASSPHRASE}\n")
    address = next(line for line in bind.until("Address or code:").splitlines() if line.startswith("http://"))
    bind.type(f"{final_address(address)}\n")
    assert bind.end() == OK, bind.screen


def _asked(home: CommandHome, action: str, arg: str) -> str:
    """The id of a call that waits for an answer."""
    return str(json.loads(home.command("run", action, "--arg", arg).stdout)["approval_id"])


def _recorded(home: CommandHome, request: str) -> list[str]:
    with open_reader(home.folder / "data" / "ledger.db") as reader:
        return [str(entry.kind) for entry in reader.of_request(request)]


def test_nothing_changes_after_ctrl_c_and_in_a_window_of_40_columns(tmp_path: Path) -> None:
    source = made_release(FIRST).write_bundle(tmp_path / "source")
    with command_home(tmp_path / "home") as home:
        add_key(home.folder / "keyring.json", AUTHORITY, raw_public(STRANGER))
        terminal = home.terminal("add", str(source), size=(15, 40))
        for _ in range(20):
            shown = terminal.until("[D]eny")
            shown += terminal.until("> ")
            if "[V]iew" in shown:
                break
            assert "[A]pprove" not in shown, "what is approved must have been on screen"
            terminal.type("m")
        assert "[A]pprove" in shown
        terminal.type("\x03")
        assert terminal.end() == INTERRUPTED
        text = PAGE_END.sub("", terminal.screen).replace("\n      ", "")
        assert f"! Nobody confirmed the key of {AUTHORITY}" in text
        assert max(map(len, terminal.screen.splitlines())) <= 40 + len("\x1b[?2004h")
        assert home.json("installed") == {"packages": [], "invalid": [], "not_used": []}
        assert home.json("installed", "--history")["changes"] == []
        assert not (home.folder / "data" / "packages").exists()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CommandHome]:
    with command_home(tmp_path / "home") as home:
        monkeypatch.setenv("AILERON_TUI_HOME", str(home.folder))
        yield home


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("words", [["add", "."], ["update"], ["remove", "mail"]])
def test_only_a_person_at_a_terminal_can_consent(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert main(words) == FAILED
    assert "this needs a terminal" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
def test_nothing_installed_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["installed"]) == OK
    assert "nothing is installed" in capsys.readouterr().out


def test_a_forged_consent_is_not_said_to_be_one(
    here: CommandHome, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger, stranger = here.folder / "data" / "ledger.db", key_store.for_this_run("stranger")
    source = made_release(FIRST).write_bundle(tmp_path / "source")
    proposals = propose([("", read_offer(str(source)))], InstalledPackages(), PublisherKeyring())
    with open_ledger(ledger, role="test") as opened:
        change = added((proposals[0].grant,), opened.head.hash, timestamp(utc_now()))
        opened.append(EntryKind.PACKAGE_ADDED, change.body(sign(change, stranger).fields()))
    assert main(["installed", "--history"]) == OK
    printed = " ".join(capsys.readouterr().out.split())
    assert "approved mail 1.0.0 (entry 3) ! It is not valid, so it changed nothing." in printed
    assert main(["installed"]) == FAILED
    assert "no approver signed" in " ".join(capsys.readouterr().out.split())


def test_a_publisher_who_is_trusted_later_is_no_problem(here: CommandHome, tmp_path: Path) -> None:
    source = made_release(FIRST).write_bundle(tmp_path / "source")
    proposals = propose([("", read_offer(str(source)))], InstalledPackages(), PublisherKeyring())
    assert proposals[0].grant.connectors[0].publisher == "unknown publisher"
    with key_store.unlock(here.folder / "keys", "default", bytearray(PASSPHRASE.encode())) as key:
        package_changes.install(here.folder / "data" / "ledger.db", proposals, key)
    assert main(["installed"]) == OK
    (here.folder / "keyring.json").unlink()
    add_key(here.folder / "keyring.json", AUTHORITY, raw_public(STRANGER))
    assert main(["installed"]) == FAILED, "its signature is wrong now"


def test_what_was_found_but_not_approved_is_said(
    here: CommandHome, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = made_release(FIRST).write_bundle(tmp_path / "source")
    (here.folder / "config.toml").write_text(f'manifests = ["{source}"]\n')
    assert main(["installed"]) == OK
    printed = " ".join(capsys.readouterr().out.split())
    assert f"approve it with `aileron-tui add {source}`" in printed


@pytest.mark.usefixtures("here")
def test_what_is_not_there_is_said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aileron_tui.cli.consent_question.check_terminal", lambda: None)
    for words, code, text in (
        (["update", "nothing"], NOT_FOUND, "there is no installed package named nothing"),
        (["remove", "nothing"], NOT_FOUND, "there is no installed package named nothing"),
        (["add", "/no/such/folder"], FAILED, "there is no such file or folder"),
        (["add", "http://127.0.0.1/x.tar.gz"], FAILED, "only https addresses are allowed"),
    ):
        assert main(words) == code
        assert text in capsys.readouterr().err
    assert main(["update"]) == OK
    assert "nothing is installed" in capsys.readouterr().out

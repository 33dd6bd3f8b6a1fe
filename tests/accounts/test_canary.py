"""The tokens of an account are in no log, output, file, argument, environment or core dump, from bind to revocation.

Everything runs as users run it: `bind` on a terminal, a gate in a process of its own, an agent that calls it.
"""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.cli.exit_codes import OK
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.ledger.open_store import open_reader
from tests.accounts.oauth_server import OAuthServer, final_address, oauth_server
from tests.packages.test_commands import PASSPHRASE, CommandHome, command_home
from tests.sandbox import guests, packages

ACTION = """+++
name = "get-mail"
version = "1.0.0"
source = "github://example/actions/get-mail@1.0.0"

[[requires.connectors]]
name = "{name}"
version = "1.0.0"
hash = "{hash}"
capabilities = ["get_mail"]

[match]
intent = "Read mail"

[[execute]]
id = "get"
connector = "{name}"
op = "get_mail"
idempotent = true
+++

# Get mail

Reads the mail.
"""


def write_bundle(folder: Path, server: OAuthServer) -> None:
    """A connector that returns all that the API answers, which repeats the token, and an action without a gate."""
    wasm = guests.http_guest({"url": f"{server.base}/api", "credential": "oauth2"})
    package = packages.package(wasm, (server.base.removeprefix("http://"),), server.manifest_block())
    connector = folder / "connectors" / "mail"
    connector.mkdir(parents=True)
    (connector / "connector.wasm").write_bytes(package.wasm)
    (connector / "manifest.toml").write_bytes(package.manifest)
    (folder / "actions").mkdir()
    action = ACTION.format(name=packages.NAME, hash=packages.pin_of(package))
    (folder / "actions" / "get-mail.md").write_text(action)
    (folder / "suite.toml").write_text('name = "mail"\ndescription = "Mail."\nactions = ["actions/get-mail"]\n')


class ProcessList:
    """Keeps the arguments and the environment of every process that appears, as `ps` would show them."""

    def __init__(self) -> None:
        self.seen: set[bytes] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> "ProcessList":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.02):
            for process in Path("/proc").glob("[0-9]*"):
                for name in ("cmdline", "environ"):
                    with suppress(OSError):
                        self.seen.add((process / name).read_bytes())


@contextmanager
def running_gate(home: CommandHome, bundle: Path, log: Path) -> Iterator["subprocess.Popen[str]"]:
    line = [sys.executable, "-m", "aileron_tui", "gate", "--port", "0", "--manifests", str(bundle)]
    with log.open("w") as output:
        gate = subprocess.Popen(line, env=home.environment, stdout=subprocess.PIPE, stderr=output, text=True)
        assert gate.stdout is not None
        try:
            assert gate.stdout.readline()
            yield gate
        finally:
            gate.send_signal(signal.SIGTERM)
            gate.wait(30)
            gate.stdout.close()


@pytest.mark.slow
def test_no_token_is_anywhere_from_bind_to_revocation(tmp_path: Path) -> None:
    shown: list[str] = []
    bundle, log = tmp_path / "bundle", tmp_path / "gate.log"

    def call(home: CommandHome) -> Any:
        done = home.command("run", "get-mail", "--wait", "0")
        shown.extend((done.stdout, done.stderr))
        return json.loads(done.stdout)

    with oauth_server() as server, command_home(tmp_path / "home") as home, ProcessList() as processes:
        home.environment["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
        (home.folder / "config.toml").unlink()
        write_bundle(bundle, server)
        with running_gate(home, bundle, log) as gate:
            lacking = call(home)
            assert lacking["status"] == "pending_approval"
            show = home.terminal("show", "--", lacking["approval_id"], size=(60, 200))
            show.until("Passphrase of default: ")
            show.type(f"{PASSPHRASE}\n")
            assert show.end() == OK, show.screen
            assert f"! {packages.NAME} needs an account: run `aileron-tui bind {packages.NAME}`" in show.screen
            shown.append(show.screen)

            bind = home.terminal("bind", packages.NAME, "--manifests", str(bundle), "--paste", size=(60, 200))
            bind.answer("a")
            bind.until("Passphrase of default: ")
            bind.type(f"{PASSPHRASE}\n")
            address = next(line for line in bind.until("Address or code:").splitlines() if line.startswith("http://"))
            bind.type(f"{final_address(address)}\n")
            assert bind.end() == OK, bind.screen
            shown.append(bind.screen.replace(server.issued[0], ""))  # the terminal echoes what a person pastes

            assert _until_done(home, call)["status"] == "completed"
            assert server.refreshes == 0
            server.expire_access()
            assert _until_done(home, call)["status"] == "completed"
            assert server.refreshes == 1
            server.revoke_all()
            failed = call(home)
            assert "sign in again" in str(failed)
            assert "invalid_grant" in str(failed)
            shown.append(home.command("doctor").stdout)
            shown.append(home.command("bindings").stdout)
            shown.append(home.command("history").stdout)
            limits = Path(f"/proc/{gate.pid}/limits").read_text()
            assert any(line.split()[:6] == ["Max", "core", "file", "size", "0", "0"] for line in limits.splitlines())
    with open_reader(home.folder / "data" / "ledger.db") as reader:
        assert [entry.kind for entry in reader.binding_changes()] == [EntryKind.BINDING_MADE]
    secrets = [*server.issued, *(form["code_verifier"] for form in server.forms if "code_verifier" in form)]
    assert len(secrets) >= 6
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert log in files
    assert home.folder / "data" / "accounts.vault" in files
    for secret in map(str.encode, secrets):
        assert not [path for path, data in files.items() if secret in data]
        assert not [text for text in processes.seen if secret in text]
        assert not [text for text in shown if secret in text.encode()]


def _until_done(home: CommandHome, call: Any) -> Any:
    """Calls until the gate has noticed that the account is there."""
    for _ in range(100):
        answer = call(home)
        if answer.get("status") not in ("pending_approval", "running"):
            return answer
        time.sleep(0.2)
    raise AssertionError(answer)

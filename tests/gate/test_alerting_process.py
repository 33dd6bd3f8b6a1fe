"""Alerts of a real gate process: a console is killed, then the gate, and the webhook is told each time."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from aileron_tui.cli import main
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.demo.sample_bundle import materialise
from aileron_tui.demo.sample_service import FILES_CREDENTIAL, MAIL_CREDENTIAL, SampleService
from aileron_tui.gate.gate import LEDGER_FILE
from aileron_tui.ledger.open_store import open_ledger
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from tests.alerts.receiver import SECRET, Receiver, running_receiver, until
from tests.gate.gate_process import Agent, Approver, Client, ForkServer, GateAddress

SHARE = 4
CONFIG = """
[surfaces]
order = ["console", "webhook"]
share = {share}
[webhook]
url = "{url}"
[webhook.secret]
env = "HOOK_SECRET"
[connectors."local://aileron/mail".credential]
env = "MAIL"
[connectors."local://aileron/files".credential]
env = "FILES"
"""
ENVIRONMENT = {"HOOK_SECRET": SECRET, "MAIL": MAIL_CREDENTIAL, "FILES": FILES_CREDENTIAL}
WATCH = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
    connection.sendall(sys.stdin.buffer.read())
    while data := connection.recv(65536):
        sys.stdout.write("watching\\n")
        sys.stdout.flush()
"""


@contextmanager
def console(address: GateAddress, approver: Client) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that watches as a console does."""
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", WATCH, str(address.port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin
    assert process.stdout
    with process:
        head = f"GET /v1/action-approvals/watch?surface=console HTTP/1.1\r\nHost: 127.0.0.1:{address.port}\r\n"
        process.stdin.write(f"{head}Authorization: Bearer {approver.token}\r\n\r\n".encode())
        process.stdin.close()
        assert process.stdout.readline() == b"watching\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def home(tmp_path: Path, compiled: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose connectors are compiled already."""
    home = tmp_path / "home"
    home.mkdir(0o700)
    shutil.copytree(compiled, home / "cache", copy_function=os.link)
    monkeypatch.setenv("AILERON_TUI_HOME", str(home))
    return home


@pytest.fixture
def key(home: Path) -> Iterator[UnlockedKey]:
    with for_this_run("tester") as key:
        with open_ledger(home / "data" / LEDGER_FILE, role="test") as ledger:
            ledger.append(EntryKind.KEY_ENROLLED, Approvers().enrolment("tester", key.public))
        yield key


def test_a_killed_console_and_a_killed_gate(
    home: Path, key: UnlockedKey, service: SampleService, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifests = materialise(tmp_path / "manifests", service.port)
    with running_receiver() as receiver, ForkServer(ENVIRONMENT) as fork_server, ExitStack() as stack:
        (home / "config.toml").write_text(CONFIG.format(share=SHARE, url=receiver.url))
        (home / "config.toml").chmod(0o600)
        gate = fork_server.start(home, manifests)
        address = gate.ready()
        assert address
        approver = stack.enter_context(closing(Approver(address, key)))
        agent = stack.enter_context(closing(Agent(address, "test")))
        with console(address, approver) as watching:
            id_ = agent.run("send-draft", {"draft_id": "r-12345"})[1]["approval_id"]
            deadline = approver.previewed_request(id_)["expires_at"]
            assert receiver.messages == []
            watching.send_signal(signal.SIGKILL)
            watching.wait()
        killed_at = time.monotonic()
        [told] = receiver.wait_for(1, SHARE + 2)
        assert told.data["id"] == id_
        assert time.monotonic() - killed_at < SHARE + 1
        until(lambda: len(_alerts(approver, id_)) == 2)
        gate.kill()
        address = fork_server.start(home, manifests).ready()
        assert address
        with closing(Approver(address, key)) as approver:
            _check_alerted_again(approver, receiver, id_, deadline)
        assert main(["history", "show", id_, "--source", "gate"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "alerted console, then webhook after" in words
    assert "(no console is open)" in words


def _check_alerted_again(approver: Approver, receiver: Receiver, id_: str, deadline: str) -> None:
    """A gate that was started again alerts again, and the request still ends when it would have."""
    assert approver.waiting()[0]["expires_at"] == deadline
    again = receiver.wait_for(2, 10)[1]
    assert (again.data["id"], again.data["waiting"]) == (id_, 1)
    until(lambda: len(_alerts(approver, id_)) == 3)
    surfaces = [(alert["surface"], alert["reason"]) for alert in _alerts(approver, id_)]
    assert surfaces == [
        ("console", ""),
        ("webhook", "no console is open"),
        ("webhook", "no console is open"),
    ]
    assert all(datetime.fromisoformat(alert["at"]) for alert in _alerts(approver, id_))
    audit = approver.ask("GET", "/v1/audit")[1]["events"]
    assert sum(event["event_type"] == "approval.rerouted" for event in audit) == 2
    assert json.dumps(audit).count("no console is open") == 2


def _alerts(approver: Approver, id_: str) -> list[dict[str, str]]:
    """What the history says about the alerts of a request."""
    found: list[dict[str, str]] = approver.ask("GET", f"/v1/history/{id_}")[1]["alerts"]
    return found

"""A gate that was started in a terminal: it asks there when nobody else is there to be asked."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.demo.sample_bundle import materialise
from aileron_tui.demo.sample_service import FILES_CREDENTIAL, MAIL_CREDENTIAL, SampleService
from aileron_tui.files.agent_tokens import read_token
from aileron_tui.runtime.gate_client import AgentClient, ApproverClient
from aileron_tui.runtime.gate_discovery import discover
from aileron_tui.signing import key_store
from tests.cli.test_gate_commands import PASSPHRASE, configure, enrol
from tests.compiled import shared_cache
from tests.e2e.terminal import CTRL_C, CTRL_Q, CTRL_S, Terminal, environment

ANSWERS = "[A]pprove   [D]eny   [V]iew   [S]kip   [Q]uit\n>"


class TerminalGate:
    """A gate in a terminal, with an agent and the service behind it."""

    def __init__(self, home: Path, service: SampleService, terminal: Terminal) -> None:
        self.home = home
        self.service = service
        self.terminal = terminal
        terminal.until('"agent_token_file"')
        terminal.until(" try ")
        self.found = discover(data=home / "data")
        assert self.found.token_file is not None
        self.agent = AgentClient(self.found, read_token(self.found.token_file))

    def ask(self, draft: str) -> str:
        """An agent's call that waits; its id."""
        return str(self.agent.run("send-draft", {"draft_id": draft})["approval_id"])

    def answers(self) -> str:
        return self.terminal.until(lambda text: text.rstrip().endswith(ANSWERS))


@pytest.fixture
def gate(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TerminalGate]:
    home = tmp_path / "h"
    home.mkdir(mode=0o700)
    shutil.copytree(shared_cache(tmp_path_factory), home / "cache")
    enrol(home, PASSPHRASE)
    configure(home, headless=False)
    with SampleService() as service:
        manifests = materialise(home / "manifests", service.port)
        variables = environment(home, TEST_MAIL_TOKEN=MAIL_CREDENTIAL, TEST_FILES_KEY=FILES_CREDENTIAL)
        words = ["gate", "--port", "0", "--manifests", str(manifests)]
        with Terminal(words, variables, (110, 160)) as terminal:
            started = TerminalGate(home, service, terminal)
            with started.agent:
                yield started


def test_the_gate_asks_in_its_terminal_and_goes_on_meanwhile(gate: TerminalGate) -> None:
    terminal = gate.terminal
    first = gate.ask("r-12345")
    terminal.until("A request is waiting. Unlock your key to read it")
    terminal.until("Passphrase of default:")
    terminal.press(f"{PASSPHRASE}\r")
    shown = gate.answers()
    assert "Subject:           Weekly recap" in shown
    for _ in range(3):
        assert httpx.get(f"{gate.found.url}/v1/health").status_code == 200
    second = gate.ask("r-20417")
    assert terminal.still(0.3).rstrip().endswith(ANSWERS)  # no line of the log below the question
    terminal.press("a")
    terminal.until("High risk. Type send-draft to approve:")
    terminal.press("send-draft\r")
    terminal.until(f"Approved send-draft {first}.")
    assert gate.agent.result(first, wait=10)["status"] == "completed"
    gate.answers()
    terminal.press("d")
    terminal.until("Reason, or enter for none:")
    terminal.press("too late\r")
    terminal.until(f"Denied send-draft {second}.")
    assert gate.agent.result(second) == {"status": "denied", "reason": "too late"}
    terminal.until("http     POST /v1/actions/send-draft/run 202")  # the log follows
    assert len(gate.service.sent) == 1
    assert PASSPHRASE not in terminal.raw.decode()
    gate.ask("r-18220")
    gate.answers()  # the key is still unlocked
    terminal.press(CTRL_C)
    assert terminal.end(40) == 0
    assert terminal.restored()
    assert "stopped" in terminal.text
    assert len(gate.service.sent) == 1


def test_what_is_left_or_answered_elsewhere_is_not_asked_about(gate: TerminalGate) -> None:
    terminal = gate.terminal
    [stored] = key_store.stored(gate.home / "keys")
    with key_store.unlock(gate.home / "keys", stored.name, bytearray(PASSPHRASE.encode())) as key:
        with ApproverClient(gate.found, key, surface="prompt") as other:
            watch = other.watch()
            assert next(event.name for event in watch if event) == "snapshot"
            one = gate.ask("r-12345")
            while not ((event := next(watch)) and event.name == "alert"):
                pass
            assert "Passphrase" not in terminal.still(1.0)  # the other prompt asks
            del watch, event
        terminal.until("Passphrase of default:")
        deny_in_console(gate, key, one)
    terminal.until("It is no longer waiting.")
    terminal.until("send-draft is denied")  # the log is back
    two = gate.ask("r-20417")
    terminal.until(lambda text: text.rstrip().endswith("Passphrase of default:"))
    terminal.press("\r")
    terminal.until("You can answer with `aileron-tui` or `aileron-tui prompt` in another terminal.")
    terminal.press("a", "\r")
    three = gate.ask("r-18220")
    terminal.until(lambda text: text.rstrip().endswith("Passphrase of default:"))
    terminal.press(f"{PASSPHRASE}\r")
    assert "r-18220" in gate.answers()
    terminal.press("q")
    terminal.until("still waiting.")
    assert [gate.agent.result(id_)["status"] for id_ in (two, three)] == ["pending_approval"] * 2
    assert not gate.service.sent


def test_a_passphrase_is_not_shown_if_its_request_is_withdrawn(gate: TerminalGate) -> None:
    asked = gate.ask("r-12345")
    gate.terminal.until("Passphrase of default:")
    gate.terminal.press(PASSPHRASE[:3])
    httpx.delete(
        f"{gate.found.url}/v1/action-approvals/{asked}",
        headers={"Authorization": f"Bearer {read_token(gate.found.token_file or Path())}"},
    ).raise_for_status()
    for key in PASSPHRASE[3:]:
        gate.terminal.press(key)
        gate.terminal.still(0.2)
    gate.terminal.press("\r")
    gate.terminal.until("send-draft is withdrawn")  # the log is back
    assert PASSPHRASE[-3:] not in gate.terminal.raw.decode()


def test_a_terminal_that_takes_nothing_does_not_stop_the_gate(gate: TerminalGate) -> None:
    gate.terminal.press(CTRL_S)
    for number in range(3):
        assert httpx.get(f"{gate.found.url}/v1/actions/no-{number}", timeout=10).status_code == 401
    asked = gate.ask("r-12345")
    assert gate.agent.result(asked)["status"] == "pending_approval"
    gate.terminal.press(CTRL_Q)
    gate.terminal.until("GET /v1/actions/no-2 401")
    gate.terminal.until("Passphrase of default:")
    gate.terminal.press(CTRL_S)
    gate.terminal.process.terminate()
    assert gate.terminal.process.wait(20) == 0


def deny_in_console(gate: TerminalGate, key: key_store.UnlockedKey, id_: str) -> None:
    with ApproverClient(gate.found, key, surface="console") as client:
        request = client.item(id_)
        while request.fetching:
            time.sleep(0.02)
            request = client.item(id_)
        client.decide(request, Verdict.DENY)

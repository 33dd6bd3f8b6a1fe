"""The gate and the commands around it, as an agent and a person meet them: real processes, a real terminal."""

import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from aileron_tui import cli
from aileron_tui.cli.commands import result
from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import EDITED
from aileron_tui.demo.sample_bundle import materialise
from aileron_tui.demo.sample_service import FILES_CREDENTIAL, MAIL_CREDENTIAL, SampleService
from aileron_tui.files.agent_tokens import read_token
from aileron_tui.ledger.file_names import FILE
from aileron_tui.ledger.open_store import open_ledger
from aileron_tui.runtime.gate_client import ApproverClient
from aileron_tui.runtime.gate_discovery import discover
from aileron_tui.signing import key_store
from aileron_tui.signing.approvers import Approvers
from tests.compiled import shared_cache

CONFIG = """
[policy]
headless_decisions = {headless}
{policy}
[connectors."local://aileron/mail".credential]
env = "TEST_MAIL_TOKEN"
[connectors."local://aileron/files".credential]
env = "TEST_FILES_KEY"
"""
PASSPHRASE = "correct horse"


@dataclass
class Home:
    """A gate in a process of its own, on a home of its own."""

    folder: Path
    service: SampleService
    process: "subprocess.Popen[str]"
    place: dict[str, Any]
    environment: dict[str, str]


def configure(folder: Path, *, headless: bool, policy: str = "") -> None:
    (folder / "config.toml").write_text(CONFIG.format(headless=str(headless).lower(), policy=policy))


def command(home: Home, *words: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Runs a command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "aileron_tui", *words],
        env=home.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **options,
    )


def enrol(folder: Path, passphrase: str | None) -> None:
    """As `key init` does."""
    secret = bytearray(passphrase.encode()) if passphrase else None
    made = key_store.create(folder / "keys", "default", secret)
    with open_ledger(folder / "data" / FILE, role="test") as ledger:
        ledger.append(EntryKind.KEY_ENROLLED, Approvers().enrolment("default", made.public, insecure=made.insecure))


@contextmanager
def gate(folder: Path, passphrase: str | None, *words: str, compiled: Path, policy: str = "") -> Iterator[Home]:
    """A running gate with the sample service behind it, and a key. The connectors are compiled already."""
    folder.mkdir(mode=0o700)
    shutil.copytree(compiled, folder / "cache")
    enrol(folder, passphrase)
    configure(folder, headless=False, policy=policy)
    with SampleService() as service, (folder / "gate.log").open("w") as log:
        manifests = materialise(folder / "manifests", service.port)
        variables = {
            "AILERON_TUI_HOME": str(folder),
            "TEST_MAIL_TOKEN": MAIL_CREDENTIAL,
            "TEST_FILES_KEY": FILES_CREDENTIAL,
        }
        environment = {**os.environ, **variables}
        line = [sys.executable, "-m", "aileron_tui", "gate", "--port", "0", "--manifests", str(manifests), *words]
        with subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, stderr=log, text=True) as process:
            try:
                assert process.stdout
                ready = process.stdout.readline()
                assert ready, (folder / "gate.log").read_text()
                yield Home(folder, service, process, json.loads(ready), environment)
            finally:
                process.kill()


def stop(home: Home, number: int = signal.SIGTERM) -> int:
    home.process.send_signal(number)
    return home.process.wait(30)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_cache(tmp_path_factory)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, compiled: Path) -> Iterator[Home]:
    with gate(tmp_path_factory.mktemp("home") / "h", None, compiled=compiled) as home:
        yield home
        assert stop(home) == 0


@pytest.fixture
def home(running: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("AILERON_TUI_HOME", str(running.folder))
    monkeypatch.setattr(
        "aileron_tui.cli.source_options.protect_process", lambda: None
    )  # pytest itself stays debuggable
    configure(running.folder, headless=True)
    return running


@dataclass
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def call(home: Home, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command in this process."""

    def run(*words: str) -> Said:
        capsys.readouterr()
        code = cli.main(list(words))
        captured = capsys.readouterr()
        return Said(code, captured.out, captured.err)

    return run


def ask(call: Any, draft: str = "r-12345") -> str:
    """An agent's call that waits, with its preview; its request's id."""
    said = call("run", "send-draft", "--arg", f"draft_id={draft}")
    assert (said.code, said.json["status"]) == (75, "pending_approval")
    id_ = str(said.json["approval_id"])
    assert call("show", id_).code == 0  # waits for the preview
    return id_


def test_ask_look_approve_collect(call: Any, home: Home) -> None:
    sent = len(home.service.sent)
    id_ = ask(call)
    listed = call("list")
    assert listed.code == 0
    assert id_ in listed.out
    assert "send-draft" in listed.out
    assert "  team@example.com · Weekly recap" in listed.out
    [item] = call("list", "--json").json["items"]
    assert item["id"] == id_
    assert item["summary"][:2] == ["team@example.com", "Weekly recap"]
    shown = call("show", id_[-6:])
    assert [" ".join(line.split()) for line in shown.out.splitlines()[:6]] == [
        "Approve send-draft?",
        "agent sent",
        "Draft id: r-12345",
        "fetched by connector mail",
        "To: team@example.com",
        "Subject: Weekly recap",
    ]
    assert "insecure: no passphrase" in shown.err
    assert f"request     {id_}" in shown.out
    assert "[Approve]" in shown.out
    assert call("show", id_, "--json").json["id"] == id_
    approved = call("approve", id_[-6:])
    assert (approved.code, approved.out) == (0, f"approved send-draft {id_}\ndone ✓\n")
    assert "Weekly recap" in approved.err
    assert call("approve", id_).code == 5
    assert call("show", id_).out.count("[Approve]") == 0
    collected = call("run", "send-draft", "--args", '{"draft_id": "r-12345"}', "--wait", "20")
    assert (collected.code, collected.json["status"]) == (0, "completed")
    assert collected.json["result"]["action"] == "send-draft"
    done = call("result", id_)
    assert (done.code, done.json, done.err) == (0, collected.json["result"], "")
    assert call("result", id_, "--json").json == {"approval_id": id_, **collected.json}
    assert len(home.service.sent) == sent + 1


def test_an_edited_approval_is_shown_beside_what_was_asked(call: Any, home: Home) -> None:
    id_ = ask(call, "r-20417")
    edits: JsonObject = {"draft_id": "r-5 \x1b[2J"}
    [stored] = key_store.stored(home.folder / "keys")
    with (
        key_store.unlock(home.folder / "keys", stored.name, None) as key,
        ApproverClient(discover(data=home.folder / "data"), key) as client,
    ):
        while any(request.id == id_ and request.fetching for request in client.waiting()):
            time.sleep(0.02)  # the first preview makes a new prompt, also of an edited call
        client.decide(client.refresh(id_, edits), Verdict.APPROVE, edits=edits)
    shown = call("show", id_).out
    assert shown.startswith(
        f"Approve send-draft?\n{EDITED}\nagent sent\n- Draft id: r-20417\n+ Draft id: r-5 ⟨ESC⟩[2J\n"
    )
    edit = {"asked": {"draft_id": "r-20417"}, "approved": edits, "changed": ["draft_id"]}
    assert call("show", id_, "--json").json["edit"] == edit
    assert call("history", "show", id_, "--json").json["edit"] == edit
    call("run", "send-draft", "--arg", "draft_id=r-20417", "--wait", "20")


def test_an_extended_deadline_is_shown_with_who_extended_it(call: Any, home: Home) -> None:
    id_ = ask(call, "r-20417")
    [stored] = key_store.stored(home.folder / "keys")
    with (
        key_store.unlock(home.folder / "keys", stored.name, None) as key,
        ApproverClient(discover(data=home.folder / "data"), key) as client,
    ):
        extended = client.extend(client.extend(client.item(id_)))
    assert call("show", id_, "--json").json["expires_at"] == extended.expires_at
    words = f"twice, by {stored.name}"
    assert f"\nextended    {words}\n" in call("show", id_).out
    assert f"\n  extended    {words}\n" in call("history", "show", id_).out
    assert call("history", "show", id_, "--json").json["extended"] == words
    assert call("history", "verify").code == 0
    call("deny", id_)
    call("run", "send-draft", "--arg", "draft_id=r-20417", "--wait", "20")


def test_deny_with_a_reason(call: Any) -> None:
    id_ = ask(call, "r-18220")
    denied = call("deny", id_, "--reason", "not \x1b[2Jtoday", "--json")
    assert (denied.code, denied.json["state"]) == (0, "denied")
    said = call("run", "send-draft", "--arg", "draft_id=r-18220")
    assert (said.code, said.json) == (3, {"status": "denied", "reason": "not \x1b[2Jtoday"})
    assert "\x1b" not in said.out


def test_a_waiting_call_says_how_to_get_its_result(call: Any) -> None:
    said = call("run", "send-draft", "--arg", "draft_id=r-18220")
    id_ = said.json["approval_id"]
    assert said.err == f"Still waiting. Get the result with:\naileron-tui result {id_} --wait 60\n"
    waiting = call("result", id_)
    assert (waiting.code, waiting.out) == (75, "")
    assert f"aileron-tui result {id_} --wait 60" in waiting.err
    assert call("result", id_, "--wait", "1", "--json").json["status"] == "pending_approval"
    call("deny", id_, "--reason", "not \x1b[2Jtoday")
    denied = call("result", id_)
    assert (denied.code, denied.out, denied.err) == (3, "", "Denied: not ⟨ESC⟩[2Jtoday\n")
    assert call("result", id_, "--json").json == {
        "approval_id": id_,
        "status": "denied",
        "reason": "not \x1b[2Jtoday",
    }


def test_a_result_that_comes_while_it_is_waited_for(call: Any, home: Home) -> None:
    id_ = ask(call, "r-20417")
    words = [sys.executable, "-m", "aileron_tui", "result", id_, "--wait", "60"]
    with subprocess.Popen(words, env=home.environment, stderr=subprocess.PIPE, text=True) as waiting:
        time.sleep(1)
        assert waiting.poll() is None
        assert call("deny", id_).code == 0
        assert waiting.stderr
        assert (waiting.wait(20), waiting.stderr.read()) == (3, "Denied.\n")


def test_the_answer_about_a_tool_call_is_a_result_too(call: Any, home: Home) -> None:
    token = read_token(Path(home.place["agent_token_file"]))
    asked = httpx.post(
        f"{home.place['url']}/v1/permissions",
        headers={"Authorization": f"Bearer {token}"},
        json={"tool": "Bash", "input": {"command": "ls"}},
        trust_env=False,
    ).json()
    assert call("result", asked["approval_id"]).code == 75
    assert call("approve", asked["approval_id"], "--wait", "0").code in (0, 75)
    allowed = call("result", asked["approval_id"])
    assert (allowed.code, allowed.json) == (0, {"command": "ls"})
    again = call("result", asked["approval_id"])
    assert (again.code, again.out) == (1, "")
    assert "fetched before" in again.err


def test_a_held_call_in_another_process_hears_the_answer(call: Any, home: Home) -> None:
    words = [sys.executable, "-m", "aileron_tui", "run", "send-draft", "--arg", "draft_id=r-20417", "--wait", "60"]
    agent = subprocess.Popen(words, env=home.environment, stdout=subprocess.PIPE, text=True)
    for _ in range(200):
        items = call("list", "--json").json["items"]
        if items:
            break
        time.sleep(0.05)
    assert call("deny", items[0]["id"]).code == 0
    out, _ = agent.communicate(timeout=30)
    assert (agent.returncode, json.loads(out)) == (3, {"status": "denied"})


def test_a_preview_that_fails_is_said_to(call: Any) -> None:
    id_ = ask(call, "19df4136f28569d2")
    assert "\nPreview unavailable: Gmail API returned 404\n" in call("show", id_).out
    assert call("deny", id_).code == 0
    call("run", "send-draft", "--arg", "draft_id=19df4136f28569d2")


def test_what_needs_nobody_runs_at_once(call: Any) -> None:
    said = call("run", "list-drafts")
    assert (said.code, said.json["status"]) == (0, "completed")
    failed = call("run", "get-draft", "--arg", "draft_id=nothing")
    assert (failed.code, failed.json["status"]) == (1, "failed")
    assert failed.json["failure"]["error"]["class"]


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["run", "nothing"], 1, "no action named nothing"),
        (["run", "send-draft"], 1, '"draft_id" is required'),
        (["run", "send-draft", "--arg", "x=1"], 2, "its inputs are: draft_id"),
        (["run", "send-draft", "--arg", "draft_id"], 2, "NAME=VALUE"),
        (["run", "send-draft", "--args", "[]"], 2, "expected an object"),
        (["run", "../status"], 1, "refused"),
        (["result", "act-nothing"], 5, "no request with id act-nothing"),
        (["result", "../x\x1b[2J"], 5, "no request with id ../x⟨ESC⟩[2J"),
        (["result", "act-1", "--url", "http://127.0.0.1:1"], 1, "no agent token"),
        (["show", "act-nothing"], 5, "no request act-nothing is waiting"),
        (["approve", "act-nothing"], 5, "no request act-nothing is waiting"),
        (["deny", "x\x1b[2J"], 5, "x⟨ESC⟩[2J"),
        (["list", "--key", "other"], 1, "no key named other"),
        (["list", "--url", "http://127.0.0.1:1"], 1, "cannot connect to"),
        (["run", "list-drafts", "--url", "http://127.0.0.1:1"], 1, "no agent token"),
    ],
)
def test_what_cannot_be_is_said_in_words(call: Any, words: list[str], code: int, text: str) -> None:
    said = call(*words)
    assert (said.code, text in said.err) == (code, True), said
    assert "Traceback" not in said.err
    assert said.out == ""


def test_an_id_must_fit_one_request_only(call: Any) -> None:
    ids = [ask(call, draft) for draft in ("r-1", "r-2")]
    said = call("deny", "act-")
    assert (said.code, "matches 2 requests" in said.err) == (5, True)
    for id_ in ids:
        assert call("deny", id_).code == 0
    for draft in ("r-1", "r-2"):
        assert call("run", "send-draft", "--arg", f"draft_id={draft}").code == 3


def test_a_decision_can_be_bound_to_what_was_looked_at(call: Any) -> None:
    id_ = ask(call, "r-none")
    refused = call("approve", id_, "--digest", "sha256:" + "0" * 64)
    assert (refused.code, "different digest" in refused.err) == (1, True)
    digest = call("show", id_, "--json").json["digest"]
    failed = call("approve", id_, "--digest", digest, "--json")
    assert (failed.code, failed.json["taken"], failed.json["state"]) == (1, True, "failed")
    assert "404" in failed.json["error"]
    assert call("run", "send-draft", "--arg", "draft_id=r-none", "--wait", "20").code == 1


def test_a_preview_that_changes_while_it_is_read_is_not_approved(
    call: Any, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_ = ask(call, "r-20417")

    def reads(_: str) -> str:
        home.service.mailbox.delete_draft("r-20417")
        with ApproverClient(discover(), key_store.unlock(home.folder / "keys", "default", None)) as other:
            other.refresh(id_)
        return "y"

    monkeypatch.setattr("aileron_tui.cli.confirmation._has_terminal", lambda: True)
    monkeypatch.setattr("aileron_tui.cli.confirmation.ask_line", reads)
    said = call("approve", id_)
    assert (said.code, said.out) == (5, "")
    assert "has changed; nothing was decided" in said.err
    assert call("deny", id_).code == 0
    assert call("run", "send-draft", "--arg", "draft_id=r-20417").code == 3


def test_without_a_terminal_nobody_decides_unless_the_user_wants_it(call: Any, home: Home) -> None:
    id_ = ask(call, "r-3")
    configure(home.folder, headless=False)
    said = call("approve", id_)
    assert (said.code, "headless_decisions" in said.err) == (1, True)
    assert call("list").code == 0
    configure(home.folder, headless=True)
    assert call("deny", id_).code == 0
    assert call("run", "send-draft", "--arg", "draft_id=r-3").code == 3


def test_watching_as_json(home: Home, call: Any) -> None:
    words = [sys.executable, "-m", "aileron_tui", "watch", "--json"]
    watcher = subprocess.Popen(
        words, env=home.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert watcher.stdout
    assert json.loads(watcher.stdout.readline())["event"] == "snapshot"
    id_ = ask(call, "r-4")
    pending = json.loads(watcher.stdout.readline())
    assert (pending["event"], pending["data"]["id"]) == ("pending", id_)
    call("deny", id_)
    while True:
        event = json.loads(watcher.stdout.readline())
        if event["event"] == "resolved":
            break
    assert event["data"]["approved"] is False
    watcher.send_signal(signal.SIGINT)
    assert watcher.wait(20) == 130
    watcher.stdout.close()
    call("run", "send-draft", "--arg", "draft_id=r-4")


def test_a_gate_cleans_up_and_another_one_finds_its_place_taken(tmp_path: Path, compiled: Path) -> None:
    folder = tmp_path / "h"
    with gate(folder, None, "--log-json", compiled=compiled) as home:
        second = ["gate", "--manifests", str(folder / "manifests"), "--port"]
        taken = command(home, *second, home.place["url"].rpartition(":")[2])
        assert (taken.returncode, taken.stdout) == (1, "")
        assert "another program is using this port" in taken.stderr
        held = command(home, *second, "0")
        assert (held.returncode, held.stdout) == (1, "")
        assert held.stderr.startswith("error: ")
        assert (folder / "data" / "gate.json").exists()
        assert stop(home, signal.SIGINT) == 0
    assert not (folder / "data" / "gate.json").exists()
    assert (folder / "data" / "agent.token").exists(), "tokens stay valid when the gate starts again"
    events = [json.loads(line)["event"] for line in (folder / "gate.log").read_text().splitlines()]
    assert events[-1] == "stopped"


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, home: Home, *words: str) -> None:
        self.screen = ""
        self.process, self.descriptor = pty.fork()
        if self.process == 0:
            os.execve(sys.executable, [sys.executable, "-m", "aileron_tui", *words], home.environment)

    def until(self, text: str = "") -> str:
        """Reads until the text is on the screen, or to the end."""
        end = time.monotonic() + 30
        while time.monotonic() < end and not (text and text in self.screen):
            if select.select([self.descriptor], [], [], 0.1)[0]:
                try:
                    data = os.read(self.descriptor, 65_536)
                except OSError:
                    break
                if not data:
                    break
                self.screen += data.decode(errors="replace")
        assert text in self.screen, self.screen
        return self.screen

    def type(self, text: str) -> None:
        os.write(self.descriptor, text.encode())

    def end(self) -> int:
        self.until()
        os.close(self.descriptor)
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


def test_on_a_terminal_the_passphrase_is_asked_and_high_risk_once_more(tmp_path: Path, compiled: Path) -> None:
    with gate(tmp_path / "h", PASSPHRASE, compiled=compiled) as home:
        asked = command(home, "run", "send-draft", "--arg", "draft_id=r-12345")
        id_ = json.loads(asked.stdout)["approval_id"]

        blind = command(home, "show", id_, input=PASSPHRASE, start_new_session=True)
        assert (blind.returncode, "cannot ask for the passphrase without a terminal" in blind.stderr) == (1, True)

        wrong = Terminal(home, "show", id_)
        wrong.until("Passphrase of default: ")
        wrong.type("wrong horse\n")
        assert wrong.end() == 1

        for typed, code, text in (("n\n", 1, "not approved"), ("y\n", 0, f"approved send-draft {id_}")):
            terminal = Terminal(home, "approve", id_)
            terminal.until("Passphrase of default: ")
            terminal.type(f"{PASSPHRASE}\n")
            terminal.until("High risk. Approve? [y/N] ")
            assert "Weekly recap" in terminal.screen
            assert PASSPHRASE not in terminal.screen
            terminal.type(typed)
            assert terminal.end() == code, terminal.screen
            assert text in terminal.screen
        collected = command(home, "run", "send-draft", "--arg", "draft_id=r-12345", "--wait", "20")
        assert collected.returncode == 0
        assert len(home.service.sent) == 1


def test_what_is_typed_too_early_or_pasted_is_no_answer(tmp_path: Path, compiled: Path) -> None:
    with gate(tmp_path / "h", None, compiled=compiled) as home:
        home.environment["TERM"] = "xterm-256color"
        asked = command(home, "run", "send-draft", "--arg", "draft_id=r-12345")
        id_ = json.loads(asked.stdout)["approval_id"]

        early = Terminal(home, "approve", id_)
        early.until("insecure: no passphrase")
        early.type("y\n" * 5)
        early.until("Weekly recap")
        early.type("y\n" * 5)
        early.until("High risk. Approve? [y/N] ")
        early.type("\n")
        assert early.end() == 1
        assert "not approved" in early.screen

        pasted = Terminal(home, "approve", id_)
        pasted.until("High risk. Approve? [y/N] ")
        assert "\x1b[?2004h" in pasted.screen
        pasted.type("\x1b[200~y\n\x1b[201~")
        assert pasted.end() == 1
        assert pasted.screen.endswith("The request is still waiting.\r\n")
        assert "\x1b[?2004l" in pasted.screen
        assert home.service.sent == ()


def test_a_result_shows_every_line_end_that_a_terminal_does_not_have(capsys: pytest.CaptureFixture[str]) -> None:
    result._print_value("one\u2028two\r\x85\nthree\n")
    assert capsys.readouterr().out == "one⟨U+2028⟩two⟨CR⟩⟨NEL⟩\nthree\n"

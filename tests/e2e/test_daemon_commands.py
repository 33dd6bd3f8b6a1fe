"""The commands on a daemon of another process, with and without a terminal."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.files.private_files import private_folder
from aileron_tui.signing import key_store
from aileron_tui.surface.key_enrolment import changing_keys
from tests.e2e.conftest import Connected
from tests.e2e.terminal import ENTER
from tests.e2e.written import CORPUS, LINE, foreign

pytestmark = pytest.mark.slow

OK, FAILED, USAGE, NOT_FOUND, OUTCOME_UNKNOWN, INTERRUPTED = 0, 1, 2, 5, 6, 130


@contextmanager
def watching(connected: Connected, out: Path) -> Iterator[None]:
    """`watch --json` into a file, ended by ctrl+c."""
    with out.open("wb") as file:
        words = [sys.executable, "-m", "aileron_tui", "watch", "--json"]
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.DEVNULL, env=connected.environment
        )
        try:
            yield
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == INTERRUPTED
        finally:
            process.kill()
            process.wait()


def heard(out: Path) -> list[JsonObject]:
    """The events that were written so far, whole lines only."""
    whole = out.read_text().rpartition("\n")[0]
    return [json.loads(line) for line in whole.split("\n") if line]


def states(out: Path) -> list[tuple[Json, Json, Json]]:
    """The same as name, request and state."""
    found: list[tuple[Json, Json, Json]] = []
    for event in heard(out):
        data = event["data"]
        assert isinstance(data, dict)
        found.append((event["event"], data.get("id"), data.get("state")))
    return found


def test_requests_are_read_answered_and_watched_from_the_command_line(connected: Connected, tmp_path: Path) -> None:
    connected.make_key()
    daemon, events = connected.daemon, tmp_path / "events"
    printed: list[str] = []

    def command(*words: str) -> tuple[int, str]:
        done = connected.command(*words)
        printed.extend((done.stdout, done.stderr))
        return done.returncode, done.stdout

    def answered(*words: str, question: str = "", typed: str = "") -> tuple[int, str]:
        with connected.console(*words) as terminal:
            if question:
                assert "alice@example.com" in terminal.until(question)
                terminal.press(typed, ENTER)
            code = terminal.end()
            printed.append(terminal.raw.decode())
            return code, terminal.text

    with watching(connected, events):
        daemon.wait_until(lambda: bool(heard(events)))
        first, second = daemon.register(), daemon.register("comms_send")
        code, said = command("list", "--json")
        assert (code, [item["id"] for item in json.loads(said)["items"]]) == (OK, [first, second])
        code, said = command("list")
        assert code == OK
        assert first in said
        code, said = command("show", first[-8:])
        assert code == OK
        assert "Approve send-draft?" in said
        assert "To:       alice@example.com" in said
        assert command("show", "act-nothing")[0] == NOT_FOUND
        assert command("show")[0] == USAGE

        # Where there is no terminal, nobody can have looked.
        assert command("approve", first)[0] == FAILED
        assert answered("approve", first, question="High risk. Approve? [y/N]", typed="n")[0] == FAILED
        assert daemon.decisions() == []
        code, said = answered("approve", first, question="High risk. Approve? [y/N]", typed="y")
        assert code == OK
        assert "approved send-draft" in said
        code, said = answered("deny", second, "--reason", "Too loud.")
        assert code == OK
        assert "denied send_message" in said
        assert answered("deny", second)[0] == NOT_FOUND
        wanted = {("updated", first, "executed"), ("updated", second, "denied")}
        daemon.wait_until(lambda: wanted <= set(states(events)))

    assert states(events)[0][0] == "snapshot"
    assert [told for told in states(events) if told[0] == "pending"] == [
        ("pending", first, None),
        ("pending", second, None),
    ]
    assert [effect["id"] for effect in daemon.effects()] == [first]
    assert daemon.result(second) == {"status": "denied", "reason": "Too loud."}
    assert [decision["said"]["approved"] for decision in daemon.decisions()] == [True, False]
    assert all("envelope" in decision["said"] for decision in daemon.decisions())
    assert command("history", "verify", "--source", "daemon")[0] == OK
    assert [text for text in (*printed, events.read_text()) if daemon.token in text] == []


def test_doctor_tells_how_the_daemon_is_and_what_was_tried(connected: Connected) -> None:
    connected.make_key()
    daemon = connected.daemon
    daemon.register()
    daemon.switch(vault="locked")
    well = connected.command("doctor", "--json")
    checks = {check["id"]: check for check in json.loads(well.stdout)["checks"]}
    assert well.returncode == OK
    assert checks["daemon"]["words"] == daemon.url
    assert checks["daemon.waiting"]["words"] == "1 waiting"
    assert checks["daemon.vault"]["status"] == "warn"

    daemon.kill()
    left = connected.command("doctor")
    assert left.returncode == OK
    assert "! daemon" in left.stdout
    assert str(daemon.file) in left.stdout
    assert connected.command("list").returncode == FAILED
    assert [one for one in (well, left) if daemon.token in one.stdout + one.stderr] == []


def test_hostile_requests_print_no_sequence(connected: Connected) -> None:
    connected.make_key()
    body = {"label": "Body", "value": "\n".join(CORPUS), "multiline": True}
    request = connected.daemon.register(
        action_name=f"send {LINE[:200]}",
        args={"to": LINE[200:900], LINE[:50]: LINE[-400:]},
        preview={"fields": [{"label": LINE[60:100], "value": LINE[900:1300]}, body]},
    )
    for words in (["list"], ["show", request], ["deny", request, "--reason", "No."], ["history"]):
        with connected.console(*words) as terminal:
            assert terminal.end() == OK
            assert "⟨ESC⟩" in terminal.raw.decode()
            assert foreign(bytes(terminal.raw)) == {}


def test_the_list_needs_no_key(connected: Connected) -> None:
    daemon = connected.daemon
    first, second = daemon.register(), daemon.register("comms_send")
    listed = connected.command("list")
    assert listed.returncode == OK
    assert first in listed.stdout
    assert second in listed.stdout
    assert "r-12345" in listed.stdout
    assert "alice@example.com" not in listed.stdout
    assert "previews are left out" in listed.stderr
    items = json.loads(connected.command("list", "--json").stdout)["items"]
    assert [item["id"] for item in items] == [first, second]
    assert not any("preview" in item for item in items)
    assert daemon.token not in listed.stdout + listed.stderr
    assert connected.command("show", first).returncode == FAILED

    key_store.create(connected.home / "keys", "default", bytearray(b"a long passphrase"))
    assert first in connected.command("list").stdout  # there is no terminal to ask for a passphrase
    assert not (connected.home / "data" / "daemons").exists()


def test_the_history_is_that_of_the_daemon_in_use(connected: Connected) -> None:
    connected.make_key()
    with changing_keys(private_folder(connected.home / "data")) as (ledger, approvers):
        public = key_store.find(connected.home / "keys", "default").public
        ledger.append(EntryKind.KEY_ENROLLED, approvers.enrolment("default", public, insecure=True))
    daemon = connected.daemon
    mine, denied, allowed = daemon.register_many(3)
    daemon.resolve(denied, approved=False, reason="Not on a Friday.")
    daemon.resolve(allowed, reason="Asked on the phone.")
    with connected.console("deny", mine, "--reason", "Mine.") as terminal:
        assert terminal.end() == OK

    assert "the daemon in use, daemon; use --source gate" in connected.command("history").stderr
    listed = connected.command("history", "--json")
    assert mine in [request["id"] for request in json.loads(listed.stdout)["requests"]]
    assert mine not in connected.command("history", "--source", "gate", "--json").stdout
    assert connected.command("history", "verify").returncode == OK

    with connected.console() as terminal:
        terminal.until("No requests waiting")
        terminal.press("h")
        terminal.until("History of the daemon  3 in total")
        terminal.press("j", ENTER)
        terminal.until("Not on a Friday.")
    reasons = {
        request["id"]: (request["reason"], request["surface"])
        for request in json.loads(connected.command("history", "--json").stdout)["requests"]
    }
    assert reasons == {
        mine: ("Mine.", "cli"),
        denied: ("Not on a Friday.", "elsewhere"),
        allowed: ("Asked on the phone.", "elsewhere"),
    }
    daemon.stop()
    assert "the daemon in use" not in connected.command("history").stderr


def test_an_approval_that_nobody_waits_for_says_so(connected: Connected) -> None:
    connected.make_key()
    daemon = connected.daemon
    id_ = daemon.register("shell", requested_at="2026-05-12T10:15:30Z")
    daemon.restart()
    with connected.console("approve", id_) as terminal:
        shown = terminal.until("[y/N]")
        assert "nobody waits for the answer" in " ".join(shown.split())
        terminal.press("y", ENTER)
        assert terminal.end() == OUTCOME_UNKNOWN
        assert "nobody waits for the answer" in " ".join(terminal.text.split())
    assert daemon.effects(id_) == []

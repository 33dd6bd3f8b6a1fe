"""The console on a daemon of another process, in a real terminal."""

import json
import re
from pathlib import Path

import pytest

from aileron_tui.core.decision import Verdict, pae, read_statement
from aileron_tui.signing import key_store
from aileron_tui.signing.envelope import read_envelope
from tests.daemon.process import FakeDaemon
from tests.e2e.conftest import CONFIG, Connected, House
from tests.e2e.person import READY, approve, confirm, read
from tests.e2e.terminal import CTRL_S, DOWN, ENTER, PAGE_DOWN, Terminal, clean
from tests.e2e.written import CORPUS, LINE, foreign, written

pytestmark = pytest.mark.slow

AT_ONCE = "[console]\nundo_seconds = 0\n"
SOURCES = """
[[sources]]
name = "here"
kind = "daemon"

[[sources]]
name = "team"
kind = "gate"
"""
VAULT_PASSPHRASE = "open sesame"


def holds(folder: Path, secret: str) -> list[Path]:
    """The files in a folder in which a secret is written."""
    return [path for path in folder.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


def until_row(terminal: Terminal, pattern: str) -> None:
    """Waits for a row that begins or goes on like this."""
    terminal.until(lambda text: re.search(pattern, text) is not None)


def test_an_approval_has_exactly_one_effect_and_is_on_record(connected: Connected) -> None:
    connected.make_key()
    daemon = connected.daemon
    with connected.console() as terminal:
        terminal.until("● connected")
        request = daemon.register()
        terminal.until("alice@example.com")
        shown = terminal.until(READY)
        assert "Approve send-draft?" in shown
        assert re.search(r"fetched by (connector )?aileron-connector-google", shown), shown
        assert "1 waiting" in shown
        approve(terminal)
        terminal.until("nothing waiting")
        terminal.press("q")
        assert terminal.end() == 0
        assert clean(terminal)
    assert [effect["args"] for effect in daemon.effects()] == [{"draft_id": "r-12345"}]
    assert daemon.result(request)["status"] == "completed"

    (decision,) = daemon.decisions()
    assert (decision["id"], decision["status"], decision["applied"]) == (request, 204, True)
    said = decision["said"]
    assert said["approved"] is True
    envelope = read_envelope(said["envelope"])
    public = key_store.find(connected.home / "keys", "default").public
    assert public.accepts(envelope.signature, pae(envelope.type, envelope.payload))
    statement = read_statement(envelope.payload)
    assert (statement.request, statement.verdict) == (request, Verdict.APPROVE)

    for words in (["history", "--json"], ["history", "--source", "daemon", "--json"]):
        (past,) = json.loads(connected.command(*words).stdout)["requests"]
        assert (past["id"], past["outcome"], past["surface"], past["signed"]) == (request, "executed", "console", True)
    verified = connected.command("history", "verify")
    assert (verified.returncode, verified.stdout[:5]) == (0, "good:")


def test_a_denial_tells_the_agent_why(connected: Connected) -> None:
    connected.make_key()
    request = connected.daemon.register()
    with connected.console() as terminal:
        terminal.until(READY)
        terminal.press("D")
        terminal.until("enter deny")
        terminal.press("Ask Bob first.")
        terminal.until("Ask Bob first.")
        terminal.press(ENTER)
        until_row(terminal, r"send-draft +denied")
    assert connected.daemon.result(request) == {"status": "denied", "reason": "Ask Bob first."}
    assert connected.daemon.effects() == []


def test_each_kind_is_shown_and_answered_in_its_own_way(connected: Connected) -> None:
    connected.make_key()
    connected.configure(AT_ONCE)
    daemon = connected.daemon
    draft = daemon.register("comms_draft")
    with connected.console() as terminal:
        terminal.until("Is it done?")
        terminal.until("Send this reply?")
        read(terminal)
        terminal.press("e")
        terminal.until("review changes")
        terminal.press("Oh ")
        terminal.until("Oh Yes.")
        terminal.press(CTRL_S)
        terminal.until("- Yes.")
        terminal.until("+ Oh Yes.")
        terminal.until("a approve edited call")
        confirm(terminal)
        terminal.until("done ✓")
        (decision,) = daemon.decisions(draft)
        assert decision["said"]["edited_payload"] == {"body": "Oh Yes.\nSince noon."}
        assert daemon.effects(draft)[0]["args"]["draft_body"] == "Oh Yes.\nSince noon."

        shell = daemon.register("shell")
        terminal.until("1 waiting")
        terminal.press("j")
        terminal.until("Run this command?")
        terminal.until("▎ rm -rf build")
        terminal.until("rm with -r")
        read(terminal)
        terminal.press("e")
        terminal.until("always in this project")
        terminal.press(DOWN)
        terminal.still(0.3)
        terminal.press(" ")
        terminal.until("▐●▌ always in this project")
        terminal.press(CTRL_S)
        terminal.until("approving also saves a rule (always in this")
        terminal.until("a approve edited call")
        confirm(terminal)
        terminal.until("nothing waiting")
        (decision,) = daemon.decisions(shell)
        assert decision["said"]["edited_payload"] == {"save_policy": "project"}
        assert [effect["decision"] for effect in daemon.effects(shell)] == ["allow_project"]

        bare = daemon.register("http_request", args={"method": "POST", "url": "https://api.example.com/v1", "body": ""})
        terminal.until("1 waiting")
        terminal.press("j")
        terminal.until("no vault credential is added")
        terminal.until("https://api.example.com/v1")
        read(terminal)
        terminal.press("d")
        terminal.until("nothing waiting")

        odd = daemon.register("teleport", action_name="beam", args={"to": "Mars", "crew": 3})
        terminal.until("1 waiting")
        terminal.press("j")
        terminal.until('unknown kind of request "teleport"')
        terminal.until("Mars")
        terminal.until("crew")
        read(terminal)
        confirm(terminal)
        until_row(terminal, r"beam +done ✓")
    assert daemon.result(bare)["status"] == "denied"
    assert [effect["args"] for effect in daemon.effects(odd)] == [{"to": "Mars", "crew": 3}]


@pytest.mark.parametrize("well", [True, False], ids=["stopped", "killed"])
def test_a_daemon_that_goes_and_comes_back_elsewhere(connected: Connected, well: bool) -> None:
    connected.make_key()
    connected.configure(AT_ONCE)
    daemon = connected.daemon
    request = daemon.register()
    before = (daemon.url, daemon.token)
    with connected.console() as terminal:
        terminal.until(READY)
        if well:
            daemon.stop()
        else:
            daemon.kill()
        terminal.until("○ not connected")
        terminal.until("not connected since")
        assert "alice@example.com" in terminal.until("◌ not connected")
        terminal.press("a")
        terminal.still(0.3)
        terminal.press("d")
        terminal.still(0.5)
        assert "y yes" not in terminal.text
        daemon.start(seed=[{"kind": "comms_send"}])
        assert before[0] != daemon.url
        assert before[1] != daemon.token
        terminal.until("● connected")
        terminal.until("2 waiting")
        terminal.until("send_message")
        terminal.until(lambda text: "not connected since" not in text)
        assert daemon.decisions() == []
        approve(terminal)
        terminal.until("1 waiting")
    assert len(daemon.effects()) == len(daemon.effects(request)) == 1
    assert all(secret not in terminal.raw.decode(errors="replace") for secret in (before[1], daemon.token))


def test_a_daemon_whose_approvals_are_switched_off_says_so(connected: Connected) -> None:
    connected.make_key()
    daemon = connected.daemon
    daemon.register()
    with connected.console() as terminal:
        terminal.until(READY)
        daemon.switch(approvals_disabled=True)
        daemon.disconnect()
        terminal.until("approvals are switched off")
        assert "answered elsewhere" not in terminal.still(1.0)
    listed = connected.command("list")
    assert (listed.returncode, "approvals are switched off on this daemon" in listed.stderr) == (1, True)
    checked = connected.command("doctor")
    assert checked.returncode == 1
    assert "approvals are switched off on this daemon" in checked.stdout
    daemon.switch(approvals_disabled=False)
    assert connected.command("list").returncode == 0


def test_what_was_answered_elsewhere_says_so(connected: Connected) -> None:
    connected.make_key()
    daemon = connected.daemon
    denied, approved = daemon.register_many(2)
    with connected.console() as terminal:
        terminal.until(READY)
        daemon.resolve(denied, approved=False, reason="Not today.")
        terminal.until("answered elsewhere: denied")
        terminal.until("1 waiting")
        terminal.press("j")
        terminal.until(READY)
        daemon.resolve(approved, silently=True)
        daemon.disconnect()
        terminal.until("answered elsewhere: done ✓")
        terminal.until("nothing waiting")
        terminal.press("h")
        terminal.until("2 in total")
        terminal.until(lambda text: len(re.findall("elsewhere .* not signed", text)) == 2)
    assert daemon.decisions() == []


def test_what_waits_for_the_vault_goes_on_when_it_is_unlocked(connected: Connected) -> None:
    connected.make_key()
    connected.configure(AT_ONCE)
    daemon = connected.daemon
    daemon.switch(vault="locked")
    request = daemon.register()
    with connected.console() as terminal:
        terminal.until("⚠ vault locked")
        read(terminal)
        confirm(terminal)
        terminal.until("the daemon's vault is locked; press U in the console to unlock it")
        assert daemon.effects() == []
        terminal.press("U")
        terminal.until("Unlock the vault")
        terminal.press("closed sesame", ENTER)
        terminal.until("✗ wrong passphrase for the daemon's vault")
        terminal.press(VAULT_PASSPHRASE, ENTER)
        terminal.until("done ✓")
        terminal.until(lambda text: "vault locked" not in text)
        for passphrase in (VAULT_PASSPHRASE, "closed sesame"):
            assert passphrase not in terminal.raw.decode(errors="replace")
            assert holds(connected.home, passphrase) == []
    assert len(daemon.effects(request)) == 1
    assert len(daemon.asked("vault_unlock")) == 2


def test_two_sources_are_one_list_and_the_trouble_of_one_is_its_own(house: House, tmp_path: Path) -> None:
    house.make_key()
    (house.home / "config.toml").write_text(CONFIG + AT_ONCE + SOURCES)
    with FakeDaemon(tmp_path / "user") as daemon:
        house.environment_more["HOME"] = str(daemon.home)
        house.start_gate()
        with house.console(size=(100, 40)) as terminal:
            terminal.until("● 2 sources")
            request = daemon.register()
            terminal.until("alice@example.com")
            assert "from here, a daemon" in terminal.until(READY)
            house.call("move-file", wait=0, file_id="f-1001", folder_id="d-reports")
            terminal.until("2 waiting")
            until_row(terminal, r"▸ send-draft +here ")
            until_row(terminal, r"  move-file +team ")

            daemon.kill()
            terminal.until("1 of 2 sources")
            terminal.until("▲ here stale since")
            terminal.until("◌ here is not connected")
            terminal.press("j")
            terminal.until("from team, a gate")
            read(terminal)
            confirm(terminal)
            until_row(terminal, r"move-file +team done ✓")
            assert house.service.drive.files["f-1001"].sample.parents == ("d-reports",)

            house.kill_gate()
            daemon.start()
            terminal.until("▲ team stale since")
            terminal.until(lambda text: "here stale" not in text)
            terminal.press("k")
            terminal.until("from here, a daemon")
            read(terminal)
            confirm(terminal)
            until_row(terminal, r"send-draft +here done ✓")
        assert len(daemon.effects(request)) == 1


def test_hostile_requests_add_no_byte_but_those_of_the_console(connected: Connected) -> None:
    connected.make_key()
    connected.configure(AT_ONCE)
    daemon = connected.daemon
    daemon.session("s-1", agent=LINE[:300], working_dir=LINE[300:600])
    body = {"label": LINE[:60], "value": "\n".join(CORPUS), "multiline": True}
    with connected.console(size=(100, 50)) as terminal:
        terminal.until("● connected")
        terminal.still(0.3)
        opened = len(terminal.raw)
        first = daemon.register(
            action_name=f"send {LINE[:200]}",
            connector_fqn=f"github://{LINE[200:400]}",
            args={"to": LINE[400:900], LINE[:50]: LINE[-400:]},
            preview={"fields": [{"label": LINE[60:100], "value": LINE[900:1300]}, body]},
            session_id="s-1",
            outcome="failed",
            failure={"error": {"class": "external_api_error", "message": LINE[:900], "boundary": "external"}},
        )
        terminal.until("1 waiting")
        read(terminal)
        confirm(terminal)
        terminal.until("failed ✗")
        second = daemon.register(LINE[:100], args={"x": LINE[1300:1700]}, preview={"unavailable": LINE[:500]})
        terminal.until("1 waiting")
        terminal.press("j")
        terminal.until("Preview unavailable")
        terminal.press("v")
        terminal.until("esc back")
        for _ in range(5):
            terminal.press(PAGE_DOWN)
            terminal.still(0.1)
        terminal.press("q")
        terminal.until(lambda text: "esc back" not in text)
        daemon.resolve(second, approved=False, reason=LINE[:900])
        terminal.until("answered elsewhere: denied")
        terminal.press("h")
        terminal.until("2 in total")
        terminal.press(ENTER)
        until_row(terminal, "answered +elsewhere")
        terminal.press("j")
        until_row(terminal, "answered +console")
        data = written(terminal, opened)
        assert "⟨ESC⟩".encode() in data
        assert foreign(data) == {}
    assert [effect["args"]["to"] for effect in daemon.effects(first)] == [LINE[400:900]]


def test_a_key_for_this_run_and_a_console_killed_before_it_sent(connected: Connected) -> None:
    daemon = connected.daemon
    request = daemon.register()
    with connected.console() as terminal:
        assert "There is no key yet" in terminal.until("enter choose")
        terminal.press(DOWN, DOWN, ENTER)
        terminal.until("alice@example.com")
        read(terminal)
        confirm(terminal)
        terminal.until("s: u undo")
        terminal.process.kill()
        terminal.process.wait()
    assert daemon.pending() == [request]
    assert daemon.decisions() == []

    with connected.console() as terminal:
        terminal.until("enter choose")
        terminal.press(DOWN, DOWN, ENTER)
        terminal.until("alice@example.com")
        approve(terminal)
        terminal.press("q")
        assert terminal.end() == 0
        assert clean(terminal)
    assert len(daemon.decisions()) == len(daemon.effects(request)) == 1
    assert key_store.stored(connected.home / "keys") == ()
    assert connected.command("history", "verify", "--source", "daemon").returncode == 0

"""The history command: what it prints, how it ends."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aileron_tui import cli
from aileron_tui.cli import source_options
from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import EDITED
from aileron_tui.core.unsigned_denial import UnsignedDenial
from aileron_tui.ledger import quick_check
from aileron_tui.ledger.open_store import open_ledger
from aileron_tui.signing import key_store
from aileron_tui.surface.key_enrolment import enroll_signed
from tests.ledger.scenes import DIGEST, Scene, age_index, tampering
from tests.signing.security_keys import SoftwareKey

HOSTILE = "\x1b[2J\x07 [red]\u202e"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home."""
    monkeypatch.setenv("AILERON_TUI_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path / "home"


@pytest.fixture
def ledger(home: Path) -> Path:
    """A home with an approved, a denied, an expired and a waiting request."""
    scene = Scene(home / "data" / "ledger.db")
    scene.approved("act-1", to="team@example.com")
    scene.denied("act-2", reason=HOSTILE)
    scene.ask("act-3", action="move-file", agent=HOSTILE)
    scene.step(EntryKind.EXPIRED, "act-3")
    scene.ask("act-4")
    return scene.close()


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    """What the command prints, if it ends with this code."""
    capsys.readouterr()
    assert cli.main(["history", *words]) == code
    return capsys.readouterr().out


def test_an_empty_home_is_no_mistake(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["history"]) == 0
    assert capsys.readouterr() == ("", "nothing recorded yet\n")
    assert json.loads(said(capsys, "--json")) == {"requests": [], "next": None}
    assert said(capsys, "head") == f"0:sha256:{'0' * 64}\n"
    assert said(capsys, "verify").startswith("good: 0 entries")
    assert not home.exists()


def test_the_list_is_newest_first_and_harmless(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys).splitlines()
    assert lines[::2] == [
        "… waiting  send-draft  r-12345",
        "○ nobody answered  move-file  r-12345",
        "– denied  send-draft  r-12345",
        "✓ done  send-draft  team@example.com · r-12345",
    ]
    assert "act-2 · claude · tui · decided in 1.0 s · signed" in lines[5]
    assert not set("\x1b\x07\u202e") & set("".join(lines))


@pytest.mark.parametrize("width", [20, 40, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal(
    ledger: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert all(len(line) <= width for line in said(capsys).splitlines())


def test_filters_search_and_pages(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def ids(*words: str) -> list[str]:
        return [request["id"] for request in json.loads(said(capsys, "--json", *words))["requests"]]

    assert ids("--search", "team@example.com") == ["act-1"]
    assert ids("--search", "agent:claude outcome:denied") == ["act-2"]
    assert ids("--search", "agent:nobody") == []
    assert ids("--search", "outcome:done") == ids("--search", "outcome:executed") == ["act-1"]
    assert ids("--search", "outcome:nobody-answered action:move-file since:2026-05-11") == ["act-3"]
    assert ids("--search", "until:2026-05-11") == ids("--search", "outcome:done", "--until", "2026-05-11") == []
    assert ids("--outcome", "done", "--search", "outcome:denied team") == ["act-1"]
    assert ids("--outcome", "denied", "--outcome", "expired") == ["act-3", "act-2"]
    assert ids("--action", "move-file") == ["act-3"]
    assert ids("--agent", "claude", "--outcome", "approved") == ["act-1"]
    assert ids("--outcome", "nobody answered") == ids("--outcome", "Nobody-answered") == ["act-3"]
    assert ids("--surface", "tui") == ["act-2", "act-1"]
    assert ids("--since", "2026-05-11") == ["act-4", "act-3", "act-2", "act-1"]
    assert ids("--until", "2026-05-11") == []
    first = json.loads(said(capsys, "--json", "--limit", "3"))
    assert ids("--before", str(first["next"])) == ["act-1"]


def test_what_was_approved_since_a_weekday_is_one_search(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(home / "data" / "ledger.db")
    scene.approved("act-old")
    scene.clock.now = datetime(2026, 11, 9, 12).astimezone().astimezone(UTC)
    scene.approved("act-monday")
    scene.clock.now = datetime(2026, 11, 10, 0, 30).astimezone().astimezone(UTC)
    scene.approved("act-tuesday")
    scene.denied("act-denied")
    scene.ask("act-running")
    scene.decide("act-running")
    scene.step(EntryKind.RUNNING, "act-running")
    scene.close()
    thursday = datetime(2026, 11, 12, 9).astimezone()
    monkeypatch.setattr("aileron_tui.cli.commands.history.utc_now", lambda: thursday.astimezone(UTC))

    def ids(*words: str) -> list[str]:
        return [request["id"] for request in json.loads(said(capsys, "--json", *words))["requests"]]

    wanted = ["act-running", "act-tuesday"]
    assert ids("--search", "since:tuesday outcome:approved") == wanted
    assert ids("--since", "tuesday", "--outcome", "approved") == wanted
    assert ids("--since", "Tuesday", "--search", "outcome:approved") == wanted
    assert ids("--search", "since:monday until:tuesday") == ["act-monday"]
    assert ids("--since", "tuesday", "--outcome", "done") == ["act-tuesday"]
    assert ids("--since", "yesterday") == []


def test_a_search_that_cannot_be_read_says_how_to_write_it(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text, hint in (
        ("outcome:denyed", "Did you mean outcome:denied?"),
        ("since:soon", "since:7d"),
        ("since:tusday", "Did you mean since:tuesday?"),
        ("agnet:claude", "Did you mean agent:?"),
        ("source:a source:b", "console"),
    ):
        assert cli.main(["history", "--search", text]) == 1
        assert hint in capsys.readouterr().err


def test_a_search_can_name_the_source(ledger: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    daemon(home, "work")
    found = json.loads(said(capsys, "--json", "--search", "source:work outcome:denied"))["requests"]
    assert [request["id"] for request in found] == ["work-1"]


def test_json_has_stable_keys(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    request = json.loads(said(capsys, "--json", "--limit", "1"))["requests"][0]
    assert " ".join(request) == (
        "seq id asked action connector agent risk outcome shown decided took surface signer reason ended error"
        " kind daemon edited says rule reduced signed summary"
    )
    assert request["summary"] == ["r-12345"]
    assert json.loads(said(capsys, "show", "act-1", "--json"))["edit"] is None


@pytest.mark.parametrize(
    "words",
    [
        ["--since", "yesterday-ish"],
        ["--outcome", "maybe"],
        ["--limit", "0"],
        ["--limit", "x"],
        ["verify", "--against", "nonsense"],
        ["export", "--format", "xml"],
        ["nonsense"],
    ],
)
def test_wrong_usage_ends_with_2(home: Path, words: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["history", *words])
    assert caught.value.code == 2


def test_an_option_names_the_nearest_word(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, hint in (
        (["--outcome", "aproved"], 'unknown outcome "aproved". Did you mean approved?'),
        (["--since", "wendesday"], '"wendesday" is not a date or time. Did you mean wednesday?'),
        (["--until", "x"], "a date such as 2026-05-12, or how long ago, such as 7d."),
    ):
        with pytest.raises(SystemExit):
            cli.main(["history", *words])
        assert hint in " ".join(capsys.readouterr().err.split())


def test_show_tells_the_story_and_checks_the_signature(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "show", "act-2")
    assert text.startswith("– denied: send-draft\n")
    assert "signature   good, by laptop (SHA256:" in text
    assert "\x1b" not in text
    shown = json.loads(said(capsys, "show", "act-1", "--json"))
    assert [entry["kind"] for entry in shown["entries"]][0::3] == ["request.made", "decision.made"]
    assert said(capsys, "show", "act-9", code=5) == ""


def test_show_says_that_a_preview_was_not_kept_and_how_to_keep_it(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = Scene(home / "data" / "ledger.db")
    scene.ask("act-1")
    scene.ledger.append(EntryKind.PREVIEWED, {"digest": DIGEST}, "act-1")
    scene.ask("act-2")
    scene.close()
    text = " ".join(said(capsys, "show", "act-1").split())
    assert "The preview that was shown was not kept" in text
    assert "keep_previews = true under [policy]" in text
    assert "not kept" not in said(capsys, "show", "act-2")


def test_show_asks_for_the_passphrase_before_it_shows_a_preview(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(home / "data" / "ledger.db")
    scene.ask("act-1")
    kept: JsonObject = {"rows": [{"label": "To", "value": "team@example.com"}], "unavailable": ""}
    scene.ledger.append(EntryKind.PREVIEWED, {"digest": DIGEST, "preview": kept}, "act-1")
    scene.close()
    for words in ([], ["--json"]):
        assert "team@example.com" not in said(capsys, "show", "act-1", *words)
    assert "--preview shows it" in said(capsys, "show", "act-1")
    key_store.create(home / "keys", "default", bytearray(b"open sesame"))
    monkeypatch.setattr(source_options, "ask_passphrase", lambda _: bytearray(b"wrong"))
    assert "team@example.com" not in said(capsys, "show", "act-1", "--preview", code=1)
    monkeypatch.setattr(source_options, "ask_passphrase", lambda _: bytearray(b"open sesame"))
    assert "team@example.com" in said(capsys, "show", "act-1", "--preview")
    assert "team@example.com" in said(capsys, "show", "act-1", "--preview", "--json")


def test_show_says_when_a_signature_is_bad(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tampering(ledger) as db:
        data = db.execute("SELECT data FROM entries WHERE seq = 5").fetchone()[0]
        at = data.index(b'"sig":"') + 12
        data = data[:at] + (b"A" if data[at : at + 1] != b"A" else b"B") + data[at + 1 :]
        db.execute("UPDATE entries SET data = ? WHERE seq = 5", (data,))
    assert "signature   BAD: decision refused, bad signature" in said(capsys, "show", "act-1")


def test_show_says_when_an_extension_is_not_signed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene = Scene(home / "data" / "ledger.db")
    scene.ask("act-1")
    scene.forge(EntryKind.EXTENDED, "act-1", {"envelope": {}})
    scene.close()
    assert "extended    BAD: entry 3" in said(capsys, "show", "act-1")
    assert "entry 3" in said(capsys, "verify", code=1)


def test_a_good_ledger_verifies(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "verify")
    assert text.startswith("good: 14 entries\n  head 14:sha256:")
    assert "2 decisions signed by laptop (SHA256:" in text
    head = said(capsys, "head").strip()
    assert said(capsys, "verify", "--against", head).startswith("good")
    report = json.loads(said(capsys, "verify", "--json"))
    assert (report["good"], report["entries"], report["head"], report["fault"]) == (True, 14, head, None)


def test_a_second_verification_says_what_it_trusts(
    ledger: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick_check, "FEWEST", 1)
    assert "trusted" not in said(capsys, "verify")
    words = f"  all entries were checked on {datetime.now().astimezone():%Y-%m-%d} and are trusted"
    assert f"{words}; --all checks them again\n" in said(capsys, "verify")
    assert json.loads(said(capsys, "verify", "--json"))["trusted"]["entries"] == 14
    assert "trusted" not in said(capsys, "verify", "--all")
    assert "trusted" not in said(capsys, "verify", str(ledger)), "another ledger has no checkpoint here"
    open_ledger(ledger).append(EntryKind.EXPIRED, {}, "act-4")
    assert "  entries 1–14 were checked on " in said(capsys, "verify")


def test_damage_is_named_with_its_entry(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tampering(ledger) as db:
        db.execute("UPDATE entries SET data = replace(data, 'claude', 'claudf') WHERE seq = 8")
    assert said(capsys, "verify", code=1).startswith("DAMAGED at entry 8: the entry was changed")
    fault = json.loads(said(capsys, "verify", "--json", code=1))["fault"]
    assert (fault["entry"], fault["damage"]) == (8, "changed")


def test_a_cut_tail_is_found_against_a_kept_head(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = said(capsys, "head").strip()
    with tampering(ledger) as db:
        db.execute("DELETE FROM entries WHERE seq = 14")
        db.execute("DELETE FROM requests WHERE id = 'act-4'")
    ledger.with_suffix(".lock").unlink()
    assert said(capsys, "verify").startswith("good")
    assert said(capsys, "verify", "--against", kept, code=1).startswith("DAMAGED at entry 14: entries at the end")


def test_an_export_goes_out_and_verifies_elsewhere(
    ledger: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.jsonl"
    said(capsys, "export", "--output", str(out))
    assert said(capsys, "verify", str(out)).startswith("good: 14 entries")
    assert said(capsys, "verify", str(ledger)).startswith("good: 14 entries")
    assert oct(out.stat().st_mode)[-3:] == "600"
    out.write_bytes(out.read_bytes().replace(b"team@", b"Team@"))
    assert said(capsys, "verify", str(out), code=1).startswith("DAMAGED at entry 2:")
    said(capsys, "export", "--output", str(out), code=1)
    assert "cannot write the export" not in out.read_text()


def test_an_export_for_other_systems_is_ascii(ledger: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "events.jsonl"
    said(capsys, "export", "--format", "ocsf", "--output", str(out))
    events = [json.loads(line) for line in out.read_text(encoding="ascii").splitlines()]
    assert [event["metadata"]["sequence"] for event in events] == list(range(1, 15))
    assert [event["api"]["operation"] for event in events if "api" in event][-2:] == ["move-file", "send-draft"]
    assert {event["status"] for event in events} == {"Success", "Failure"}
    said(capsys, "export", "--format", "ocsf", "--agent", "claude", code=1)


def test_an_export_to_a_pipe_is_the_same(
    ledger: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert cli.main(["history", "export"]) == 0
    out = tmp_path / "out.jsonl"
    out.write_bytes(capsysbinary.readouterr().out)
    assert cli.main(["history", "verify", str(out)]) == 0


def test_an_export_is_not_thrown_at_a_terminal(
    ledger: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert cli.main(["history", "export"]) == 1
    said = capsys.readouterr()
    assert (said.out, "Use --output FILE" in said.err) == ("", True)


def test_a_later_revocation_does_not_spoil_an_earlier_decision(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene = Scene(home / "data" / "ledger.db")
    scene.denied("act-1")
    scene.revoke(scene.key)
    scene.ask("act-2")
    scene.decide("act-2")
    scene.close()
    assert "signature   good, by laptop" in said(capsys, "show", "act-1")
    assert "signature   BAD: decision refused, revoked key" in said(capsys, "show", "act-2")


def test_a_table_goes_out_filtered(ledger: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert cli.main(["history", "export", "--format", "csv", "--outcome", "denied"]) == 0
    text = capsysbinary.readouterr().out.decode()
    assert [row["id"] for row in csv.DictReader(io.StringIO(text, newline=""))] == ["act-2"]
    assert "\x1b" not in text


def test_a_part_is_not_exported_as_if_it_could_be_verified(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "export", "--search", "x", code=1)


def test_a_damaged_ledger_is_reported_and_set_aside(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger.write_bytes(b"garbage")
    for words in ([], ["head"], ["verify"], ["show", "act-1"], ["export"]):
        capsys.readouterr()
        assert cli.main(["history", *words]) == 1
        assert "error: the ledger is damaged" in capsys.readouterr().err
    assert said(capsys, "set-aside").startswith("moved the old ledger to ")
    assert said(capsys, "verify").startswith("good: 1 entry\n")
    assert [path.read_bytes() for path in ledger.parent.glob("set-aside-*/ledger.db")] == [b"garbage"]


def test_a_falsified_history_is_rebuilt(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tampering(ledger) as db:
        db.execute("UPDATE requests SET outcome = 'denied' WHERE id = 'act-1'")
    assert "history rebuild" in said(capsys, "verify", code=1)
    said(capsys, "rebuild")
    assert said(capsys, "verify").startswith("good")


def test_rebuilding_beside_a_gate_says_who_holds_it(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_ledger(ledger):
        said(capsys, "rebuild", code=1)
        cli.main(["history", "rebuild"])
        assert f"by gate, process {os.getpid()} on " in capsys.readouterr().err
        assert said(capsys, "verify").startswith("good"), "reading goes on"


def daemon(home: Path, name: str) -> Path:
    """What was recorded of a daemon: an answer from elsewhere, one from here, and one from here that came too late."""
    scene = Scene(home / "data" / "daemons" / name / "ledger.db")
    scene.ask_daemon(f"{name}-1", action="send-draft")
    scene.tell(f"{name}-1", "denied", elsewhere=True, reason=HOSTILE)
    scene.ask_daemon(f"{name}-2", action="move-file")
    scene.decide(f"{name}-2")
    scene.tell(f"{name}-2", "pending")
    scene.decide(f"{name}-2", reason="now")
    scene.tell(f"{name}-2", "executed")
    scene.ask_daemon(f"{name}-3")
    scene.decide(f"{name}-3")
    scene.tell(f"{name}-3", "running", elsewhere=True)
    return scene.close()


def test_the_ledger_of_a_daemon_by_its_name(ledger: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    daemon(home, "work")
    daemon(home, "play")
    assert "work-1" not in said(capsys)
    lines = said(capsys, "--source", "work").splitlines()
    assert lines[::2] == [
        "… no news  send-draft  r-12345",
        "✓ done  move-file  r-12345",
        "– denied  send-draft  r-12345",
    ]
    assert "work-3 · elsewhere · decided in " in lines[1]
    assert "s · not signed" in lines[1]
    assert "work-2 · tui · decided in " in lines[3]
    assert "s · signed · now" in lines[3]
    assert "\x1b" not in "".join(lines)
    for words in (["verify", "--source", "play"], ["--source", "play", "verify"]):
        assert said(capsys, *words).startswith("good: 11 entries\n")
    assert said(capsys, "head", "--source", "play").startswith("11:sha256:")
    requests = json.loads(said(capsys, "--source", "work", "--surface", "elsewhere", "--json"))["requests"]
    assert [(request["id"], request["signed"]) for request in requests] == [("work-3", False), ("work-1", False)]


def test_show_says_whose_answer_counted(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    daemon(home, "work")
    first, second, third = (said(capsys, "show", f"work-{number}", "--source", "work") for number in (1, 2, 3))
    assert "signature   none: answered elsewhere, not signed\n" in first
    assert "signature   good, by laptop (SHA256:" in second
    assert "signature   none: answered elsewhere, not signed; an answer from here came too late\n" in third
    assert "\x1b" not in first


def test_the_export_of_a_daemons_ledger_verifies(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon(home, "work")
    out = tmp_path / "out.jsonl"
    said(capsys, "export", "--source", "work", "--output", str(out))
    assert said(capsys, "verify", str(out)).startswith("good: 11 entries")


def test_the_only_ledger_there_is_needs_no_name(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    daemon(home, "work")
    assert cli.main(["history", "verify"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("good: 11 entries")
    assert err == "the gate has no ledger here; showing the ledger of work\n"
    daemon(home, "play")
    assert cli.main(["history"]) == 0
    note = "the gate has no ledger here; use --source for a daemon's: play, work"
    assert capsys.readouterr() == ("", f"{note}\nnothing recorded yet\n")


def test_beside_a_gates_ledger_those_of_daemons_are_named(
    ledger: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ledger.exists()
    daemon(home, "work")
    assert cli.main(["history"]) == 0
    assert capsys.readouterr().err.startswith("showing the gate's ledger; use --source for a daemon's: work\n")


def test_a_gates_ledger_that_is_gone_is_not_passed_over(
    ledger: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon(home, "work")
    ledger.unlink()
    assert cli.main(["history"]) == 1
    assert "the file is missing; it had 14 entries" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["nothing", "../daemons/work", "", ".", "/", HOSTILE])
def test_an_unknown_name_lists_those_there_are(home: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert cli.main(["history", "--source", name]) == 1
    assert "no daemon has a ledger here yet" in capsys.readouterr().err
    daemon(home, "work")
    daemon(home, "play")
    assert cli.main(["history", "--source", name]) == 1
    err = capsys.readouterr().err
    assert "the ledgers here are: play, work" in err
    assert "\x1b" not in err


def test_a_daemons_ledger_is_repaired_by_its_name(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = daemon(home, "work")
    with tampering(path) as db:
        db.execute("UPDATE requests SET outcome = 'denied'")
    assert "`aileron-tui history rebuild --source work`" in said(capsys, "verify", "--source", "work", code=1)
    said(capsys, "rebuild", "--source", "work")
    assert said(capsys, "verify", "--source", "work").startswith("good")
    path.write_bytes(b"garbage")
    assert "enroll the keys" not in said(capsys, "set-aside", "--source", "work")
    assert said(capsys, "verify", "--source", "work").startswith("good: 1 entry\n")
    assert not (home / "data" / "ledger.db").exists()


def test_ctrl_c_is_clean(ledger: Path) -> None:
    program = (
        "import os, signal, sys\n"
        "import aileron_tui.ledger.quick_check as check\n"
        "check.check_range = lambda *_: os.kill(os.getpid(), signal.SIGINT)\n"
        "from aileron_tui.cli import main\n"
        "sys.exit(main(['history', 'verify']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_reader_that_goes_away_is_no_traceback(ledger: Path) -> None:
    command = f"{sys.executable} -m aileron_tui history --json | head -c 1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode != -signal.SIGPIPE


@pytest.fixture
def edited(home: Path) -> Path:
    """A home with an approval of an edited call, full of text that would rather be something else."""
    scene = Scene(home / "data" / "ledger.db")
    scene.ask("act-1", to="ann@example.com", body="one\ntwo", evil=f"+ to: {HOSTILE}")
    scene.decide("act-1", edits={"to": f"bob {HOSTILE}", "body": f"one\n{HOSTILE}\n- three"})
    scene.step(EntryKind.RUNNING, "act-1", digest=DIGEST)
    scene.step(EntryKind.EXECUTED, "act-1")
    return scene.close()


def test_an_edited_approval_is_told_with_what_was_asked_and_approved(
    edited: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys).splitlines()[0] == (
        "✓ done, edited  send-draft  bob ⟨ESC⟩[2J⟨BEL⟩ [red]⟨U+202E⟩ · + to: ⟨ESC⟩[2J…"
    )
    shown = said(capsys, "show", "act-1").splitlines()
    assert shown[0] == "✓ done, edited: send-draft"
    assert f"  edited      {EDITED}" in shown
    signs = [line for line in shown if line.startswith(("-", "+"))]
    assert signs[0] == "- to:       ann@example.com"
    assert signs[1].startswith("+ to:       bob ")
    assert "-   > two" in signs
    assert "+   > - three" in signs
    assert not any("evil" in line for line in signs)
    assert not set("\x1b\x07\u202e") & set("".join(shown))
    told = json.loads(said(capsys, "show", "act-1", "--json"))
    assert told["edited"] is True
    assert told["edit"]["asked"]["to"] == "ann@example.com"
    assert told["edit"]["approved"]["to"] == f"bob {HOSTILE}"
    assert told["edit"]["changed"] == ["body", "to"]
    assert json.loads(said(capsys, "--search", "bob", "--json"))["requests"][0]["edited"] is True
    assert csv_rows(capsys)[0]["edited"] == "True"


@pytest.mark.parametrize("width", ["20", "40"])
def test_no_content_of_an_edited_call_reaches_the_column_of_the_signs(
    edited: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    for module in ("aileron_tui.cli.output", "aileron_tui.cli.commands.history.show"):
        monkeypatch.setattr(f"{module}.columns", lambda _: int(width))
    shown = said(capsys, "show", "act-1").splitlines()
    start = next(place for place, line in enumerate(shown) if line.startswith("- to"))
    end = shown.index("", start)
    assert {line[0] for line in shown[start - 6 : end]} <= {" ", "-", "+"}


def test_the_history_of_an_older_ledger_is_brought_up_to_date_when_it_is_read(
    edited: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    age_index(edited)
    assert said(capsys, "verify").startswith("good: ")
    assert said(capsys, "head").startswith("5:")
    assert json.loads(said(capsys, "--json"))["requests"][0]["edited"] is True
    assert said(capsys, "verify").startswith("good: ")


def test_what_a_daemon_never_tells_is_not_called_running(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene = Scene(home / "data" / "daemons" / "work" / "ledger.db")
    scene.ask_daemon("act-1", kind="shell", action="shell")
    scene.decide("act-1")
    scene.tell("act-1", "running")
    scene.ask_daemon("act-2", kind="comms_send")
    scene.decide("act-2")
    scene.tell("act-2", "running")
    scene.close()
    lines = said(capsys, "--source", "work").splitlines()
    assert lines[::2] == ["… no news  send-draft  r-12345", "→ allowed  shell  r-12345"]
    assert "the daemon does not report how this kind of request ends" in said(
        capsys, "show", "act-1", "--source", "work"
    )
    assert "no report since 2026-" in said(capsys, "show", "act-2", "--source", "work")


def csv_rows(capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(said(capsys, "export", "--format", "csv"), newline="")))


def test_the_history_says_which_security_key_signed_and_what_nobody_signed(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    scene = Scene(home / "data" / "ledger.db")
    scene.close()
    key = SoftwareKey()
    enroll_signed(home / "data", "yubi", key.public, scene.key, added_on="usb")
    scene.reopen()
    scene.ask("act-1")
    envelope = key.sign(scene.statement("act-1", Verdict.DENY)).fields()
    scene.ledger.append(EntryKind.DECIDED, {"envelope": envelope}, "act-1")
    scene.ask("act-2")
    denial = UnsignedDenial(DIGEST, "", "page", "page-1", scene.key.public.fingerprint)
    scene.ledger.append(EntryKind.DENIED_UNSIGNED, denial.body(), "act-2")
    scene.close()
    assert "signature   good, by the security key yubi (WEBAUTHN:" in said(capsys, "show", "act-1")
    text = said(capsys, "show", "act-2")
    assert "answered    denied on the page, without a signature\n" in text
    assert "signature   none: denied in a session that laptop opened\n" in text
    report = said(capsys, "verify")
    assert "1 decision signed by the security key yubi (WEBAUTHN:" in report
    assert "1 denial without a signature\n" in report
    assert json.loads(said(capsys, "verify", "--json"))["unsigned_denials"] == 1
    listed = said(capsys)
    assert "denied on the page, without a signature" in listed
    assert "signed by a security key" in listed

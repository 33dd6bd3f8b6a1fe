"""`history reduce`, and what the history says of a ledger that was reduced."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from aileron_tui import cli
from aileron_tui.cli.exit_codes import FAILED, OK
from aileron_tui.core.times import timestamp
from aileron_tui.core.visible_text import Visible, cells
from aileron_tui.ledger.open_store import open_ledger
from tests.cli.test_key import on_a_terminal
from tests.ledger.scenes import Scene

SECRET = "xylophone"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose gate keeps contents for 30 days, with requests that are 40 days old and a young one."""
    home = tmp_path / "home"
    monkeypatch.setenv("AILERON_TUI_HOME", str(home))
    monkeypatch.setenv("COLUMNS", "80")
    scene = Scene(home / "data" / "ledger.db")
    scene.clock.now = datetime.now(UTC) - timedelta(days=40)
    scene.approved("act-1", note=SECRET)
    scene.denied("act-2", reason=SECRET)
    scene.clock.now = datetime.now(UTC)
    scene.approved("act-3", note="young")
    scene.close()
    (home / "config.toml").write_text('[ledger]\nkeep = "30d"\n')
    return home


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = OK) -> str:
    capsys.readouterr()
    assert cli.main(["history", *words]) == code
    return capsys.readouterr().out


def reduced(home: Path) -> str:
    code, screen = on_a_terminal(home, ["history", "reduce"], ["y\n"])
    assert code == OK, screen
    return screen


def test_it_says_what_it_would_remove(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_ledger(home / "data" / "ledger.db"):  # a gate may run
        assert said(capsys, "reduce", "--dry-run").startswith("The contents of 2 requests (3 entries, ")
    found = json.loads(said(capsys, "reduce", "--dry-run", "--json"))
    assert (found["requests"], found["entries"], found["removed"]) == (2, 3, False)
    assert said(capsys, "reduce", "--dry-run", "--keep", "52w").startswith("nothing to remove from before ")
    assert "reduced" not in said(capsys, "verify")


def test_it_asks_and_removes(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, screen = on_a_terminal(home, ["history", "reduce"], ["n\n"])
    assert (code, "nothing was removed" in screen) == (FAILED, True)
    screen = reduced(home)
    assert "The contents of 2 requests" in screen
    assert "for good" in screen
    assert not any(SECRET.encode() in file.read_bytes() for file in (home / "data").iterdir() if file.is_file())
    assert "3 entries from before " in said(capsys, "verify")
    found = json.loads(said(capsys, "verify", "--json"))
    assert (found["good"], found["reduced"]["entries"]) == (True, 3)
    assert json.loads(said(capsys, "reduce", "--dry-run", "--json"))["entries"] == 0


def test_it_needs_a_terminal_and_the_ledger_for_itself(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "reduce", code=FAILED)
    cli.main(["history", "reduce"])
    assert "reducing the ledger needs a terminal" in capsys.readouterr().err
    with open_ledger(home / "data" / "ledger.db"):
        code, screen = on_a_terminal(home, ["history", "reduce"], [])
    assert (code, "by gate" in screen) == (FAILED, True)


def test_it_erases_what_a_gate_has_removed(home: Path) -> None:
    """Also what was removed before the program was killed."""
    path, now = home / "data" / "ledger.db", datetime.now(UTC)
    with open_ledger(path) as ledger:
        assert ledger.reduce(timestamp(now - timedelta(days=30)), "30d").entries == 3
    assert SECRET.encode() in path.read_bytes()
    code, screen = on_a_terminal(home, ["history", "reduce"], [])
    assert (code, "nothing to remove from before " in screen) == (OK, True)
    assert SECRET.encode() not in path.read_bytes()
    with open_ledger(path) as ledger:
        assert not ledger.unerased


@pytest.mark.parametrize("keep", ["12h", "0d", "soon"])
def test_a_time_that_is_too_short_or_none(home: Path, capsys: pytest.CaptureFixture[str], keep: str) -> None:
    assert cli.main(["history", "reduce", "--dry-run", "--keep", keep]) == FAILED
    assert "is not a time of a day or more" in capsys.readouterr().err


def test_without_a_setting_it_says_where_to_write_it(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "config.toml").unlink()
    assert cli.main(["history", "reduce", "--dry-run"]) == FAILED
    assert 'keep = "365d" under [ledger]' in capsys.readouterr().err


def test_the_history_says_that_the_contents_were_removed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reduced(home)
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    assert said(capsys, "--limit", "5").count(f" · contents removed on {today} · ") == 2
    show = said(capsys, "show", "act-2")
    assert f"reduced     contents removed on {today} by [ledger] keep" in show
    assert "signature   cannot be checked any more" in show
    assert "removed; its digest was sha256:" in show
    assert "signature   good, by laptop" in said(capsys, "show", "act-1"), "this approval said nothing else"
    entries = json.loads(said(capsys, "show", "act-1", "--json"))["entries"]
    assert (entries[0]["body"], entries[0]["removed"][:7]) == ({}, "sha256:")
    assert "nothing found" not in said(capsys, "--search", "send-draft")
    assert said(capsys, "--search", SECRET) == ""
    csv = said(capsys, "export", "--format", "csv")
    assert f'"{today}' in csv
    assert SECRET not in csv


def test_an_export_and_a_backup_verify(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reduced(home)
    for words in (["export", "--output", str(tmp_path / "out.jsonl")], ["backup", str(tmp_path / "out.db")]):
        said(capsys, *words)
        assert "3 entries from before" in said(capsys, "verify", words[-1])


@pytest.mark.parametrize("width", [40, 60])
def test_no_line_is_wider_than_the_terminal(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("aileron_tui.cli.output.columns", lambda _: width)
    screens = [said(capsys, "reduce", "--dry-run")]
    reduced(home)
    screens += [said(capsys, *words) for words in (["show", "act-2"], ["verify"], [])]
    for line in "".join(screens).splitlines():
        assert cells(Visible(line)) <= width or line.startswith(("  head ", "  2 decisions signed by")), line

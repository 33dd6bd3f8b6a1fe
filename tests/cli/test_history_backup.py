"""`history backup` and `history restore`, as a person uses them."""

import json
from pathlib import Path

import pytest

from aileron_tui import cli
from aileron_tui.cli.exit_codes import FAILED, OK
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.ledger.open_store import open_ledger, open_reader
from tests.cli.test_key import on_a_terminal

PASSPHRASE = "correct horse"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, with a key that has a passphrase, and a waiting request."""
    home = tmp_path / "home"
    monkeypatch.setenv("AILERON_TUI_HOME", str(home))
    for module in ("key", "history.restore"):
        monkeypatch.setattr(f"aileron_tui.cli.commands.{module}.protect_process", lambda: None)
    monkeypatch.setattr("aileron_tui.cli.commands.key.ask_new_passphrase", lambda _: bytearray(PASSPHRASE.encode()))
    assert cli.main(["key", "init"]) == OK
    with open_ledger(home / "data" / "ledger.db") as ledger:
        ledger.append(EntryKind.REQUESTED, {"action": "send-draft"}, "act-1")
    return home


def test_a_backup_says_what_it_has(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "backup.db"
    capsys.readouterr()
    assert cli.main(["history", "backup", str(out)]) == OK
    said = capsys.readouterr().out
    assert said.startswith(f"backed up 2 entries to {out}\n  head 2:sha256:")
    assert cli.main(["history", "verify", str(out)]) == OK
    assert cli.main(["history", "backup", str(out)]) == FAILED
    assert "already exists" in capsys.readouterr().err
    assert cli.main(["history", "backup", str(tmp_path / "other.db"), "--json"]) == OK
    assert json.loads(capsys.readouterr().out)["entries"] == 2
    assert cli.main(["history", "backup", str(tmp_path / "missing" / "x.db")]) == FAILED
    assert "No such file" in capsys.readouterr().err


def test_a_backup_is_restored_at_the_terminal(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, ledger = tmp_path / "backup.db", home / "data" / "ledger.db"
    assert cli.main(["history", "backup", str(out)]) == OK
    words = ["history", "restore", str(out)]
    code, screen = on_a_terminal(home, words, ["n\n"])
    assert (code, "nothing was restored" in screen) == (FAILED, True)
    assert "1 waiting request will expire" in screen

    code, screen = on_a_terminal(home, words, ["y\n", f"{PASSPHRASE}\n"])
    assert code == OK, screen
    assert "restored 2 entries" in screen
    (kept,) = ledger.parent.glob("ledger-*.db")
    assert kept.name in screen.replace("\r\n    ", "")
    with open_reader(ledger) as reader:
        assert [record.outcome for record in reader.every()] == ["expired"]
    assert cli.main(["history", "verify", "--all"]) == OK


def test_a_restoration_needs_a_terminal_and_a_backup(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "backup.db"
    assert cli.main(["history", "backup", str(out)]) == OK
    assert cli.main(["history", "restore", str(out)]) == FAILED
    assert "restoring a ledger needs a terminal" in capsys.readouterr().err
    (tmp_path / "export.jsonl").write_text("{}")
    code, screen = on_a_terminal(home, ["history", "restore", str(tmp_path / "export.jsonl")], [])
    assert code == FAILED
    assert "An export cannot be restored" in screen

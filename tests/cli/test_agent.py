"""The agent command, as a person meets it: on a terminal, and where there is none."""

import json
import os
import pty
import select
import stat
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from aileron_tui import cli
from aileron_tui.cli.exit_codes import FAILED, NOT_FOUND, OK
from aileron_tui.core.agent_change import token_hash
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.files.agent_tokens import read_token, token_path
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.signing.agents import Agents
from tests.cli.test_key import on_a_terminal

PASSPHRASE = "correct horse"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, with a key that has a passphrase."""
    home = tmp_path / "home"
    monkeypatch.setenv("AILERON_TUI_HOME", str(home))
    for module in ("key", "agent"):
        monkeypatch.setattr(f"aileron_tui.cli.commands.{module}.protect_process", lambda: None)
    monkeypatch.setattr("aileron_tui.cli.commands.key.ask_new_passphrase", lambda _: bytearray(PASSPHRASE.encode()))
    assert cli.main(["key", "init"]) == OK
    return home


def agents(home: Path) -> Agents:
    with open_reader(home / "data" / "ledger.db") as reader:
        return Agents.of(reader)


def type_passphrase(home: Path, *words: str) -> tuple[int, str]:
    return on_a_terminal(home, ["agent", *words], [f"{PASSPHRASE}\n"])


def test_an_agent_is_added_rotated_and_revoked_on_the_terminal(home: Path) -> None:
    code, screen = type_passphrase(home, "add", "laptop-claude")
    assert code == OK, screen
    file = token_path(home / "data", "laptop-claude")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    first = read_token(file)
    assert len(first) == 64
    assert first not in screen
    assert str(file) in screen
    assert f"--token-file {file}" in screen
    assert agents(home).with_hash(token_hash(first)) == "laptop-claude"

    code, screen = type_passphrase(home, "rotate", "laptop-claude")
    assert code == OK, screen
    second = read_token(file)
    assert first != second
    assert second not in screen
    assert agents(home).with_hash(token_hash(first)) == ""
    assert agents(home).with_hash(token_hash(second)) == "laptop-claude"

    code, screen = type_passphrase(home, "revoke", "laptop-claude")
    assert code == OK, screen
    assert not file.exists()
    assert agents(home).active == ()
    with open_reader(home / "data" / "ledger.db") as reader:
        kinds = [entry.kind for entry in reader.agent_changes()]
    assert kinds == [EntryKind.AGENT_ADDED, EntryKind.AGENT_ROTATED, EntryKind.AGENT_REVOKED]
    assert cli.main(["history", "verify"]) == OK


def test_a_wrong_passphrase_changes_nothing(home: Path) -> None:
    code, screen = on_a_terminal(home, ["agent", "add", "laptop-claude"], ["wrong horse\n"])
    assert code == FAILED
    assert "passphrase" in screen
    assert agents(home) == {}
    assert not token_path(home / "data", "laptop-claude").exists()


def test_a_key_that_may_not_approve_cannot_add_an_agent(home: Path) -> None:
    assert on_a_terminal(home, ["key", "revoke", "default"], [f"{PASSPHRASE}\n"])[0] == OK
    code, screen = type_passphrase(home, "add", "laptop-claude")
    assert code == FAILED
    assert "may not approve on this gate" in screen
    assert agents(home) == {}
    assert not token_path(home / "data", "laptop-claude").exists()


@pytest.mark.parametrize("command", ["add", "rotate", "revoke"])
def test_without_a_terminal_agents_cannot_be_changed(home: Path, command: str) -> None:
    words = [sys.executable, "-m", "aileron_tui", "agent", command, "laptop-claude"]
    done = subprocess.run(words, input=PASSPHRASE, capture_output=True, text=True, check=False, start_new_session=True)
    assert done.returncode == FAILED
    assert done.stderr.startswith("error: changing agents needs a terminal\n")
    assert agents(home) == {}


def test_headless_decisions_also_allow_changing_agents_but_not_without_the_passphrase(home: Path) -> None:
    config = home / "config.toml"
    config.write_text("[policy]\nheadless_decisions = true\n")
    config.chmod(0o600)
    words = [sys.executable, "-m", "aileron_tui", "agent", "add", "laptop-claude"]
    done = subprocess.run(words, input=PASSPHRASE, capture_output=True, text=True, check=False, start_new_session=True)
    assert done.returncode == FAILED
    assert "cannot ask for the passphrase without a terminal" in done.stderr
    assert agents(home) == {}


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "not a valid name"),
        ("Laptop", "not a valid name"),
        ("../../etc/x", "not a valid name"),
        (".hidden", "not a valid name"),
        ("a" * 33, "not a valid name"),
        ("l\u0430ptop", "not a valid name"),
        ("a\x1b[2Jb", "not a valid name"),
        ("a\nb", "not a valid name"),
        ("gate", "is reserved"),
        ("operat0r", "is reserved"),
        ("aileron_tui", "is reserved"),
        ("laptop_claude", "looks too much like laptop-claude"),
        ("iaptop-c1aude", "looks too much like laptop-claude"),
        ("laptop-claude", "there is already an agent named laptop-claude"),
    ],
)
def test_a_bad_name_is_explained(
    home: Path, name: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert type_passphrase(home, "add", "laptop-claude")[0] == OK
    monkeypatch.setattr("aileron_tui.cli.confirmation._has_terminal", lambda: True)
    capsys.readouterr()
    assert cli.main(["agent", "add", "--", name]) == FAILED
    printed = capsys.readouterr()
    assert words in printed.err
    assert "\x1b" not in printed.err
    assert list(agents(home)) == ["laptop-claude"]


def test_a_revoked_name_is_not_used_again(home: Path) -> None:
    for words in (("add", "laptop"), ("revoke", "laptop")):
        assert type_passphrase(home, *words)[0] == OK
    code, screen = type_passphrase(home, "add", "laptop")
    assert code == FAILED
    assert "names are not used again" in screen
    for command in ("rotate", "revoke"):
        code, screen = type_passphrase(home, command, "laptop")
        assert code == NOT_FOUND
        assert "was revoked" in screen


def test_an_unknown_agent_is_not_found(home: Path) -> None:
    code, screen = type_passphrase(home, "rotate", "nobody")
    assert code == NOT_FOUND
    assert "there is no agent named nobody" in screen


def test_the_list_without_a_ledger_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AILERON_TUI_HOME", str(tmp_path / "empty"))
    assert cli.main(["agent", "list"]) == OK
    assert "aileron-tui agent add NAME" in capsys.readouterr().out
    assert cli.main(["agent", "list", "--json"]) == OK
    assert json.loads(capsys.readouterr().out) == {"agents": [], "invalid": []}
    assert not (tmp_path / "empty").exists()


def test_the_list_names_what_is_wrong_with_a_token_file(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("intact", "lost", "changed", "shared", "gone"):
        assert type_passphrase(home, "add", name)[0] == OK
    assert type_passphrase(home, "revoke", "gone")[0] == OK
    token_path(home / "data", "lost").unlink()
    token_path(home / "data", "changed").write_text("0" * 64)
    token_path(home / "data", "shared").chmod(0o644)
    capsys.readouterr()
    assert cli.main(["agent", "list", "--json"]) == OK
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["agents"]}
    states = {name: (row["state"], row["token_file_state"]) for name, row in rows.items()}
    assert states.pop("shared")[1].endswith("is open to others: its mode is 644")
    assert states == {
        "intact": ("active", "ok"),
        "lost": ("active", "missing"),
        "changed": ("active", "out of date"),
        "gone": ("revoked", ""),
    }
    assert rows["intact"]["added_by"] == "default"
    assert cli.main(["agent", "list"]) == OK
    printed = capsys.readouterr().out
    assert "aileron-tui agent rotate lost" in printed
    assert "aileron-tui agent rotate changed" in printed
    assert not any(read_token(token_path(home / "data", name)) in printed for name in ("intact",))


def test_the_list_fits_into_40_columns(home: Path) -> None:
    assert type_passphrase(home, "add", "a" * 32)[0] == OK
    process, terminal = pty.fork()
    if process == 0:
        time.sleep(0.2)
        os.execv(sys.executable, [sys.executable, "-m", "aileron_tui", "agent", "list"])
    termios.tcsetwinsize(terminal, (15, 40))
    screen = b""
    while select.select([terminal], [], [], 30)[0]:
        try:
            screen += os.read(terminal, 4096)
        except OSError:
            break
    os.close(terminal)
    os.waitpid(process, 0)
    lines = screen.decode().splitlines()
    assert len(lines) >= 3
    assert max(map(len, lines)) <= 40
    assert all(line.startswith(" ") for line in lines[1:])

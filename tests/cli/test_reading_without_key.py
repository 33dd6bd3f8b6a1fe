"""Commands that only read work without the passphrase, and then show no previews."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_gate_commands import Home, Terminal, command, gate
from tests.gate.conftest import compiled as compiled  # noqa: PLC0414  # a fixture

PASSPHRASE = "correct horse battery"
FETCHED = ("team@example.com", "Weekly recap", "standup")


@pytest.fixture
def home(compiled: Path) -> Iterator[Home]:
    """A gate whose only key has a passphrase, in a folder whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory() as folder, gate(Path(folder) / "h", PASSPHRASE, compiled=compiled) as home:
        yield home


def asked(home: Home) -> str:
    return str(json.loads(command(home, "run", "send-draft", "--arg", "draft_id=r-12345").stdout)["approval_id"])


def test_list_watch_and_history_need_no_passphrase(home: Home) -> None:
    id_ = asked(home)
    listed = command(home, "list", start_new_session=True)
    assert (listed.returncode, "r-12345" in listed.stdout) == (0, True), listed.stderr
    assert "listed without a key, so previews are left out" in listed.stderr
    fields = json.loads(command(home, "list", "--json", start_new_session=True).stdout)["items"][0]
    assert (fields["id"], "digest" in fields) == (id_, False)
    past = command(home, "history", start_new_session=True)
    assert (past.returncode, "waiting" in past.stdout) == (0, True)
    line = [sys.executable, "-m", "aileron_tui", "watch", "--json"]
    with subprocess.Popen(
        line, env=home.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as watching:
        try:
            assert watching.stdout
            first = watching.stdout.readline()
            assert json.loads(first)["data"]["items"][0]["id"] == id_
        finally:
            watching.terminate()
    seen = f"{listed.stdout}{fields}{past.stdout}{first}"
    assert not any(text in seen for text in FETCHED)


def test_what_shows_a_preview_or_decides_asks_for_the_passphrase(home: Home) -> None:
    id_ = asked(home)
    for words in (["show", id_], ["approve", id_], ["deny", id_, "--reason", "no"], ["list", "--key", "default"]):
        done = command(home, *words, start_new_session=True)
        assert done.returncode == 1, words
        assert "without a terminal" in done.stderr or "decisions need a terminal" in done.stderr
        assert not any(text in f"{done.stdout}{done.stderr}" for text in FETCHED)
    shown = Terminal(home, "show", id_)
    shown.until("Passphrase of default: ")
    shown.type(f"{PASSPHRASE}\n")
    shown.until("Weekly recap")
    assert shown.end() == 0
    assert home.service.sent == ()


def test_without_a_gate_nothing_is_asked(tmp_path: Path, home: Home) -> None:
    home.process.kill()
    home.process.wait(30)
    started = time.monotonic()
    done = command(home, "list", start_new_session=True)
    assert (done.returncode, "passphrase" in done.stderr) == (1, False), done.stderr
    assert time.monotonic() - started < 60

"""The `prompt` command in a real terminal, with a daemon and with a gate."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from aileron_tui.signing import key_store
from tests.daemon.process import FakeDaemon
from tests.e2e.terminal import CTRL_C, CTRL_Z, Terminal, environment

ANSWERS = "[A]pprove   [D]eny   [V]iew   [S]kip   [Q]uit\n> "
NARROW = "[A]pprove [D]eny [V]iew [S]kip [Q]uit\n> "


class Room:
    """A home with a key, and the daemon whose requests are asked about."""

    def __init__(self, home: Path, daemon: FakeDaemon) -> None:
        self.home = home
        self.daemon = daemon

    def variables(self, **more: str) -> dict[str, str]:
        return environment(self.home, **{"HOME": str(self.daemon.home), **more})

    def prompt(
        self, *words: str, size: tuple[int, int] = (80, 50), shell: bool = False, more: dict[str, str] | None = None
    ) -> Terminal:
        return Terminal(["prompt", *words], self.variables(**(more or {})), size, shell=shell)

    def decided(self, id_: str) -> list[bool]:
        return [one["said"]["approved"] for one in self.daemon.decisions(id_)]


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    folder = tmp_path_factory.mktemp("room")
    home = folder / "tui"
    home.mkdir(mode=0o700)
    key_store.create(home / "keys", "default", None)
    with FakeDaemon(folder / "user") as daemon:
        yield Room(home, daemon)


@pytest.fixture
def asked(room: Room) -> Iterator[str]:
    """A request of normal risk that waits."""
    id_ = room.daemon.register(action_name="count-reports", args={"year": "2026"}, preview=None)
    yield id_
    room.daemon.forget()


def asks(terminal: Terminal, answers: str = ANSWERS) -> str:
    return terminal.until(lambda text: text.rstrip().endswith(answers.rstrip()))


def test_a_request_is_approved_with_one_key(room: Room, asked: str) -> None:
    with room.prompt("--once") as terminal:
        shown = asks(terminal)
        assert "Approve count-reports?" in shown
        assert "Warning: the key default is insecure: no passphrase." in shown
        terminal.press("a")
        assert terminal.end() in (0, 75)
        assert terminal.restored()
    assert room.decided(asked) == [True]


@pytest.mark.parametrize(
    ("words", "variables"),
    [(["--plain"], {}), ([], {"TERM": "dumb"}), ([], {"NO_COLOR": "1"})],
    ids=["plain", "dumb", "no colour"],
)
def test_high_risk_at_40_columns(room: Room, words: list[str], variables: dict[str, str]) -> None:
    id_ = room.daemon.register("comms_send")
    enter = "" if variables.get("NO_COLOR") else "\r"
    with room.prompt("--once", *words, size=(40, 60), more=variables) as terminal:
        asks(terminal, NARROW)
        terminal.press(f"a{enter}")
        terminal.until("High risk. Type send_message to\n  approve:")
        terminal.press("send_message\r")
        terminal.until("Approved")
        terminal.end()
        assert terminal.restored()
    raw = bytes(terminal.raw).replace(b"\x1b[?2004h", b"").replace(b"\x1b[?2004l", b"").replace(b"\x07", b"")
    assert b"\x1b" not in raw
    assert (b"\x1b" in terminal.raw) is (variables.get("TERM") != "dumb")
    assert ("─" in raw.decode()) is ("NO_COLOR" in variables)
    assert room.decided(id_) == [True]
    room.daemon.forget()


@pytest.mark.parametrize("words", [[], ["--plain"]], ids=["keys", "lines"])
def test_ctrl_c_decides_nothing(room: Room, asked: str, words: list[str]) -> None:
    with room.prompt(*words) as terminal:
        asks(terminal)
        terminal.press("a" if words else "", CTRL_C)
        assert terminal.end() == 130
        assert "What was not answered is still waiting." in terminal.text
        assert terminal.restored()
    assert room.decided(asked) == []
    assert asked in room.daemon.pending()


def test_a_closed_window_decides_nothing(room: Room, asked: str) -> None:
    with room.prompt() as terminal:
        asks(terminal)
        terminal.hang_up()
        assert terminal.end() == 128 + signal.SIGHUP
    with room.prompt() as terminal:
        asks(terminal)
        terminal.vanish()
        assert terminal.process.wait(20) != 0
    assert room.decided(asked) == []


def test_keys_typed_while_it_was_stopped_answer_nothing(room: Room, asked: str) -> None:
    with room.prompt(shell=True) as terminal:
        asks(terminal)
        terminal.press(CTRL_Z)
        terminal.until("the program was stopped")
        terminal.press("\r", "a")
        terminal.still(1.5)
        assert room.decided(asked) == []
        terminal.press("s")
        terminal.until("Skipped count-reports")
        terminal.press("q")
        assert terminal.end() == 0
    assert room.decided(asked) == []


def test_the_first_of_two_prompts_wins(room: Room, asked: str) -> None:
    with room.prompt("--once") as first, room.prompt("--once") as second:
        asks(first)
        asks(second)
        first.press("d")
        first.until("Reason, or enter for none:")
        first.press("not now\r")
        assert first.end() == 0
        second.until("No longer waiting: answered elsewhere: denied")
        assert second.end() == 5
    assert room.decided(asked) == [False]


@pytest.mark.parametrize("closed", [False, True], ids=["empty", "closed"])
def test_without_a_terminal_nothing_is_asked(room: Room, asked: str, closed: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "aileron_tui", "prompt"],
        env=room.variables(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        preexec_fn=(lambda: os.close(0)) if closed else None,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error: questions need a terminal\n  standard input is not a terminal\n")
    assert room.decided(asked) == []


def test_a_terminal_that_does_not_control_it_is_not_asked(room: Room, asked: str) -> None:
    master, slave = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "aileron_tui", "prompt"],
        env=room.variables(),
        stdin=slave,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        start_new_session=True,
    )
    os.close(master)
    os.close(slave)
    assert done.returncode == 1
    assert "error: questions need a terminal\n  this process has no terminal\n" in done.stderr
    assert room.decided(asked) == []


def test_no_gate_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    with Terminal(["prompt"], environment(tmp_path)) as terminal:
        assert terminal.end() == 1
        assert "no gate is running here" in terminal.text

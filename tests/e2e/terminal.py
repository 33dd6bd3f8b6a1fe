"""A real terminal for a real process: a pty whose screen a terminal emulator keeps."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

import pyte

# The child makes the pty its controlling terminal, so that resizing, ctrl+z and hanging up work as they do for people.
_CHILD = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
# A shell of the least kind: it says when its program was stopped, and any line lets the program go on.
_SHELL = """
import fcntl, os, signal, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
program = os.fork()
if program == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
while os.WIFSTOPPED(status := os.waitpid(program, os.WUNTRACED)[1]):
    os.tcsetpgrp(0, os.getpid())
    print("the program was stopped", flush=True)
    sys.stdin.readline()
    os.tcsetpgrp(0, program)
    os.killpg(program, signal.SIGCONT)
sys.exit(os.waitstatus_to_exitcode(status))
"""
_SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|P[^\x1b]*\x1b\\|[^\[\]P])")
# What pyte does not know and would print as text: keyboard protocols, queries, window titles.
_UNKNOWN = re.compile(rb"\x1b(?:\[[<>=].*|\[\?.*\$p|\].*|P.*)", re.DOTALL)
_MODES = re.compile(rb"\x1b\[\?([0-9;]+)([hl])")

ALTERNATE_SCREEN, CURSOR, FOCUS, PASTE = 1049, 25, 1004, 2004
MOUSE = (1000, 1002, 1003, 1006, 1015)
ENTER, CTRL_C, CTRL_Q, CTRL_S, CTRL_Z = "\r", "\x03", "\x11", "\x13", "\x1a"
DOWN, PAGE_DOWN = "\x1b[B", "\x1b[6~"
CLEAR = "\x15"  # ctrl+u, which empties a field
FOCUS_CAME, FOCUS_WENT = "\x1b[I", "\x1b[O"


class Terminal:
    """Runs a program and shows its screen. As a context manager it ends what is left of it.

    With `shell`, the program runs as a job of a shell, so that it can be stopped and go on.
    """

    def __init__(
        self,
        words: list[str],
        environment: Mapping[str, str],
        size: tuple[int, int] = (100, 30),
        *,
        shell: bool = False,
    ) -> None:
        self._master, slave = pty.openpty()
        self._screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = bytearray()
        self._pending = b""
        self._set_size(size)
        self._before = termios.tcgetattr(slave)
        command = [sys.executable, "-c", _SHELL if shell else _CHILD, sys.executable, "-m", "aileron_tui", *words]
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=dict(environment), start_new_session=True
        )
        self._slave = slave
        self._ends = [self._master, slave]

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.vanish()

    # what is on the screen

    @property
    def lines(self) -> list[str]:
        """The screen, line by line."""
        return [line.rstrip() for line in self._screen.display]

    @property
    def text(self) -> str:
        """The screen."""
        return "\n".join(self.lines)

    def until(self, wanted: str | Callable[[str], bool], seconds: float = 30.0) -> str:
        """Waits until the screen holds a text or is as wanted; gives the screen."""
        holds = wanted if callable(wanted) else lambda text: wanted in text
        end = time.monotonic() + seconds
        while not holds(self.text):
            gone = self.process.poll() is not None
            self._read(0.05)
            if (gone or time.monotonic() > end) and not holds(self.text):
                raise AssertionError(f"waited in vain for {wanted!r} on\n{self.text}")
        return self.text

    def still(self, seconds: float) -> str:
        """Lets time pass; gives the screen."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._read(0.05)
        return self.text

    def modes(self) -> dict[int, bool]:
        """Which private modes were set or reset last."""
        found: dict[int, bool] = {}
        for numbers, way in _MODES.findall(bytes(self.raw)):
            found.update({int(number): way == b"h" for number in numbers.split(b";")})
        return found

    # what a person does

    def press(self, *keys: str) -> None:
        """Types keys."""
        for key in keys:
            os.write(self._master, key.encode())

    def place(self, text: str) -> tuple[int, int]:
        """Where a text begins on the screen; the last one, if there are several."""
        for y, line in reversed(list(enumerate(self.lines))):
            if (x := line.rfind(text)) >= 0:
                return x, y
        raise AssertionError(f"{text!r} is not on\n{self.text}")

    def click(self, at: str | tuple[int, int]) -> None:
        """Clicks a text or a place, as a terminal reports it (SGR)."""
        x, y = self.place(at) if isinstance(at, str) else at
        self.press(f"\x1b[<0;{x + 1};{y + 1}M", f"\x1b[<0;{x + 1};{y + 1}m")

    def resize(self, size: tuple[int, int]) -> None:
        """Makes the window larger or smaller."""
        self._screen.resize(size[1], size[0])
        self._set_size(size)

    def vanish(self) -> None:
        """The window is gone, and its terminal with it."""
        while self._ends:
            os.close(self._ends.pop())

    def stop(self) -> None:
        """Stops the program in the foreground without asking it."""
        os.killpg(os.tcgetpgrp(self._master), signal.SIGSTOP)

    def hang_up(self) -> None:
        """Closes the window."""
        os.killpg(self.process.pid, signal.SIGHUP)

    def end(self, seconds: float = 12.0) -> int:
        """Waits for the end of the program; its exit code."""
        limit = time.monotonic() + seconds
        while self.process.poll() is None:
            self._read(0.05)
            if time.monotonic() > limit:
                raise AssertionError(f"it does not end:\n{self.text}")
        while self._read(0.0):
            pass
        return self.process.returncode

    def restored(self) -> bool:
        """Whether the line settings are what they were before."""
        return termios.tcgetattr(self._slave)[:4] == self._before[:4]

    def _read(self, seconds: float) -> bool:
        """Takes in what the program wrote; False when there will be no more."""
        ready, _, _ = select.select([self._master], [], [], seconds)
        if not ready:
            return seconds > 0
        data = os.read(self._master, 65536)
        self.raw += data
        data = self._pending + data
        last = data.rfind(b"\x1b")
        whole = last < 0 or _SEQUENCE.match(data, last)
        self._pending = b"" if whole else data[last:]
        known = _SEQUENCE.sub(lambda found: b"" if _UNKNOWN.fullmatch(found[0]) else found[0], data)
        self._stream.feed(known if whole else known[: known.rfind(b"\x1b")])
        return True

    def _set_size(self, size: tuple[int, int]) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))


def clean(terminal: Terminal) -> bool:
    """Whether the terminal was left as it was found: own screen, cursor, no mouse, no odd modes, line settings."""
    modes = terminal.modes()
    off = (ALTERNATE_SCREEN, FOCUS, PASTE, *MOUSE)
    return modes[CURSOR] and not any(modes.get(mode) for mode in off) and terminal.restored()


def environment(home: Path, **more: str) -> dict[str, str]:
    """A terminal's environment, with a home of its own."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "TMPDIR") if name in os.environ}
    fixed = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", "HOME": str(home)}
    return {**kept, **fixed, "AILERON_TUI_HOME": str(home), **more}

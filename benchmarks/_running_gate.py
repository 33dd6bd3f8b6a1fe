"""A gate in this process, and programs that run in their own terminals."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aileron_tui.demo.sample_home import SampleHome, sample_home
from aileron_tui.doors.claude_route import claude_routes
from aileron_tui.runtime.gate_client import AgentClient
from aileron_tui.runtime.gate_discovery import FoundGate, agent_token
from aileron_tui.signing import key_store
from aileron_tui.surface.embedded_gate import EmbeddedGate
from aileron_tui.surface.key_enrolment import enrolled

SIZE: Final = (120, 36)
COMMAND: Final = ["-m", "aileron_tui"]
EMPTY: Final = "from textual.app import App; App().run()"
FIRST_CELLS: Final = b"[48;2;"
"""The start of the first painted cells of an app."""


@dataclass(frozen=True, slots=True)
class RunningGate:
    """A gate in this process, and a home in which the real command finds it."""

    home: SampleHome
    found: FoundGate
    agent: AgentClient

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the command: a true-colour terminal, and compiled modules."""
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        kept |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "AILERON_TUI_HOME": str(self.home.root)}
        return {**kept, "PYTHONPYCACHEPREFIX": str(self.home.root / "compiled")}


@contextmanager
def running_gate() -> Iterator[RunningGate]:
    """A running gate, and a home with its key."""
    with ExitStack() as stack:
        home = stack.enter_context(sample_home())
        key_store.create(home.root / "keys", "bench", None)
        stack.enter_context(enrolled(home.setup.data, key_store.unlock(home.root / "keys", "bench", None)))
        gate = stack.enter_context(EmbeddedGate(home.setup, doors=claude_routes))
        agent = stack.enter_context(AgentClient(gate.found, agent_token(gate.found)))
        yield RunningGate(home, gate.found, agent)


class Terminal:
    """A program in its own terminal."""

    def __init__(self, words: list[str], environment: dict[str, str]) -> None:
        self._began = time.perf_counter()
        self.pid, self._screen = pty.fork()
        if not self.pid:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", SIZE[1], SIZE[0], 0, 0))
            os.execve(sys.executable, [sys.executable, *words], environment)
        self._seen = b""

    def wait_for(self, mark: bytes, seconds: float = 30.0) -> float:
        """Returns the seconds from the start until this was written to the terminal."""
        end = time.perf_counter() + seconds
        while mark not in self._seen:
            self._read(seconds)
            if time.perf_counter() > end:
                raise RuntimeError(f"never shown: {mark!r}; {self._seen[-2000:]!r}")
        return time.perf_counter() - self._began

    def read_for(self, seconds: float) -> None:
        """Reads what the program writes for some seconds."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self._read(left)

    def _read(self, seconds: float) -> None:
        if select.select([self._screen], [], [], seconds)[0]:
            self._seen += os.read(self._screen, 1 << 16)

    @property
    def cpu(self) -> float:
        """Processor time of all threads so far, in seconds."""
        threads = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9

    @property
    def memory(self) -> float:
        """Resident memory, in MiB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def end(self) -> float:
        """Kills the program; returns its processor time in seconds."""
        os.kill(self.pid, signal.SIGKILL)
        usage = os.wait4(self.pid, 0)[2]
        os.close(self._screen)
        return usage.ru_utime + usage.ru_stime

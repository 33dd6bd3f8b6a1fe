"""A person at a terminal who is asked about the requests of a scripted gate, in this process."""

import fcntl
import os
import pty
import re
import select
import struct
import termios
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from types import TracebackType

from aileron_tui.cli.question import QuestionSettings
from aileron_tui.cli.question_loop import QuestionLoop
from aileron_tui.cli.question_terminal import QuestionTerminal, Style
from aileron_tui.core.request import Request
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.signing.errors import WrongSecret
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from aileron_tui.surface.arming import Arming
from aileron_tui.surface.operator_key import TemporaryOperatorKey
from aileron_tui.surface.source import OperatorKey, SourceSpec
from tests.console.scripted_gate import ScriptedGate

QUICK = QuestionSettings(bell=False)
PLAIN = Style(plain=True, colour=False)
PASTE = "\x1b[200~{}\x1b[201~"

_MODES = re.compile(r"\x1b\[\?2004[hl]")
_PATIENCE = 20.0


class Desk:
    """Runs the questions in a thread. What is typed arrives through a real terminal."""

    def __init__(  # whom to ask, where and how
        self,
        *gates: ScriptedGate,
        style: Style | None = None,
        settings: QuestionSettings = QUICK,
        size: tuple[int, int] = (80, 60),
        armed: float = 0.0,
        key: OperatorKey | None = None,
    ) -> None:
        self._master, self._slave = pty.openpty()
        self.resize(*size)
        self.before = termios.tcgetattr(self._slave)[:4]
        self._terminal = QuestionTerminal(os.dup(self._slave), style or Style(colour=False))
        specs = [SourceSpec(gate.name, partial(_connected, gate), "gate") for gate in gates]
        keys = key or TemporaryOperatorKey(for_this_run())
        self.loop = QuestionLoop(specs, keys, self._terminal, settings, Arming(armed))
        self.raw = b""
        self._read_until = 0
        self.code: int | None = None
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Desk":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.loop.stop()
        self._thread.join(_PATIENCE)
        for descriptor in (self._master, self._slave):
            os.close(descriptor)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self.code = self.loop.run()
        except BaseException as error:  # noqa: BLE001  # the test looks at it
            self.error = error
        finally:
            self._terminal.close()

    @property
    def text(self) -> str:
        """Everything that was written so far."""
        return _MODES.sub("", self.raw.decode(errors="ignore")).replace("\r\n", "\n")

    def until(self, wanted: str) -> str:
        """Waits until a text is written after the one that was waited for before; gives what was written till then."""
        start = self._read_until
        self._wait(lambda: wanted in self.text[start:], wanted)
        self._read_until = start + self.text[start:].index(wanted) + len(wanted)
        return self.text[start : self._read_until]

    def asked(self, answers: str = "[A]pprove") -> str:
        """Waits for the question below a prompt, until it takes an answer."""
        return self.until(answers) + self.until("\n> ")

    def press(self, *keys: str) -> None:
        """Types keys."""
        for key in keys:
            os.write(self._master, key.encode())

    def resize(self, columns: int, lines: int) -> None:
        """Makes the window larger or smaller."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def ended(self) -> int | None:
        """Waits for the end; the exit code."""
        self._wait(lambda: not self._thread.is_alive(), "its end")
        return self.code

    def restored(self) -> bool:
        """Whether the terminal is as it was before."""
        return termios.tcgetattr(self._slave)[:4] == self.before

    def _wait(self, happened: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + _PATIENCE
        while not happened():
            if select.select([self._master], [], [], 0.02)[0]:
                self.raw += os.read(self._master, 65536)
            elif time.monotonic() > end or (not self._thread.is_alive() and not happened()):
                raise AssertionError(f"waited in vain for {what!r}; {self.error!r}\n{self.text[self._read_until :]}")


def lasting(item: Request, seconds: float = 300.0) -> Request:
    """The request with this much time left."""
    return replace(item, expires_at=timestamp(utc_now() + timedelta(seconds=seconds)))


def _connected(gate: ScriptedGate, _: UnlockedKey) -> ScriptedGate:
    return gate


class LockableKey(TemporaryOperatorKey):
    """A key that is locked at first. Its passphrase is `correct horse`."""

    def __init__(self) -> None:
        super().__init__(for_this_run("default"))
        self.lock()

    @property
    def lockable(self) -> bool:
        return True

    def unlock(self, passphrase: bytearray) -> None:
        if bytes(passphrase) != b"correct horse":
            raise WrongSecret("wrong passphrase")
        if self._key is None:
            self._key = for_this_run("default")


class ClosableGate(ScriptedGate):
    """A gate that ends its events when the connection is closed."""

    def close(self) -> None:
        self._events.put(None)

"""A real console in a terminal of its own, at which somebody looks around but never answers."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from typing import Final

from tests.soak.lab import SoakLab

START_SECONDS: Final = 60.0

_SIZE: Final = (36, 120)
_CONNECTED: Final = "● connected".encode()
_KEPT: Final = 1 << 16
_CHILD: Final = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)
_LOOK_AROUND: Final = ("\x1b[B", "\x1b[B", "\x1b[A", "h", "\x1b[B", "\x1b[6~", "\x1b", "\x1b[B")
"""Keys that move, open the history and go back. None of them answers a request."""


class SoakConsole(threading.Thread):
    """Runs the console, reads what it draws, and presses a harmless key every few seconds."""

    def __init__(self, lab: SoakLab, seconds_between_keys: float = 3.0) -> None:
        super().__init__(name="console", daemon=True)
        self._between = seconds_between_keys
        self._closing = threading.Event()
        self._connected = threading.Event()
        self._screen, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *_SIZE, 0, 0))
        environment = {**lab.environment, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", _CHILD, sys.executable, "-m", "aileron_tui"],
            env=environment,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.drawn = 0
        self._last = b""

    def run(self) -> None:
        keys, due = 0, time.monotonic() + self._between
        while not self._closing.is_set():
            if select.select([self._screen], [], [], 0.2)[0]:
                try:
                    data = os.read(self._screen, 1 << 16)
                except OSError:  # the console has ended
                    return
                self.drawn += len(data)
                self._last = (self._last + data)[-_KEPT:]
                if not self._connected.is_set() and _CONNECTED in self._last:
                    self._connected.set()
            if self._connected.is_set() and time.monotonic() > due:
                os.write(self._screen, _LOOK_AROUND[keys % len(_LOOK_AROUND)].encode())
                keys, due = keys + 1, time.monotonic() + self._between

    def wait_until_connected(self) -> bool:
        """Waits until the console shows that it is connected."""
        return self._connected.wait(START_SECONDS)

    @property
    def alive(self) -> bool:
        """Whether the console still runs."""
        return self.process.poll() is None

    def end(self) -> None:
        """Closes the terminal, as a window that is closed."""
        self._closing.set()
        if self.alive:
            os.killpg(self.process.pid, signal.SIGHUP)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.is_alive():
            self.join(5)
        os.close(self._screen)

"""The process of an MCP server behind the proxy: in a process group of its own, ended step by step."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.doors.mcp_streams import LineReader, LineWriter

STEP_SECONDS: Final = 2.0
"""How long each step of ending a server may take: the end of its input, SIGTERM, SIGKILL."""


class ServerNotStarted(AileronError):
    """The command of a server cannot be run."""


class ServerProcess:
    """A running server. Its standard error is that of the proxy."""

    def __init__(self, command: tuple[str, ...]) -> None:
        try:
            self._process = subprocess.Popen(  # noqa: S603  # the user's own command
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0, bufsize=0
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            hint = "Check the command after `--`."
            raise ServerNotStarted(f"{command[0]} cannot be started", reason or "", hint) from None
        if self._process.stdin is None or self._process.stdout is None:
            raise TypeError("a pipe is missing")
        self.output = self._process.stdout.fileno()
        self.reader = LineReader()
        self.writer = LineWriter(os.dup(self._process.stdin.fileno()), is_own=True)
        self._process.stdin.close()
        self._steps = [signal.SIGTERM, signal.SIGKILL]
        self.next_step = float("inf")
        self.is_ended_by_us = False

    def has_exited(self) -> bool:
        """Whether the process is gone; others of its group may still run."""
        return self._process.poll() is not None

    @property
    def exit_code(self) -> int:
        """The exit code as a shell would report it."""
        code = self._process.returncode or 0
        return 128 - code if code < 0 else code

    def end(self) -> None:
        """Begins to end the server: there is no more input."""
        if self.next_step == float("inf"):
            self.next_step = time.monotonic() + STEP_SECONDS

    def tick(self, now: float) -> bool:
        """Takes the next step of ending it, if it is due; returns False if there is none left."""
        if now < self.next_step:
            return True
        if not self._steps:
            return False
        self.is_ended_by_us = True
        self._signal(self._steps.pop(0))
        self.next_step = now + STEP_SECONDS
        return True

    def close(self) -> None:
        """Ends the server and whatever still runs in its group."""
        self.writer.close()
        for number in (None, *self._steps):
            if number is not None:
                self._signal(number)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(STEP_SECONDS)
                break
        self._signal(signal.SIGTERM)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

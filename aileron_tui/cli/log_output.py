"""The stream of a gate's log. A thread writes it, so that the gate never waits for its terminal.

A terminal takes nothing while its output is stopped: after ctrl+s, or behind an ssh connection that was lost. The log
of a gate must not stop the gate then. Its lines also wait while a question is on the terminal.
"""

import io
import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, TextIO

from aileron_tui.cli.output import counted

_MOST_KEPT: Final = 1000
_PATIENCE_SECONDS: Final = 1.0


class LogOutput(io.TextIOBase):
    """Writes lines to a stream soon. Only the newest of those that cannot be written yet are kept."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        # Not through the stream itself: its lock would be held by a write that hangs, and ending Python needs it.
        self._descriptor = stream.fileno()
        self._encoding = stream.encoding
        self._changed = threading.Condition()
        self._kept: deque[str] = deque()
        self._dropped = 0
        self._is_held = False
        self._is_writing = False
        threading.Thread(target=self._run, name="log", daemon=True).start()

    def write(self, text: str) -> int:
        """Keeps text that is written soon."""
        with self._changed:
            if len(self._kept) == _MOST_KEPT:
                self._kept.popleft()
                self._dropped += 1
            self._kept.append(text)
            self._changed.notify_all()
        return len(text)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nothing is written during the block; what was kept is written after it."""
        self.drain()
        with self._changed:
            self._is_held = True
            self._changed.wait_for(lambda: not self._is_writing, _PATIENCE_SECONDS)
        try:
            yield
        finally:
            with self._changed:
                self._is_held = False
                self._changed.notify_all()

    def drain(self) -> None:
        """Waits a moment until everything is written."""
        with self._changed:
            self._changed.wait_for(lambda: not (self._kept or self._is_writing), _PATIENCE_SECONDS)

    def _run(self) -> None:
        while True:
            data = self._taken().encode(self._encoding, "backslashreplace")
            with suppress(OSError):  # a full disk may have space again; everything important is in the ledger
                while data:
                    data = data[os.write(self._descriptor, data) :]
            with self._changed:
                self._is_writing = False
                self._changed.notify_all()

    def _taken(self) -> str:
        """Waits for lines that can be written now."""
        with self._changed:
            self._changed.wait_for(lambda: self._kept and not self._is_held)
            note = f"({counted(self._dropped, 'line')} of the log left out)\n" if self._dropped else ""
            text = note + "".join(self._kept)
            self._kept.clear()
            self._dropped = 0
            self._is_writing = True
            return text

"""Whose turn it is to answer. The consoles of one home answer a daemon one after the other, so that each sees in their
common record what became of the answer before, and none takes another's for lost while it is on its way.

The lock is `flock`, which the system drops when a process dies, however it dies.
"""

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from aileron_tui.runtime.errors import RuntimeFault

FILE: Final = "answering.lock"

_PATIENCE: Final = 60.0
_PAUSE: Final = 0.005


class NotOurTurn(RuntimeFault):
    """Nothing can be answered now."""


class AnswerLock:
    """The turns at one record; safe to use from several threads."""

    def __init__(self, folder: Path, patience: float = _PATIENCE) -> None:
        self._path = folder / FILE
        self._patience = patience
        self._guard = threading.Lock()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Nobody else of this home answers meanwhile."""
        with self._guard:
            try:
                file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise NotOurTurn("nothing can be answered", f"{self._path}: {error.strerror}", "Check it.") from None
            try:
                self._wait(file)
                yield
            finally:
                os.close(file)

    def _wait(self, file: int) -> None:
        end = time.monotonic() + self._patience
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= end:
                    hint = "Look whether another console of yours hangs, or is suspended."
                    raise NotOurTurn("another console is still answering", hint=hint) from None
                time.sleep(_PAUSE)
            else:
                return

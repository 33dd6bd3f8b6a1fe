"""A lock that lets the consoles of one home answer a daemon one at a time.

So each console finds the outcome of earlier answers in the shared ledger, and does not mistake an answer that another
console is still sending for a lost one. The lock is a `flock`, which the system releases when a process dies.
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

_TIMEOUT: Final = 60.0
_PAUSE: Final = 0.005


class AnswerLockError(RuntimeFault):
    """The lock cannot be taken, so nothing can be answered now."""


class AnswerLock:
    """The lock of one ledger; safe to use from several threads."""

    def __init__(self, folder: Path, timeout: float = _TIMEOUT) -> None:
        self._path = folder / FILE
        self._timeout = timeout
        self._guard = threading.Lock()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds the lock during the block, so that no other console of this home can answer."""
        with self._guard:
            try:
                file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            except OSError as error:
                detail = f"{self._path}: {error.strerror}"
                raise AnswerLockError("cannot open the lock file for answers", detail, "Check this file.") from None
            try:
                self._wait(file)
                yield
            finally:
                os.close(file)

    def _wait(self, file: int) -> None:
        end = time.monotonic() + self._timeout
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= end:
                    hint = "Check whether another console is stuck or suspended."
                    raise AnswerLockError("another console is still answering", hint=hint) from None
                time.sleep(_PAUSE)
            else:
                return

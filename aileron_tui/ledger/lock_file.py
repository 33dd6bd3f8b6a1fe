"""The lock file beside the ledger: which process writes the ledger, and what its last entry is.

The lock itself is `flock`, which the system releases when the process ends for any reason. The text in the file is for
error messages and to detect loss: the head is noted after each durable append, so a ledger that ends before that head
has lost acknowledged entries. The note is not synced; after a power failure it may be behind the ledger, never ahead.
"""

import contextlib
import fcntl
import json
import os
import socket
import time
from pathlib import Path
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject, read_object
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.ledger.errors import LedgerHeld, LedgerReplaced, LedgerUnusable
from aileron_tui.ledger.head import Head, read_head

_SIZE: Final = 512
_PAUSE: Final = 0.02


class LockFile:
    """The open lock file of one ledger."""

    def __init__(self, path: Path, role: str) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._file = os.open(path, flags, 0o600)
        except OSError as error:
            raise LedgerUnusable("the ledger cannot be locked", f"{path}: {error.strerror}") from None
        self._path = path
        self._identity = _identity(os.fstat(self._file))
        self._who: JsonObject = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "role": role,
            "since": timestamp(utc_now()),
        }
        self._prefix = json.dumps(self._who, sort_keys=True)[:-1]

    def hold(self, wait: float, *, shared: bool = False) -> None:
        """Waits for the lock, exclusive or shared, and takes it. A LedgerHeld names the process that holds it."""
        deadline = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(self._file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise self._held_error() from None
                time.sleep(_PAUSE)
            else:
                return

    def release(self) -> None:
        """Releases the lock, so that another process can become the writer."""
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def note(self, head: Head, *, guest: bool = False) -> None:
        """Notes the last entry and this process; a guest keeps the name of the process that holds the ledger."""
        who = _fields(os.pread(self._file, _SIZE, 0)) if guest else {}
        who.pop("head", None)
        prefix = json.dumps(who, sort_keys=True)[:-1] if who else self._prefix
        text = f'{prefix}, "head": "{head}"}}'
        with contextlib.suppress(OSError):  # the entry itself is already on disk
            os.pwrite(self._file, text.ljust(_SIZE - 1).encode() + b"\n", 0)

    def noted(self) -> Head | None:
        """The head that was last noted, or None if there was never a ledger."""
        return _head(os.pread(self._file, _SIZE, 0))

    def forget(self) -> None:
        """Clears the note, for a ledger that is set aside."""
        os.ftruncate(self._file, 0)

    @property
    def is_open(self) -> bool:
        """Whether the file has not been closed."""
        return self._file >= 0

    def check(self) -> None:
        """Checks that other processes see the same lock file. Raises LedgerReplaced."""
        try:
            there = os.lstat(self._path)
        except OSError:
            there = None
        if there is None or _identity(there) != self._identity:
            hint = "Stop the gate, check that no other gate is running on this folder, and start it again."
            raise LedgerReplaced("the lock of the ledger was removed or replaced", str(self._path), hint)

    def close(self) -> None:
        """Releases the lock and closes the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _held_error(self) -> LedgerHeld:
        who = _fields(os.pread(self._file, _SIZE, 0))
        words, hint = "by another process", "Stop that process, or wait until it ends."
        if who:
            words = f"by {who.get('role')}, process {who.get('pid')} on {who.get('host')} since {who.get('since')}"
        if who.get("role") == "gate":
            hint = "If that gate is just starting, try again once it says that it is ready. Else stop it first."
        return LedgerHeld("the ledger is locked", words, hint)


def noted_head(path: Path) -> Head | None:
    """The head noted beside a ledger, for readers."""
    try:
        return _head(path.read_bytes()[:_SIZE])
    except OSError:
        return None


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _fields(data: bytes) -> JsonObject:
    try:
        return read_object(data)
    except AileronError:
        return {}


def _head(data: bytes) -> Head | None:
    text = _fields(data).get("head")
    try:
        return read_head(text) if isinstance(text, str) else None
    except AileronError:
        return None

"""A lock between processes, and between threads, which the system releases when the process ends."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from aileron_tui.accounts.errors import StoreFault
from aileron_tui.files.private_files import PrivateFileError, private_folder

_LOCK_SECONDS: Final = 10.0
_PAUSE: Final = 0.02


@contextmanager
def file_lock(path: Path, seconds: float = _LOCK_SECONDS) -> Iterator[None]:
    """Waits for the lock of this file and holds it. Raises StoreFault if that takes too long."""
    try:
        private_folder(path.parent)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except PrivateFileError as error:
        raise StoreFault(error.title, error.detail, error.hint) from None
    except OSError as error:
        raise StoreFault(f"cannot lock {path}", (error.strerror or str(error)).lower()) from None
    try:
        _take(descriptor, path, time.monotonic() + seconds)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int, path: Path, end: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                hint = "Wait until it ends, and try again."
                raise StoreFault("another process is changing the accounts", str(path), hint) from None
            time.sleep(_PAUSE)
        else:
            return

"""Tells whether anything was committed to a ledger, without a read of the database.

The first bytes of SQLite's `-shm` file are two copies of the header of the log's index, in memory that all processes
share. Every commit changes them before it returns, and SQLite itself learns from nothing else that another process has
committed something. Looking at them takes no system call, and lets no other thread have the interpreter meanwhile.

Closing any descriptor of the file would release SQLite's locks on it for the whole process. So the descriptors stay
open until SQLite has deleted the file, which it does when the last connection of all processes is closed.
"""

import contextlib
import mmap
import os
import struct
from pathlib import Path
from typing import Final

from aileron_tui.core.values import dataclass

_HEADERS: Final = 96
_START: Final = struct.Struct("=I8xB")
_VERSION: Final = 3_007_000
"""The version of the format, which SQLite has never changed."""


@dataclass(slots=True, eq=False)
class _Kept:
    """A file that must not be closed yet. Its mapping has a descriptor of its own."""

    descriptor: int
    shared: mmap.mmap | None = None


_kept: Final[list[_Kept]] = []


class ChangeMark:
    """Bytes that differ after every commit. The ledger must be open in this process as long as they are used."""

    def __init__(self, path: Path) -> None:
        close_deleted()
        self._shared: mmap.mmap | None = None
        with contextlib.suppress(OSError, ValueError):  # without it, the database is read every time
            descriptor = os.open(f"{path}-shm", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            kept = _Kept(descriptor)
            _kept.append(kept)
            self._shared = kept.shared = mmap.mmap(descriptor, _HEADERS, access=mmap.ACCESS_READ)

    def value(self) -> bytes:
        """The bytes as of now, or b"" if nothing is known about changes."""
        if self._shared is None:
            return b""
        found = self._shared[:_HEADERS]
        version, is_filled = _START.unpack_from(found)
        return found if version == _VERSION and is_filled else b""

    def close(self) -> None:
        """Ends the use of the mark. Must be called after the connection to the ledger was closed."""
        self._shared = None
        close_deleted()


def close_deleted() -> None:
    """Closes the descriptors of files that SQLite has deleted."""
    for kept in tuple(_kept):
        if not os.fstat(kept.descriptor).st_nlink:
            _kept.remove(kept)
            if kept.shared:
                kept.shared.close()
            os.close(kept.descriptor)

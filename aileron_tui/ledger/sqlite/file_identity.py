"""Whether the paths of a ledger still lead to the files that were opened.

Without this check, a process would go on writing to a file that was deleted or replaced, and everything it recorded
would be lost with its last descriptor.
"""

import os
from pathlib import Path

from aileron_tui.ledger.errors import LedgerReplaced

_Identity = tuple[int, int]


class FileIdentity:
    """The device and inode of each file of an open ledger.

    The log of a ledger is created with its first transaction and keeps its inode until the last process closes it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, _Identity] = {}
        self._names = (str(path), f"{path}-wal", f"{path}-shm")
        self.learn()

    def learn(self) -> None:
        """Takes note of files that were not there before."""
        for name in self._names:
            if name not in self._known and (found := _identity(name)):
                self._known[name] = found

    def check(self) -> None:
        """Raises LedgerReplaced if a file was removed or replaced."""
        for name, known in self._known.items():
            found = _identity(name)
            if found != known:
                raise replaced(self._path, f"{name} was {'replaced' if found else 'removed'} while it was open")


def replaced(path: Path, detail: str) -> LedgerReplaced:
    """The error for a ledger that is not the one that was opened."""
    hint = f"Move the file back to {path}, or stop the gate and check the ledger with `aileron-tui history verify`."
    return LedgerReplaced("this is no longer the ledger that was opened", detail, hint)


def _identity(name: str) -> _Identity | None:
    try:
        status = os.lstat(name)
    except OSError:
        return None
    return status.st_dev, status.st_ino

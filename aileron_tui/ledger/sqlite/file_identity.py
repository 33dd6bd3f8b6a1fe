"""Whether the paths of a ledger still lead to the files that were opened.

Without this check, a process would go on writing to a file that was deleted or replaced, and everything it recorded
would be lost with its last descriptor.
"""

import os
from pathlib import Path

from aileron_tui.ledger.errors import LedgerReplaced
from aileron_tui.ledger.sqlite.connection import LOG_SIZE_LIMIT

_Identity = tuple[int, int]
_Content = tuple[int, int, int]


class FileIdentity:
    """The device and inode of each file of an open ledger, and what only its writer changes in them.

    The log of a ledger is created with its first transaction and keeps its inode until the last process closes it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log = f"{path}-wal"
        self._known: dict[str, _Identity] = {}
        self._names = (str(path), self._log, f"{path}-shm")
        self._content: _Content | None = None
        self.learn()

    def learn(self) -> None:
        """Takes note of files that were not there before, and of what was just written."""
        for name in self._names:
            if name not in self._known and (found := _identity(name)):
                self._known[name] = found
        self._content = self._read_content()

    def check_content(self) -> None:
        """Raises LedgerReplaced if another process wrote to the file, or cut its log, for example to restore a backup.

        SQLite does not notice this, because it has pages of the file in memory. Only for a writer that is the only one
        to move entries from the log to the file, and only while it does not write.
        """
        known, found = self._content, self._read_content()
        if known is None or found is None:
            return  # a file that is missing is noticed by `check`
        if found[:2] != known[:2]:
            raise replaced(self._path, f"{self._path} was overwritten while it was open")
        if found[2] < min(known[2], LOG_SIZE_LIMIT):
            raise replaced(self._path, f"{self._log} was cut off while it was open")

    def _read_content(self) -> "_Content | None":
        try:
            file = os.lstat(self._path)
        except OSError:
            return None
        try:
            return file.st_size, file.st_mtime_ns, os.lstat(self._log).st_size
        except OSError:
            return file.st_size, file.st_mtime_ns, 0

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

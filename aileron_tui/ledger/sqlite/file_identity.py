"""Whether the paths of a ledger still lead to the files that were opened.

Without this check, a process would go on writing to a file that was deleted or replaced, and everything it recorded
would be lost with its last descriptor.
"""

import os
from pathlib import Path

from aileron_tui.ledger.errors import LedgerReplaced
from aileron_tui.ledger.sqlite.connection import LOG_SIZE_LIMIT


class FileIdentity:
    """The device and inode of each file of an open ledger, and what only its writer changes in them.

    The log of a ledger is created with its first transaction and keeps its inode until the last process closes it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._names = (str(path), f"{path}-wal", f"{path}-shm")
        self._known: dict[str, tuple[int, int]] = {}
        self._content: tuple[int, int, int] | None = None
        self.learn()

    def learn(self) -> None:
        """Takes note of files that were not there before, and of what was just written."""
        if len(self._known) < len(self._names):
            for name in self._names:
                if name not in self._known and (found := _status(name)):
                    self._known[name] = found.st_dev, found.st_ino
        self._content = _content(*map(_status, self._names[:2]))

    def check(self, *, content: bool = False) -> None:
        """Raises LedgerReplaced if a file was removed or replaced.

        With `content`, also if another process wrote to the file, or cut its log, for example to restore a backup.
        SQLite does not notice this, because it has pages of the file in memory. This is only for a writer that is the
        only one to move entries from the log to the file, and only while it does not write.
        """
        found = {name: _status(name) for name in self._known}
        for name, known in self._known.items():
            status = found[name]
            if status is None or (status.st_dev, status.st_ino) != known:
                raise replaced(self._path, f"{name} was {'replaced' if status else 'removed'} while it was open")
        if content and self._content:
            file, log = self._names[:2]
            self._check_content(self._content, _content(found.get(file), found.get(log)))

    def _check_content(self, known: tuple[int, int, int], found: tuple[int, int, int] | None) -> None:
        if found is None:
            return
        if found[:2] != known[:2]:
            raise replaced(self._path, f"{self._path} was overwritten while it was open")
        if found[2] < min(known[2], LOG_SIZE_LIMIT):
            raise replaced(self._path, f"{self._names[1]} was cut off while it was open")


def replaced(path: Path, detail: str) -> LedgerReplaced:
    """The error for a ledger that is not the one that was opened."""
    hint = f"Move the file back to {path}, or stop the gate and check the ledger with `aileron-tui history verify`."
    return LedgerReplaced("this is no longer the ledger that was opened", detail, hint)


def _content(file: os.stat_result | None, log: os.stat_result | None) -> tuple[int, int, int] | None:
    """The size and time of the file, and the size of its log."""
    return (file.st_size, file.st_mtime_ns, log.st_size if log else 0) if file else None


def _status(name: str) -> os.stat_result | None:
    try:
        return os.lstat(name)
    except OSError:
        return None

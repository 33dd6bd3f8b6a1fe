"""Replaces a ledger by another one, in one step: whenever the program is stopped, it is the old one or the new one."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from aileron_tui.files.private_files import private_folder, sync_folder
from aileron_tui.ledger.errors import LedgerHeld, LedgerUnusable
from aileron_tui.ledger.file_names import lock_path
from aileron_tui.ledger.head import Head
from aileron_tui.ledger.lock_file import LockFile
from aileron_tui.ledger.sqlite.connection import check_file, connect, is_busy
from aileron_tui.ledger.sqlite.database_copy import leave_log
from aileron_tui.ledger.sqlite.failures import translated
from aileron_tui.ledger.sqlite.reader import head_of


class SqliteReplacement:
    """The ledger at a path, locked."""

    def __init__(self, path: Path, holder: LockFile) -> None:
        self._path = path
        self._holder = holder

    def replace(self, new: Path, kept: Path) -> None:
        """Puts the new ledger in the place of the old one, which is kept under another name.

        No log may be beside either file, because SQLite would apply the log of the old ledger to the new one. The note
        of the old head is cleared first: a ledger without a note can be opened, one that ends before its note cannot.
        """
        head = _without_log(new)
        try:
            if self._path.exists():
                _without_log(self._path)
                os.link(self._path, kept, follow_symlinks=False)
            self._holder.forget()
            new.replace(self._path)
            sync_folder(self._path.parent)
        except OSError as error:
            raise LedgerUnusable("the ledger cannot be replaced", f"{self._path}: {error.strerror}") from None
        self._holder.note(head)


@contextmanager
def replacing(path: Path, *, wait: float) -> Iterator[SqliteReplacement]:
    """Locks a ledger until the block ends."""
    private_folder(path.parent)
    with closing(LockFile(lock_path(path), "history restore")) as holder:
        holder.hold(wait)
        yield SqliteReplacement(path, holder)


def _without_log(path: Path) -> Head:
    """Moves everything of a ledger into its file, and returns its head."""
    check_file(path)
    db = connect(path, writing=True)
    try:
        head = head_of(db, path)
        leave_log(db)
    except sqlite3.Error as error:
        if is_busy(error) or "locked" in str(error):
            hint = "Close every console, and whatever else reads the ledger, and try again."
            raise LedgerHeld("another program has the ledger open", str(path), hint) from None
        raise translated(error, path) from None
    finally:
        db.close()
    return head

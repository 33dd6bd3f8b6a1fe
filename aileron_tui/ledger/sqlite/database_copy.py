"""Copies a database into one file of its own, with SQLite's own means, while others use it."""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final

from aileron_tui.ledger.errors import LedgerUnusable
from aileron_tui.ledger.sqlite.failures import translated

_PAGES: Final = 1000


def copy_database(db: sqlite3.Connection, path: Path, progress: Callable[[int, int], None]) -> None:
    """Copies a database, as the open transaction of the connection sees it, to a new file that needs no log."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise LedgerUnusable("the ledger cannot be copied", f"{path}: {error.strerror}") from None
    try:
        copy = sqlite3.connect(path, isolation_level=None)
        try:
            db.backup(copy, pages=_PAGES, progress=lambda _, left, total: progress(total - left, total))
            leave_log(copy)
        finally:
            copy.close()
        with path.open("rb") as file:
            os.fsync(file.fileno())
    except sqlite3.Error as error:
        path.unlink(missing_ok=True)
        raise translated(error, path) from None
    except OSError as error:
        path.unlink(missing_ok=True)
        raise LedgerUnusable("the ledger cannot be copied", f"{path}: {error.strerror}") from None
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def leave_log(db: sqlite3.Connection) -> None:
    """Moves what is in the log into the file and deletes the log. Raises an error if others have the file open."""
    found = db.execute("PRAGMA journal_mode = DELETE").fetchone()
    if found != ("delete",):
        raise sqlite3.OperationalError("database is locked")

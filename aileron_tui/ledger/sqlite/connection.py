"""Opens connections to the ledger's file: checks that the file is private, and applies the common settings."""

import os
import sqlite3
import stat
import time
from pathlib import Path
from typing import Final
from urllib.parse import quote

from aileron_tui.files.private_files import PrivateFileError
from aileron_tui.ledger.errors import LedgerDamaged, LedgerError
from aileron_tui.ledger.sqlite.failures import translated

LOG_SIZE_LIMIT: Final = 64 * 1024 * 1024
"""SQLite shortens a log that has grown beyond this size."""

_MAGIC: Final = b"SQLite format 3\0"
_BUSY_SECONDS: Final = 5.0
BUSY_MILLISECONDS: Final = 5000
_PAUSE: Final = 0.01


def is_database(path: Path) -> bool:
    """Whether a file is an SQLite database."""
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        raise LedgerError("cannot read the file", f"{path}: {error.strerror}") from None


def check_file(path: Path) -> None:
    """Refuses a ledger file that is a link, belongs to another user, is open to others, or is empty.

    The check does not open the file: closing any descriptor of the file would release SQLite's locks on it for the
    whole process, and the next process to close the ledger would delete the log that this process still writes.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        raise LedgerError("there is no ledger", str(path)) from None
    except OSError as error:
        raise PrivateFileError(f"cannot read {path}", str(error.strerror), "Check that it is yours.") from None
    mode = stat.S_IMODE(status.st_mode)
    if not stat.S_ISREG(status.st_mode):
        raise PrivateFileError(f"{path} is not a regular file")
    if status.st_uid != os.geteuid():
        raise PrivateFileError(f"{path} belongs to another user", f"user {status.st_uid}")
    if mode & 0o077:
        raise PrivateFileError(f"{path} is open to others", f"its mode is {mode:03o}", f"chmod 600 {path}")
    if not status.st_size:
        raise LedgerDamaged(path, "it is empty")


def connect(path: Path, *, writing: bool) -> sqlite3.Connection:
    """Opens a connection in WAL mode. A writer's commit returns only when the entry is on disk (`synchronous=FULL`)."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            return _connect(path, writing=writing)
        except sqlite3.Error as error:
            # SQLite does not always wait by itself while another process opens or closes the log.
            if not is_busy(error) or time.monotonic() >= deadline:
                raise translated(error, path) from None
        except UnicodeDecodeError:  # SQLite quotes what it found, and Python reads that as UTF-8
            raise LedgerDamaged(path, "its schema is not text") from None
        time.sleep(_PAUSE)


def _connect(path: Path, *, writing: bool) -> sqlite3.Connection:
    mode = "rw" if writing else "ro"
    db = sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=_BUSY_SECONDS,
    )
    try:
        if writing:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            db.execute("PRAGMA secure_delete = ON")  # what is removed from the ledger must not stay in its file
            db.execute("PRAGMA wal_autocheckpoint = 4000")
            db.execute(f"PRAGMA journal_size_limit = {LOG_SIZE_LIMIT}")
        else:
            db.execute("PRAGMA query_only = ON")
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except BaseException:
        db.close()
        raise
    return db


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another process has locked the file. The low byte of the error code is the same for all such errors."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY

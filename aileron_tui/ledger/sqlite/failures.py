"""Converts errors of SQLite to errors of the ledger."""

import sqlite3
from pathlib import Path
from typing import Final

from aileron_tui.ledger.errors import EntryRefused, LedgerDamaged, LedgerError, LedgerHeld, LedgerUnusable

_DAMAGE: Final = frozenset({"SQLITE_CORRUPT", "SQLITE_NOTADB"})
_MISSING: Final = "no such table"


class translating:  # noqa: N801  # a class, because every read of the ledger uses it and a generator costs more
    """Converts errors of SQLite inside this context to errors of the ledger."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, sqlite3.Error):
            raise translated(error, self._path) from None
        if isinstance(error, UnicodeDecodeError):  # SQLite quotes what it found, and Python reads that as UTF-8
            raise LedgerDamaged(self._path, "it has text that is not UTF-8") from None
        if isinstance(error, UnicodeEncodeError):
            raise LedgerError("the search text is not valid Unicode", "it has bytes that are not UTF-8") from None


def translated(error: sqlite3.Error, path: Path) -> LedgerError:
    """The ledger's error for an error of SQLite, in words for users."""
    name = getattr(error, "sqlite_errorname", "") or ""
    text = str(error)
    if any(name.startswith(kind) for kind in _DAMAGE) or text.startswith(_MISSING):
        return LedgerDamaged(path, text)
    if name.startswith("SQLITE_FULL"):
        return LedgerUnusable("cannot write the ledger: the disk is full", str(path), "Free some space and try again.")
    if name.startswith("SQLITE_BUSY"):
        return LedgerHeld("the ledger is busy", str(path), "Another process is writing. Try again.")
    if name.startswith(("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_CANTOPEN", "SQLITE_AUTH")):
        return LedgerUnusable("the ledger cannot be opened or written", f"{path}: {text}", "Check its owner and mode.")
    if name.startswith("SQLITE_CONSTRAINT"):
        return EntryRefused("the ledger rejected the entry", text)
    return LedgerUnusable("the ledger cannot be used", f"{path}: {text}", "Check the disk; nothing was recorded.")

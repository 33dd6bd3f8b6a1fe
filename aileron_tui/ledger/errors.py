"""What can go wrong with the ledger.

LedgerError
├── LedgerHeld      another process writes it
├── LedgerNewer     written by a later version of the program
├── LedgerOlder     written by an earlier version, and this process only reads
├── LedgerDamaged   the file cannot be what was written
├── LedgerUnusable  the system does not let us write: disk full, no permission, input/output error
├── EntryTooLarge   one entry beyond the limit
└── EntryRefused    an entry that cannot follow: a request made twice, a nonce used twice
"""

import sqlite3
from pathlib import Path
from typing import Final

from aileron_tui.core.errors import AileronError

_DAMAGE: Final = frozenset({"SQLITE_CORRUPT", "SQLITE_NOTADB"})
_MISSING: Final = "no such table"


class LedgerError(AileronError):
    """Any failure of this layer."""


class LedgerHeld(LedgerError):
    """Another process writes it."""


class LedgerNewer(LedgerError):
    """Written by a later version of the program."""


class LedgerOlder(LedgerError):
    """Written by an earlier version, and this process only reads."""


class LedgerDamaged(LedgerError):
    """The file cannot be what was written."""

    def __init__(self, path: Path, detail: str) -> None:
        hint = (
            "`aileron-tui history verify` says where. `aileron-tui history set-aside` keeps the damaged file under "
            "another name and begins a new ledger; keys must then be enrolled again."
        )
        super().__init__("the ledger is damaged", f"{path}: {detail}", hint)


class LedgerUnusable(LedgerError):
    """The system does not let us write or read."""


class EntryTooLarge(LedgerError):
    """One entry beyond the limit."""


class EntryRefused(LedgerError):
    """An entry that cannot follow those that are there."""


def translated(error: sqlite3.Error, path: Path) -> LedgerError:
    """SQLite's failure in words for a person."""
    name = getattr(error, "sqlite_errorname", "") or ""
    text = str(error)
    if any(name.startswith(kind) for kind in _DAMAGE) or text.startswith(_MISSING):
        return LedgerDamaged(path, text)
    if name.startswith("SQLITE_FULL"):
        return LedgerUnusable("the ledger cannot grow, the disk is full", str(path), "Make room and try again.")
    if name.startswith("SQLITE_BUSY"):
        return LedgerHeld("the ledger is busy", str(path), "Another process is writing. Try again.")
    if name.startswith(("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_CANTOPEN", "SQLITE_AUTH")):
        return LedgerUnusable("the ledger cannot be opened or written", f"{path}: {text}", "Check owner and mode.")
    if name.startswith("SQLITE_CONSTRAINT"):
        return EntryRefused("the ledger refuses the entry", text)
    return LedgerUnusable("the ledger cannot be used", f"{path}: {text}", "Check the disk; nothing was recorded.")

"""What can go wrong with the ledger.

LedgerError
├── LedgerHeld      another process writes it
├── LedgerNewer     written by a later version of the program
├── LedgerOlder     written by an earlier version, and this process only reads
├── LedgerDamaged   the file is not what was written
├── LedgerUnusable  the system does not let us write: disk full, no permission, input/output error
├── EntryTooLarge   one entry beyond the limit
├── EntryRefused    an entry that cannot follow: a request made twice, a nonce used twice
└── ResultsUnusable results of requests can be neither stored nor found
"""

from pathlib import Path

from aileron_tui.core.errors import AileronError


class LedgerError(AileronError):
    """Any failure of this layer."""


class LedgerHeld(LedgerError):
    """Another process writes it."""


class LedgerNewer(LedgerError):
    """Written by a later version of the program."""


class LedgerOlder(LedgerError):
    """Written by an earlier version, and this process only reads."""


class LedgerDamaged(LedgerError):
    """The file is not what was written."""

    def __init__(self, path: Path, detail: str) -> None:
        hint = (
            "`aileron-tui history verify` shows where. `aileron-tui history set-aside` moves the damaged file away "
            "and starts a new ledger; keys must then be enrolled again."
        )
        super().__init__("the ledger is damaged", f"{path}: {detail}", hint)


class LedgerUnusable(LedgerError):
    """The system does not let us write or read."""


class EntryTooLarge(LedgerError):
    """An entry above the size limit."""


class EntryRefused(LedgerError):
    """An entry that cannot follow the last one."""


class ResultsUnusable(LedgerError):
    """Results of requests can be neither stored nor found."""

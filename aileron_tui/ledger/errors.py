"""What can go wrong with the ledger.

LedgerError
├── LedgerHeld      another process is writing to the ledger
├── LedgerNewer     the ledger was written by a newer version of the program
├── LedgerOlder     the ledger was written by an older version, and a reader cannot bring it up to date
├── LedgerDamaged   the content of the file is not what was written
├── LedgerUnusable  the system does not allow reading or writing: disk full, no permission, input/output error
├── EntryTooLarge   an entry is above the size limit
├── LedgerReplaced  the path no longer leads to the file that was opened, or its entries are gone
├── EntryRefused    an entry must not be appended: a request made twice, a nonce used twice
│   └── DeadlinePassed  the time in which the request could be approved is over
└── ResultsUnusable the results of requests cannot be stored or read
"""

from pathlib import Path

from aileron_tui.core.errors import AileronError


class LedgerError(AileronError):
    """Any failure of this layer."""


class LedgerHeld(LedgerError):
    """Another process is writing to the ledger."""


class LedgerNewer(LedgerError):
    """The ledger was written by a newer version of the program."""


class LedgerOlder(LedgerError):
    """The ledger was written by an older version, and a reader cannot bring it up to date."""


class LedgerDamaged(LedgerError):
    """The content of the file is not what was written."""

    def __init__(self, path: Path, detail: str) -> None:
        hint = (
            "`aileron-tui history verify` shows where. `aileron-tui history set-aside` moves the damaged file away "
            "and starts a new ledger; keys must then be enrolled again."
        )
        super().__init__("the ledger is damaged", f"{path}: {detail}", hint)


class LedgerUnusable(LedgerError):
    """The system does not allow reading or writing."""


class LedgerReplaced(LedgerError):
    """The path no longer leads to the file that was opened, or its entries are gone."""


class EntryTooLarge(LedgerError):
    """An entry is above the size limit."""


class EntryRefused(LedgerError):
    """An entry must not be appended."""


class DeadlinePassed(EntryRefused):
    """The time in which the request could be approved is over."""


class ResultsUnusable(LedgerError):
    """The results of requests cannot be stored or read."""

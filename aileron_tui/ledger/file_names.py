"""The names of a ledger's files."""

from pathlib import Path
from typing import Final

FILE: Final = "ledger.db"
DAEMONS: Final = "daemons"
"""The folder beside the gate's ledger that contains one folder per daemon, named after its source, with its ledger."""


def lock_path(path: Path) -> Path:
    """The lock file that belongs to a ledger."""
    return path.with_suffix(".lock")

"""What the files of a ledger are called."""

from pathlib import Path
from typing import Final

FILE: Final = "ledger.db"
DAEMONS: Final = "daemons"
"""The folder beside the gate's ledger with one folder for each daemon, named after its source, that has its ledger."""


def lock_path(path: Path) -> Path:
    """The lock file that belongs to a ledger."""
    return path.with_suffix(".lock")

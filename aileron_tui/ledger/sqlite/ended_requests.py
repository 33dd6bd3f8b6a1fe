"""The ids of ended requests on disk, so that verification takes the same memory for a ledger of any length."""

import hashlib
import sqlite3
from typing import Final

from aileron_tui.ledger.errors import LedgerUnusable

_CACHE_KIBIBYTES: Final = 2048


class EndedRequests:
    """An IdSet in a temporary file that is deleted automatically. It stores digests instead of ids."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None)
        for setting in ("journal_mode = OFF", "synchronous = OFF", f"cache_size = -{_CACHE_KIBIBYTES}"):
            self._db.execute(f"PRAGMA {setting}")
        self._db.execute("CREATE TABLE finished (id BLOB PRIMARY KEY) WITHOUT ROWID")
        self._db.execute("BEGIN")

    def add(self, request: str) -> None:
        """Adds an id; adding it twice does no harm."""
        self._execute("INSERT OR IGNORE INTO finished VALUES (?)", request)

    def __contains__(self, request: str) -> bool:
        return self._execute("SELECT 1 FROM finished WHERE id = ?", request) is not None

    def close(self) -> None:
        """Deletes the set."""
        self._db.close()

    def _execute(self, query: str, request: str) -> object:
        id_ = hashlib.blake2b(request.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        try:
            return self._db.execute(query, (id_,)).fetchone()
        except sqlite3.Error as error:
            hint = "Free some space in the folder for temporary files, or set TMPDIR to another folder."
            raise LedgerUnusable("there is not enough disk space to verify the ledger", str(error), hint) from None

"""The ids of ended requests on disk, so that verification takes the same memory for a ledger of any length."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from aileron_tui.ledger.errors import LedgerUnusable
from aileron_tui.ledger.id_digest import DIGEST_SIZE, id_digest

_CACHE_KIBIBYTES: Final = 2048
_FIND: Final = "SELECT 1 FROM finished WHERE id = ?"


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
        return self._execute(_FIND, request) is not None

    def add_digests(self, digests: bytes) -> None:
        """Adds the ids with these digests, one after the other."""
        with _translating():
            self._db.executemany("INSERT OR IGNORE INTO finished VALUES (?)", _parts(digests))

    def has_any(self, digests: bytes) -> bool:
        """Whether an id with one of these digests was added."""
        with _translating():
            return any(self._db.execute(_FIND, part).fetchone() for part in _parts(digests))

    def digests(self) -> bytes:
        """The digests of all ids, one after the other."""
        with _translating():
            return b"".join(row[0] for row in self._db.execute("SELECT id FROM finished"))

    def close(self) -> None:
        """Deletes the set."""
        self._db.close()

    def _execute(self, query: str, request: str) -> object:
        with _translating():
            return self._db.execute(query, (id_digest(request),)).fetchone()


def _parts(digests: bytes) -> Iterator[tuple[bytes]]:
    return ((digests[start : start + DIGEST_SIZE],) for start in range(0, len(digests), DIGEST_SIZE))


@contextmanager
def _translating() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        hint = "Free some space in the folder for temporary files, or set TMPDIR to another folder."
        raise LedgerUnusable("there is not enough disk space to verify the ledger", str(error), hint) from None

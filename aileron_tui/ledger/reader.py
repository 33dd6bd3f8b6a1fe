"""Reading the ledger. A reader has a connection of its own and neither blocks the writer nor waits for it."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

from aileron_tui.core.entry_chain import Entry, decode
from aileron_tui.core.formats import NewerFormat
from aileron_tui.core.jsontext import JsonError
from aileron_tui.ledger.connection import check_file, connect, lock_path
from aileron_tui.ledger.errors import LedgerDamaged, LedgerError, LedgerNewer, LedgerOlder, translated
from aileron_tui.ledger.head import Head
from aileron_tui.ledger.lock_file import noted_head
from aileron_tui.ledger.request_standing import RequestStanding, standing, unfinished
from aileron_tui.ledger.schema import OLDEST_READABLE, index_is_current, version

_BATCH: Final = 500

# Whatever a changed file may hold in place of bytes, bytes come out.
_ROWS: Final = (
    "SELECT seq, CAST(ifnull(data, '') AS BLOB), CAST(ifnull(hash, '') AS BLOB) FROM entries WHERE seq > ? ORDER BY seq"
)
_HEAD: Final = "SELECT seq, CAST(ifnull(hash, '') AS BLOB) FROM entries ORDER BY seq DESC LIMIT 1"
_ENTRY: Final = "SELECT CAST(ifnull(data, '') AS BLOB) FROM entries WHERE seq = ?"
_OF_REQUEST: Final = (
    "SELECT e.seq, CAST(ifnull(e.data, '') AS BLOB)"
    " FROM steps s JOIN entries e ON e.seq = s.seq WHERE s.request = ? ORDER BY s.seq"
)
_KEY_CHANGES: Final = (
    "SELECT e.seq, CAST(ifnull(e.data, '') AS BLOB) FROM keys k JOIN entries e ON e.seq = k.seq ORDER BY k.seq"
)

Stored = tuple[int, bytes, bytes]
"""An entry as it lies in the file: number, bytes, hash."""


class LedgerView:
    """What can be read through a connection. Use it from one thread at a time."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self.db = db
        self.path = path

    def head(self) -> Head:
        """The last entry."""
        return head_of(self.db, self.path)

    def rows(self, after: int = 0) -> Iterator[Stored]:
        """Every entry after a number as it is stored, in order, a few at a time."""
        with translating(self.path):
            yield from rows_after(self.db, after)

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """Every entry after a number, in order."""
        for seq, data, _ in self.rows(after):
            yield read_entry(self.path, seq, data)

    def entry(self, seq: int) -> Entry | None:
        """One entry."""
        with translating(self.path):
            row = self.db.execute(_ENTRY, (seq,)).fetchone()
        return read_entry(self.path, seq, row[0]) if row else None

    def of_request(self, request: str) -> tuple[Entry, ...]:
        """Every entry about a request, in order."""
        with translating(self.path):
            return tuple(read_entry(self.path, *row) for row in self.db.execute(_OF_REQUEST, (request,)))

    def standing(self, request: str) -> RequestStanding | None:
        """Where a request stands, or None if it was never made."""
        with translating(self.path):
            return standing(self.db, request)

    def unfinished(self, most: int) -> tuple[str, ...]:
        """The requests of daemons that were approved and of whose end nothing is known, newest first."""
        with translating(self.path):
            return unfinished(self.db, most)

    def key_changes(self) -> tuple[Entry, ...]:
        """Every entry that changes who may approve, in order."""
        with translating(self.path):
            return tuple(read_entry(self.path, *row) for row in self.db.execute(_KEY_CHANGES))

    def last_key_change(self) -> int:
        """The number of the last entry that changed who may approve, 0 if there is none."""
        with translating(self.path):
            return int(self.db.execute("SELECT coalesce(max(seq), 0) FROM keys").fetchone()[0])

    def nonce_used(self, nonce: str) -> bool:
        """Whether a recorded decision carries this nonce."""
        with translating(self.path):
            return self.db.execute("SELECT 1 FROM nonces WHERE nonce = ?", (nonce,)).fetchone() is not None


class LedgerReader(LedgerView):
    """A read-only view of one ledger, with a connection of its own.

    A `foreign` one is only looked at, so it may belong to anyone and lie open.
    """

    def __init__(self, path: Path, *, foreign: bool = False) -> None:
        if not foreign:
            check_file(path)
        super().__init__(connect(path, writing=False), path)
        try:
            found = version(self.db)
        except LedgerError:
            self.close()
            raise
        if found < OLDEST_READABLE:
            self.close()
            raise LedgerOlder(
                "the ledger was written by an older version",
                str(path),
                "`aileron-tui history rebuild` brings it up to date.",
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection."""
        self.db.close()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything read inside sees the same moment of the ledger."""
        with translating(self.path):
            self.db.execute("BEGIN")
            try:
                yield
            finally:
                self.db.execute("ROLLBACK")

    def noted(self) -> Head | None:
        """How far the ledger had come when it was last written, as noted beside it."""
        return noted_head(lock_path(self.path))

    def indexed(self) -> bool:
        """Whether the history and its search were made by this version."""
        with translating(self.path):
            return index_is_current(self.db)

    def check_pages(self) -> str:
        """What SQLite finds wrong with the file's pages, or nothing."""
        with translating(self.path):
            found = str(self.db.execute("PRAGMA quick_check(1)").fetchone()[0])
        return "" if found == "ok" else found


@contextlib.contextmanager
def translating(path: Path) -> Iterator[None]:
    """Turns SQLite's failures into the ledger's."""
    try:
        yield
    except sqlite3.Error as error:
        raise translated(error, path) from None
    except UnicodeEncodeError:
        raise LedgerError("the words to look for are not text", "they hold bytes that are not UTF-8") from None


def read_entry(path: Path, seq: int, data: bytes) -> Entry:
    """The entry in stored bytes."""
    try:
        return decode(data)
    except NewerFormat as error:
        raise LedgerNewer(error.title, f"{path}: entry {seq}", error.hint) from None
    except JsonError as error:
        raise LedgerDamaged(path, f"entry {seq} cannot be read: {error}") from None


def rows_after(db: sqlite3.Connection, seq: int) -> Iterator[Stored]:
    """The stored entries after a number."""
    cursor = db.execute(_ROWS, (seq,))
    while batch := cursor.fetchmany(_BATCH):
        yield from batch


def head_of(db: sqlite3.Connection, path: Path) -> Head:
    """The last entry of a connection's ledger."""
    with translating(path):
        row = db.execute(_HEAD).fetchone()
    return Head(row[0], f"sha256:{row[1].hex()}") if row else Head()

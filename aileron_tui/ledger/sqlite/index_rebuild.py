"""Rebuilds everything that is derived from the entries.

Each entry is processed by `request_index`, as when it was appended. But what changes again and again, the requests and
their words for the search, is collected in temporary tables of the same names, which hide those in the file. At the
end, each table in the file is filled at once, in its own order, and only then gets its indexes.
"""

import logging
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from aileron_tui.core.entry_chain import Entry, read_end
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.formats import NewerFormat
from aileron_tui.core.jsontext import JsonError
from aileron_tui.ledger.errors import EntryRefused, LedgerDamaged, LedgerNewer
from aileron_tui.ledger.recorded_decision import read_decision
from aileron_tui.ledger.sqlite import request_index
from aileron_tui.ledger.sqlite.reader import read_entry, rows_after
from aileron_tui.ledger.sqlite.schema import complete_index, reset_index

_PAUSE: Final = 5.0
_BATCH: Final = 5000
_EMPTY: Final = b'{"body":{},"kind":'
_CACHE_KIBIBYTES: Final = 16 * 1024
_ONLY_STEPS: Final = frozenset({EntryKind.PREVIEWED, EntryKind.DELIVERED, EntryKind.FELL_BACK, EntryKind.REFUSED})
"""Kinds of entries that change nothing but the list of steps."""

_WITHOUT_BODY: Final = frozenset({EntryKind.SHOWN, EntryKind.RUNNING, EntryKind.HANDED_OVER})
"""Kinds of entries of whose body the index takes nothing, so it is not read."""

_COLLECT: Final = (
    "CREATE TEMP TABLE steps (request TEXT, seq INTEGER)",
    "CREATE TEMP TABLE search (rowid INTEGER PRIMARY KEY, {words})",
)
_FILL: Final = (
    "INSERT INTO main.steps SELECT request, seq FROM temp.steps ORDER BY request, seq",
    "INSERT INTO main.requests SELECT * FROM temp.requests ORDER BY seq",
    "INSERT INTO main.search (rowid, {words}) SELECT rowid, {words} FROM temp.search ORDER BY rowid",
)
_COLLECTED: Final = ("steps", "requests", "search")

_log: Final = logging.getLogger(__name__)

Progress = Callable[[int, int], None]
"""Is called with the number of entries so far, and of all."""


class LoggedProgress:
    """Logs the progress every few seconds, for a gate that starts."""

    def __init__(self) -> None:
        self._next = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        if time.monotonic() >= self._next:
            _log.info("the search index is being rebuilt: %s of %s entries", f"{done:,}", f"{total:,}")
            self._next = time.monotonic() + _PAUSE


def rebuild(db: sqlite3.Connection, path: Path, progress: Progress = lambda *_: None) -> None:
    """Rebuilds the index in the open transaction, and commits it."""
    try:
        reset_index(db, complete=False)
        words = ", ".join(str(row[1]) for row in db.execute("PRAGMA main.table_info(search)"))
        _collect(db, words)
        _read(db, path, progress)
        for statement in _FILL:
            db.execute(statement.format(words=words))
        for name in _COLLECTED:
            db.execute(f"DROP TABLE temp.{name}")
        complete_index(db)
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise


def _collect(db: sqlite3.Connection, words: str) -> None:
    """Makes the temporary tables. That of the requests is the one in the file, with its constraints."""
    db.execute(f"PRAGMA temp.cache_size = -{_CACHE_KIBIBYTES}")
    (made,) = db.execute("SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = 'requests'").fetchone()
    db.execute(str(made).replace("CREATE TABLE requests", "CREATE TEMP TABLE requests", 1))
    for statement in _COLLECT:
        db.execute(statement.format(words=words))


def _read(db: sqlite3.Connection, path: Path, progress: Progress) -> None:
    total = int(db.execute("SELECT coalesce(max(seq), 0) FROM entries").fetchone()[0])
    steps: list[tuple[str, int]] = []
    progress(0, total)
    for seq, data, _ in rows_after(db, 0):
        try:
            kind, request, at = read_end(data) or ("", "", "")
            if kind and b'"envelope"' not in data and (kind in _WITHOUT_BODY or data.startswith(_EMPTY)):
                request_index.record(db, Entry(seq, at, kind, request, {}), None)
            elif kind not in _ONLY_STEPS:
                entry = read_entry(path, seq, data)
                request = entry.request
                request_index.record(db, entry, read_decision(entry))
            if request:
                steps.append((request, seq))
        except NewerFormat as error:
            raise LedgerNewer(error.title, f"{path}: entry {seq}", error.hint) from None
        except JsonError as error:
            raise LedgerDamaged(path, f"entry {seq}: the decision cannot be read: {error}") from None
        except (EntryRefused, ValueError) as error:  # a ValueError: not a valid time
            raise LedgerDamaged(path, f"entry {seq}: {error}") from None
        if not seq % _BATCH:
            request_index.list_steps(db, steps)
            steps.clear()
            progress(seq, total)
    request_index.list_steps(db, steps)

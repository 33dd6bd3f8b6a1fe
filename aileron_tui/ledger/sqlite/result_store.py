"""Results for agents, in SQLite. They survive a restart and are deleted some time after their request ended.

A result is stored here before the ledger records the end of the request. So a crash in between loses nothing: the
outcome is known, and the missing entry can be added.
"""

import contextlib
import sqlite3
import threading
from pathlib import Path
from typing import Final

from aileron_tui.core.jsontext import canonical, read_object
from aileron_tui.files.private_files import private_folder, write_private
from aileron_tui.ledger.errors import LedgerReplaced, ResultsUnusable
from aileron_tui.ledger.sqlite.file_identity import FileIdentity
from aileron_tui.ledger.store import StoredResult

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS answers (
    request   TEXT PRIMARY KEY,
    call      TEXT NOT NULL,
    ended     TEXT NOT NULL,
    body      BLOB NOT NULL,
    delivered INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID
"""
_FORGET_DELIVERED: Final = (
    "DELETE FROM answers WHERE request IN (SELECT request FROM answers WHERE delivered = 1 ORDER BY ended LIMIT 100)"
)
_LARGEST: Final = 256 * 1024 * 1024
"""Above this size, delivered results are deleted before their time, the oldest first."""

_INCREMENTAL: Final = 2
_INDEX: Final = "CREATE INDEX IF NOT EXISTS answers_by_call ON answers (call) WHERE delivered = 0"


class SqliteResults:
    """A ResultStore. Reads use their own connection and never wait for a write."""

    def __init__(self, path: Path) -> None:
        private_folder(path.parent)
        if not path.exists():
            write_private(path, b"")
        self._path = path
        self._files: FileIdentity | None = None
        self._guard = threading.Lock()
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._let_shrink()
        for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA secure_delete = ON"):
            self._do(statement)
        self._do(_SCHEMA)
        self._do(_INDEX)
        self._view = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._view.execute("PRAGMA query_only = ON")
        self._calls = self._undelivered_calls()
        self._files = FileIdentity(path)

    @property
    def problem(self) -> str:
        """Why results are lost that are stored now, because the file is not where it was; "" if it is."""
        try:
            self._check_files()
        except ResultsUnusable as error:
            return str(error)
        return ""

    def put(self, result: StoredResult, call: str, ended: str) -> None:
        """Stores a result. If the request already has one, the first is kept."""
        body = canonical(result.body)
        self._calls.add(call)
        self._do("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, 0)", result.request, call, ended, body)

    def find(self, request: str) -> StoredResult | None:
        """The result of a request, or None."""
        return self._one("SELECT request, body, delivered FROM answers WHERE request = ?", request)

    def undelivered(self, call: str) -> StoredResult | None:
        """The newest result of this call that has not been delivered yet, or None."""
        if call not in self._calls:  # almost no call has one, and every call asks
            return None
        query = (
            "SELECT request, body, delivered FROM answers WHERE call = ? AND delivered = 0 ORDER BY ended DESC LIMIT 1"
        )
        return self._one(query, call)

    def deliver(self, request: str) -> bool:
        """Marks a result as delivered. Returns False if it was delivered before."""
        return bool(self._do("UPDATE answers SET delivered = 1 WHERE request = ? AND delivered = 0", request))

    def forget(self, delivered: str, uncollected: str) -> None:
        """Deletes old results: delivered ones that ended before `delivered`, others that ended before `uncollected`."""
        statement = "DELETE FROM answers WHERE ended < CASE delivered WHEN 1 THEN ? ELSE ? END"
        self._do(statement, delivered, uncollected)
        while self._size() > _LARGEST and self._do(_FORGET_DELIVERED):
            pass
        self._shrink()
        self._calls = self._undelivered_calls()

    def check(self) -> None:
        """Checks that results can be stored, by writing to the file."""
        self._do("PRAGMA user_version = 1")

    def close(self) -> None:
        """Closes the connections."""
        with self._guard:
            self._view.close()
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            self._db.close()

    def _let_shrink(self) -> None:
        """Makes the file give back the space of deleted results, even if an older version created it."""
        if self._number("auto_vacuum") != _INCREMENTAL:
            self._do("PRAGMA auto_vacuum = INCREMENTAL")
            self._do("VACUUM")

    def _shrink(self) -> None:
        """Gives back the space of deleted results. `execute` would give back only one page."""
        with self._guard:
            try:
                self._db.executescript("PRAGMA incremental_vacuum;")
            except sqlite3.Error as error:
                raise self._failed(error) from None

    def _undelivered_calls(self) -> set[str]:
        """The calls with results that were not delivered. Only this process stores any, one at a time."""
        with self._guard:
            try:
                return {row[0] for row in self._db.execute("SELECT call FROM answers WHERE delivered = 0")}
            except sqlite3.Error as error:
                raise self._failed(error) from None

    def _size(self) -> int:
        return (self._number("page_count") - self._number("freelist_count")) * self._number("page_size")

    def _number(self, pragma: str) -> int:
        with self._guard:
            try:
                return int(self._db.execute(f"PRAGMA {pragma}").fetchone()[0])
            except sqlite3.Error as error:
                raise self._failed(error) from None

    def _one(self, query: str, *values: object) -> StoredResult | None:
        try:
            row = self._view.execute(query, values).fetchone()
        except sqlite3.Error as error:
            raise self._failed(error) from None
        return StoredResult(row[0], read_object(row[1]), bool(row[2])) if row else None

    def _do(self, statement: str, *values: object) -> int:
        with self._guard:
            self._check_files()
            try:
                changed = self._db.execute(statement, values).rowcount
            except sqlite3.Error as error:
                raise self._failed(error) from None
            if self._files:
                self._files.learn()
            return changed

    def _check_files(self) -> None:
        if self._files is None:
            return
        try:
            self._files.check()
        except LedgerReplaced as error:
            hint = "Move the file back, or restart the gate. Nothing can be approved before that."
            raise ResultsUnusable("this is no longer the file of results that was opened", error.detail, hint) from None

    def _failed(self, error: sqlite3.Error) -> ResultsUnusable:
        hint = "Check that there is free disk space and that the file is yours."
        return ResultsUnusable("results cannot be stored or read", f"{self._path}: {error}", hint)

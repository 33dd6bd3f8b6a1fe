"""Answers that agents have not fetched yet. They outlive a restart; once delivered and old they are forgotten.

An answer is written here before the ledger says that the request ended. So a crash in between loses nothing: the
outcome is known, and the missing entry can be made up for.
"""

import sqlite3
import threading
from pathlib import Path
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject, canonical, read_object
from aileron_tui.core.values import dataclass
from aileron_tui.files.private_files import private_folder, write_private

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS answers (
    request   TEXT PRIMARY KEY,
    call      TEXT NOT NULL,
    ended     TEXT NOT NULL,
    body      BLOB NOT NULL,
    delivered INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID
"""
_INDEX: Final = "CREATE INDEX IF NOT EXISTS answers_by_call ON answers (call) WHERE delivered = 0"


class OutboxError(AileronError):
    """Answers can be neither kept nor found."""


@dataclass(frozen=True, slots=True)
class StoredResult:
    """The end of a request as its agent is told it."""

    request: str
    body: JsonObject
    delivered: bool = False


class Outbox:
    """Writing is safe from several threads. Reading has a connection of its own and never waits for the disk's sync."""

    def __init__(self, path: Path) -> None:
        private_folder(path.parent)
        if not path.exists():
            write_private(path, b"")
        self._path = path
        self._guard = threading.Lock()
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA secure_delete = ON"):
            self._do(statement)
        self._do(_SCHEMA)
        self._do(_INDEX)
        self._view = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._view.execute("PRAGMA query_only = ON")

    def put(self, answer: StoredResult, call: str, ended: str) -> None:
        """Keeps an answer; the first one for a request stays."""
        body = canonical(answer.body)
        self._do("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, 0)", answer.request, call, ended, body)

    def find(self, request: str) -> StoredResult | None:
        """The answer to a request."""
        return self._one("SELECT request, body, delivered FROM answers WHERE request = ?", request)

    def undelivered(self, call: str) -> StoredResult | None:
        """The newest answer that this very call has not been given yet."""
        query = (
            "SELECT request, body, delivered FROM answers WHERE call = ? AND delivered = 0 ORDER BY ended DESC LIMIT 1"
        )
        return self._one(query, call)

    def deliver(self, request: str) -> bool:
        """Marks an answer as given; False if it was before."""
        return bool(self._do("UPDATE answers SET delivered = 1 WHERE request = ? AND delivered = 0", request))

    def forget(self, delivered: str, uncollected: str) -> None:
        """Drops answers to requests that ended before these times: given ones, and ones nobody came for."""
        statement = "DELETE FROM answers WHERE ended < CASE delivered WHEN 1 THEN ? ELSE ? END"
        self._do(statement, delivered, uncollected)

    def close(self) -> None:
        """Ends the connection."""
        with self._guard:
            self._view.close()
            self._db.close()

    def _one(self, query: str, *values: object) -> StoredResult | None:
        try:
            row = self._view.execute(query, values).fetchone()
        except sqlite3.Error as error:
            raise self._failed(error) from None
        return StoredResult(row[0], read_object(row[1]), bool(row[2])) if row else None

    def _do(self, statement: str, *values: object) -> int:
        with self._guard:
            try:
                return self._db.execute(statement, values).rowcount
            except sqlite3.Error as error:
                raise self._failed(error) from None

    def _failed(self, error: sqlite3.Error) -> OutboxError:
        return OutboxError("answers cannot be kept", f"{self._path}: {error}", "Make room on the disk.")

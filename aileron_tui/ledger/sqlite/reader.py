"""Reads a ledger in SQLite. A reader has its own connection; in WAL mode it never waits for the writer."""

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final, Self

from aileron_tui.core.call_kinds import NOT_RUN_HERE
from aileron_tui.core.entry_chain import Entry, decode
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.formats import NewerFormat
from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.core.jsontext import JsonError
from aileron_tui.core.states import RequestState
from aileron_tui.ledger.errors import EntryRefused, LedgerDamaged, LedgerError, LedgerNewer, LedgerOlder
from aileron_tui.ledger.file_names import lock_path
from aileron_tui.ledger.head import Head
from aileron_tui.ledger.history_filter import ALL, PAGE, HistoryFilter
from aileron_tui.ledger.lock_file import noted_head
from aileron_tui.ledger.request_status import RequestStanding
from aileron_tui.ledger.rule_calls import CallFilter, RecordedCall, RuleUse
from aileron_tui.ledger.sqlite import history_queries, rule_queries
from aileron_tui.ledger.sqlite.change_mark import ChangeMark
from aileron_tui.ledger.sqlite.connection import check_file, connect
from aileron_tui.ledger.sqlite.database_copy import copy_database
from aileron_tui.ledger.sqlite.failures import translating
from aileron_tui.ledger.sqlite.schema import CHANGE_LISTS, OLDEST_READABLE, adapt_older_index, index_is_current, version
from aileron_tui.ledger.store import Stored

_BATCH: Final = 500

# A tampered file may have values of other types here; the casts make sure that the queries return bytes.
_ROWS: Final = (
    "SELECT seq, CAST(ifnull(data, '') AS BLOB), CAST(ifnull(hash, '') AS BLOB) FROM entries WHERE seq > ? ORDER BY seq"
)
_HASHES: Final = "SELECT seq, CAST(ifnull(hash, '') AS BLOB) FROM entries WHERE seq > ? AND seq <= ? ORDER BY seq"
_CHANGE_NUMBERS: Final = f"{' UNION '.join(f'SELECT seq FROM {name}' for name in CHANGE_LISTS)} ORDER BY seq"  # noqa: S608  # names of tables only
_HEAD: Final = "SELECT seq, CAST(ifnull(hash, '') AS BLOB) FROM entries ORDER BY seq DESC LIMIT 1"
_ENTRY: Final = "SELECT CAST(ifnull(data, '') AS BLOB) FROM entries WHERE seq = ?"
_OF_REQUEST: Final = (
    "SELECT e.seq, CAST(ifnull(e.data, '') AS BLOB)"
    " FROM steps s JOIN entries e ON e.seq = s.seq WHERE s.request = ? ORDER BY s.seq"
)
_OF_REQUEST_WITH: Final = (
    "SELECT e.seq, CAST(ifnull(e.data, '') AS BLOB)"
    " FROM steps s JOIN entries e ON e.seq = s.seq WHERE s.request = ? AND instr(e.data, ?) ORDER BY s.seq"
)
_RECORDED_CALL: Final = (
    "SELECT e.seq, CAST(ifnull(e.data, '') AS BLOB) FROM steps s JOIN entries e ON e.seq = s.seq"
    " WHERE s.request = ? AND length(e.data) <= ? AND (instr(e.data, ?) OR instr(e.data, ?)) ORDER BY s.seq"
)
_CALL_MARKS: Final = (f'"kind":"{EntryKind.REQUESTED}"'.encode(), b'"preview":{')
_KEY_CHANGES: Final = (
    "SELECT e.seq, CAST(ifnull(e.data, '') AS BLOB) FROM keys k JOIN entries e ON e.seq = k.seq ORDER BY k.seq"
)
_AGENT_CHANGES: Final = (
    "SELECT e.seq, CAST(ifnull(e.data, '') AS BLOB) FROM agents a JOIN entries e ON e.seq = a.seq ORDER BY a.seq"
)
_PACKAGE_CHANGES: Final = (
    "SELECT e.seq, CAST(ifnull(e.data, '') AS BLOB) FROM packages p JOIN entries e ON e.seq = p.seq ORDER BY p.seq"
)
_BINDING_CHANGES: Final = (
    "SELECT e.seq, CAST(ifnull(e.data, '') AS BLOB) FROM bindings b JOIN entries e ON e.seq = b.seq ORDER BY b.seq"
)
_PUBLISHER_CHANGES: Final = (
    "SELECT e.seq, CAST(ifnull(e.data, '') AS BLOB) FROM publishers p JOIN entries e ON e.seq = p.seq ORDER BY p.seq"
)
_RULE_CHANGES: Final = (
    "SELECT e.seq, CAST(ifnull(e.data, '') AS BLOB) FROM rules r JOIN entries e ON e.seq = r.seq"
    " WHERE r.seq > ? ORDER BY r.seq"
)
_CHANGES_OF_RULE: Final = (
    "SELECT e.seq, CAST(ifnull(e.data, '') AS BLOB) FROM rules r JOIN entries e ON e.seq = r.seq"
    " WHERE r.id = ? AND r.seq > ? ORDER BY r.seq"
)

_NEWEST: Final = "SELECT seq, CAST(ifnull(data, '') AS BLOB) FROM entries ORDER BY seq DESC"
_NEWEST_WITH: Final = "SELECT seq, CAST(ifnull(data, '') AS BLOB) FROM entries WHERE instr(data, ?) ORDER BY seq DESC"
_NEWEST_OF_CONNECTOR: Final = (
    "SELECT seq, CAST(ifnull(data, '') AS BLOB) FROM steps JOIN entries USING (seq)"
    " WHERE request IN (SELECT id FROM requests WHERE connector = ?) ORDER BY seq DESC"
)
_COUNT_OF_CONNECTOR: Final = "SELECT count(*) FROM (SELECT 1 FROM requests WHERE connector = ? LIMIT ?)"
_STANDING: Final = "SELECT seq, outcome, daemon, told, surface, edited, kind FROM requests WHERE id = ?"
_UNFINISHED: Final = "SELECT id FROM requests WHERE outcome IN (?, ?) AND daemon != '' ORDER BY seq DESC LIMIT ?"
_POSITION: Final = "SELECT seq FROM entries WHERE seq >= ? AND seq < ? AND +hash = ? ORDER BY seq DESC LIMIT 1"
_SHOWN: Final = "SELECT seq, outcome FROM requests WHERE id = ?"

_LAST_CHANGES: Final = (
    "SELECT (SELECT coalesce(max(seq), 0) FROM keys), (SELECT coalesce(max(seq), 0) FROM agents),"
    " (SELECT coalesce(max(seq), 0) FROM rules), (SELECT coalesce(max(seq), 0) FROM packages),"
    " (SELECT coalesce(max(seq), 0) FROM bindings)"
)

_FEW: Final = 1000
_TRUSTED_SECONDS: Final = 1.0
_REBUILD: Final = "Rebuild it from the entries with `aileron-tui history rebuild`."


class SqliteView:
    """A LedgerView over a connection."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self.db = db
        self.path = path

    def head(self) -> Head:
        """The number and hash of the last entry."""
        return head_of(self.db, self.path)

    def rows(self, after: int = 0) -> Iterator[Stored]:
        """Yields every stored entry after number `after`, in order, a few at a time."""
        with translating(self.path):
            yield from rows_after(self.db, after)

    def hashes(self, after: int, last: int) -> Iterator[tuple[int, str]]:
        """Yields the number and the stored hash of every entry after number `after` up to number `last`, in order."""
        with translating(self.path):
            for seq, digest in self.db.execute(_HASHES, (after, last)):
                yield seq, f"sha256:{digest.hex()}"

    def change_numbers(self) -> tuple[int, ...]:
        """The numbers of all entries that change keys, agents, rules, packages or publishers, in order."""
        with translating(self.path):
            return tuple(row[0] for row in self.db.execute(_CHANGE_NUMBERS))

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """Yields every entry after number `after`, in order."""
        for seq, data, _ in self.rows(after):
            yield read_entry(self.path, seq, data)

    def newest_entries(self, connector: str = "", text: str = "") -> Iterator[Entry]:
        """Yields entries, newest first; leaves out unwanted ones where SQLite can filter faster than the caller."""
        with translating(self.path):
            if connector and self._is_rare(connector):
                rows = self.db.execute(_NEWEST_OF_CONNECTOR, (connector,))
            elif text:
                rows = self.db.execute(_NEWEST_WITH, (text.encode(),))
            else:
                rows = self.db.execute(_NEWEST)
            for seq, data in rows:
                yield read_entry(self.path, seq, data)

    def _is_rare(self, connector: str) -> bool:
        """Whether it is faster to look up the requests of a connector than to scan the newest entries."""
        return int(self.db.execute(_COUNT_OF_CONNECTOR, (connector, _FEW + 1)).fetchone()[0]) <= _FEW

    def entry(self, seq: int) -> Entry | None:
        """The entry with this number, or None."""
        with translating(self.path):
            row = self.db.execute(_ENTRY, (seq,)).fetchone()
        return read_entry(self.path, seq, row[0]) if row else None

    def of_request(self, request: str) -> tuple[Entry, ...]:
        """Every entry about a request, in order."""
        with translating(self.path):
            return tuple(read_entry(self.path, *row) for row in self.db.execute(_OF_REQUEST, (request,)))

    def extensions(self, request: str) -> tuple[Entry, ...]:
        """Every entry that extended the deadline of a request, in order. The text may occur in other entries too."""
        with translating(self.path):
            rows = self.db.execute(_OF_REQUEST_WITH, (request, EntryKind.EXTENDED.encode()))
            found = (read_entry(self.path, *row) for row in rows)
            return tuple(entry for entry in found if entry.kind == EntryKind.EXTENDED)

    def recorded_call(self, request: str, largest: int) -> tuple[Entry, ...]:
        """The entries with the inputs and the kept previews of a request, in order, without those that are larger."""
        with translating(self.path):
            found = self.db.execute(_RECORDED_CALL, (request, largest, *_CALL_MARKS))
            return tuple(read_entry(self.path, *row) for row in found)

    def standing(self, request: str) -> RequestStanding | None:
        """The state of a request according to the index, or None if it was never made."""
        with translating(self.path):
            row = self.db.execute(_STANDING, (request,)).fetchone()
        if row is None:
            return None
        try:
            seq, state, daemon, told, surface, edited, kind = row
            is_tool = kind in NOT_RUN_HERE and not daemon
            return RequestStanding(seq, RequestState(state), bool(daemon), bool(told), surface, bool(edited), is_tool)
        except ValueError:
            raise EntryRefused("the history of this request is damaged", hint=_REBUILD) from None

    def position(self, digest: str, oldest: int, before: int) -> int | None:
        """The number of the newest entry in a range that has this hash, or None."""
        raw = bytes.fromhex(digest.removeprefix("sha256:"))
        with translating(self.path):
            row = self.db.execute(_POSITION, (oldest, before, raw)).fetchone()
        return row[0] if row else None

    def unfinished(self, most: int) -> tuple[str, ...]:
        """The ids of daemons' requests that were approved and whose end is not known, newest first."""
        with translating(self.path):
            rows = self.db.execute(_UNFINISHED, (RequestState.APPROVED, RequestState.RUNNING, most))
            return tuple(row[0] for row in rows)

    def key_changes(self) -> tuple[Entry, ...]:
        """Every entry that changes who may approve, in order."""
        with translating(self.path):
            return tuple(_read_again(self.path, *row) for row in self.db.execute(_KEY_CHANGES))

    def last_key_change(self) -> int:
        """The number of the last entry that changed who may approve, 0 if there is none."""
        with translating(self.path):
            return int(self.db.execute("SELECT coalesce(max(seq), 0) FROM keys").fetchone()[0])

    def agent_changes(self) -> tuple[Entry, ...]:
        """Every entry that adds, rotates or revokes an agent, in order."""
        with translating(self.path):
            return tuple(read_entry(self.path, *row) for row in self.db.execute(_AGENT_CHANGES))

    def last_agent_change(self) -> int:
        """The number of the last entry that added, rotated or revoked an agent, 0 if there is none."""
        with translating(self.path):
            return int(self.db.execute("SELECT coalesce(max(seq), 0) FROM agents").fetchone()[0])

    def package_changes(self) -> tuple[Entry, ...]:
        """Every entry that adds, removes or declines packages, in order."""
        with translating(self.path):
            return tuple(read_entry(self.path, *row) for row in self.db.execute(_PACKAGE_CHANGES))

    def last_package_change(self) -> int:
        """The number of the last entry that added, removed or declined packages, 0 if there is none."""
        with translating(self.path):
            return int(self.db.execute("SELECT coalesce(max(seq), 0) FROM packages").fetchone()[0])

    def binding_changes(self) -> tuple[Entry, ...]:
        """Every entry that makes, ends or declines a binding, in order."""
        with translating(self.path):
            return tuple(read_entry(self.path, *row) for row in self.db.execute(_BINDING_CHANGES))

    def last_binding_change(self) -> int:
        """The number of the last entry that made, ended or declined a binding, 0 if there is none."""
        with translating(self.path):
            return int(self.db.execute("SELECT coalesce(max(seq), 0) FROM bindings").fetchone()[0])

    def publisher_changes(self) -> tuple[Entry, ...]:
        """Every entry that changes the trusted publishers, in order."""
        with translating(self.path):
            return tuple(read_entry(self.path, *row) for row in self.db.execute(_PUBLISHER_CHANGES))

    def rule_changes(self, id_: str = "", after: int = 0) -> tuple[Entry, ...]:
        """Every entry after number `after` that makes or ends a rule, or this rule, in order."""
        with translating(self.path):
            rows = self.db.execute(_CHANGES_OF_RULE, (id_, after)) if id_ else self.db.execute(_RULE_CHANGES, (after,))
            return tuple(_read_again(self.path, *row) for row in rows)

    def last_rule_change(self) -> int:
        """The number of the last entry that made or ended a rule, 0 if there is none."""
        with translating(self.path):
            return int(self.db.execute("SELECT coalesce(max(seq), 0) FROM rules").fetchone()[0])

    def calls(self, wanted: CallFilter) -> Iterator[RecordedCall]:
        """The past calls that may match, newest first."""
        with translating(self.path):
            yield from rule_queries.calls(self.db, wanted)

    def count_calls(self, wanted: CallFilter) -> int:
        """How many calls of the agent to the action there were since the time."""
        with translating(self.path):
            return rule_queries.count_calls(self.db, wanted)

    def rule_uses(self) -> Mapping[str, RuleUse]:
        """How often each rule answered a request, by its id."""
        with translating(self.path):
            return rule_queries.uses(self.db)

    def nonce_used(self, nonce: str) -> bool:
        """Whether a recorded decision has this nonce."""
        with translating(self.path):
            return self.db.execute("SELECT 1 FROM nonces WHERE nonce = ?", (nonce,)).fetchone() is not None

    def counter(self, keyid: str) -> int:
        """The last counter of a security key, 0 if it has none."""
        with translating(self.path):
            row = self.db.execute("SELECT counter FROM counters WHERE key = ?", (keyid,)).fetchone()
        return int(row[0]) if row else 0

    def page(
        self, wanted: HistoryFilter = ALL, *, before: int | None = None, limit: int = PAGE
    ) -> tuple[HistoryRecord, ...]:
        """The newest requests that match, or those older than the one with number `before`."""
        with translating(self.path):
            return history_queries.page(self.db, wanted, before=before, limit=limit)

    def every(self, wanted: HistoryFilter = ALL) -> Iterator[HistoryRecord]:
        """All requests that match, newest first."""
        with translating(self.path):
            yield from history_queries.every(self.db, wanted)

    def find(self, request: str) -> HistoryRecord | None:
        """The request with this id, or None."""
        with translating(self.path):
            return history_queries.find(self.db, request)

    def shown(self, request: str) -> tuple[int, str] | None:
        """What the history list says about a request: the number of the entry that made it, and its outcome."""
        with translating(self.path):
            row: tuple[int, str] | None = self.db.execute(_SHOWN, (request,)).fetchone()
        return row


class SqliteReader(SqliteView):
    """A LedgerReader with its own connection.

    A `foreign` ledger is only read, so it may belong to any user and be readable by others.
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
                "Bring it up to date with `aileron-tui history rebuild`.",
            )
        with translating(path):
            adapt_older_index(self.db)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        self.db.close()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """All reads inside this context see the ledger as it is at the same moment."""
        with translating(self.path):
            self.db.execute("BEGIN")
            try:
                yield
            finally:
                self.db.execute("ROLLBACK")

    def noted(self) -> Head | None:
        """The head that was noted in the lock file when the ledger was last written."""
        return noted_head(lock_path(self.path))

    def indexed(self) -> bool:
        """Whether the index for history and search was built by this version of the program."""
        with translating(self.path):
            return index_is_current(self.db)

    def copy_to(self, path: Path, progress: Callable[[int, int], None] = lambda *_: None) -> None:
        """Copies the ledger as it is at one moment to a new private file."""
        with self.snapshot():
            copy_database(self.db, path, progress)

    def check_storage(self) -> str:
        """What SQLite finds wrong with the pages of its file, or ""."""
        with translating(self.path):
            found = str(self.db.execute("PRAGMA quick_check(1)").fetchone()[0])
        return "" if found == "ok" else found


class WatchingReader(SqliteReader):
    """A reader that is asked for every call who may do what. It reads that again only if something was committed.

    What is not seen that way, such as a file that can no longer be read, is noticed after a second at the latest.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._mark = ChangeMark(path)
        self._seen: tuple[bytes, float, tuple[int, ...]] | None = None

    def close(self) -> None:
        """Closes the connection."""
        super().close()
        self._mark.close()

    def last_key_change(self) -> int:
        """The number of the last entry that changed who may approve, 0 if there is none."""
        return self._last_changes()[0]

    def last_agent_change(self) -> int:
        """The number of the last entry that added, rotated or revoked an agent, 0 if there is none."""
        return self._last_changes()[1]

    def last_rule_change(self) -> int:
        """The number of the last entry that made or ended a rule, 0 if there is none."""
        return self._last_changes()[2]

    def last_package_change(self) -> int:
        """The number of the last entry that added, removed or declined packages, 0 if there is none."""
        return self._last_changes()[3]

    def last_binding_change(self) -> int:
        """The number of the last entry that made, ended or declined a binding, 0 if there is none."""
        return self._last_changes()[4]

    def _last_changes(self) -> tuple[int, ...]:
        """The mark is taken first: what is committed during the read changes it, so that the next call reads again."""
        mark, now = self._mark.value(), time.monotonic()
        if not mark or self._seen is None or mark != self._seen[0] or now >= self._seen[1]:
            self._seen = None
            with translating(self.path):
                self._seen = (mark, now + _TRUSTED_SECONDS, self.db.execute(_LAST_CHANGES).fetchone())
        return self._seen[2]


def read_entry(path: Path, seq: int, data: bytes) -> Entry:
    """Parses a stored entry. Raises LedgerNewer or LedgerDamaged."""
    try:
        return decode(data)
    except NewerFormat as error:
        raise LedgerNewer(error.title, f"{path}: entry {seq}", error.hint) from None
    except JsonError as error:
        raise LedgerDamaged(path, f"entry {seq} cannot be read: {error}") from None


@lru_cache(maxsize=256)
def _read_again(path: Path, seq: int, data: bytes) -> Entry:
    """Like `read_entry`, for the few entries that are read for every call that a rule answers."""
    return read_entry(path, seq, data)


def rows_after(db: sqlite3.Connection, seq: int) -> Iterator[Stored]:
    """Yields the stored entries after number `seq`."""
    cursor = db.execute(_ROWS, (seq,))
    while batch := cursor.fetchmany(_BATCH):
        yield from batch


def head_of(db: sqlite3.Connection, path: Path) -> Head:
    """The number and hash of the last entry in a database."""
    with translating(path):
        row = db.execute(_HEAD).fetchone()
    return Head(row[0], f"sha256:{row[1].hex()}") if row else Head()


def hash_of(db: sqlite3.Connection, seq: int) -> str:
    """The hash of the entry with this number, or ""."""
    row = db.execute("SELECT CAST(ifnull(hash, '') AS BLOB) FROM entries WHERE seq = ?", (seq,)).fetchone()
    return f"sha256:{row[0].hex()}" if row else ""

"""Removes bodies from the ledger, a few at a time, each time with a record of it (`core/reduction.py`).

The entries are read in order, from where everything before was done. A request is reduced as a whole, when it has ended
and none of its entries is younger than the limit; a call that needed no approval, entry by entry.

What follows a younger entry is younger too, even if its time says otherwise, because the clock may have been behind for
a while. Only times that are still to come keep nothing that follows them.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import field
from pathlib import Path
from typing import Final

from aileron_tui.core.authenticator_data import recorded_counter
from aileron_tui.core.call_kinds import is_ungated_id
from aileron_tui.core.entry_chain import Entry, encode, header, read_end
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.reduction import LEFT, Reduction, in_runs
from aileron_tui.core.states import RequestState
from aileron_tui.core.values import dataclass
from aileron_tui.ledger.entry_rules import ungated
from aileron_tui.ledger.reducible import OLDEST_VERSION, says_something
from aileron_tui.ledger.sqlite.failures import translating
from aileron_tui.ledger.sqlite.history_queries import find
from aileron_tui.ledger.sqlite.reader import SqliteReader, SqliteView, read_entry
from aileron_tui.ledger.store import ReductionStep

MOST_READ: Final = 100
"""How many entries are read in one transaction, so that no call waits for long."""

SOON_REWRITTEN: Final = 64 * 1024 * 1024
"""Up to this size, the whole file is rewritten to erase what was removed. SQLite clears what is deleted, but when it
moves rows to another page, it leaves copies of them in the unused part of the old one."""

MERGED_PAGES: Final = 200
"""How many pages of the search index are rewritten in one transaction."""

MOST_BYTES: Final = 2 * 1024 * 1024
"""How many bytes of bodies are removed in one transaction, or those of one request."""

_NEXT: Final = "SELECT seq, CAST(ifnull(data, '') AS BLOB) FROM entries WHERE seq > ? ORDER BY seq LIMIT ?"
_MERGE: Final = "INSERT INTO search (search, rank) VALUES ('merge', ?)"
_SOMETHING: Final = 2  # the statement itself counts as a change
_DONE: Final = "SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'reduced'"


@dataclass(slots=True)
class Removal:
    """The bodies to remove in one transaction. Everything up to entry `done` is done for good, `read` was looked at."""

    before: str
    read: int
    done: int
    complete: bool = False
    waits: bool = False
    size: int = 0
    headers: dict[int, bytes] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    requests: list[HistoryRecord] = field(default_factory=list)

    def take(self, entries: Sequence[Entry]) -> None:
        """Adds the entries whose bodies say anything."""
        for entry in entries:
            if says_something(entry):
                data = encode(entry)
                self.headers[entry.seq] = header(data)
                self.size += len(data)
                if counted := recorded_counter(entry):
                    self.counters[counted[0]] = max(counted[1], self.counters.get(counted[0], 0))

    @property
    def step(self) -> ReductionStep:
        """What was done, for those who asked for it."""
        return ReductionStep(len(self.requests), len(self.headers), self.size, 0 if self.complete else self.read)

    def record(self, keep: str) -> JsonObject:
        """The body of the entry that records the reduction."""
        left = tuple(map(_left, self.requests))
        return Reduction(keep, self.before, in_runs(sorted(self.headers)), left, self.counters).body()


def choose(db: sqlite3.Connection, path: Path, before: str, now: str, after: int = 0) -> Removal:
    """The next bodies to remove: those of entries after number `after`, 0 for the first that is not done."""
    done = _done(db)
    removal = Removal(before, max(after, done), done)
    removal.waits = after > done
    view, last = SqliteView(db, path), removal.read + MOST_READ
    with closing(db.execute(_NEXT, (removal.read, MOST_READ))) as rows:  # not all at once: entries can be large
        for seq, data in rows:
            kind, request, time = read_end(data) or _end(path, seq, data)
            if before <= time <= now:
                break
            entry = read_entry(path, seq, data) if kind in _LOOKED_AT and time < before else None
            if time > now or not _look_at(view, removal, entry, request):
                removal.waits = True
            removal.read = seq
            if not removal.waits:
                removal.done = seq
            if seq >= last or removal.size >= MOST_BYTES:
                return removal
    removal.complete = True
    return removal


def remove(db: sqlite3.Connection, removal: Removal) -> None:
    """Replaces the bodies by their digests, in the transaction that records it."""
    removed = ((data, seq) for seq, data in removal.headers.items())
    db.executemany("UPDATE entries SET data = ? WHERE seq = ?", removed)
    db.execute("INSERT OR REPLACE INTO meta VALUES ('unerased', '')")
    note_done(db, removal)


def note_done(db: sqlite3.Connection, removal: Removal) -> None:
    """Remembers where the next reduction begins."""
    if removal.done > _done(db):
        db.execute("INSERT OR REPLACE INTO meta VALUES ('reduced', ?)", (str(removal.done),))


_LOOKED_AT: Final = frozenset(
    {
        EntryKind.REQUESTED,
        EntryKind.RUNNING,
        EntryKind.EXECUTED,
        EntryKind.FAILED,
        EntryKind.INTERRUPTED,
        EntryKind.UNKNOWN,
    }
)


def _look_at(view: SqliteView, removal: Removal, entry: Entry | None, request: str) -> bool:
    """Takes what is to be removed because of an entry. Returns False if that must wait until its request has ended."""
    if entry is None or entry.removed:
        return True
    if entry.kind != EntryKind.REQUESTED:
        if ungated(entry) and is_ungated_id(request) and find(view.db, request) is None:
            removal.take((entry,))
        return True
    record = find(view.db, request)
    if record is None or record.daemon or record.seq != entry.seq:
        return True
    entries = view.of_request(request)
    if any(each.version < OLDEST_VERSION for each in entries):
        return True
    if not RequestState(record.outcome).settled or any(each.time >= removal.before for each in entries):
        return False
    removal.take(entries)
    removal.requests.append(record)
    return True


def _left(record: HistoryRecord) -> JsonObject:
    values = ((name, getattr(record, name)) for name in LEFT)
    return {"id": record.id} | {name: value for name, value in values if value not in ("", None, False)}


def _end(path: Path, seq: int, data: bytes) -> tuple[str, str, str]:
    entry = read_entry(path, seq, data)
    return entry.kind, entry.request, entry.time


def _done(db: sqlite3.Connection) -> int:
    row = db.execute(_DONE).fetchone()
    return int(row[0]) if row else 0


def planned(path: Path, before: str, now: str) -> Iterator[ReductionStep]:
    """What a reduction would remove, without removing it."""
    with SqliteReader(path) as reader, translating(path):
        after, complete = 0, False
        while not complete:
            removal = choose(reader.db, path, before, now, after)
            yield removal.step
            after, complete = removal.read, removal.complete


def erase_words(db: sqlite3.Connection, *, go_on: bool) -> bool:
    """Rewrites a part of the search index, which has deleted words until then. Returns whether there is more to do.

    All parts together are what FTS5's `optimize` does, but nobody has to wait for all of it.
    """
    before = db.total_changes
    db.execute(_MERGE, (MERGED_PAGES if go_on else -MERGED_PAGES,))
    return db.total_changes - before >= _SOMETHING

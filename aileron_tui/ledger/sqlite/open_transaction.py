"""The ledger inside the transaction that appends entries to it.

Every statement of SQLite costs about as much as the rest of the work for an entry. So entries are written together at
the end of the transaction, and a new request once with what becomes of it in the same transaction. What the checks of
later entries read is either known here, or written first.
"""

import sqlite3
from pathlib import Path
from typing import Final

from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.key_change import KEY_CHANGES
from aileron_tui.core.rule_change import RULE_CHANGES
from aileron_tui.ledger.recorded_decision import Decision
from aileron_tui.ledger.request_status import RequestStanding
from aileron_tui.ledger.sqlite import request_index
from aileron_tui.ledger.sqlite.reader import SqliteView
from aileron_tui.ledger.sqlite.request_index import NewRequest

_MOST_KNOWN: Final = 256


class KnownChanges:
    """The changes of keys and rules that a writer has read from its ledger.

    They stay true until an entry changes a key or a rule. Their owner clears them if another process appended anything,
    which it knows from the head of the ledger, inside the transaction that uses them.
    """

    def __init__(self) -> None:
        self.keys: tuple[Entry, ...] | None = None
        self.rules: dict[str, tuple[Entry, ...]] = {}

    def clear(self) -> None:
        """Forgets everything."""
        self.keys = None
        self.rules.clear()


class OpenTransaction:
    """What the checks of entries read in one transaction, and what it has appended so far."""

    def __init__(self, db: sqlite3.Connection, path: Path, changes: KnownChanges) -> None:
        self._db = db
        self._view = SqliteView(db, path)
        self._changes = changes
        self._changed = False
        self._entries: list[tuple[int, bytes, bytes]] = []
        self._steps: list[tuple[str, int]] = []
        self._new: dict[str, NewRequest] = {}
        self._made: dict[int, Entry] = {}
        self._unextended: set[str] = set()

    def append(self, entry: Entry, data: bytes, digest: bytes, decision: Decision | None) -> None:
        """Appends an entry that was admitted."""
        self._entries.append((entry.seq, data, digest))
        if entry.request:
            self._steps.append((entry.request, entry.seq))
        if entry.kind in KEY_CHANGES or entry.kind in RULE_CHANGES:
            self._changed = True
            self._changes.clear()
        if entry.kind == EntryKind.REQUESTED:
            self._made[entry.seq] = entry
            self._unextended.add(entry.request)
        elif entry.kind == EntryKind.EXTENDED:
            self._unextended.discard(entry.request)
        self._index(entry, decision)

    def write(self) -> None:
        """Writes what was not written yet."""
        if self._entries:
            self._db.executemany("INSERT INTO entries VALUES (?, ?, ?)", self._entries)
            self._entries.clear()
        if self._steps:
            request_index.list_steps(self._db, self._steps)
            self._steps.clear()
        for request in self._new.values():
            request.write(self._db)
        self._new.clear()

    def _index(self, entry: Entry, decision: Decision | None) -> None:
        if "envelope" not in entry.body:
            if entry.kind == EntryKind.REQUESTED:
                self._new[entry.request] = NewRequest(entry)
                return
            if (new := self._new.get(entry.request)) and new.takes(entry):
                return
        if entry.request in self._new:
            self.write()
        request_index.record(self._db, entry, decision)

    def standing(self, request: str) -> RequestStanding | None:
        """The state of a request, or None if it was never made."""
        new = self._new.get(request)
        return new.standing() if new else self._view.standing(request)

    def entry(self, seq: int) -> Entry | None:
        """The entry with this number, or None."""
        return self._made.get(seq) or self._written().entry(seq)

    def extensions(self, request: str) -> tuple[Entry, ...]:
        """Every entry that extended the deadline of a request, in order."""
        return () if request in self._unextended else self._written().extensions(request)

    def position(self, digest: str, oldest: int, before: int) -> int | None:
        """The number of the newest entry in a range that has this hash, or None."""
        return self._written().position(digest, oldest, before)

    def agent_changes(self) -> tuple[Entry, ...]:
        """Every entry that adds, rotates or revokes an agent, in order."""
        return self._written().agent_changes()

    def package_changes(self) -> tuple[Entry, ...]:
        """Every entry that adds, removes or declines packages, in order."""
        return self._written().package_changes()

    def binding_changes(self) -> tuple[Entry, ...]:
        """Every entry that makes, ends or declines a binding, in order."""
        return self._written().binding_changes()

    def publisher_changes(self) -> tuple[Entry, ...]:
        """Every entry that changes the trusted publishers, in order."""
        return self._written().publisher_changes()

    def counter(self, keyid: str) -> int:
        """The last counter of a security key, 0 if it has none."""
        return self._view.counter(keyid)

    def key_changes(self) -> tuple[Entry, ...]:
        """Every entry that changes who may approve, in order."""
        if self._changed:
            return self._written().key_changes()
        if self._changes.keys is None:
            self._changes.keys = self._written().key_changes()
        return self._changes.keys

    def rule_changes(self, id_: str = "", after: int = 0) -> tuple[Entry, ...]:
        """Every entry after number `after` that makes or ends a rule, or this rule, in order."""
        if self._changed or after or not id_:
            return self._written().rule_changes(id_, after)
        known = self._changes.rules
        if (found := known.get(id_)) is None:
            if len(known) >= _MOST_KNOWN:
                known.clear()
            found = known[id_] = self._written().rule_changes(id_)
        return found

    def _written(self) -> SqliteView:
        """The ledger with everything that was appended so far."""
        self.write()
        return self._view

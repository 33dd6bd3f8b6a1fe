"""Writes the ledger. Every entry is on disk before it is acknowledged, and all entries form one unbroken chain.

The gate holds the lock and writes as long as it runs. A guest, a short command that runs beside the gate, may also
record changes of keys, agents, rules and the configuration, because it must be possible to revoke a key or an agent, or
to end a rule, at any moment. That is safe because every append reads the head inside its own transaction, and only one
transaction can write at a time.

The ledger of a daemon has no gate. Any number of consoles share it, each may record any entry, and none can become the
only writer while another has it open.
"""

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

from aileron_tui.core.agent_change import AGENT_CHANGES
from aileron_tui.core.binding_change import BINDING_CHANGES
from aileron_tui.core.entry_chain import ChainWalker, Damage, Entry, encode, link
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.package_change import PACKAGE_CHANGES
from aileron_tui.core.publisher_change import PUBLISHER_CHANGES
from aileron_tui.core.rule_change import RULE_CHANGES
from aileron_tui.core.times import moment, timestamp, utc_now
from aileron_tui.files.boot_clock import BootClock
from aileron_tui.files.boot_clock import boot_clock as machine_boot_clock
from aileron_tui.files.private_files import private_folder, write_private
from aileron_tui.ledger import entry_rules
from aileron_tui.ledger.errors import (
    EntryRefused,
    EntryTooLarge,
    LedgerDamaged,
    LedgerHeld,
    LedgerNewer,
    LedgerUnusable,
)
from aileron_tui.ledger.file_names import lock_path
from aileron_tui.ledger.head import Head
from aileron_tui.ledger.lock_file import LockFile
from aileron_tui.ledger.recorded_decision import decision_of
from aileron_tui.ledger.sqlite import body_removal
from aileron_tui.ledger.sqlite.change_mark import close_deleted
from aileron_tui.ledger.sqlite.connection import BUSY_MILLISECONDS, check_file, connect, is_busy
from aileron_tui.ledger.sqlite.failures import translated, translating
from aileron_tui.ledger.sqlite.file_identity import FileIdentity, replaced
from aileron_tui.ledger.sqlite.index_rebuild import LoggedProgress, rebuild
from aileron_tui.ledger.sqlite.open_transaction import KnownChanges, OpenTransaction
from aileron_tui.ledger.sqlite.reader import SqliteView, hash_of, head_of, read_entry, rows_after
from aileron_tui.ledger.sqlite.schema import index_is_current, migrate, reset_index, version
from aileron_tui.ledger.store import LARGEST_ENTRY, LOCK_SECONDS, EntryDraft, LedgerView, ReductionStep

FOR_GUESTS: Final = frozenset(
    {
        EntryKind.KEY_ENROLLED,
        EntryKind.KEY_REVOKED,
        EntryKind.CONFIG_CHANGED,
        *AGENT_CHANGES,
        *RULE_CHANGES,
        *PACKAGE_CHANGES,
        *BINDING_CHANGES,
        *PUBLISHER_CHANGES,
    }
)

_BUSY_SECONDS: Final = 10.0
_PAUSE: Final = 0.002


class SqliteLedger:
    """The writer. Safe to use from several threads; every append is one durable transaction."""

    _files: FileIdentity
    _recorded: Head
    _latest: datetime

    def __init__(  # noqa: PLR0913  # every option has a default that suits a gate
        self,
        path: Path,
        *,
        role: str = "gate",
        guest: bool = False,
        shared: bool = False,
        wait: float = LOCK_SECONDS,
        clock: Callable[[], datetime] = utc_now,
        boot_clock: BootClock | None = None,
    ) -> None:
        private_folder(path.parent)
        self.path = path
        self._clock = clock
        self._boot_clock = boot_clock or machine_boot_clock()
        self._guest = guest
        self._shared = shared
        self._guard = threading.RLock()
        self._changes = KnownChanges()
        with ExitStack() as opened:
            self._holder = opened.enter_context(closing(LockFile(lock_path(path), role)))
            if shared:
                self._share(wait)
            elif not guest or not path.exists():
                self._holder.hold(wait)
            self._open()
            if guest:
                self._holder.release()
            if guest or shared:
                self._db.execute("PRAGMA busy_timeout = 0")
            if guest:
                self._db.execute("PRAGMA wal_autocheckpoint = 0")  # so that only the gate changes the file itself
            if shared:
                self._note_shared()
            elif not guest:
                self._holder.note(self.head)
            opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def head(self) -> Head:
        """The last entry that is on disk, not one that another thread is still recording."""
        with self._guard:
            return head_of(self._db, self.path)

    @property
    def latest(self) -> datetime:
        """The latest time that this process has seen on an entry or on its own clock."""
        return self._latest

    def append(self, kind: EntryKind, body: JsonObject, request: str = "") -> Head:
        """Appends one entry. When this returns, the entry is on disk."""
        return self.append_all([EntryDraft(kind, body, request)])

    def append_all(self, drafts: Sequence[EntryDraft]) -> Head:
        """Appends several entries in order, all or none."""
        return self.append_given(lambda _: drafts)

    def append_given(self, choose: Callable[[LedgerView], Sequence[EntryDraft]]) -> Head:
        """Appends the entries that `choose` returns for the current ledger. No other entry can come in between."""
        with self._guard, translating(self.path):
            return self._commit(choose)

    def reduce(self, before: str, keep: str, after: int = 0) -> ReductionStep:
        """Removes the bodies of some requests that ended before a time, and records it, in one transaction."""
        with self._guard, translating(self.path):
            removal = body_removal.choose(self._db, self.path, before, timestamp(self._clock()), after)
            if removal.headers:
                draft = EntryDraft(EntryKind.REDUCED, removal.record(keep))
                self._commit(lambda _: (draft,), lambda: body_removal.remove(self._db, removal))
            elif removal.done > after:
                self._commit(lambda _: (), lambda: body_removal.note_done(self._db, removal))
            return removal.step

    def erase(self, *, go_on: bool = False, whole: bool = False) -> bool:
        """Rewrites a part of the search index. Returns whether there is more to do.

        At the end, it rewrites the whole file if that is asked for or does not take long, and empties the log.
        """
        with self._guard, translating(self.path):
            self._begin()
            try:
                self._check_unchanged(head_of(self._db, self.path))
                more = body_removal.erase_words(self._db, go_on=go_on)
                self._db.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise
            self._files.learn()
            if not more:
                self._check_files()
                rewritten = whole or self.path.stat().st_size <= body_removal.SOON_REWRITTEN
                if rewritten:
                    self._db.execute("VACUUM")
                    self._files.learn()
                if self._empty_log() and rewritten:
                    self._db.execute("DELETE FROM meta WHERE name = 'unerased'")
                    self._files.learn()
            return more

    @property
    def unerased(self) -> bool:
        """Whether something was removed that may still be in the files."""
        with self._guard, translating(self.path):
            return self._db.execute("SELECT 1 FROM meta WHERE name = 'unerased'").fetchone() is not None

    def _empty_log(self) -> bool:
        """Moves the log into the file and cuts it off. Returns False if somebody reads it just now."""
        self._check_files()
        self._db.execute("PRAGMA busy_timeout = 0")
        try:
            return int(self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]) == 0
        finally:
            self._db.execute(f"PRAGMA busy_timeout = {0 if self._guest or self._shared else BUSY_MILLISECONDS}")
            self._files.learn()

    def check(self) -> None:
        """Checks that the ledger can be written, by writing a value beside the entries."""
        with self._guard, translating(self.path):
            self._begin()
            try:
                self._check_unchanged(head_of(self._db, self.path))
                self._write_check()
                self._db.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise

    def check_file(self, *, content: bool = False) -> None:
        """Checks that the files are still in their place, and what is in them. Raises LedgerReplaced."""
        self._files.check(content=content)
        self._holder.check()

    def close(self) -> None:
        """Closes the ledger, so that another process may write to it. Closing twice does no harm.

        The log is emptied into the file first. While another process has the ledger open, its part of the log stays.
        """
        with self._guard:
            if self._holder.is_open and not self._guest:
                with contextlib.suppress(sqlite3.Error, AileronError):
                    self._check_files()
                    self._db.execute("PRAGMA busy_timeout = 1000")
                    self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            self._db.close()
            close_deleted()
            self._holder.close()

    def rebuild_index(self, progress: Callable[[int, int], None] = lambda *_: None) -> None:
        """Rebuilds everything that is derived from the entries. Tells how many entries are done, and of how many."""
        with self._guard, translating(self.path):
            self._begin()
            self._changes.clear()
            rebuild(self._db, self.path, progress)

    def _commit(
        self, choose: Callable[[LedgerView], Sequence[EntryDraft]], then: Callable[[], None] = lambda: None
    ) -> Head:
        self._begin()
        try:
            before = head_of(self._db, self.path)
            self._check_unchanged(before)
            if before != self._recorded:  # another process has appended something
                self._changes.clear()
            head = self._extend(before, choose(SqliteView(self._db, self.path)))
            then()
            self._end_transaction()
        except BaseException:
            self._roll_back()
            raise
        self._recorded = head
        self._files.learn()
        # The entries are on disk, so nothing that goes wrong from here on may say that they are not.
        with contextlib.suppress(Exception):
            if self._shared:
                self._note_shared()
            else:
                self._holder.note(head, guest=self._guest)
        return head

    def _end_transaction(self) -> None:
        """Commits the entries of a transaction. If that fails, makes sure that they do not appear after a crash.

        If only the sync of the log failed, the log contains the whole transaction, and the next process to open the
        ledger would take it as committed, although everyone was told that it was not. The next transaction overwrites
        it, so one is written at once, even if it cannot be synced either.
        """
        try:
            self._db.execute("COMMIT")
        except sqlite3.Error:
            self._roll_back()
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("BEGIN IMMEDIATE")
                self._write_check()
                self._db.execute("COMMIT")
            raise

    def _write_check(self) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES ('checked', ?)", (timestamp(self._clock()),))

    def _roll_back(self) -> None:
        """Ends a transaction that failed. If even that fails, the next transaction tries again."""
        if self._db.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")

    def _check_unchanged(self, head: Head) -> None:
        """Checks that this is still the file that was opened and that it has everything this process recorded.

        Another process may have appended entries, but it cannot have removed any.
        """
        self._check_files()
        last = self._recorded
        if head.seq < last.seq:
            raise replaced(self.path, f"{self.path} ends at entry {head.seq}, but {last.seq} was recorded")
        if last.seq and head != last and hash_of(self._db, last.seq) != last.hash:
            raise replaced(self.path, f"entry {last.seq} of {self.path} is not the one that was recorded")

    def _check_files(self) -> None:
        self.check_file(content=not self._guest and not self._shared)

    def _note_shared(self) -> None:
        """Notes the head while no other process can append. If another process is writing, it notes a later head."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if is_busy(error):
                return
            raise
        try:
            self._holder.note(head_of(self._db, self.path))
        finally:
            self._db.execute("ROLLBACK")

    def _begin(self) -> None:
        """Begins a transaction. With several writers it retries often, because SQLite itself waits too long."""
        deadline = time.monotonic() + _BUSY_SECONDS
        self._roll_back()
        while True:
            try:
                self._db.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if not ((self._guest or self._shared) and is_busy(error) and time.monotonic() < deadline):
                    raise
                time.sleep(_PAUSE)
            else:
                return

    def _extend(self, head: Head, drafts: Sequence[EntryDraft]) -> Head:
        seq, previous = head.seq, head.hash
        time_now = self._clock()
        self._latest = max(self._latest, time_now)
        now, transaction = timestamp(time_now), OpenTransaction(self._db, self.path, self._changes)
        for draft in drafts:
            if self._guest and draft.kind not in FOR_GUESTS:
                raise EntryRefused("only the process that holds the ledger can record this", draft.kind)
            seq += 1
            entry = Entry(seq, now, draft.kind, draft.request, draft.body)
            data = encode(entry)
            if len(data) > LARGEST_ENTRY:
                limit = f"{len(data):,} bytes, but at most {LARGEST_ENTRY:,} are allowed"
                raise EntryTooLarge(f"an entry of kind {draft.kind} is too large", limit, "Send less data at once.")
            decision = decision_of(entry)
            entry_rules.admit(transaction, entry, decision, self._latest, self._boot_clock)
            previous = link(previous, data)
            transaction.append(entry, data, bytes.fromhex(previous[7:]), decision)
        transaction.write()
        return Head(seq, previous)

    def _share(self, wait: float) -> None:
        """Opens a shared ledger. The first process creates it while the others wait."""
        deadline = time.monotonic() + wait
        while not self.path.exists():
            try:
                self._holder.hold(0.0)
            except LedgerHeld:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(_PAUSE)
                continue
            try:
                self._make()
            finally:
                self._holder.release()
        self._holder.hold(max(0.0, deadline - time.monotonic()), shared=True)

    def _make(self) -> None:
        if self.path.exists():
            return
        if noted := self._holder.noted():
            raise LedgerDamaged(self.path, f"the file is missing; its last entry was {noted.seq}")
        _create(self.path)

    def _open(self) -> None:
        noted = self._holder.noted()
        self._make()
        check_file(self.path)
        self._db = connect(self.path, writing=True)
        try:
            version(self._db)
            with translating(self.path):
                migrate(self._db)
                _check_end(self._db, self.path, noted)
                if not index_is_current(self._db):
                    self._begin()
                    rebuild(self._db, self.path, LoggedProgress())
                self._recorded = head_of(self._db, self.path)
                self._latest = _time_of_last(self._db, self.path, self._recorded)
            self._files = FileIdentity(self.path)
        except BaseException:
            self._db.close()
            raise


def set_aside(path: Path, *, wait: float = LOCK_SECONDS, clock: Callable[[], datetime] = utc_now) -> Path:
    """Moves an unusable ledger into a folder beside it and starts a new one. Returns the folder."""
    private_folder(path.parent)
    holder = LockFile(lock_path(path), "history set-aside")
    try:
        holder.hold(wait)
        noted = holder.noted()
        stamp = clock().strftime("%Y%m%dT%H%M%S.%fZ")
        folder = private_folder(path.parent / f"set-aside-{stamp}")
        try:
            for part in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
                if part.exists() or part.is_symlink():
                    part.rename(folder / part.name)
        except OSError as error:
            raise LedgerUnusable("the ledger cannot be moved", f"{path}: {error.strerror}") from None
        holder.forget()
    finally:
        holder.close()
    with SqliteLedger(path, role="history set-aside", wait=wait, clock=clock) as ledger:
        old = {"old_head": str(noted)} if noted else {}
        ledger.append(EntryKind.CONFIG_CHANGED, {"change": "the ledger before this one was set aside", **old})
    return folder


def _create(path: Path) -> None:
    """Creates an empty ledger under another name and then renames it, so that no process opens an unfinished one."""
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)
    write_private(draft, b"")
    try:
        db = connect(draft, writing=True)
        try:
            migrate(db)
            db.execute("BEGIN IMMEDIATE")
            reset_index(db)
            db.execute("COMMIT")
            db.execute("PRAGMA journal_mode = DELETE")
        finally:
            db.close()
        write_private(path, draft.read_bytes())
    except sqlite3.Error as error:
        raise translated(error, path) from None
    finally:
        draft.unlink(missing_ok=True)


def _check_end(db: sqlite3.Connection, path: Path, noted: Head | None) -> None:
    """Checks that no acknowledged entry is missing at the end, and that the last entry has the right hash."""
    head = head_of(db, path)
    if noted and noted.seq > head.seq:
        raise LedgerDamaged(path, f"entries {head.seq + 1} to {noted.seq} were recorded but are missing")
    if noted and noted.seq == head.seq and noted.hash != head.hash:
        raise LedgerDamaged(path, f"entry {head.seq} is not the one that was recorded")
    walker = ChainWalker()
    for seq, data, digest in rows_after(db, head.seq - 2):
        if seq == head.seq and (fault := walker.check(seq, data, f"sha256:{digest.hex()}")):
            if fault.damage is Damage.NEWER:
                raise LedgerNewer(fault.detail, f"{path}: entry {seq}", "Update aileron-tui.")
            raise LedgerDamaged(path, f"entry {seq} was changed after it was written")
        walker = ChainWalker(f"sha256:{digest.hex()}", seq)


def _time_of_last(db: sqlite3.Connection, path: Path, head: Head) -> datetime:
    """The time of the last entry, or the earliest possible time."""
    for seq, data, _ in rows_after(db, head.seq - 1):
        with contextlib.suppress(ValueError):
            return moment(read_entry(path, seq, data).time)
    return datetime.min.replace(tzinfo=UTC)

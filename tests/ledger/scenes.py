"""A ledger in which things happen, for tests to look at and to damage."""

import contextlib
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from aileron_tui.core.decision import Statement, Verdict
from aileron_tui.core.entry_chain import Entry, decode, encode, link
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.formats import VERSION
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.times import timestamp
from aileron_tui.files.boot_clock import BootClock
from aileron_tui.ledger import entry_rules, parallel_check, quick_check
from aileron_tui.ledger.entry_check import CheckReport, verify
from aileron_tui.ledger.full_check import audit
from aileron_tui.ledger.head import Head
from aileron_tui.ledger.quick_check import QuickCheck
from aileron_tui.ledger.range_check import Progress, Range, RangeResult, check_range
from aileron_tui.ledger.sqlite.reader import SqliteReader
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from aileron_tui.ledger.store import EntryDraft
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from aileron_tui.signing.recorded_signers import RecordedSigners
from tests.stepping_clock import SteppingClock

START = datetime(2026, 5, 12, 10, 0, tzinfo=UTC)
DIGEST = "sha256:" + "d1" * 32
LIFE = 6
"""Entries of an approved request: made, preview, shown, decided, started, executed."""


class Scene:
    """A ledger with one enrolled key and the steps of requests as methods."""

    def __init__(self, path: Path) -> None:
        self.clock = SteppingClock(START)
        self.ledger = SqliteLedger(path, clock=self.clock)
        self.key = for_this_run("laptop")
        self.enrol(self.key)

    def enrol(self, key: UnlockedKey) -> Head:
        return self.ledger.append(EntryKind.KEY_ENROLLED, Approvers().enrolment(key.name, key.public))

    def revoke(self, key: UnlockedKey) -> Head:
        body: JsonObject = {"name": key.name, "fingerprint": key.public.fingerprint}
        return self.ledger.append(EntryKind.KEY_REVOKED, body)

    def ask(self, request: str, action: str = "send-draft", agent: str = "claude", **args: str) -> Head:
        body: JsonObject = {
            "action": action,
            "connector": {"name": "local://samples/mail", "version": "1.0.0", "hash": "sha256:" + "c0" * 32},
            "agent": agent,
            "says": "",
            "risk": "high",
            "args": {"draft_id": "r-12345", **args},
        }
        return self.ledger.append_all([EntryDraft(EntryKind.REQUESTED, body, request)])

    def ask_daemon(self, request: str, **body: Json) -> Head:
        """A request that a daemon carries out itself."""
        about: JsonObject = {"action": "send-draft", "daemon": "daemon-1", "args": {"draft_id": "r-12345"}}
        return self.ledger.append(EntryKind.REQUESTED, about | body, request)

    def tell(self, request: str, outcome: str, **body: Json) -> Head:
        """What its daemon says of it."""
        return self.ledger.append(EntryKind.TOLD, {"outcome": outcome, **body}, request)

    def show(self, request: str, surface: str = "tui") -> Head:
        self.ledger.append(EntryKind.PREVIEWED, {"digest": DIGEST}, request)
        return self.ledger.append(EntryKind.SHOWN, {"surface": surface, "digest": DIGEST}, request)

    def statement(self, request: str, verdict: Verdict = Verdict.APPROVE, **changes: str) -> Statement:
        now = self.clock.now
        fields = {
            "request": request,
            "instance": "gate-1",
            "action": "send-draft",
            "connector": "sha256:" + "c0" * 32,
            "digest": DIGEST,
            "reason": "",
            "surface": "tui",
            "time": timestamp(now),
            "expires": timestamp(now + timedelta(minutes=1)),
            "nonce": secrets.token_hex(16),
            "head": self.ledger.head.hash,
        }
        return Statement(edits=None, verdict=verdict, version=VERSION, **(fields | changes))

    def decide(
        self,
        request: str,
        verdict: Verdict = Verdict.APPROVE,
        key: UnlockedKey | None = None,
        edits: JsonObject | None = None,
        **changes: str,
    ) -> Head:
        statement = replace(self.statement(request, verdict, **changes), edits=edits)
        envelope = sign(statement, key or self.key)
        return self.ledger.append(EntryKind.DECIDED, {"envelope": envelope.fields()}, request)

    def forge(self, kind: EntryKind, request: str, body: JsonObject) -> Head:
        """Appends what the rules forbid, as a program without them would."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(entry_rules, "admit", lambda *_: None)
            return self.ledger.append(kind, body, request)

    def forged_decision(self, request: str, statement: Statement, key: UnlockedKey | None = None) -> Head:
        return self.forge(EntryKind.DECIDED, request, {"envelope": sign(statement, key or self.key).fields()})

    def step(self, kind: EntryKind, request: str, **body: str) -> Head:
        return self.ledger.append(kind, dict(body), request)

    def approved(self, request: str, **args: str) -> Head:
        """A whole life: asked, previewed, shown, approved, started, executed."""
        self.ask(request, **args)
        self.show(request)
        self.decide(request)
        self.step(EntryKind.RUNNING, request, digest=DIGEST)
        return self.step(EntryKind.EXECUTED, request)

    def denied(self, request: str, reason: str = "wrong recipient", **args: str) -> Head:
        self.ask(request, **args)
        self.show(request)
        return self.decide(request, Verdict.DENY, reason=reason)

    def reopen(self, boot_clock: BootClock | None = None) -> None:
        """Closes the ledger and opens it again, as a restart does."""
        self.ledger.close()
        self.ledger = SqliteLedger(self.ledger.path, clock=self.clock, boot_clock=boot_clock)

    def close(self) -> Path:
        self.ledger.close()
        return self.ledger.path


def check(path: Path, *expected: Head, noted: bool = False) -> CheckReport:
    """Verifies a ledger's entries; with `noted` all that the command looks at, first the head noted beside it.

    A verification in ranges must find the same.
    """
    with SqliteReader(path) as reader:
        whole = audit(reader, RecordedSigners(), expected)
        assert check_in_ranges(reader, 4, expected) == whole
        return whole if noted else verify(reader.rows(), RecordedSigners(), expected, reader.shown)


def check_in_ranges(reader: SqliteReader, length: int, expected: Sequence[Head] = ()) -> CheckReport:
    """Verifies a ledger in ranges of this many entries, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel_check, "SMALLEST", length)
        patch.setattr(quick_check, "check_ranges", _check_ranges)
        return QuickCheck(RecordedSigners, most=1000).run(reader, expected)[0]


def _check_ranges(
    path: Path, make_signers: type[RecordedSigners], wanted: Sequence[Range], progress: Progress
) -> Iterator[RangeResult]:
    for range_ in wanted:
        with SqliteReader(path) as reader:
            yield check_range(reader, make_signers(), range_, progress)


def age_index(path: Path) -> None:
    """Makes the history of a ledger what the version before edits were in it had written."""
    db = sqlite3.connect(path)
    db.executescript("""
        ALTER TABLE requests DROP COLUMN edited;
        ALTER TABLE requests DROP COLUMN kind;
        DROP TABLE search;
        CREATE VIRTUAL TABLE search USING fts5 (action, connector, agent, inputs, reason, outcome);
        UPDATE meta SET value = '2' WHERE name = 'index';
    """)
    db.close()


@contextlib.contextmanager
def tampering(path: Path) -> Iterator[sqlite3.Connection]:
    """The file as an attacker with all rights has it: no triggers."""
    db = sqlite3.connect(path)
    db.execute("PRAGMA ignore_check_constraints = ON")
    for name in ("entries_stay", "entries_keep", "entries_follow"):
        db.execute(f"DROP TRIGGER {name}")
    yield db
    db.commit()
    db.close()


def change_entry(db: sqlite3.Connection, seq: int, change: Callable[[Entry], Entry]) -> None:
    """Rewrites an entry and every hash from it on, so that the chain is whole again."""
    rows = db.execute("SELECT seq, data FROM entries WHERE seq >= ? ORDER BY seq", (seq,)).fetchall()
    before = db.execute("SELECT hash FROM entries WHERE seq = ?", (seq - 1,)).fetchone()
    previous = f"sha256:{before[0].hex()}" if before else "sha256:" + "0" * 64
    for number, data in rows:
        new = encode(change(decode(data))) if number == seq else data
        previous = link(previous, new)
        db.execute("UPDATE entries SET data = ?, hash = ? WHERE seq = ?", (new, bytes.fromhex(previous[7:]), number))

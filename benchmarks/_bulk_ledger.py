"""Ledgers of approved requests, written fast."""

import json
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from aileron_tui.core.decision import PAYLOAD_TYPE, Statement, Verdict
from aileron_tui.core.entry_chain import link
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.formats import VERSION
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.times import moment
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from aileron_tui.ledger.store import EntryDraft
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.envelope import Envelope, sign
from aileron_tui.signing.key_store import UnlockedKey

TIME: Final = "2026-05-12T10:15:30.000000Z"
HASH: Final = "sha256:" + "c0" * 32
LIFE: Final = 6
"""How many entries an approved request has."""


def checked(good: bool) -> None:
    """Raises an error if what is measured did not do what it should."""
    if not good:
        raise AssertionError("the measurement itself is wrong")


def request_entries(
    request: str, number: int, head: Callable[[], str], key: UnlockedKey | None = None
) -> Iterator[EntryDraft]:
    """Yields the entries of one approved request."""
    args: JsonObject = {"draft_id": f"r-{number}", "to": f"person{number % 977}@example.com"}
    connector: JsonObject = {"name": "local://samples/mail", "version": "1.0.0", "hash": HASH}
    made: JsonObject = {"action": "send-draft", "connector": connector, "agent": "claude", "risk": "high", "args": args}
    yield EntryDraft(EntryKind.REQUESTED, made, request)
    yield EntryDraft(EntryKind.PREVIEWED, {"digest": HASH}, request)
    yield EntryDraft(EntryKind.SHOWN, {"digest": HASH, "surface": "tui"}, request)
    statement = _statement(request, head())
    envelope = sign(statement, key) if key else Envelope(statement.payload(), PAYLOAD_TYPE, "SHA256:nobody", bytes(64))
    yield EntryDraft(EntryKind.DECIDED, {"envelope": envelope.fields()}, request)
    yield EntryDraft(EntryKind.RUNNING, {"digest": HASH}, request)
    yield EntryDraft(EntryKind.EXECUTED, {}, request)


def _statement(request: str, head: str) -> Statement:
    return Statement(
        request=request,
        instance="gate-1",
        action="send-draft",
        connector=HASH,
        digest=HASH,
        verdict=Verdict.APPROVE,
        edits=None,
        reason="",
        surface="tui",
        time=TIME,
        expires="2026-05-12T10:16:30.000000Z",
        nonce=secrets.token_hex(16),
        head=head,
    )


def bulk(path: Path, count: int, key: UnlockedKey) -> float:
    """Writes entries without the sync and the rules of the writer. Returns how long it builds its index, in seconds."""
    with SqliteLedger(path, clock=lambda: moment(TIME)) as ledger:
        ledger.append(EntryKind.KEY_ENROLLED, Approvers().enrolment("laptop", key.public))
        seq, head = ledger.head.seq, ledger.head.hash
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA synchronous = OFF")
    ((trigger,),) = db.execute("SELECT sql FROM sqlite_master WHERE name = 'entries_follow'").fetchall()
    db.execute("BEGIN")
    db.execute("DROP TRIGGER entries_follow")
    db.executemany("INSERT INTO entries VALUES (?, ?, ?)", _rows(seq, head, count, key))
    db.execute(trigger)
    db.execute("COMMIT")
    db.close()
    with SqliteLedger(path) as ledger:
        ledger._db.execute("PRAGMA synchronous = OFF")
        began = time.perf_counter()
        ledger.rebuild_index()
        return time.perf_counter() - began


def _rows(seq: int, head: str, count: int, key: UnlockedKey) -> Iterator[tuple[int, bytes, bytes]]:
    while seq < count:
        for draft in request_entries(f"act-{seq}", seq, lambda: head, key):  # noqa: B023  # the current head is meant
            seq += 1
            fields: JsonObject = {"seq": seq, "time": TIME, "kind": draft.kind, "request": draft.request}
            # For these values, the fast writer of the standard library produces the canonical form.
            text = json.dumps(fields | {"body": draft.body, "version": VERSION}, sort_keys=True, separators=(",", ":"))
            head = link(head, text.encode())
            yield seq, text.encode(), bytes.fromhex(head[7:])

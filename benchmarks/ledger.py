"""The ledger, compared with bare SQLite and bare hashing."""

import hashlib
import json
import secrets
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from aileron_tui.core.decision import PAYLOAD_TYPE, pae
from aileron_tui.core.entry_chain import Entry, encode
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.times import moment
from aileron_tui.ledger.entry_check import verify
from aileron_tui.ledger.sqlite.reader import SqliteReader
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.envelope import read_envelope
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from aileron_tui.signing.recorded_signers import RecordedSigners
from benchmarks._bulk_ledger import LIFE, TIME, checked, request_entries
from benchmarks._result import Result, against, duration


def measure() -> Iterator[Result]:
    """Each measurement."""
    with tempfile.TemporaryDirectory() as folder:
        yield _append(Path(folder))
        yield _verify(Path(folder))


def _append(folder: Path) -> Result:
    """Durable appends, compared with bare inserts of the same bytes."""
    bare = sqlite3.connect(folder / "bare.db", isolation_level=None)
    bare.execute("PRAGMA journal_mode = WAL")
    bare.execute("PRAGMA synchronous = FULL")
    bare.execute("PRAGMA wal_autocheckpoint = 4000")
    bare.execute("CREATE TABLE entries (seq INTEGER PRIMARY KEY, data BLOB NOT NULL, hash BLOB NOT NULL)")
    ours: list[float] = []
    theirs: list[float] = []
    seq = 0
    with SqliteLedger(folder / "append" / "ledger.db", clock=lambda: moment(TIME)) as ledger:
        for number in range(200):
            for draft in request_entries(f"act-{secrets.token_hex(8)}", number, lambda: ledger.head.hash):
                seq += 1
                data = encode(Entry(seq, TIME, draft.kind, draft.request, draft.body))
                start = time.perf_counter()
                bare.execute("BEGIN IMMEDIATE")
                bare.execute("INSERT INTO entries VALUES (?, ?, ?)", (seq, data, bytes(32)))
                bare.execute("COMMIT")
                middle = time.perf_counter()
                ledger.append(draft.kind, draft.body, draft.request)
                ours.append(time.perf_counter() - middle)
                theirs.append(middle - start)
    bare.close()
    mine, base = statistics.fmean(ours), statistics.fmean(theirs)
    return against("ledger append, full sync / a bare insert of the same bytes", mine, base, 1.5)


def _verify(folder: Path) -> Result:
    """Verification, compared with reading, hashing and checking the same signatures.

    Both use one thread, so their processor time is compared, which does not depend on the load of the machine.
    """
    path, key = folder / "verify" / "ledger.db", for_this_run("laptop")
    requests = 3_000
    with SqliteLedger(path, clock=lambda: moment(TIME)) as ledger:
        ledger.append(EntryKind.KEY_ENROLLED, Approvers().enrolment("laptop", key.public))
        _fill(ledger, requests, key)
    mine: list[float] = []
    base: list[float] = []
    with SqliteReader(path) as reader:
        for _ in range(7):
            mine.append(_busy(lambda: checked(verify(reader.rows(), RecordedSigners()).fault is None)))
            base.append(_busy(lambda: _bare(reader, key)))
    ratios = [one / other for one, other in zip(mine, base, strict=True)]
    rate = (requests * LIFE + 1) / statistics.median(mine)
    spread = f"rounds from {min(ratios):.2f} to {max(ratios):.2f}"
    note = f"{rate:,.0f} entries a second of processor time, with {requests:,} signatures; {spread}"
    ours, bare = (duration(statistics.median(times)) for times in (mine, base))
    return Result("ledger verify / hashing and signatures", statistics.median(ratios), 3.0, ours, bare, note)


def _fill(ledger: SqliteLedger, requests: int, key: UnlockedKey) -> None:
    ledger._db.execute("PRAGMA synchronous = OFF")
    for number in range(requests):
        for draft in request_entries(f"act-{number}", number, lambda: ledger.head.hash, key):
            ledger.append(draft.kind, draft.body, draft.request)


def _bare(reader: SqliteReader, key: UnlockedKey) -> None:
    previous = bytes(32)
    for _, data, stored in reader.rows():
        start, end = len(b'{"body":'), data.rfind(b',"kind":"')
        body = hashlib.sha256(data[start:end]).hexdigest().encode()
        header = b'%b"sha256:%b"%b' % (data[:start], body, data[end:])
        digest = hashlib.sha256(b"aileron ledger v2\n" + previous + header).digest()
        checked(digest == stored)
        if b'"kind":"decision.made"' in data:
            envelope = read_envelope(json.loads(data)["body"]["envelope"])
            checked(key.public.accepts(envelope.signature, pae(PAYLOAD_TYPE, envelope.payload)))
        previous = digest


def _busy(work: Callable[[], None]) -> float:
    """Returns the processor time of a function in seconds."""
    start = time.process_time()
    work()
    return time.process_time() - start

"""The ledger, compared with bare SQLite and bare hashing; and a million entries compared with a thousand."""

import hashlib
import json
import multiprocessing
import resource
import secrets
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from aileron_tui.core.decision import PAYLOAD_TYPE, Statement, Verdict, pae, read_statement
from aileron_tui.core.entry_chain import GENESIS, Damage, Entry, encode, link
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.times import moment
from aileron_tui.ledger.entry_check import verify
from aileron_tui.ledger.history_filter import HistoryFilter
from aileron_tui.ledger.sqlite.reader import SqliteReader
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from aileron_tui.ledger.store import EntryDraft
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.envelope import Envelope, read_envelope, sign
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from aileron_tui.signing.recorded_signers import RecordedSigners
from benchmarks._result import Result

TIME = "2026-05-12T10:15:30.000000Z"
HASH = "sha256:" + "c0" * 32
LIFE = 6
SMALL, LARGE = 1_000, 1_000_000


def measure() -> list[Result]:
    """Each measurement as name, ratio, limit and a note."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        return [_append(here), _verify(here), *_growth(here)]


def _request_entries(
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
    with SqliteLedger(folder / "append" / "ledger.db") as ledger:
        for number in range(200):
            for draft in _request_entries(f"act-{secrets.token_hex(8)}", number, lambda: ledger.head.hash):
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
    return "ledger append, full sync", mine / base, 1.5, f"{mine * 1e6:.0f} µs against {base * 1e6:.0f} µs bare"


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
            mine.append(_busy(lambda: _checked(verify(reader.rows(), RecordedSigners()).fault is None)))
            base.append(_busy(lambda: _bare(reader, key)))
    ratios = [one / other for one, other in zip(mine, base, strict=True)]
    rate = (requests * LIFE + 1) / statistics.median(mine)
    spread = f"rounds from {min(ratios):.2f} to {max(ratios):.2f}"
    note = f"{rate:,.0f} entries per CPU second with {requests:,} signatures; {spread}"
    return "ledger verify / hashing and signatures", statistics.median(ratios), 3.0, note


def _fill(ledger: SqliteLedger, requests: int, key: UnlockedKey) -> None:
    ledger._db.execute("PRAGMA synchronous = OFF")
    for number in range(requests):
        for draft in _request_entries(f"act-{number}", number, lambda: ledger.head.hash, key):
            ledger.append(draft.kind, draft.body, draft.request)


def _bare(reader: SqliteReader, key: UnlockedKey) -> None:
    previous = bytes(32)
    for _, data, stored in reader.rows():
        digest = hashlib.sha256(b"aileron ledger v1\n" + previous + data).digest()
        _checked(digest == stored)
        if b'"kind":"decision.made"' in data:
            envelope = read_envelope(json.loads(data)["body"]["envelope"])
            _checked(key.public.accepts(envelope.signature, pae(PAYLOAD_TYPE, envelope.payload)))
        previous = digest


def _checked(good: bool) -> None:
    if not good:
        raise AssertionError("the measurement itself is wrong")


def _growth(folder: Path) -> Iterator[Result]:
    """History, search, and the memory of verification, at a thousand and at a million entries."""
    paths = {count: folder / str(count) / "ledger.db" for count in (SMALL, LARGE)}
    built = time.perf_counter()
    for count, path in paths.items():
        _bulk(path, count)
    built = time.perf_counter() - built
    looks: dict[str, HistoryFilter] = {
        "history, first page": HistoryFilter(),
        "history, search for one": HistoryFilter(text="r-600"),
        "history, search for many": HistoryFilter(text="send-draft"),
        "history, filtered": HistoryFilter(outcomes=("executed",), actions=("send-draft",)),
    }
    for name, wanted in looks.items():
        small, large = (_median(partial(_look, path, wanted)) for path in paths.values())
        note = f"{large * 1e3:.2f} ms at {LARGE:,} entries, {small * 1e3:.2f} ms at {SMALL:,}"
        yield name, large / small, 2.0, note
    small, large = (_memory(path) for path in paths.values())
    note = f"{large:.0f} MiB at {LARGE:,} entries, {small:.0f} MiB at {SMALL:,}; built in {built:.0f} s"
    yield "ledger verify, memory", large / small, 1.5, note


def _look(path: Path, wanted: HistoryFilter) -> None:
    with SqliteReader(path) as reader:
        _checked(len(reader.page(wanted)) > 0)


def _bulk(path: Path, count: int) -> None:
    """Writes entries without the sync and the rules of the writer, then lets it build its index."""
    SqliteLedger(path).close()
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA synchronous = OFF")
    db.execute("DROP TRIGGER entries_follow")
    db.execute("BEGIN")
    db.executemany("INSERT INTO entries VALUES (?, ?, ?)", _rows(count))
    db.execute("COMMIT")
    db.close()
    with SqliteLedger(path) as ledger:
        ledger._db.execute("PRAGMA synchronous = OFF")
        ledger.rebuild_index()


def _rows(count: int) -> Iterator[tuple[int, bytes, bytes]]:
    seq, head = 0, GENESIS
    while seq < count:
        for draft in _request_entries(f"act-{seq}", seq, lambda: head):  # noqa: B023  # the current head is meant
            seq += 1
            fields: JsonObject = {"seq": seq, "time": TIME, "kind": draft.kind, "request": draft.request}
            # For these values, the fast writer of the standard library produces the canonical form.
            text = json.dumps(fields | {"body": draft.body}, sort_keys=True, separators=(",", ":"))
            head = link(head, text.encode())
            yield seq, text.encode(), bytes.fromhex(head[7:])


class _Unsigned(RecordedSigners):
    """Accepts every decision as signed, because only memory is measured."""

    def check(self, envelope: Json) -> tuple[Statement, str] | tuple[Damage, str]:
        """Returns the statement unchecked."""
        return read_statement(read_envelope(envelope).payload), ""


def _memory(path: Path) -> float:
    """Returns the peak memory of a process that verifies, in MiB."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_peak, (path,))


def _peak(path: Path) -> float:
    with SqliteReader(path) as reader:
        _checked(verify(reader.rows(), _Unsigned()).fault is None)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _busy(work: Callable[[], None]) -> float:
    """Returns the processor time of a function in seconds."""
    start = time.process_time()
    work()
    return time.process_time() - start


def _timed(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _median(work: Callable[[], None], times: int = 41) -> float:
    work()
    return statistics.median(_timed(work) for _ in range(times))


if __name__ == "__main__":
    for name, ratio, limit, note in measure():
        print(f"{name:<40} {ratio:5.2f} (limit {limit})  {note}")

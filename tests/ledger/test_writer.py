"""What is acknowledged is there, in order, once; what must not follow is refused."""

import multiprocessing
import sqlite3
import stat
import threading
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_chain import Entry, encode
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.prompt import PreviewResult
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.states import InvalidTransition, RequestState
from aileron_tui.files.private_files import PrivateFileError
from aileron_tui.ledger.errors import (
    EntryRefused,
    EntryTooLarge,
    LedgerDamaged,
    LedgerError,
    LedgerHeld,
    LedgerNewer,
    LedgerOlder,
)
from aileron_tui.ledger.head import read_head
from aileron_tui.ledger.history_filter import HistoryFilter
from aileron_tui.ledger.open_store import set_aside
from aileron_tui.ledger.preview_entry import preview_body
from aileron_tui.ledger.sqlite import schema
from aileron_tui.ledger.sqlite.reader import SqliteReader
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from aileron_tui.ledger.store import LARGEST_ENTRY, EntryDraft
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.key_store import for_this_run
from tests.ledger.scenes import DIGEST, Scene, check, tampering


def test_entries_come_back_as_they_were_given(scene: Scene) -> None:
    head = scene.ledger.append(EntryKind.STARTED, {"version": "1", "text": "ä\u202e\x1b"})
    with SqliteReader(scene.ledger.path) as reader:
        entry = reader.entry(head.seq)
        assert entry is not None
        assert (entry.seq, entry.kind, entry.body) == (2, EntryKind.STARTED, {"version": "1", "text": "ä\u202e\x1b"})
        assert reader.head() == reader.noted() == head
        assert reader.entry(3) is None


def test_everything_is_private(scene: Scene) -> None:
    scene.ask("act-1")
    folder = scene.ledger.path.parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    names = {"ledger.db", "ledger.db-wal", "ledger.db-shm", "ledger.lock"}
    assert {path.name for path in folder.iterdir()} == names


def test_decisions_are_synced_to_the_disk(scene: Scene) -> None:
    assert scene.ledger._db.execute("PRAGMA synchronous").fetchone()[0] == 2
    assert scene.ledger._db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET data = x'00' WHERE seq = 1",
        "UPDATE entries SET seq = 9 WHERE seq = 1",
        "DELETE FROM entries",
        "INSERT INTO entries VALUES (1, x'00', x'00')",
        "INSERT OR REPLACE INTO entries VALUES (1, x'00', x'00')",
        "INSERT INTO entries VALUES (99, x'00', x'00')",
        "INSERT INTO entries (data, hash) VALUES (x'00', x'00')",
    ],
)
def test_entries_cannot_be_changed_removed_or_skipped(scene: Scene, statement: str) -> None:
    path = scene.close()
    db = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="entries"):
        db.execute(statement)
    db.close()
    assert check(path, noted=True).fault is None


def test_a_reader_sees_the_past_while_the_writer_goes_on(scene: Scene) -> None:
    with SqliteReader(scene.ledger.path) as reader, reader.snapshot():
        before = reader.head()
        scene.approved("act-1")
        assert reader.head() == before
    with SqliteReader(scene.ledger.path) as reader:
        assert reader.head().seq == before.seq + 6


def test_readers_cannot_write(scene: Scene) -> None:
    with SqliteReader(scene.ledger.path) as reader, pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader.db.execute("DELETE FROM requests")


def test_several_entries_are_all_or_none(scene: Scene) -> None:
    before = scene.ledger.head
    with pytest.raises(InvalidTransition):
        scene.ledger.append_all(
            [EntryDraft(EntryKind.REQUESTED, {}, "act-1"), EntryDraft(EntryKind.EXECUTED, {}, "act-1")]
        )
    assert scene.ledger.head == before
    assert (
        scene.ledger.append_all(
            [EntryDraft(EntryKind.REQUESTED, {}, "act-1"), EntryDraft(EntryKind.EXPIRED, {}, "act-1")]
        ).seq
        == 3
    )
    assert check(scene.close()).fault is None


def test_the_first_decision_wins(scene: Scene) -> None:
    scene.ask("act-1")
    outcomes: list[str] = []
    start = threading.Barrier(8)

    def decide() -> None:
        start.wait()
        try:
            scene.decide("act-1", Verdict.DENY)
            outcomes.append("won")
        except InvalidTransition as error:
            outcomes.append(str(error.state))

    threads = [threading.Thread(target=decide) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["denied"] * 7 + ["won"]
    assert check(scene.close()).fault is None


@pytest.mark.parametrize("kind", [EntryKind.RUNNING, EntryKind.EXECUTED, EntryKind.FAILED, EntryKind.INTERRUPTED])
def test_nothing_runs_before_it_is_approved(scene: Scene, kind: EntryKind) -> None:
    scene.ask("act-1")
    with pytest.raises(InvalidTransition) as caught:
        scene.step(kind, "act-1")
    assert caught.value.state is RequestState.PENDING


def test_a_request_is_made_once(scene: Scene) -> None:
    scene.ask("act-1")
    with pytest.raises(InvalidTransition):
        scene.ask("act-1")
    with pytest.raises(EntryRefused, match="needs an id"):
        scene.ask("")


def test_a_nonce_is_used_once_even_for_another_request(scene: Scene) -> None:
    scene.ask("act-1")
    scene.ask("act-2")
    scene.decide("act-1", nonce="ab" * 16)
    with pytest.raises(EntryRefused, match="nonce"):
        scene.decide("act-2", nonce="ab" * 16)
    with SqliteReader(scene.ledger.path) as reader:
        assert reader.nonce_used("ab" * 16)
        assert not reader.nonce_used("cd" * 16)


def test_a_decision_must_know_its_request_and_the_past(scene: Scene) -> None:
    old = scene.ledger.head.hash
    scene.ask("act-1")
    with pytest.raises(EntryRefused, match="head"):
        scene.decide("act-1", head=old)
    with pytest.raises(EntryRefused, match="another request"):
        scene.ledger.append(
            EntryKind.DECIDED, {"envelope": sign(scene.statement("act-2"), scene.key).fields()}, "act-1"
        )
    with pytest.raises(EntryRefused, match="envelope"):
        scene.ledger.append(EntryKind.DECIDED, {"verdict": "approve"}, "act-1")
    with pytest.raises(InvalidTransition):
        scene.decide("act-9")


def test_a_decision_may_be_older_than_other_requests_entries(scene: Scene) -> None:
    head = scene.ask("act-1").hash
    scene.approved("act-2")
    scene.decide("act-1", head=head)
    assert check(scene.close()).fault is None


def test_an_entry_too_large_is_refused_before_it_is_written(scene: Scene) -> None:
    before = scene.ledger.head
    with pytest.raises(EntryTooLarge, match="4,194,304 are allowed"):
        scene.ledger.append(EntryKind.REQUESTED, {"args": {"body": "x" * LARGEST_ENTRY}}, "act-1")
    assert scene.ledger.head == before
    scene.ledger.append(EntryKind.REQUESTED, {"args": {"body": "x" * (LARGEST_ENTRY - 1000)}}, "act-1")
    assert check(scene.close()).fault is None


def test_a_second_writer_is_told_who_holds_it(scene: Scene) -> None:
    with pytest.raises(LedgerHeld, match=r"by gate, process \d+ on .+ since 20") as held:
        SqliteLedger(scene.ledger.path, wait=0.05)
    assert "just starting" in held.value.hint


def test_a_second_writer_waits_for_the_first(scene: Scene) -> None:
    threading.Timer(0.2, scene.close).start()
    with SqliteLedger(scene.ledger.path, wait=10) as second:
        assert second.append(EntryKind.STARTED, {}).seq == 2


def _guest(path: Path, count: int) -> None:
    for number in range(count):
        with SqliteLedger(path, role="key", guest=True) as guest:
            guest.append(EntryKind.CONFIG_CHANGED, {"number": number})


def test_key_changes_come_in_beside_a_running_gate(scene: Scene) -> None:
    guests = [multiprocessing.get_context("spawn").Process(target=_guest, args=(scene.ledger.path, 10)) for _ in "ab"]
    for guest in guests:
        guest.start()
    while any(guest.is_alive() for guest in guests):
        scene.ledger.append(EntryKind.FELL_BACK, {})
    assert [guest.exitcode for guest in guests] == [0, 0]
    with SqliteReader(scene.ledger.path) as reader:
        assert sum(entry.kind == EntryKind.CONFIG_CHANGED for entry in reader.entries()) == 20
    assert check(scene.close(), noted=True).fault is None


def test_a_guest_that_leaves_does_not_take_the_log_of_a_running_gate_away(scene: Scene) -> None:
    path = scene.ledger.path
    log = path.with_name("ledger.db-wal")
    with SqliteReader(path):
        scene.ledger.append(EntryKind.CONFIG_CHANGED, {})
    before = log.stat().st_ino
    guest = multiprocessing.get_context("spawn").Process(target=_guest, args=(path, 1))
    guest.start()
    guest.join()
    assert guest.exitcode == 0
    assert log.exists()
    assert log.stat().st_ino == before


def test_after_a_guest_it_is_still_the_gate_that_holds_the_ledger(scene: Scene) -> None:
    with SqliteLedger(scene.ledger.path, role="key", guest=True) as guest:
        head = guest.append(EntryKind.CONFIG_CHANGED, {})
    with pytest.raises(LedgerHeld, match="by gate, process"):
        SqliteLedger(scene.ledger.path, wait=0.0)
    with SqliteReader(scene.ledger.path) as reader:
        assert reader.noted() == head


def test_a_guest_records_nothing_else(scene: Scene) -> None:
    with SqliteLedger(scene.ledger.path, guest=True) as guest, pytest.raises(EntryRefused, match="only the process"):
        guest.append(EntryKind.REQUESTED, {}, "act-1")


def test_a_revocation_by_a_guest_is_seen_at_once(scene: Scene) -> None:
    with SqliteLedger(scene.ledger.path, guest=True) as guest, SqliteReader(scene.ledger.path) as reader:
        assert len(reader.key_changes()) == 1
        guest.append(EntryKind.KEY_REVOKED, {"name": "laptop", "fingerprint": scene.key.public.fingerprint})
        assert [entry.kind for entry in reader.key_changes()] == [EntryKind.KEY_ENROLLED, EntryKind.KEY_REVOKED]


def test_a_clock_set_back_keeps_order_and_content(scene: Scene) -> None:
    scene.ask("act-1")
    scene.show("act-1")
    scene.clock.now = datetime.fromisoformat("2001-01-01T00:00:00Z")
    scene.decide("act-1")
    with SqliteReader(scene.ledger.path) as reader:
        assert [entry.seq for entry in reader.entries()] == [1, 2, 3, 4, 5]
        assert reader.page()[0].took == 0.0


def test_a_newer_ledger_is_refused_and_left_alone(scene: Scene) -> None:
    path = scene.close()
    with tampering(path) as db:
        db.execute("PRAGMA user_version = 99")
    for attempt in (SqliteLedger, SqliteReader):
        with pytest.raises(LedgerNewer, match="schema 99; this program reads up to 6"):
            attempt(path)


def test_an_older_ledger_is_brought_up_to_date_by_the_writer(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    path = scene.close()

    def newest(db: sqlite3.Connection) -> None:
        db.execute("CREATE TABLE news (text TEXT)")

    steps = (*schema.MIGRATIONS, newest)
    monkeypatch.setattr(schema.migrate, "__defaults__", (steps,))
    monkeypatch.setattr(schema, "VERSION", len(steps))
    monkeypatch.setattr("aileron_tui.ledger.sqlite.reader.OLDEST_READABLE", len(steps))
    with pytest.raises(LedgerOlder):
        SqliteReader(path)
    with SqliteLedger(path) as ledger:
        ledger.append(EntryKind.STARTED, {})
    with SqliteReader(path) as reader:
        assert reader.db.execute("PRAGMA user_version").fetchone()[0] == len(steps)
        assert reader.db.execute("SELECT count(*) FROM news").fetchone()[0] == 0
    assert check(path, noted=True).fault is None


def test_a_failing_migration_changes_nothing(scene: Scene) -> None:
    path = scene.close()

    def broken(db: sqlite3.Connection) -> None:
        db.execute("CREATE TABLE news (text TEXT)")
        raise RuntimeError

    db = sqlite3.connect(path, isolation_level=None)
    with pytest.raises(RuntimeError):
        schema.migrate(db, (*schema.MIGRATIONS, broken))
    assert db.execute("PRAGMA user_version").fetchone()[0] == schema.VERSION
    assert db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'news'").fetchone()[0] == 0
    db.close()


def test_a_missing_index_is_built_anew_from_the_entries(scene: Scene) -> None:
    scene.approved("act-1")
    scene.denied("act-2")
    with SqliteReader(scene.ledger.path) as reader:
        before = reader.page()
    path = scene.close()
    with tampering(path) as db:
        db.execute("DROP TABLE requests")
        db.execute("DROP TABLE search")
    with SqliteLedger(path), SqliteReader(path) as reader:
        assert reader.page() == before
        assert len(reader.of_request("act-1")) == 6


def test_a_falsified_index_is_mended_by_a_rebuild(scene: Scene) -> None:
    scene.denied("act-1")
    path = scene.close()
    with tampering(path) as db:
        db.execute("UPDATE requests SET outcome = 'executed'")
        db.execute("DELETE FROM keys")
    assert check(path, noted=True).fault is not None
    with SqliteLedger(path) as ledger:
        ledger.rebuild_index()
    assert check(path, noted=True).fault is None


def test_a_hidden_key_change_is_found(scene: Scene) -> None:
    scene.revoke(scene.key)
    path = scene.close()
    with tampering(path) as db:
        db.execute("DELETE FROM keys WHERE seq = 2")
    fault = check(path, noted=True).fault
    assert fault is not None
    assert (fault.seq, fault.damage.name) == (2, "INDEX")


@pytest.mark.parametrize("content", [b"", b"not a database", b"SQLite format 3\0" + b"\xff" * 4000])
def test_a_file_that_is_no_ledger_is_reported_and_kept(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "data" / "ledger.db"
    path.parent.mkdir(mode=0o700)
    path.write_bytes(content)
    path.chmod(0o600)
    for attempt in (SqliteLedger, SqliteReader):
        with pytest.raises(LedgerDamaged):
            attempt(path)
    assert path.read_bytes() == content


def test_a_foreign_database_is_not_taken_for_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "data" / "ledger.db"
    path.parent.mkdir(mode=0o700)
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE entries (x)")
    db.close()
    path.chmod(0o600)
    with pytest.raises(LedgerDamaged, match="not a ledger"):
        SqliteLedger(path)


def test_a_deleted_ledger_is_not_silently_begun_anew(scene: Scene) -> None:
    path = scene.close()
    path.unlink()
    with pytest.raises(LedgerDamaged, match="the file is missing; its last entry was 1"):
        SqliteLedger(path)
    assert not path.exists()


def test_a_damaged_ledger_is_set_aside_on_request(scene: Scene) -> None:
    scene.approved("act-1")
    path = scene.close()
    damaged = path.read_bytes()[:5000]
    path.write_bytes(damaged)
    folder = set_aside(path)
    assert (folder / "ledger.db").read_bytes() == damaged
    with SqliteReader(path) as reader:
        entry = reader.entry(1)
        assert entry is not None
        assert str(entry.body["old_head"]).startswith("7:sha256:")
        assert reader.key_changes() == ()
    assert check(path, noted=True).fault is None


def test_a_ledger_in_use_is_not_set_aside(scene: Scene) -> None:
    with pytest.raises(LedgerHeld):
        set_aside(scene.ledger.path, wait=0.05)


def test_links_and_loose_modes_are_refused(scene: Scene, tmp_path: Path) -> None:
    path = scene.close()
    path.chmod(0o644)
    for attempt in (SqliteLedger, SqliteReader):
        with pytest.raises(PrivateFileError, match="open to others"):
            attempt(path)
    path.chmod(0o600)
    path.rename(tmp_path / "elsewhere.db")
    path.symlink_to(tmp_path / "elsewhere.db")
    for attempt in (SqliteLedger, SqliteReader):
        with pytest.raises(PrivateFileError):
            attempt(path)


def test_previews_are_kept_only_on_request() -> None:
    preview = PreviewResult((Row("To", "team@example.com"),))
    reduced = preview_body(preview, keep=False)
    assert list(reduced) == ["digest"]
    assert preview_body(preview, keep=True) == {**reduced, "preview": preview.fields(version=4)}
    assert preview_body(PreviewResult(), keep=False) != reduced
    told = replace(preview, told_by="mcp-proxy")
    assert preview_body(told, keep=True)["preview"] == told.fields()
    assert preview_body(told, keep=False) != reduced


@pytest.mark.parametrize("text", ["", "12", "sha256:ab", "-1:sha256:" + "a" * 64, "1:sha256:" + "A" * 64])
def test_other_text_is_no_head(text: str) -> None:
    with pytest.raises(LedgerError, match="not the head"):
        read_head(text)


def test_another_key_can_be_enrolled_later(scene: Scene) -> None:
    phone = for_this_run("phone")
    scene.enrol(phone)
    scene.ask("act-1")
    scene.decide("act-1", key=phone)
    assert check(scene.close()).decisions == {phone.public.fingerprint: 1}


def test_a_newer_last_entry_is_not_reported_as_damage(scene: Scene) -> None:
    scene.approved("act-1")
    last = scene.ledger.head.seq + 1
    path = scene.close()
    data = encode(Entry(last, "2026-05-12T11:00:00.000000Z", EntryKind.STOPPED, "", {}))
    newer = data.replace(b'"version":2}', b'"version":3}')
    db = sqlite3.connect(path)
    db.execute("INSERT INTO entries VALUES (?, ?, ?)", (last, newer, b"\x07" * 32))
    db.commit()
    db.close()
    with pytest.raises(LedgerNewer, match=r"newer version of aileron-tui \(format 3;") as caught:
        SqliteLedger(path)
    assert (caught.value.detail, caught.value.hint) == (f"{path}: entry {last}", "Update aileron-tui.")


def test_an_unknown_outcome_is_an_end_of_its_own(scene: Scene) -> None:
    scene.ask("act-1")
    scene.show("act-1")
    scene.decide("act-1")
    scene.step(EntryKind.RUNNING, "act-1", digest=DIGEST)
    scene.step(EntryKind.UNKNOWN, "act-1", error="network_error: the reply was lost")
    with pytest.raises(InvalidTransition, match="that is unknown"):
        scene.step(EntryKind.FAILED, "act-1")
    with SqliteReader(scene.ledger.path) as reader:
        (found,) = reader.page(HistoryFilter(outcomes=("unknown",)))
        assert (found.outcome, found.error) == ("unknown", "network_error: the reply was lost")
        assert reader.page(HistoryFilter(text="outcome unknown")) == (found,)
        assert not reader.page(HistoryFilter(outcomes=("failed",)))
    assert check(scene.close(), noted=True).fault is None


def test_a_version_that_cannot_read_an_unknown_outcome_refuses_the_ledger(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = scene.close()
    monkeypatch.setattr(schema, "VERSION", 2)  # the version before the outcome existed
    for attempt in (SqliteLedger, SqliteReader):
        with pytest.raises(LedgerNewer, match="written by a newer version"):
            attempt(path)

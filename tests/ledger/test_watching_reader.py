"""A gate reads who may do what only after a commit, and after every one: also after those of other processes."""

import mmap
import multiprocessing
import os
import time
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.ledger.sqlite import change_mark, reader
from aileron_tui.ledger.sqlite.change_mark import ChangeMark
from aileron_tui.ledger.sqlite.reader import SqliteReader, WatchingReader
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from tests.ledger.scenes import Scene

SPAWN = multiprocessing.get_context("spawn")


def _guest(path: Path, pipe: Connection) -> None:
    """Records a change of a key each time it is told to, and says its number once that is acknowledged."""
    with SqliteLedger(path, role="key", guest=True) as guest:
        while fingerprint := pipe.recv():
            body = {"name": "laptop", "fingerprint": fingerprint}
            pipe.send(guest.append(EntryKind.KEY_REVOKED, body).seq)


def _read(path: Path) -> None:
    with SqliteReader(path) as other:
        other.head()


def _in_process(path: Path) -> None:
    process = SPAWN.Process(target=_read, args=(path,))
    process.start()
    process.join()
    assert process.exitcode == 0


def test_every_commit_of_another_process_is_seen_as_soon_as_it_is_acknowledged(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "_TRUSTED_SECONDS", 3600.0)  # so that only the mark can tell
    ours, theirs = SPAWN.Pipe()
    guest = SPAWN.Process(target=_guest, args=(scene.ledger.path, theirs))
    guest.start()
    with WatchingReader(scene.ledger.path) as watching:
        before = watching.last_key_change()
        for number in range(200):
            ours.send(f"key-{number}")
            recorded = ours.recv()
            assert watching.last_key_change() == recorded > before
            before = recorded
            scene.ledger.append(EntryKind.FELL_BACK, {})
    ours.send("")
    guest.join()


def test_a_commit_of_this_process_is_seen(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_TRUSTED_SECONDS", 3600.0)
    with WatchingReader(scene.ledger.path) as watching:
        assert watching.last_key_change() == 1
        with SqliteLedger(scene.ledger.path, role="key", guest=True) as guest:
            body: JsonObject = {"name": "laptop", "fingerprint": scene.key.public.fingerprint}
            assert watching.last_key_change() == 1
            guest.append(EntryKind.KEY_REVOKED, body)
            assert watching.last_key_change() == 2
        with SqliteReader(scene.ledger.path) as other:
            assert other.last_agent_change() == watching.last_agent_change()
            assert other.last_rule_change() == watching.last_rule_change()


def test_a_commit_is_seen_after_the_log_was_emptied(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_TRUSTED_SECONDS", 3600.0)
    with WatchingReader(scene.ledger.path) as watching:
        for number in range(5):
            last = watching.last_key_change()
            scene.ledger._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            scene.ledger._files.learn()
            assert watching.last_key_change() == last
            body: JsonObject = {"name": "laptop", "fingerprint": f"key-{number}"}
            assert scene.ledger.append(EntryKind.KEY_REVOKED, body).seq == watching.last_key_change()


def test_without_a_commit_nothing_is_read(scene: Scene) -> None:
    statements: list[str] = []
    with WatchingReader(scene.ledger.path) as watching:
        watching.last_key_change()
        watching.db.set_trace_callback(statements.append)
        for _ in range(100):
            watching.last_key_change(), watching.last_agent_change(), watching.last_rule_change()
        assert len(statements) <= 1  # a second may have passed
        scene.ledger.append(EntryKind.FELL_BACK, {})
        statements.clear()
        watching.last_key_change()
        assert len(statements) == 1


def test_what_the_mark_does_not_tell_is_noticed_after_a_while(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    with WatchingReader(scene.ledger.path) as watching:
        watching.last_key_change()
        monkeypatch.setattr(ChangeMark, "value", lambda _: b"the same")
        watching.last_key_change()
        recorded = scene.ledger.append(EntryKind.KEY_REVOKED, {"name": "a", "fingerprint": "b"}).seq
        assert watching.last_key_change() == 1
        now = time.monotonic()
        monkeypatch.setattr(time, "monotonic", lambda: now + 1.1)
        assert watching.last_key_change() == recorded


def test_without_a_mark_everything_is_read_each_time(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mmap, "mmap", lambda *_, **__: (_ for _ in ()).throw(OSError("no memory")))
    with WatchingReader(scene.ledger.path) as watching:
        for number in range(3):
            body: JsonObject = {"name": "laptop", "fingerprint": f"key-{number}"}
            recorded = scene.ledger.append(EntryKind.KEY_REVOKED, body).seq
            assert watching.last_key_change() == recorded


def test_closing_it_releases_no_lock_of_other_connections(scene: Scene) -> None:
    """If it did, the next process to close the ledger would delete the log that this process still writes."""
    log = scene.ledger.path.with_name(f"{scene.ledger.path.name}-wal")
    with WatchingReader(scene.ledger.path) as watching:
        watching.last_key_change()
    before = log.stat().st_ino
    _in_process(scene.ledger.path)
    assert log.stat().st_ino == before
    scene.ledger.append(EntryKind.FELL_BACK, {})


def test_its_descriptors_are_closed_once_nobody_has_the_ledger_open(scene: Scene) -> None:
    change_mark.close_deleted()
    before = len(change_mark._kept)
    for _ in range(3):
        with WatchingReader(scene.ledger.path) as watching:
            watching.last_key_change()
    assert len(change_mark._kept) == before + 3
    descriptors = [kept.descriptor for kept in change_mark._kept[-3:]]
    scene.close()
    assert len(change_mark._kept) == before
    for descriptor in descriptors:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)

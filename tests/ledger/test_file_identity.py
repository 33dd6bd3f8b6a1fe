"""Attacks on the files of an open ledger: its writer notices and stops."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.ledger.errors import LedgerReplaced
from aileron_tui.ledger.file_names import lock_path
from aileron_tui.ledger.sqlite.reader import SqliteReader
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.key_store import for_this_run
from tests.ledger.scenes import Scene, check, tampering


def _unlink(path: Path) -> None:
    path.unlink()


def _replace_with_copy(path: Path) -> None:
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    copy.rename(path)


def _unlink_log(path: Path) -> None:
    path.with_name(f"{path.name}-wal").unlink()


def _unlink_index(path: Path) -> None:
    path.with_name(f"{path.name}-shm").unlink()


def _unlink_lock(path: Path) -> None:
    lock_path(path).unlink()


@pytest.mark.parametrize("attack", [_unlink, _replace_with_copy, _unlink_log, _unlink_index, _unlink_lock])
def test_a_ledger_that_is_removed_or_replaced_under_its_writer_takes_no_more_entries(
    scene: Scene, attack: Callable[[Path], None]
) -> None:
    scene.approved("act-1")
    attack(scene.ledger.path)
    for attempt in (scene.ledger.check, lambda: scene.ask("act-2"), scene.ledger.check_file):
        with pytest.raises(LedgerReplaced, match=r"removed|replaced"):
            attempt()


def test_a_ledger_that_is_put_back_takes_entries_again(scene: Scene) -> None:
    path = scene.ledger.path
    path.rename(path.with_name("elsewhere"))
    with pytest.raises(LedgerReplaced):
        scene.ask("act-1")
    path.with_name("elsewhere").rename(path)
    scene.approved("act-1")
    assert check(scene.close(), noted=True).fault is None


def test_a_ledger_that_is_rolled_back_under_its_writer_takes_no_more_entries(scene: Scene) -> None:
    """The entries are removed inside the same file, as a restored backup that keeps the inode would."""
    scene.approved("act-1")
    with tampering(scene.ledger.path) as db:
        db.execute("DELETE FROM entries WHERE seq > 4")
    with pytest.raises(LedgerReplaced, match="ends at entry 4, but 7 was recorded"):
        scene.ask("act-2")


def _restore_backup(path: Path, backup: Path) -> None:
    """Writes the backup into the file and empties the log, so that both keep their inodes."""
    path.write_bytes(backup.read_bytes())
    with path.with_name(f"{path.name}-wal").open("r+b") as log:
        log.truncate()


def _restore_only_the_file(path: Path, backup: Path) -> None:
    path.write_bytes(backup.read_bytes())


def _cut_only_the_log(path: Path, backup: Path) -> None:
    del backup
    with path.with_name(f"{path.name}-wal").open("r+b") as log:
        log.truncate(4096)


@pytest.mark.parametrize("attack", [_restore_backup, _restore_only_the_file, _cut_only_the_log])
def test_a_backup_that_is_restored_into_the_same_files_is_noticed(
    scene: Scene, tmp_path: Path, attack: Callable[[Path, Path], None]
) -> None:
    """SQLite itself goes on with the pages that it has in memory."""
    scene.approved("act-1")
    path, backup = scene.ledger.path, tmp_path / "backup"
    with closing(sqlite3.connect(path)) as db, closing(sqlite3.connect(backup)) as copy:
        db.backup(copy)
    scene.approved("act-2")
    attack(path, backup)
    for attempt in (scene.ledger.check, lambda: scene.ask("act-3")):
        with pytest.raises(LedgerReplaced, match=r"overwritten|cut off"):
            attempt()


def test_moving_entries_from_the_log_to_the_file_is_no_replacement(scene: Scene) -> None:
    scene.ledger._db.execute("PRAGMA wal_autocheckpoint = 1")
    for number in range(5):
        scene.approved(f"act-{number}")
    assert scene.ledger.path.stat().st_size > 4096
    assert check(scene.close(), noted=True).fault is None


def test_a_rewritten_entry_under_its_writer_is_noticed(scene: Scene) -> None:
    scene.approved("act-1")
    with tampering(scene.ledger.path) as db:
        db.execute("DELETE FROM entries WHERE seq = 7")
        db.execute("INSERT INTO entries VALUES (7, x'00', randomblob(32))")
        db.execute("INSERT INTO entries VALUES (8, x'00', randomblob(32))")
    with pytest.raises(LedgerReplaced, match=r"entry 7 of .* is not the one that was recorded"):
        scene.ask("act-2")


def test_a_key_that_another_process_enrols_is_no_replacement(scene: Scene) -> None:
    scene.approved("act-1")
    with SqliteLedger(scene.ledger.path, role="key", guest=True) as guest:
        phone = for_this_run("phone")
        guest.append(EntryKind.KEY_ENROLLED, Approvers().enrolment("phone", phone.public))
    scene.approved("act-2")
    assert check(scene.close(), noted=True).fault is None


def test_a_clean_close_leaves_nothing_in_the_log(scene: Scene) -> None:
    scene.approved("act-1")
    with SqliteReader(scene.ledger.path) as reader:
        assert reader.head().seq == 7
    path = scene.close()
    assert sorted(file.name for file in path.parent.iterdir()) == [path.name, lock_path(path).name]


def test_a_failed_commit_leaves_a_ledger_that_takes_the_next_entry(scene: Scene) -> None:
    with pytest.raises(ZeroDivisionError):
        scene.ledger.append_given(lambda _: 1 / 0)  # type: ignore[arg-type, return-value]  # any exception
    scene.ledger._db.execute("BEGIN")  # as a rollback that failed leaves it
    scene.approved("act-1")
    assert check(scene.close(), noted=True).fault is None

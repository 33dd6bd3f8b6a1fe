"""What a disk can do to us: full, read-only, locked, torn. Nothing acknowledged is lost, and the message is clear."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from aileron_tui.core.entry_chain import Damage
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.ledger.errors import LedgerDamaged, LedgerHeld, LedgerUnusable
from aileron_tui.ledger.sqlite.reader import SqliteReader
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from tests.ledger.scenes import Scene, check


def run(program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Runs a program of its own, with the ledger imported."""
    preface = "import os, sys\nfrom pathlib import Path\nfrom aileron_tui.core.entry_kinds import EntryKind\n"
    preface += "from aileron_tui.core.errors import AileronError\n"
    preface += "from aileron_tui.ledger.sqlite.writer import SqliteLedger\n"
    source = preface + textwrap.dedent(program)
    return subprocess.run([sys.executable, "-c", source, *arguments], capture_output=True, text=True, check=False)


def test_a_full_database_says_so_and_keeps_what_it_has(scene: Scene) -> None:
    pages = scene.ledger._db.execute("PRAGMA page_count").fetchone()[0]
    scene.ledger._db.execute(f"PRAGMA max_page_count = {pages + 8}")
    acknowledged = scene.ledger.head
    number = 0

    def grow() -> None:
        nonlocal acknowledged, number
        while number < 1000:
            number += 1
            acknowledged = scene.ledger.append(EntryKind.REQUESTED, {"args": {"body": "x" * 500}}, f"act-{number}")

    with pytest.raises(LedgerUnusable, match="disk is full"):
        grow()
    assert scene.ledger.head == acknowledged
    scene.ledger._db.execute("PRAGMA max_page_count = 1000000")
    assert scene.ledger.append(EntryKind.STARTED, {}).seq == acknowledged.seq + 1, "it goes on when there is room"
    assert check(scene.close(), noted=True).fault is None


def test_a_file_that_may_not_grow_says_so_and_keeps_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "data" / "ledger.db"
    done = run(
        """
        import resource
        path = Path(sys.argv[1])
        with SqliteLedger(path) as ledger:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, 1_500_000))
            try:
                for number in range(10_000):
                    body = {"args": {"body": "x" * 500}}
                    print(ledger.append(EntryKind.REQUESTED, body, f"act-{number}"), flush=True)
            except AileronError as error:
                print(error, file=sys.stderr)
                os._exit(1)
        """,
        str(path),
    )
    assert done.returncode == 1
    assert done.stderr.startswith("the ledger cannot ")
    acknowledged = done.stdout.splitlines()
    assert len(acknowledged) > 10
    with SqliteLedger(path), SqliteReader(path) as reader:
        kept = [f"{seq}:sha256:{digest.hex()}" for seq, _, digest in reader.rows()]
    assert kept[: len(acknowledged)] == acknowledged
    assert check(path, noted=True).fault is None


def test_a_read_only_folder_says_so() -> None:
    """Root may write everywhere, so as root the attempt is made as nobody, in a folder of nobody's."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        path = Path(place) / "data" / "ledger.db"
        SqliteLedger(path).close()
        for part in (path.parent, *path.parent.iterdir()):
            if os.geteuid() == 0:
                os.chown(part, 65534, 65534)
            part.chmod(0o500 if part == path.parent else 0o400)
        done = run(
            """
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            try:
                SqliteLedger(Path(sys.argv[1]))
            except AileronError as error:
                print(error)
                sys.exit(1)
            """,
            str(path),
        )
        path.parent.chmod(0o700)
    assert (done.returncode, done.stderr) == (1, "")
    assert re.fullmatch(r"the ledger cannot be locked: \S+: Permission denied", done.stdout.strip())


def test_a_locked_database_says_so_after_a_while(scene: Scene) -> None:
    scene.ledger._db.execute("PRAGMA busy_timeout = 50")
    other = sqlite3.connect(scene.ledger.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerHeld, match="busy"):
        scene.ask("act-1")
    other.execute("ROLLBACK")
    other.close()
    assert scene.ask("act-1").seq == 2


def _page_of(path: Path, table: str) -> tuple[int, int]:
    db = sqlite3.connect(path)
    size = db.execute("PRAGMA page_size").fetchone()[0]
    root = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()[0]
    db.close()
    return (root - 1) * size, size


@pytest.mark.parametrize("table", ["entries", "requests", "requests_by_time"])
def test_a_corrupt_page_is_reported(scene: Scene, table: str) -> None:
    for number in range(30):
        scene.approved(f"act-{number}")
    path = scene.close()
    start, size = _page_of(path, table)
    data = bytearray(path.read_bytes())
    data[start : start + size] = b"\xa5" * size
    path.write_bytes(data)
    try:
        report = check(path, noted=True)
    except LedgerDamaged:
        return
    assert report.fault is not None
    assert report.fault.damage in {Damage.UNREADABLE, Damage.INDEX}
    assert len(path.read_bytes()) == len(data), "the damaged file stays as it is"


def _abandoned(path: Path, count: int) -> int:
    """A writer killed after so many acknowledged entries: its WAL stays. Returns the last number."""
    done = run(
        """
        ledger = SqliteLedger(Path(sys.argv[1]))
        for number in range(int(sys.argv[2])):
            print(ledger.append(EntryKind.REQUESTED, {}, f"act-{number}").seq, flush=True)
        os.kill(os.getpid(), 9)
        """,
        str(path),
        str(count),
    )
    assert done.returncode == -signal.SIGKILL
    return int(done.stdout.split()[-1])


def test_a_killed_writer_loses_nothing_and_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "data" / "ledger.db"
    last = _abandoned(path, 20)
    with SqliteReader(path) as reader:
        assert reader.head().seq == last
    with SqliteLedger(path, wait=0) as ledger:
        assert ledger.append(EntryKind.STARTED, {}).seq == last + 1
    assert check(path, noted=True).fault is None


def test_a_truncated_wal_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "data" / "ledger.db"
    last = _abandoned(path, 20)
    wal = path.with_name("ledger.db-wal")
    os.truncate(wal, wal.stat().st_size // 2)
    path.with_name("ledger.db-shm").unlink()
    report = check(path, noted=True)
    assert report.fault is not None
    assert report.fault.damage is Damage.CUT
    assert 0 < report.fault.seq <= last
    with pytest.raises(LedgerDamaged, match=rf"entries {report.fault.seq} to {last} were recorded but are missing"):
        SqliteLedger(path)


def test_a_changed_last_entry_is_noticed_at_once(scene: Scene) -> None:
    scene.ask("act-1")
    path = scene.close()
    db = sqlite3.connect(path)
    db.execute("DROP TRIGGER entries_keep")
    db.execute("UPDATE entries SET data = x'7b7d' WHERE seq = 2")
    db.commit()
    db.close()
    with pytest.raises(LedgerDamaged, match="entry 2 was changed"):
        SqliteLedger(path)

"""A ledger that several consoles write at once: one chain, nothing lost, whoever dies."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.states import InvalidTransition
from aileron_tui.ledger.errors import LedgerDamaged, LedgerHeld
from aileron_tui.ledger.head import Head
from aileron_tui.ledger.open_store import set_aside
from aileron_tui.ledger.sqlite.reader import SqliteReader
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from aileron_tui.ledger.store import EntryDraft
from tests.ledger.scenes import check

ROOT = Path(__file__).parents[2]
SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where nothing is yet."""
    return tmp_path / "data" / "ledger.db"


def shared(path: Path, wait: float = 2.0) -> SqliteLedger:
    return SqliteLedger(path, role="console", shared=True, wait=wait)


def ask(ledger: SqliteLedger, request: str) -> Head:
    return ledger.append(EntryKind.REQUESTED, {"daemon": "daemon-1", "action": "send-draft"}, request)


def _write(path: Path, name: str, count: int, start: Barrier) -> None:
    start.wait()
    with SqliteLedger(path, role="console", shared=True, wait=30) as ledger:
        for number in range(count):
            ask(ledger, f"{name}-{number}")
            ledger.append(EntryKind.TOLD, {"outcome": "executed"}, f"{name}-{number}")


def test_several_processes_begin_and_go_on_at_once(path: Path) -> None:
    start = SPAWN.Barrier(4)
    writers = [SPAWN.Process(target=_write, args=(path, name, 15, start)) for name in "abcd"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0, 0]
    report = check(path, noted=True)
    assert (report.fault, report.entries) == (None, 4 * 15 * 2)
    with SqliteReader(path) as reader:
        assert reader.noted() == reader.head()


def _first(path: Path, count: int, start: Barrier) -> None:
    won = 0
    with SqliteLedger(path, role="console", shared=True, wait=30) as ledger:
        start.wait()
        for number in range(count):
            try:
                ask(ledger, f"act-{number}")
                won += 1
            except InvalidTransition:
                pass
    sys.exit(won)


def test_the_first_to_record_a_request_wins(path: Path) -> None:
    start = SPAWN.Barrier(3)
    writers = [SPAWN.Process(target=_first, args=(path, 20, start)) for _ in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sum(writer.exitcode or 0 for writer in writers) == 20
    assert check(path, noted=True).fault is None


def test_one_that_is_killed_loses_nothing_and_hinders_nobody(path: Path) -> None:
    program = (
        "import sys\nfrom pathlib import Path\nfrom tests.ledger.test_shared import ask, shared\n"
        "ledger = shared(Path(sys.argv[1]))\nnumber = 0\n"
        "while True:\n    number += 1\n    print(ask(ledger, f'{sys.argv[2]}-{number}'), flush=True)\n"
    )
    acknowledged: list[bytes] = []
    with shared(path) as survivor:
        for round_ in range(3):
            victims = [
                subprocess.Popen(
                    [sys.executable, "-c", program, str(path), f"{round_}{name}"], stdout=subprocess.PIPE, cwd=ROOT
                )
                for name in "ab"
            ]
            for victim in victims:
                assert victim.stdout is not None
                acknowledged.append(victim.stdout.readline().strip())
            acknowledged.extend(str(ask(survivor, f"survivor-{round_}-{number}")).encode() for number in range(10))
            for victim in victims:
                assert victim.stdout is not None
                victim.send_signal(signal.SIGKILL)
                acknowledged.extend(victim.stdout.read().split(b"\n")[:-1])
                victim.stdout.close()
                assert victim.wait() == -signal.SIGKILL
            acknowledged.append(str(ask(survivor, f"after-{round_}")).encode())
            with SqliteReader(path) as reader:
                assert reader.noted() == reader.head()
                here = {f"{seq}:sha256:{raw.hex()}".encode() for seq, _, raw in reader.rows()}
            assert not [head for head in acknowledged if head not in here]
            assert check(path, noted=True).fault is None


def test_a_note_that_comes_late_does_not_go_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One is slow between its commit and its note; the other commits and notes meanwhile."""
    with shared(path) as slow, shared(path) as quick:
        noting = slow._note_shared

        def later() -> None:
            ask(quick, "act-quick")
            noting()

        monkeypatch.setattr(slow, "_note_shared", later)
        assert ask(slow, "act-slow").seq == 1
        with SqliteReader(path) as reader:
            assert reader.noted() == reader.head()
            assert reader.head().seq == 2


def test_what_is_chosen_by_a_look_cannot_be_overtaken(path: Path) -> None:
    """Many threads of two openings each add one request that is not there yet; no number is missed or doubled."""
    with shared(path) as one, shared(path) as other:
        start = threading.Barrier(6)

        def work(ledger: SqliteLedger) -> None:
            start.wait()
            for _ in range(5):
                ledger.append_given(
                    lambda view: [EntryDraft(EntryKind.REQUESTED, {"daemon": "d"}, f"act-{view.head().seq + 1}")]
                )

        threads = [threading.Thread(target=work, args=(ledger,)) for ledger in (one, other) * 3]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with SqliteReader(path) as reader:
        assert [entry.request for entry in reader.entries()] == [f"act-{number}" for number in range(1, 31)]


def test_nothing_chosen_is_nothing_written(path: Path) -> None:
    with shared(path) as ledger:
        ask(ledger, "act-1")
        assert ledger.append_given(lambda _: []) == ledger.head
        assert ledger.head.seq == 1
    assert check(path, noted=True).fault is None


def test_nobody_is_the_only_writer_while_a_console_is_open(path: Path) -> None:
    with shared(path) as ledger:
        ask(ledger, "act-1")
        with pytest.raises(LedgerHeld, match=rf"by console, process {os.getpid()} on "):
            SqliteLedger(path, wait=0.05)
        with pytest.raises(LedgerHeld):
            set_aside(path, wait=0.05)
        with shared(path) as second:
            ask(second, "act-2")
    with SqliteLedger(path) as alone:
        with pytest.raises(LedgerHeld, match="by gate"):
            shared(path, wait=0.05)
        alone.rebuild_index()


def test_a_console_waits_for_a_rebuild_to_end(path: Path) -> None:
    shared(path).close()
    alone = SqliteLedger(path, role="history rebuild")
    threading.Timer(0.2, alone.close).start()
    began = time.monotonic()
    with shared(path, wait=10) as ledger:
        ask(ledger, "act-1")
    assert time.monotonic() - began < 10


def test_a_shared_ledger_that_is_gone_is_not_silently_begun_anew(path: Path) -> None:
    with shared(path) as ledger:
        ask(ledger, "act-1")
    path.unlink()
    with pytest.raises(LedgerDamaged, match="the file is missing; its last entry was 1"):
        shared(path)
    assert not path.exists()


def test_a_key_can_be_revoked_beside_consoles(path: Path) -> None:
    with shared(path) as ledger, SqliteLedger(path, role="key", guest=True) as guest:
        guest.append(EntryKind.CONFIG_CHANGED, {})
        ask(ledger, "act-1")
        guest.append(EntryKind.CONFIG_CHANGED, {})
    assert check(path, noted=True).fault is None

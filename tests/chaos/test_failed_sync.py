"""An entry that could not be synced is refused, and does not appear after a crash either."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.ledger.full_check import audit
from aileron_tui.ledger.open_store import open_ledger, open_reader
from aileron_tui.signing.recorded_signers import RecordedSigners
from tests.chaos.shim import FileOp, Hit, Shim, compile_shim

WRITER = """
import os, signal, sys
from pathlib import Path
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.ledger.errors import LedgerUnusable
from aileron_tui.ledger.open_store import open_ledger

ledger = open_ledger(Path(sys.argv[1]))
ledger.append(EntryKind.CONFIG_CHANGED, {"change": "first"})
print("ready", flush=True)
sys.stdin.readline()
try:
    ledger.append(EntryKind.CONFIG_CHANGED, {"change": "x" * int(sys.argv[2])})
except LedgerUnusable:
    print("refused", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("size", [10, 100_000])
@pytest.mark.parametrize("times", [1, -1])
def test_an_entry_whose_sync_failed_does_not_appear_after_a_crash(tmp_path: Path, size: int, times: int) -> None:
    if (library := compile_shim(tmp_path)) is None:
        pytest.skip("needs Linux and a C compiler")
    path = tmp_path / "data" / "ledger.db"
    shim = Shim(library, tmp_path / "control", tmp_path / "data")
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(size)],
        env={**os.environ, **shim.environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        shim.fail(FileOp.SYNC, errno.EIO, times=times)
        writer.stdin.write("\n")
        writer.stdin.flush()
        assert writer.stdout.readline() == "refused\n"
    assert shim.hits(Hit.SYNC)
    shim.close()
    with open_ledger(path) as ledger:
        assert ledger.head.seq == 1
        ledger.append(EntryKind.CONFIG_CHANGED, {"change": "second"})
    with open_reader(path) as reader:
        assert [entry.body["change"] for entry in reader.entries()] == ["first", "second"]
        assert audit(reader, RecordedSigners()).fault is None

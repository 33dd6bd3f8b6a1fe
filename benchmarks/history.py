"""A million entries compared with a thousand: the history, verifying, checkpoints and the index."""

import multiprocessing
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from aileron_tui.core.decision import Statement, read_statement
from aileron_tui.core.entry_chain import Damage
from aileron_tui.core.jsontext import Json
from aileron_tui.ledger.entry_check import verify
from aileron_tui.ledger.history_filter import HistoryFilter
from aileron_tui.ledger.quick_check import QuickCheck
from aileron_tui.ledger.sqlite.reader import SqliteReader
from aileron_tui.signing.envelope import read_envelope
from aileron_tui.signing.key_store import for_this_run
from aileron_tui.signing.recorded_signers import RecordedSigners
from benchmarks._bulk_ledger import bulk, checked
from benchmarks._result import QUICK, Result, against, duration, grown

SIZES: Final = (1_000, 10_000, 100_000) if QUICK else (1_000, 10_000, 100_000, 1_000_000)
SMALL, LARGE = SIZES[0], SIZES[-1]
MIDDLE: Final = 10_000
"""The size to compare the cost of an entry with; fewer entries cost less than starting does."""
LOOKS: Final[dict[str, HistoryFilter]] = {
    "history, first page": HistoryFilter(),
    "history, search for one": HistoryFilter(text="r-601"),
    "history, search for many": HistoryFilter(text="send-draft"),
    "history, filtered": HistoryFilter(outcomes=("executed",), actions=("send-draft",)),
}
ROUNDS: Final = 42
CHECKPOINT_GAIN: Final = 10.0
"""How many times faster verifying must be from a checkpoint."""


def measure() -> Iterator[Result]:
    """Each measurement."""
    with tempfile.TemporaryDirectory() as folder, for_this_run("laptop") as key:
        paths = {size: Path(folder) / str(size) / "ledger.db" for size in SIZES}
        indexed = {size: bulk(path, size, key) for size, path in paths.items()}
        sizes = f"{LARGE:,} entries / {SMALL:,}"
        for title, wanted in LOOKS.items():
            yield grown(f"{title}: {sizes}", _looked(paths, wanted), 2.0)
        small, large = (_memory(paths[size]) for size in (SMALL, LARGE))
        yield Result(f"ledger verify, memory: {sizes}", large / small, 1.5, f"{large:.0f} MiB", f"{small:.0f} MiB")
        yield from _verified(paths, Path(folder) / "checkpoints")
        yield _per_entry("index rebuild", indexed[LARGE], indexed[MIDDLE])


def _verified(paths: dict[int, Path], checkpoints: Path) -> Iterator[Result]:
    """Verifying everything as `history verify --all` does, and from a checkpoint as `history verify` does."""
    checkpoints.mkdir(0o700)
    middle = min(_timed(partial(_verify, paths[MIDDLE], None, 0)) for _ in range(3))
    everything = _timed(partial(_verify, paths[LARGE], checkpoints, 0))
    resumed = statistics.median(_timed(partial(_verify, paths[LARGE], checkpoints, LARGE)) for _ in range(5))
    yield _per_entry("ledger verify", everything, middle)
    title, gain = f"verifying {LARGE:,} entries / from a checkpoint", everything / resumed
    yield Result(title, gain, CHECKPOINT_GAIN, duration(resumed), duration(everything), at_least=True)


def _verify(path: Path, checkpoints: Path | None, trusted: int) -> None:
    with SqliteReader(path) as reader:
        report, _ = QuickCheck(RecordedSigners, checkpoints).run(reader)
    checked(report.fault is None and report.trusted >= trusted)


def _per_entry(name: str, large: float, middle: float) -> Result:
    """The cost of an entry among many, compared with among few: finds what grows faster than the number of entries."""
    title = f"{name}, cost of an entry: {LARGE:,} / {MIDDLE:,}"
    note = f"{LARGE / large:,.0f} entries a second; {duration(large)} and {duration(middle)} in all"
    return against(title, large / LARGE, middle / MIDDLE, 2.0, note)


def _looked(paths: dict[int, Path], wanted: HistoryFilter) -> dict[int, float]:
    """The median seconds of a look at each ledger, in turns."""
    times: dict[int, list[float]] = {size: [] for size in paths}
    for _ in range(ROUNDS):
        for size, path in paths.items():
            times[size].append(_timed(partial(_look, path, wanted)))
    return {size: statistics.median(some[1:]) for size, some in times.items()}


def _look(path: Path, wanted: HistoryFilter) -> None:
    with SqliteReader(path) as reader:
        checked(len(reader.page(wanted)) > 0)


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
        checked(verify(reader.rows(), _Unsigned()).fault is None)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _timed(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start

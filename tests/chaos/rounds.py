"""Runs many rounds in parallel processes, and sums up what happened."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.chaos_round import ChaosRound, RoundReport
from tests.chaos.fault_plan import plan_round, plan_soak
from tests.chaos.lab import Lab, chaos_lab
from tests.chaos.shim import compile_shim
from tests.compiled import compile_samples

_lab: Lab | None = None
_stack = ExitStack()


def start_worker(root: Path, library: Path | None) -> None:
    """Prepares a worker process: its own home, service and gates."""
    global _lab  # noqa: PLW0603  # one lab for each process
    _lab = _stack.enter_context(chaos_lab(root / f"w{os.getpid()}", root / "cache", library))


def run_round(seed: int, soak: bool) -> RoundReport:
    """Runs one round in a worker process."""
    assert _lab is not None
    plan = (plan_soak if soak else plan_round)(seed, shim=_lab.shim.library is not None)
    return ChaosRound(_lab, plan).run()


class Summary:
    """The totals of all rounds."""

    def __init__(self) -> None:
        self.rounds = 0
        self.failed = 0
        self.seconds = 0.0
        self._planned: Counter[str] = Counter()
        self._fired: Counter[str] = Counter()
        self._violated: Counter[str] = Counter()
        self._replies: Counter[str] = Counter()
        self._requests = self._effects = 0
        self._descriptors: list[int] = []
        self._memory: list[int] = []

    def add(self, report: RoundReport) -> None:
        self.rounds += 1
        self.failed += bool(report.violations)
        self.seconds += report.seconds
        self._planned.update(report.kinds)
        self._fired.update(report.fired)
        self._replies.update(report.replies)
        if report.violations:
            self._violated.update(report.kinds)
        self._descriptors.append(report.growth[0])
        self._memory.append(report.growth[1])
        self._requests += report.requests
        self._effects += report.effects

    def lines(self) -> list[str]:
        """Returns the summary as text."""
        lines = [f"{'fault':22} {'rounds':>6} {'took effect':>11} {'with violations':>15}"]
        for kind, count in sorted(self._planned.items()):
            lines.append(f"{kind:22} {count:6} {self._fired[kind]:11} {self._violated[kind]:15}")
        descriptors, memory = (max(sizes, default=0) for sizes in (self._descriptors, self._memory))
        lines.append(f"largest growth of a gate: {descriptors} descriptors, {memory >> 20} MiB")
        lines.append(f"{self._requests} requests accepted, {self._effects} effects at the service")
        lines.append("replies: " + ", ".join(f"{count} × {reply}" for reply, count in self._replies.most_common()))
        lines.append(
            f"{self.rounds} rounds, {self.failed} with violations, {self.seconds / max(1, self.rounds):.2f} s each"
        )
        return lines


@dataclass(frozen=True, slots=True)
class Batch:
    """The rounds to run: their seeds, and how many of them are long ones. `cache` has compiled connectors."""

    seeds: Sequence[int]
    soaks: Sequence[int] = ()
    workers: int = 2
    cache: Path | None = None
    verbose: bool = False


def run_rounds(root: Path, batch: Batch) -> Summary:
    """Runs all rounds in parallel, and prints every violation."""
    library = compile_shim(root)
    if library is None:
        say("no C compiler, or not Linux: the faults of disks, clocks, threads and descriptors are skipped")
    if batch.cache is None:
        compile_samples(root / "cache")
    else:
        shutil.copytree(batch.cache, root / "cache")
    summary = Summary()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        min(batch.workers, len(batch.seeds) + len(batch.soaks)), context, start_worker, (root, library)
    ) as pool:
        rounds: dict[Future[RoundReport], bool] = {
            **{pool.submit(run_round, seed, True): True for seed in batch.soaks},
            **{pool.submit(run_round, seed, False): False for seed in batch.seeds},
        }
        for done in as_completed(rounds):
            report = done.result()
            summary.add(report)
            if report.violations or batch.verbose:
                soak = "--soak " if rounds[done] else ""
                say(f"{soak}--seed {report.seed}: {report.plan} ({report.seconds:.1f} s)")
            for violation in report.violations:
                say(f"    VIOLATION: {violation}")
            if report.violations and batch.verbose:
                say(report.log)
            if summary.rounds % 50 == 0:
                say(f"{summary.rounds} rounds, {summary.failed} with violations")
    return summary


def say(text: str) -> None:
    """Prints a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()

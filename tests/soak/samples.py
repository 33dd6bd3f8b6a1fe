"""What is measured every few seconds: the processes of the gate and the console, and the size of the files."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class ProcessSample:
    """One look at a process: bytes of memory, descriptors, threads, and percent of a core since the last look.

    `descriptors` is None where only root can count them.
    """

    memory: int
    descriptors: int | None
    threads: int
    cpu: float


@dataclass(frozen=True, slots=True)
class Sample:
    """One look at everything, `at` seconds after the beginning. Sizes are in bytes."""

    at: float
    gate: ProcessSample
    console: ProcessSample | None
    ledger: int
    log: int

    def fields(self) -> dict[str, Any]:
        return asdict(self)


class ProcessMeter:
    """Looks at one process again and again."""

    def __init__(self, pid: int) -> None:
        self._proc = Path(f"/proc/{pid}")
        self._last = self._used(), time.monotonic()

    def look(self) -> ProcessSample:
        """Raises OSError once the process has ended."""
        used, now = self._used(), time.monotonic()
        before, then = self._last
        self._last = used, now
        try:
            descriptors = sum(1 for _ in (self._proc / "fd").iterdir())
        except PermissionError:
            descriptors = None
        memory = int((self._proc / "statm").read_text("ascii").split()[1]) * _PAGE
        threads = int(self._stat()[17])
        return ProcessSample(memory, descriptors, threads, round(100 * (used - before) / max(now - then, 0.001), 1))

    def _used(self) -> float:
        fields = self._stat()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def _stat(self) -> list[str]:
        """The fields after the name, which may contain anything."""
        return (self._proc / "stat").read_text("ascii").rpartition(")")[2].split()


class Sampler(threading.Thread):
    """Takes a sample every few seconds until it is stopped."""

    def __init__(
        self, gate: int, console: int | None, ledger: Path, elapsed: Callable[[], float], every: float
    ) -> None:
        super().__init__(name="sampler", daemon=True)
        self.samples: list[Sample] = []
        self._gate = ProcessMeter(gate)
        self._console = None if console is None else ProcessMeter(console)
        self._ledger = ledger
        self._elapsed = elapsed
        self._every = every
        self._stopped = threading.Event()

    def run(self) -> None:
        while not self._stopped.wait(self._every):
            try:
                console = self._console.look() if self._console else None
            except OSError:
                console = None
            try:
                gate = self._gate.look()
            except OSError:
                return
            log = self._ledger.with_name(f"{self._ledger.name}-wal")
            self.samples.append(Sample(round(self._elapsed(), 1), gate, console, _size(self._ledger), _size(log)))

    def stop(self) -> None:
        self._stopped.set()
        self.join(10)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0

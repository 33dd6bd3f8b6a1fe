"""What else the machine does during a measurement: processor time that others use, or that the host takes away.

The processor time of the benchmark and of everything it starts is subtracted from that of the whole machine. What is
left is that of others. Only Linux tells this; elsewhere nothing is known about it.
"""

import ctypes
import os
import platform
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

OTHERS: Final = 5.0
"""Percent of the machine that others may use while something is measured."""
STOLEN: Final = 2.0
"""Percent of the machine that its host may take away meanwhile."""

_STAT: Final = Path("/proc/stat")
_PR_SET_CHILD_SUBREAPER: Final = 36


@dataclass(frozen=True, slots=True)
class Sample:
    """Seconds since some moment: of the clock, of all processors, stolen by the host, and used by this process tree."""

    clock: float
    busy: float
    stolen: float
    ours: float


@dataclass(frozen=True, slots=True)
class Disturbance:
    """Percent of the machine that others used and that the host took; None if it cannot be known."""

    others: float | None
    stolen: float | None

    @property
    def too_much(self) -> bool:
        """Whether the figures of this time say little."""
        return (self.others or 0.0) > OTHERS or (self.stolen or 0.0) > STOLEN

    @property
    def words(self) -> str:
        """What happened, in words."""
        return f"others used {self.others or 0:.0f} % of the machine, its host took {self.stolen or 0:.0f} %"


def adopt_orphans() -> None:
    """Makes this process the parent of those it started indirectly once theirs ends, so that their time stays ours."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_orphans() -> None:
    """Waits for adopted processes that have ended, while this process has no other children."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def sample() -> Sample | None:
    """The times so far, or None if this system does not tell them."""
    if not _STAT.exists():
        return None
    ticks = os.sysconf("SC_CLK_TCK")
    user, nice, system, _, _, irq, soft_irq, stolen = map(int, _STAT.read_text("ascii").split("\n")[0].split()[1:9])
    busy = user + nice + system + irq + soft_irq
    return Sample(time.monotonic(), busy / ticks, stolen / ticks, _process_tree() / ticks)


def disturbance(before: Sample | None, after: Sample | None) -> Disturbance:
    """What others did between two samples."""
    if before is None or after is None or after.clock <= before.clock:
        return Disturbance(None, None)
    capacity = (after.clock - before.clock) * (os.cpu_count() or 1)
    others = (after.busy - before.busy) - (after.ours - before.ours)
    return Disturbance(
        max(0.0, round(others / capacity * 100, 1)), round((after.stolen - before.stolen) / capacity * 100, 1)
    )


def _process_tree() -> int:
    """Ticks of this process, of those it started, and of those that have ended and were waited for."""
    parents: dict[int, int] = {}
    used: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        parents[int(folder.name)] = int(fields[1])
        used[int(folder.name)] = sum(map(int, fields[11:15]))
    return sum(ticks for pid, ticks in used.items() if _descends(pid, os.getpid(), parents))


def _descends(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    while pid and pid != ancestor:
        pid = parents.get(pid, 0)
    return pid == ancestor


def description() -> dict[str, Any]:
    """The class of this machine; nothing that identifies it."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processors": os.cpu_count() or 1,
        "processor": _processor(),
        "memory_gib": round(memory),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except FileNotFoundError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()

"""Whether anything grew: compares the first third of a soak, after it has warmed up, with the last third."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from tests.soak.journal import PENDING, RESULT, SEARCH, Latency
from tests.soak.samples import Sample

MIB: Final = 1024 * 1024
SHORTEST_MINUTES: Final = 15.0
"""A shorter soak says little about growth: caches with a limit, such as those of the console, fill for minutes."""

WARM_UP_SHARE: Final = 1 / 3
LONGEST_WARM_UP: Final = 300.0
MEMORY_RATIO: Final = 1.05
MEMORY_MIB: Final = 8.0
"""Room for the ledger's page cache and for pieces of freed memory."""
MORE_DESCRIPTORS: Final = 2.0
"""Room for connections that happen to be open during a look; a leak is far beyond it after thousands of calls."""
MORE_THREADS: Final = 4.0
"""Room for pools that start a thread when all of theirs are busy, and keep it; each pool has a fixed maximum."""
LATENCY_RATIO: Final = 1.5

_FEWEST: Final = 4


@dataclass(frozen=True, slots=True)
class Growth:
    """One comparison. `slope` is per hour, over everything after the warm-up. `flat` is None if it cannot be judged."""

    what: str
    unit: str
    first: float
    last: float
    slope: float
    limit: float
    flat: bool | None

    def fields(self) -> dict[str, Any]:
        return asdict(self)


def quantile(values: Sequence[float], part: float) -> float:
    """A quantile of some values, 0 if there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] if ordered else 0.0


def compare(samples: Sequence[Sample], latencies: Sequence[Latency], seconds: float) -> list[Growth]:
    """Compares everything that must not grow."""
    judged = seconds >= SHORTEST_MINUTES * 60
    warm = min(seconds * WARM_UP_SHARE, LONGEST_WARM_UP)
    window = _Window(warm, warm + (seconds - warm) / 3, seconds - (seconds - warm) / 3, seconds)
    found: list[Growth] = []

    def add(
        what: str,
        unit: str,
        points: list[tuple[float, float]],
        limit: Callable[[float], float],
        value: Callable[[Sequence[float]], float] = statistics.median,
    ) -> None:
        first, last = window.thirds(points)
        if not first or not last:
            return
        before, after = value(first), value(last)
        enough = judged and min(len(first), len(last)) >= _FEWEST
        flat = after <= limit(before) if enough else None
        slope = round(window.slope(points), 2)
        found.append(Growth(what, unit, round(before, 2), round(after, 2), slope, round(limit(before), 2), flat))

    for name in ("gate", "console"):
        looks = [(sample.at, look) for sample in samples if (look := getattr(sample, name)) is not None]
        add(f"{name}: memory", "MiB", [(at, look.memory / MIB) for at, look in looks], _memory_limit)
        descriptors = [(at, float(look.descriptors)) for at, look in looks if look.descriptors is not None]
        add(f"{name}: descriptors", "", descriptors, lambda before: before + MORE_DESCRIPTORS)
        threads = [(at, float(look.threads)) for at, look in looks]
        add(f"{name}: threads", "", threads, lambda before: before + MORE_THREADS)
    for what in (PENDING, RESULT, SEARCH):
        times = [(one.at, one.seconds * 1000) for one in latencies if one.what == what]
        add(f"{what}, median", "ms", times, lambda before: before * LATENCY_RATIO)
        add(f"{what}, 99 %", "ms", times, lambda before: before * LATENCY_RATIO, lambda some: quantile(some, 0.99))
    return found


def _memory_limit(before: float) -> float:
    return before * MEMORY_RATIO + MEMORY_MIB


@dataclass(frozen=True, slots=True)
class _Window:
    """The two thirds that are compared: from `warm` to `first_end`, and from `last_start` to `end`."""

    warm: float
    first_end: float
    last_start: float
    end: float

    def thirds(self, points: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
        first = [value for at, value in points if self.warm <= at < self.first_end]
        return first, [value for at, value in points if self.last_start <= at <= self.end]

    def slope(self, points: list[tuple[float, float]]) -> float:
        """The straight line through everything after the warm-up, per hour."""
        after = [(at, value) for at, value in points if self.warm <= at <= self.end]
        if len({at for at, _ in after}) < 2:
            return 0.0
        return statistics.linear_regression(*zip(*after, strict=True)).slope * 3600

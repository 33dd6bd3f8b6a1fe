"""The result of a measurement."""

import os
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

LONGEST_STALL: Final = 50.0
"""Milliseconds for which the event loop of a screen or a server may be blocked."""

QUICK: Final = bool(os.environ.get("BENCHMARKS_QUICK"))
"""Whether this is a short run (`--quick`), which says only whether everything works."""


@dataclass(frozen=True, slots=True)
class Result:
    """A figure and its limit, with the raw figures of both sides, and the cost at each size if it grows.

    The unit `×` is that of a ratio. Points are pairs of a size and the milliseconds that it costs.
    """

    title: str
    figure: float
    limit: float
    ours: str = ""
    base: str = ""
    note: str = ""
    unit: str = "×"
    at_least: bool = False
    points: tuple[tuple[int, float], ...] = ()

    @property
    def good(self) -> bool:
        """Whether the figure is within its limit."""
        return self.figure >= self.limit if self.at_least else self.figure <= self.limit

    @property
    def fields(self) -> dict[str, Any]:
        """The result as JSON."""
        return asdict(self)

    @classmethod
    def read(cls, fields: dict[str, Any]) -> Self:
        """A result from its JSON."""
        return cls(**{**fields, "points": tuple((int(size), float(cost)) for size, cost in fields["points"])})


def against(title: str, ours: float, base: float, limit: float, note: str = "") -> Result:
    """The ratio of our seconds to those of the base."""
    return Result(title, ours / base, limit, duration(ours), duration(base), note)


def grown(title: str, costs: dict[int, float], limit: float, note: str = "") -> Result:
    """The ratio of the seconds at the largest size to those at the smallest."""
    small, large = min(costs), max(costs)
    ours, base = (f"{duration(costs[size])} at {size:,}" for size in (large, small))
    points = tuple((size, cost * 1e3) for size, cost in sorted(costs.items()))
    return Result(title, costs[large] / costs[small], limit, ours, base, note, points=points)


def duration(seconds: float) -> str:
    """Seconds in a unit that suits them."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.{0 if seconds >= 0.1 else 1}f} ms"
    return f"{seconds:.1f} s"

"""Whether the machine itself keeps programs waiting, measured beside what is measured.

A virtual machine is stopped for some milliseconds now and then, and so is everything in it. A clock on each processor,
which does nothing but wait, is late then too: what a screen was late by in that time says nothing about the screen.
"""

import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Final, Self, TypeVar

T = TypeVar("T")

QUIET: Final = 10.0
"""By how many milliseconds a clock may be late in a round that counts."""
TRIES: Final = 12

_CLOCK: Final = """
import os, select, sys, time
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {int(sys.argv[1])})
worst, tick = 0.0, 0.005
print(flush=True)
while True:
    began = time.perf_counter()
    if select.select([sys.stdin], [], [], tick)[0]:
        break
    worst = max(worst, time.perf_counter() - began - tick)
print(worst)
"""


class Machine:
    """By how much the latest of the clocks was late at worst, in milliseconds, while this was entered."""

    late = 0.0

    def __enter__(self) -> Self:
        processors = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]
        self._clocks = [
            subprocess.Popen(
                [sys.executable, "-S", "-c", _CLOCK, str(processor)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for processor in processors
        ]
        for clock in self._clocks:
            assert clock.stdout
            clock.stdout.readline()
        return self

    def __exit__(self, *_: object) -> None:
        self.late = max(float(clock.communicate()[0]) for clock in self._clocks) * 1e3


async def undisturbed(measure: Callable[[], Awaitable[T]], rounds: int) -> tuple[list[T], str]:
    """What was measured in so many rounds that the machine did not disturb; if there are too few such, in all of them.

    Whether a round counts is told by the clocks alone, before anyone looks at what it measured.
    """
    counted: list[T] = []
    others: list[T] = []
    while len(counted) < rounds and len(counted) + len(others) < TRIES:
        with Machine() as machine:
            found = await measure()
        (counted if machine.late <= QUIET else others).append(found)
    if len(counted) < rounds:
        return counted + others, f"the machine was late by over {QUIET:.0f} ms in {len(others)} of {TRIES} rounds"
    return (
        counted,
        f"{len(others)} rounds left out: the machine itself was late by over {QUIET:.0f} ms" if others else "",
    )

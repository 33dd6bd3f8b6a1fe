"""Measures how long an event loop is blocked, and whether the machine itself caused it.

A virtual machine is paused for some milliseconds now and then. A clock process on each processor, which only waits,
is then late too, and such a round does not count.
"""

import asyncio
import os
import subprocess
import sys
import time
from typing import Final, Self

TICK: Final = 0.005
QUIET: Final = 10.0
"""Milliseconds by which a clock may be late in a round that counts."""
TRIES: Final = 12
"""How many rounds are tried until enough of them count."""

_CLOCK: Final = f"""
import os, select, sys, time
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {{int(sys.argv[1])}})
worst = 0.0
print(flush=True)
while True:
    began = time.perf_counter()
    if select.select([sys.stdin], [], [], {TICK})[0]:
        break
    worst = max(worst, time.perf_counter() - began - {TICK})
print(worst)
"""


class Stalls:
    """The longest delay of the loop inside the `with` block, and of the clocks, in milliseconds."""

    worst = 0.0
    machine = 0.0

    async def __aenter__(self) -> Self:
        self._clocks = await asyncio.to_thread(_clocks)
        self._task = asyncio.create_task(self._watch())
        await asyncio.sleep(0)
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.sleep(TICK)
        self._task.cancel()
        late = [asyncio.to_thread(clock.communicate) for clock in self._clocks]
        self.machine = max(float(printed) for printed, _ in await asyncio.gather(*late)) * 1e3

    async def _watch(self) -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(TICK)
            self.worst = max(self.worst, (time.perf_counter() - began - TICK) * 1e3)

    @property
    def counts(self) -> bool:
        """Whether the machine was quiet, according to the clocks."""
        return self.machine <= QUIET


def _clocks() -> list[subprocess.Popen[str]]:
    """Starts one clock on each processor."""
    processors = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]
    clocks = [
        subprocess.Popen(
            [sys.executable, "-S", "-c", _CLOCK, str(processor)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for processor in processors
    ]
    for clock in clocks:
        assert clock.stdout
        clock.stdout.readline()
    return clocks


def counted(tried: list[Stalls], rounds: int) -> list[float]:
    """Returns the stalls of the rounds that count, or of all rounds if too few count."""
    some = [stalls.worst for stalls in tried if stalls.counts]
    return some[:rounds] if len(some) >= rounds else [stalls.worst for stalls in tried]


def enough(tried: list[Stalls], rounds: int, tries: int = TRIES) -> bool:
    """Returns whether enough rounds count, or the limit of tries is reached."""
    return sum(stalls.counts for stalls in tried) >= rounds or len(tried) >= tries


def left_out(tried: list[Stalls]) -> str:
    """Says how often the machine itself was late."""
    late = sum(not stalls.counts for stalls in tried)
    return f"the machine itself was late by more than {QUIET:.0f} ms in {late} of {len(tried)} rounds" if late else ""

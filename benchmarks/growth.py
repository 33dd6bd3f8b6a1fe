"""Ten thousand waiting requests against a hundred."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Final

from aileron_tui.signing import key_store
from benchmarks._inside import Watched, console, item
from benchmarks._result import Result
from tests.console.scripted_gate import ScriptedGate

SMALL, LARGE = 100, 10_000
STEPS: Final = 40
ROUNDS: Final = 5


def measure() -> Iterator[Result]:
    """Moving and filtering in a long list and in a short one, in turns, in processor time."""
    sides = {count: [item(number) for number in range(count)] for count in (SMALL, LARGE)}

    async def side(count: int, work: Callable[[Watched], Awaitable[None]]) -> float:
        async with console(ScriptedGate(*sides[count]), key_store.for_this_run()) as app:
            await work(app)
            began = time.process_time()
            await work(app)
            return time.process_time() - began

    for name, work in {"moving": _moving, "filtering": _filtering}.items():
        times: dict[int, list[float]] = {count: [] for count in sides}
        for _ in range(ROUNDS):
            for count, into in times.items():
                into.append(asyncio.run(side(count, work)))
        small, large = (min(times[count]) / STEPS for count in (SMALL, LARGE))
        note = f"{large * 1e3:.1f} ms and {small * 1e3:.1f} ms of processor time a key"
        yield f"{name} among {LARGE:,} waiting / among {SMALL}", large / small, 2.0, note


async def _moving(app: Watched) -> None:
    for step in range(STEPS):
        await app.until_painted(bool, partial(app.strike, "down" if step < STEPS // 2 else "up"))


async def _filtering(app: Watched) -> None:
    app.strike("slash")
    await asyncio.sleep(0.1)
    for _ in range(STEPS // 8):
        for key in ("o", "n", "-", "9", *["backspace"] * 4):
            await app.until_painted(bool, partial(app.strike, key))
    app.strike("escape")
    await asyncio.sleep(0.1)

"""Ten thousand waiting requests, compared with a hundred."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Final

from aileron_tui.signing import key_store
from benchmarks._console_driver import ObservedConsole, console, item
from benchmarks._result import QUICK, Result, grown
from tests.console.scripted_gate import ScriptedGate

SIZES: Final = (100, 1_000, 10_000)
STEPS: Final = 40
ROUNDS: Final = 2 if QUICK else 5


def measure() -> Iterator[Result]:
    """Compares the processor time of moving and filtering in a long and in a short list."""
    sides = {count: [item(number) for number in range(count)] for count in SIZES}

    async def side(count: int, work: Callable[[ObservedConsole], Awaitable[None]]) -> float:
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
        costs = {count: min(some) / STEPS for count, some in times.items()}
        title = f"{name} among {max(SIZES):,} waiting / among {min(SIZES)}"
        yield grown(title, costs, 2.0, "processor time of a key")


async def _moving(app: ObservedConsole) -> None:
    for step in range(STEPS):
        await app.until_painted(bool, partial(app.press, "down" if step < STEPS // 2 else "up"))


async def _filtering(app: ObservedConsole) -> None:
    app.press("slash")
    await asyncio.sleep(0.1)
    for _ in range(STEPS // 8):
        for key in ("o", "n", "-", "9", *["backspace"] * 4):
            await app.until_painted(bool, partial(app.press, key))
    app.press("escape")
    await asyncio.sleep(0.1)

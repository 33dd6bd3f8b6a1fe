"""How long the console's event loop is blocked by many requests and by long texts."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.signing import key_store
from benchmarks._console_driver import StreamedGate, arrival, console, item, wait_until
from benchmarks._result import LONGEST_STALL, QUICK, Result
from benchmarks._running_gate import SIZE
from benchmarks._stalls import TICK, Stalls, counted, enough, left_out
from tests.console.scripted_gate import ScriptedGate

LOAD_SECONDS: Final = 3.0
LOAD_RATE: Final = 500
LOADS: Final = 3
LENGTH: Final = 10_000_000
PAGES: Final = 10
SHORT: Final = "five words and no more\n" * 5
SHORT_EVERY: Final = 4
SPARE: Final = 2 if QUICK else 12
"""How many texts are read once more because the machine itself was late."""
SIZES: Final = ((80, 24), (50, 20), SIZE)

_UNITS: Final = {
    "English": "The quick brown fox jumps over the lazy dog. " * 6 + "\n",
    "English on one line": "The quick brown fox jumps over the lazy dog. ",
    "one word": "x",
    "Thai": "ประชุมทีมวันจันทร์เวลาเก้าโมงเช้าที่ห้องสาม " * 4 + "\n",
    "Thai on one line": "ประชุมทีมวันจันทร์เวลาเก้าโมงเช้าที่ห้องสาม",
    "Hindi": "नमस्ते दुनिया यह एक लंबा पाठ है " * 8 + "\n",
    "Chinese on one line": "漢字仮名交じり文",
    "emoji": "😀👩\u200d💻❤\ufe0f",
    "accents": "e\u0301",
    "many accents": "a" + "\u0301" * 20,
    "zero width": "\u200b",
    "zero width between letters": "a\u200b",
    "two of zero width": "\u200b\u200c",
    "private use": "\ue000\ue001 ",
    "escapes": "\x1b[31m",
    "blanks": " ",
    "tabs": "\t",
    "blank lines": "\n",
    "short lines": " \n \n\tx\n",
}
UNITS: Final = dict(list(_UNITS.items())[:: 6 if QUICK else 1])


def measure() -> Iterator[Result]:
    """Each measurement."""
    yield asyncio.run(_load())
    yield from _bodies()


async def _load() -> Result:
    """The longest stall while many requests arrive and the operator moves through them."""
    events = [arrival(item(1000 + number)) for number in range(int(LOAD_SECONDS * LOAD_RATE))]
    tried: list[Stalls] = []
    while not enough(tried, LOADS):
        tried.append(await _load_once(events))
    worst = counted(tried, LOADS)
    rounds = f"each of {len(worst)} rounds: {', '.join(f'{one:.0f}' for one in worst)}"
    note = "; ".join(filter(None, (f"{LOAD_RATE} arrivals a second", rounds, left_out(tried))))
    title, longest = "longest stall of the loop under load", max(worst)
    return Result(title, longest, LONGEST_STALL, _ms(longest), "", note, "ms")


async def _load_once(events: list[bytes]) -> Stalls:
    gate = StreamedGate()
    async with console(gate, key_store.for_this_run()) as app:
        async with Stalls() as stalls:
            sending = asyncio.create_task(asyncio.to_thread(_send_all, gate, events))
            while not sending.done():
                await asyncio.sleep(6 * TICK)
                app.press("down")
        await wait_until(lambda: len(app.board.requests) == len(events))
    return stalls


def _send_all(gate: StreamedGate, events: list[bytes]) -> None:
    began = time.perf_counter()
    for number, one in enumerate(events):
        time.sleep(max(0.0, began + number / LOAD_RATE - time.perf_counter()))
        gate.send(one)


# long texts


def _bodies() -> Iterator[Result]:
    """Stalls with long texts, compared with a short one that is measured in between."""
    long: dict[str, dict[str, float]] = {}
    short: list[dict[str, float]] = []
    spare = SPARE
    for number, (name, unit) in enumerate(UNITS.items()):
        long[name], spare = asyncio.run(_read((unit * (LENGTH // len(unit) + 1))[:LENGTH], spare))
        if number % SHORT_EVERY == 0:
            found, spare = asyncio.run(_read(SHORT, spare))
            short.append(found)
    for work in ("opening", "scrolling", "resizing"):
        name = max(long, key=lambda name: long[name][work])
        ours, base = long[name][work], max(found[work] for found in short)
        if work == "resizing":
            yield Result("longest stall resizing: 10 MB / five lines", ours / base, 2.0, _ms(ours), _ms(base), name)
        else:
            title = f"longest stall {work} 10 MB of any script"
            yield Result(title, ours, LONGEST_STALL, _ms(ours), _ms(base), f"{name}; against five lines", "ms")


def _ms(milliseconds: float) -> str:
    return f"{milliseconds:.0f} ms"


async def _read(text: str, spare: int) -> tuple[dict[str, float], int]:
    """Returns the longest stalls while a text is opened, scrolled and resized, and how many repeats are left."""
    tried: dict[str, list[Stalls]] = {"opening": [], "scrolling": [], "resizing": []}
    while not all(enough(rounds, 1, spare + 1) for rounds in tried.values()):
        for work, stalls in (await _read_once(text)).items():
            tried[work].append(stalls)
    return {work: max(counted(rounds, 1)) for work, rounds in tried.items()}, spare + 1 - len(tried["opening"])


async def _read_once(text: str) -> dict[str, Stalls]:
    gate = ScriptedGate()
    async with console(gate, key_store.for_this_run()) as app:
        await asyncio.sleep(1.0)
        async with Stalls() as opening:
            gate.tell("pending", _with(text))
            await wait_until(lambda: app.board.waiting_count == 1)
            await asyncio.sleep(0.6)
        app._main.action_focus_prompt()
        await asyncio.sleep(0.3)
        async with Stalls() as scrolling:
            for key in (*["pagedown"] * PAGES, "end", *["pageup"] * PAGES, "home"):
                app.press(key)
                await asyncio.sleep(0.5 if key in ("end", "home") else 0.05)
        async with Stalls() as resizing:
            for size in SIZES:
                app.resize(size)
                await asyncio.sleep(0.3)
    return {"opening": opening, "scrolling": scrolling, "resizing": resizing}


def _with(text: str) -> Request:
    made = item(1)
    return replace(made, prompt=replace(made.prompt, inputs=(Row("Body", text, multiline=True),)))

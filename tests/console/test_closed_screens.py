"""The memory of closed screens is freed soon, although full collections are rare, and goes back to the system."""

import asyncio
import gc
import threading
import weakref
from collections.abc import Iterator

import pytest
from textual.app import App

from aileron_tui.console import closed_screens, run
from aileron_tui.console.screens.history import HistoryScreen
from aileron_tui.files import freed_memory
from tests.console.screen_app import async_test, wait_until
from tests.console.scripted_gate import ScriptedGate, console, request

OPENED = 12


@pytest.fixture(autouse=True)
def _no_collections(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(closed_screens, "DELAY_SECONDS", 0.05)
    gc.disable()
    yield
    gc.enable()


@async_test
async def test_closed_histories_are_freed() -> None:
    """An idle thread may keep the screen that it worked for last, so only some of them can stay."""
    opened: list[weakref.ref[object]] = []
    async with console(ScriptedGate(request(1))) as (app, pilot):
        for _ in range(OPENED):
            await pilot.press("h")
            await wait_until(pilot, lambda: isinstance(app.screen, HistoryScreen))
            opened.append(weakref.ref(app.screen))
            await pilot.press("escape")
            await wait_until(pilot, lambda: not isinstance(app.screen, HistoryScreen))
        await wait_until(pilot, lambda: sum(screen() is not None for screen in opened) <= OPENED // 2)


def test_freed_memory_is_returned_while_a_console_runs_and_not_on_its_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []
    returned = threading.Event()

    def return_memory() -> None:
        threads.append(threading.current_thread())
        if len(threads) == 2:
            returned.set()

    class Console(App[int]):
        async def run_async(self, **_: object) -> int:
            return int(await asyncio.to_thread(returned.wait, 30))

    monkeypatch.setattr(run, "_MEMORY_SECONDS", 0.01)
    monkeypatch.setattr(freed_memory, "return_freed_memory", return_memory)
    assert run.run_app(Console()) == (0, 1)
    assert threading.main_thread() not in threads

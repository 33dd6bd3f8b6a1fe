"""The memory of closed screens is freed soon, although full garbage collections are rare."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from aileron_tui.console import closed_screens
from aileron_tui.console.screens.history import HistoryScreen
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

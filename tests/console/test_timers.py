"""One-shot timers that always fire."""

import itertools
from pathlib import Path
from time import monotonic

import pytest
from textual import _time
from textual.app import App

from aileron_tui import console
from aileron_tui.console.timers import call_after
from tests.console.screen_app import async_test


@async_test
async def test_a_timer_fires_although_the_loop_was_blocked_as_it_started(monkeypatch: pytest.MonkeyPatch) -> None:
    fired: list[str] = []
    app = App[None]()
    async with app.run_test() as pilot:
        calls = itertools.count(1)

        def late() -> float:
            """An hour passes between the first calls, as if the machine had slept."""
            return monotonic() + 3600.0 * min(next(calls), 20)

        monkeypatch.setattr(_time, "get_time", late)
        app.set_timer(0.01, lambda: fired.append("Textual's"))
        call_after(app, 0.01, lambda: fired.append("ours"))
        await pilot.pause(0.2)
    assert fired == ["ours"]  # if Textual's fires too, ours is not needed any more


@async_test
async def test_a_stopped_timer_does_not_fire() -> None:
    fired: list[str] = []
    app = App[None]()
    async with app.run_test() as pilot:
        call_after(app, 0.01, lambda: fired.append("it")).stop()
        await pilot.pause(0.1)
    assert fired == []


def test_the_console_uses_no_other_one_shot_timers() -> None:
    others = Path(console.__file__).parent.rglob("*.py")
    assert [path.name for path in others if ".set_timer(" in path.read_text()] == ["timers.py"]

"""Timers that ring once, and for certain."""

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
async def test_a_timer_that_is_held_up_as_it_begins_rings_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rung: list[str] = []
    app = App[None]()
    async with app.run_test() as pilot:
        looks = itertools.count(1)

        def late() -> float:
            """At each of the first looks an hour has passed, as if the machine had slept."""
            return monotonic() + 3600.0 * min(next(looks), 20)

        monkeypatch.setattr(_time, "get_time", late)
        app.set_timer(0.01, lambda: rung.append("Textual's"))
        call_after(app, 0.01, lambda: rung.append("ours"))
        await pilot.pause(0.2)
    assert rung == ["ours"]  # if Textual's rings too, it needs no other


@async_test
async def test_a_timer_that_is_stopped_does_not_ring() -> None:
    rung: list[str] = []
    app = App[None]()
    async with app.run_test() as pilot:
        call_after(app, 0.01, lambda: rung.append("it")).stop()
        await pilot.pause(0.1)
    assert rung == []


def test_the_console_has_no_other_timers() -> None:
    others = Path(console.__file__).parent.rglob("*.py")
    assert [path.name for path in others if ".set_timer(" in path.read_text()] == ["later.py"]

"""NO_COLOR, as it reaches the terminal: no colour at all, of text and of its ground."""

from dataclasses import replace
from typing import Any

import pytest
from textual.app import App

from aileron_tui.console.screens.first_run import FirstRun
from aileron_tui.console.settings import default_theme
from tests.console.pilots import piloted
from tests.console.scripted import QUICK, ScriptedGate, console, request, shown


def colours(app: App[Any]) -> set[str]:
    """What is drawn with, other than what the terminal has by itself."""
    styles = [segment.style for strip in app.screen._compositor.render_strips() for segment in strip if segment.style]
    used = [colour for style in styles for colour in (style.color, style.bgcolor)]
    return {str(colour) for colour in used if colour and not colour.is_default}


@piloted
async def test_the_console_has_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with console(ScriptedGate(request(1)), replace(QUICK, theme=default_theme())) as (app, pilot):
        assert "Approve act-on-1?" in shown(app)
        assert colours(app) == set()
        for key in ("e", "escape", "question_mark", "escape", "h"):
            await pilot.press(key)
            await pilot.pause()
            assert colours(app) == set()


@piloted
async def test_the_first_screen_has_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = FirstRun(("No gate is running here.",), default_theme())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert colours(app) == set()

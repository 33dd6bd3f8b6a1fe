"""NO_COLOR, as it reaches the terminal: no colour at all, of text and of its ground."""

from dataclasses import replace
from typing import Any

import pytest
from textual.app import App

from aileron_tui.console.screens.first_run import FirstRun
from aileron_tui.console.settings import default_theme
from tests.console.pilots import piloted, settle
from tests.console.scripted import QUICK, ScriptedGate, console, request, shown


def colours(app: App[Any]) -> set[str]:
    """What is drawn with, other than what the terminal has by itself."""
    styles = [segment.style for strip in app.screen._compositor.render_strips() for segment in strip if segment.style]
    used = [colour for style in styles for colour in (style.color, style.bgcolor)]
    return {str(colour) for colour in used if colour and not colour.is_default}


def underlined(app: App[Any]) -> list[str]:
    """The lines that are underlined."""
    strips = app.screen._compositor.render_strips()
    lines = ["".join(part.text for part in strip if part.style and part.style.underline).strip() for strip in strips]
    return [line for line in lines if line]


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


@piloted
async def test_the_choice_one_is_on_shows_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = FirstRun(("No gate is running here.",), default_theme())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("down")
        await pilot.pause()
        assert underlined(app) == ["Make a key and start", "Your answers are signed with it. A passphrase protects it."]
    gate = ScriptedGate(request(1), request(2))
    async with console(gate, replace(QUICK, theme=default_theme())) as (board, pilot):
        await pilot.press("space", "j", "space", "X")
        await pilot.pause(0.1)
        assert [line.split()[:2] for line in underlined(board)] == [["deny", "act-on-1"]]
        await pilot.press("escape", "ctrl+p")
        await settle(pilot, lambda: any("approve" in line for line in underlined(board)))
        assert not any("deny" in line for line in underlined(board))

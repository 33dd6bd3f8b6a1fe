"""NO_COLOR, as it reaches the terminal: no colour at all, of text and of its ground."""

from dataclasses import replace
from typing import Any

import pytest
from textual.app import App

from aileron_tui.console.screens.first_run import FirstRun
from aileron_tui.console.screens.history import HistoryScreen
from aileron_tui.console.settings import default_theme
from aileron_tui.console.widgets.request_detail import RequestDetail
from tests.console.history_gate import HistoryGate, alone, records
from tests.console.screen_app import ScreenApp, async_test, lines, text, wait_until
from tests.console.scripted_gate import QUICK, ScriptedGate, console, request, shown


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


def reversed_text(app: App[Any]) -> list[str]:
    """What is drawn in reverse, other than the frames of fields."""
    styled = [segment for strip in app.screen._compositor.render_strips() for segment in strip]
    return [part.text for part in styled if part.style and part.style.reverse and part.text.isalnum()]


@async_test
async def test_the_console_has_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with console(ScriptedGate(request(1)), replace(QUICK, theme=default_theme())) as (app, pilot):
        assert "Approve act-on-1?" in shown(app)
        assert colours(app) == set()
        for key in ("e", "escape", "question_mark", "escape", "h"):
            await pilot.press(key)
            await pilot.pause()
            assert colours(app) == set()


@async_test
async def test_the_first_screen_has_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = FirstRun(("No gate is running here.",), default_theme())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert colours(app) == set()


@async_test
async def test_the_choice_one_is_on_shows_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = FirstRun(("No gate is running here.",), default_theme())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("down")
        await pilot.pause()
        assert underlined(app) == ["Create a key and start", "It signs your answers. A passphrase protects it."]
    gate = ScriptedGate(request(1), request(2))
    async with console(gate, replace(QUICK, theme=default_theme())) as (board, pilot):
        await pilot.press("space", "space", "X")
        await pilot.pause(0.1)
        assert [line.split()[:2] for line in underlined(board)] == [["deny", "act-on-1"]]
        await pilot.press("escape", "ctrl+p")
        await wait_until(pilot, lambda: any("approve" in line for line in underlined(board)))
        assert not any("deny" in line for line in underlined(board))


@async_test
async def test_the_plain_look_has_no_colours_of_its_own() -> None:
    async with console(ScriptedGate(request(1)), replace(QUICK, theme="aileron-plain")) as (app, pilot):
        for key in ("e", "escape", "D", "escape", "h", "slash"):
            await pilot.press(key)
            await pilot.pause()
            assert colours(app) == set(), key


@async_test
async def test_where_one_types_shows_in_the_plain_look() -> None:
    async with console(ScriptedGate(request(1)), replace(QUICK, theme="aileron-plain")) as (app, pilot):
        await pilot.press("D", *"why", "home")
        await wait_until(pilot, lambda: reversed_text(app) == ["w"])
        assert colours(app) == set()  # black on white, reversed, is what a dark terminal has anyway


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (40, 15)])
@async_test
async def test_the_pane_one_is_in_shows_without_colours(size: tuple[int, int]) -> None:
    gate = ScriptedGate(request(1))
    async with console(gate, replace(QUICK, theme="aileron-plain"), size) as (app, pilot):
        assert underlined(app) == []
        await pilot.press("enter")
        await wait_until(pilot, lambda: any("Approve act-on-1?" in line for line in underlined(app)))
        await pilot.press("tab")
        await wait_until(pilot, lambda: underlined(app) == [])


@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
@async_test
async def test_the_pane_of_the_history_one_is_in_shows_without_colours(size: tuple[int, int]) -> None:
    app = ScreenApp(HistoryScreen(alone(HistoryGate(records(5)))), theme="aileron-plain")
    async with app.run_test(size=size) as pilot:
        await wait_until(pilot, lambda: "end of the list" in text(app))
        await pilot.press("enter")
        detail = app.screen.query_one(RequestDetail)
        await wait_until(pilot, lambda: detail.display)
        frames = {}
        for _ in range(2):
            await pilot.press("tab")
            await pilot.pause()
            frames[detail.has_focus] = lines(app)[detail.region.y][detail.region.x]
        assert frames[True] != frames[False]

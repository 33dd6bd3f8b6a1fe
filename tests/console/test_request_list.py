"""The list of requests: how one goes through it, what stays where it is, and that only what changed is drawn."""

from collections.abc import Callable
from dataclasses import replace
from time import monotonic

import pytest
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from aileron_tui.console.app import Console
from aileron_tui.console.render import trusted
from aileron_tui.console.widgets.prompt_scroll import PromptScroll
from aileron_tui.console.widgets.prompt_view import PromptView
from aileron_tui.console.widgets.request_list import RequestList
from aileron_tui.console.widgets.two_sided_line import TwoSidedLine
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.states import RequestState
from aileron_tui.surface.board import Tone
from tests.console.screen_app import async_test, lines, wait_until
from tests.console.scripted_gate import ScriptedGate, console, request, shown

MANY = 100


def at(app: Console) -> int:
    """Which request is looked at, counted from 0; it must be in sight."""
    assert any("▸" in line for line in lines(app)), "what is looked at is not in sight"
    return app.board.listed.index(app.board.selected)


@pytest.fixture(name="drawn")
def _drawn(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lines of the list that were drawn."""
    counted: list[int] = []
    draw = RequestList.render_line

    def render_line(self: RequestList, y: int) -> Strip:
        counted.append(y)
        return draw(self, y)

    monkeypatch.setattr(RequestList, "render_line", render_line)
    return counted


@async_test
async def test_the_cursor_stays_on_its_request_while_the_list_moves() -> None:
    gate = ScriptedGate(request(5), request(6))
    async with console(gate) as (app, pilot):
        await pilot.press("j")
        gate.tell("snapshot", *(request(number) for number in range(1, 9)))
        await wait_until(pilot, lambda: app.board.waiting_count == 8)
        assert app.board.selected == "act-6"
        assert "Approve act-on-6?" in shown(app)
        assert app.screen.focused is app.screen.query_one(RequestList)


@async_test
async def test_five_hundred_arrivals_do_not_disturb_reading() -> None:
    gate = ScriptedGate(request(1))
    async with console(gate) as (app, pilot):
        await pilot.press("enter")
        focused = app.screen.focused
        for number in range(2, 502):
            gate.tell("pending", request(number % 60 + 2))
        await wait_until(pilot, lambda: app.board.waiting_count >= 60)
        assert app.board.selected == "act-1"
        assert app.screen.focused is focused
        assert "Approve act-on-1?" in shown(app)


@async_test
async def test_every_key_goes_through_a_list_that_is_longer_than_the_screen() -> None:
    async with console(ScriptedGate(*map(request, range(MANY)))) as (app, pilot):
        height = app.screen.query_one(RequestList).size.height // 2
        assert height < MANY
        for key, row in (
            ("down", 1),
            ("j", 2),
            ("up", 1),
            ("k", 0),
            ("up", 0),
            ("pagedown", height - 1),
            ("pagedown", 2 * (height - 1)),
            ("pageup", height - 1),
            ("end", MANY - 1),
            ("down", MANY - 1),
            ("home", 0),
        ):
            await pilot.press(key)
            title = f"Approve {app.board.listed[row].replace('act', 'act-on')}?"
            await wait_until(pilot, lambda title=title: title in shown(app))  # type: ignore[misc]
            assert at(app) == row


@async_test
async def test_a_list_of_one_line_has_no_pages() -> None:
    async with console(ScriptedGate(*map(request, range(MANY))), size=(40, 15)) as (app, pilot):
        await pilot.press("pagedown", "pageup", "pagedown")
        await pilot.pause()
        assert at(app) == 0
        await pilot.press("end")
        await wait_until(pilot, lambda: at(app) == MANY - 1)


@async_test
async def test_what_arrives_out_of_sight_draws_no_row(drawn: list[int]) -> None:
    gate = ScriptedGate(*map(request, range(MANY)))
    async with console(gate) as (app, pilot):
        drawn.clear()
        gate.tell("pending", request(MANY))
        await wait_until(pilot, lambda: f"{MANY + 1} waiting" in shown(app))
        assert drawn == []
        await pilot.press("down")
        await wait_until(pilot, lambda: at(app) == 1)
        assert set(drawn) == {0, 1, 2, 3}


CHANGES: tuple[Callable[[Console, ScriptedGate], object], ...] = (
    lambda app, gate: gate.tell("pending", request(900)),
    lambda app, gate: gate.tell("updated", replace(request(1), state=RequestState.EXECUTED, revision=2)),
    lambda app, gate: gate.tell("pending", replace(request(2, Risk(RiskLevel.HIGH, "it sends")), revision=2)),
    lambda app, gate: gate.tell("pending", replace(request(11, action="something-else"), revision=2)),
    lambda app, gate: app.board.marked.add("act-2"),
    lambda app, gate: app.board.set_pill("act-12", "being sent…", Tone.WARN),
    lambda app, gate: setattr(app.board, "selected", "act-4"),
    lambda app, gate: gate.tell("snapshot", *map(request, range(3, 40))),
    lambda app, gate: app.board.set_filter("act-on-3"),
    lambda app, gate: app.board.set_filter("found nowhere"),
    lambda app, gate: app.board.set_filter(""),
    lambda app, gate: gate.tell("snapshot"),
)


@async_test
async def test_what_is_left_as_it_was_drawn_is_what_would_be_drawn() -> None:
    gate = ScriptedGate(*map(request, range(MANY)))
    async with console(gate) as (app, pilot):
        for number, change in enumerate(CHANGES):
            before = lines(app)
            change(app, gate)
            await pilot.pause(0.1)
            app.redraw()
            await pilot.pause(0.1)
            seen = lines(app)
            assert seen != before, number
            app.screen.query_one(RequestList).notify_style_update()  # which forgets everything that was kept
            app.screen.query_one(RequestList).refresh()
            await pilot.pause(0.1)
            assert lines(app) == seen, number


@async_test
async def test_news_are_taken_in_no_more_often_than_they_can_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[float] = []
    take_in = Console._process_reports

    def counted(self: Console) -> None:
        taken.append(monotonic())
        take_in(self)

    monkeypatch.setattr(Console, "_process_reports", counted)
    gate = ScriptedGate()
    async with console(gate) as (app, pilot):
        taken.clear()
        for number in range(MANY):
            gate.tell("pending", request(number))
            await pilot.pause(0.001)
        await wait_until(pilot, lambda: app.board.waiting_count == MANY)
        assert len(taken) <= (taken[-1] - taken[0]) * 60 + 2


@async_test
async def test_a_request_that_comes_into_an_empty_console_is_laid_out_at_once_as_it_stays() -> None:
    gate = ScriptedGate()
    async with console(gate) as (app, pilot):
        view = app.screen.query_one(PromptView)
        laid: list[dict[Widget, Size]] = []

        def note(_: object) -> None:
            if view.query_one("#prompt-title").size:
                laid.append({part: part.size for part in view.walk_children(Widget) if part.size})

        app.screen.screen_layout_refresh_signal.subscribe(app, note)
        gate.tell("pending", request(1, inputs=(Row("Draft id", "r-1"),)))
        await wait_until(pilot, lambda: "r-1" in shown(app))
        await pilot.pause(0.3)
        assert laid[0] == laid[-1]


@async_test
async def test_a_part_that_is_to_be_laid_out_already_gets_the_height_of_what_it_shows_then() -> None:
    async with console(ScriptedGate(request(1))) as (app, pilot):
        part = app.screen.query_one("#prompt-risk", TwoSidedLine)
        part.refresh(layout=True)
        app.screen.query_one(PromptScroll)._clear_arrangement_cache()
        app.screen._refresh_layout()  # as a change of size does, before the part asks for it itself
        part.show(trusted("a\nb\nc"))
        await wait_until(pilot, lambda: part.size.height == 3, 2)

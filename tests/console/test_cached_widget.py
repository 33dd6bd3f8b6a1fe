"""What is drawn when a second has passed: the digits that changed, and nothing else."""

from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

import pytest
from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.pilot import Pilot
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from aileron_tui.console.render import trusted
from aileron_tui.console.widgets.cached_widget import TextChange
from aileron_tui.console.widgets.prompt_view import PromptView
from aileron_tui.console.widgets.request_list import RequestList
from aileron_tui.console.widgets.two_sided_line import TwoSidedLine
from tests.console.sample_requests import NOW, START, PromptApp, lines, worked
from tests.console.screen_app import async_test, wait_until
from tests.console.scripted_gate import ScriptedGate, console, request

Drawn = list[tuple[Widget, Region]]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    """What Textual has drawn, widget by widget."""
    found: Drawn = []
    usual = Widget.render_lines

    def noted(self: Widget, crop: Region) -> list[Strip]:
        found.append((self, crop))
        return usual(self, crop)

    monkeypatch.setattr(Widget, "render_lines", noted)
    return found


class Clock(App[None]):
    """A title and a clock."""

    def compose(self) -> ComposeResult:
        yield TwoSidedLine()

    @property
    def line(self) -> TwoSidedLine:
        """The line with both."""
        return self.query_one(TwoSidedLine)

    @property
    def words(self) -> str:
        """What is on the screen."""
        return " ".join("".join(lines(self)).split())

    async def tell(self, pilot: Pilot[None], left: str, right: str, style: str = "") -> None:
        """Shows these, and returns when they are on the screen."""
        self.line.show(trusted(left), trusted(right, style))
        await wait_until(pilot, lambda: self.words == f"{left} {right}")


@async_test
async def test_a_clock_that_goes_on_has_its_digits_put_in_and_nothing_drawn(drawn: Drawn) -> None:
    app = Clock()
    async with app.run_test(size=(40, 5)) as pilot:
        await app.tell(pilot, "send-draft", "0:41 left")
        drawn.clear()
        await app.tell(pilot, "send-draft", "0:40 left")
        await app.tell(pilot, "send-draft", "0:39 left")
        assert app.line not in [widget for widget, _ in drawn]
        app.line.refresh()
        await wait_until(pilot, lambda: app.line in [widget for widget, _ in drawn])
        assert app.words == "send-draft 0:39 left"


@async_test
async def test_other_room_other_looks_and_other_words_are_laid_out_anew() -> None:
    app = Clock()
    async with app.run_test(size=(20, 5)) as pilot:
        await app.tell(pilot, "send-draft", "0:41 left")
        await app.tell(pilot, "send-draft", "time is up")
        await app.tell(pilot, "move-file-to", "1:02 left")
        assert app.line.size.height == 2
        await app.tell(pilot, "move-file-to", "1:01 left")
        await pilot.resize_terminal(30, 5)
        await app.tell(pilot, "move-file-to", "1:00 left")
        await app.tell(pilot, "move-file-to", "0:59 left", "bold")
        assert [segment.text for strip in app.screen._compositor.render_strips() for segment in strip if bold(segment)]


def bold(segment: Segment) -> bool:
    """Whether it is drawn so."""
    return bool(segment.style and segment.style.bold)


@async_test
async def test_letters_that_do_not_fit_where_the_old_ones_stand_are_not_put_there(drawn: Drawn) -> None:
    app = Clock()
    async with app.run_test(size=(30, 5)) as pilot:
        await app.tell(pilot, "漢字", "0:41")
        wrong = (
            TextChange(26, 0, "0:42", "0:40"),
            TextChange(26, 0, "0:41", "漢字"),
            TextChange(2, 0, "字", "x"),
            TextChange(29, 7, "1", "2"),
        )
        for turn in wrong:
            drawn.clear()
            app.line.replace_text([turn])
            await wait_until(pilot, lambda: app.line in [widget for widget, _ in drawn])
            assert lines(app)[0] == f"漢字{' ' * 22}0:41"


@async_test
async def test_a_second_has_nothing_of_the_prompt_laid_out_anew(drawn: Drawn) -> None:
    app = PromptApp(worked())

    def shows(left: str) -> bool:
        return left in lines(app)[1]

    async with app.run_test(size=(120, 36)) as pilot:
        app.view.tick(START + timedelta(seconds=130))
        await wait_until(pilot, partial(shows, "2:50 left"))
        drawn.clear()
        app.view.tick(START + timedelta(seconds=131))
        await wait_until(pilot, partial(shows, "2:49 left"))
        assert not [widget for widget, _ in drawn if isinstance(widget, TwoSidedLine | PromptView)]


@async_test
async def test_the_list_goes_on_counting_and_draws_no_row(drawn: Drawn, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = ScriptedGate(*(replace(request(number), expires_at="2030-01-01T00:10:00.000Z") for number in (1, 2)))
    async with console(gate) as (app, pilot):
        waiting = app._main.query_one(RequestList)
        await wait_until(pilot, lambda: len(app.board.listed) == 2)

        def later() -> datetime:
            return NOW.replace(year=2030, month=1, day=1, hour=0, minute=0, second=0, microsecond=0) + passed

        passed = timedelta()
        monkeypatch.setattr("aileron_tui.console.widgets.request_list.utc_now", later)
        assert app._main._clock is not None
        app._main._clock.pause()
        waiting.update()
        await wait_until(pilot, lambda: sum("10:00" in row for row in lines(app)) == 2)
        passed = timedelta(seconds=1)
        waiting.tick()
        await wait_until(pilot, lambda: sum("9:59 " in row for row in lines(app)) == 2)
        drawn.clear()
        passed = timedelta(seconds=2)
        waiting.tick()
        await wait_until(pilot, lambda: sum("9:58 " in row for row in lines(app)) == 2)
        assert not [widget for widget, _ in drawn if widget is waiting]


@async_test
async def test_no_clock_runs_while_there_is_nothing_to_count() -> None:
    gate = ScriptedGate()
    async with console(gate) as (app, pilot):
        assert not _runs(app._main._clock)
        gate.tell("pending", request(1))
        await wait_until(pilot, lambda: app.board.waiting_count == 1)
        assert _runs(app._main._clock)


def _runs(clock: Timer | None) -> bool:
    assert clock is not None
    return clock._active.is_set()

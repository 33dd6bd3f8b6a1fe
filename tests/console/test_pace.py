"""Answering one request after another: what happens elsewhere neither disarms nor moves the one that is shown."""

import re
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from textual.pilot import Pilot

from aileron_tui.console.app import Console
from aileron_tui.console.widgets.answer_bar import AnswerBar
from aileron_tui.console.widgets.prompt_view import PromptView
from aileron_tui.console.widgets.request_list import RequestList
from aileron_tui.core.decision import Verdict
from aileron_tui.core.prompt import PreviewResult
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.states import RequestState
from aileron_tui.surface.waiting_order import FOLLOW_SECONDS
from tests.console import sample_requests as samples
from tests.console.screen_app import async_test, wait_until
from tests.console.scripted_gate import ARMED, QUICK, Clock, ScriptedGate, console, notifications, request, sent, shown

HELD = replace(ARMED, undo_seconds=60.0)
FOLLOWING = replace(ARMED, follow=True)


def status(app: Console) -> str:
    """The line above the keys."""
    return app._main.query_one(AnswerBar).lines_at(100)[0].plain


def has_decided(gate: ScriptedGate, count: int) -> bool:
    return len(gate.decided) == count


async def read(pilot: Pilot[None], app: Console) -> None:
    await wait_until(pilot, lambda: app._main.query_one(PromptView).read_to_end)


@async_test
async def test_an_answer_every_moment_without_end() -> None:
    """Holds end in between, and none of it refuses a key."""
    numbers = range(101, 113)
    gate, clock = ScriptedGate(*map(request, numbers)), Clock()
    async with console(gate, HELD, clock=clock) as (app, pilot):
        for number in numbers:
            await read(pilot, app)
            assert status(app) == "● ready for your answer"
            await pilot.press("a")
            assert app.answers.holds(f"act-{number}"), notifications(app)
            await pilot.press("n" if number % 2 else "j")
            clock.run(app, 0.4)
            if number > 102:
                app.answers._undo_window_over(f"act-{number - 2}")  # the undo window of the one before the last
                await wait_until(pilot, partial(has_decided, gate, number - 102))
            clock.run(app, 0.4)
        assert notifications(app) in {"", "no other request is waiting"}
        assert app.answers.held_count == 2
    assert [id_ for id_, *_ in gate.decided] == [f"act-{number}" for number in numbers[:-2]]


@async_test
async def test_each_hold_is_on_its_own_row_and_undo_takes_the_newest() -> None:
    gate, clock = ScriptedGate(request(1), request(2), request(3)), Clock()
    async with console(gate, HELD, clock=clock) as (app, pilot):
        for _ in range(2):
            await read(pilot, app)
            await pilot.press("a", "n")
            clock.run(app, 0.8)
        await read(pilot, app)
        rows = [app.screen.query_one(RequestList).render_line(y).text for y in range(6)]
        assert [row.split()[0] for row in rows if "sends in " in row] == ["act-on-1", "act-on-2"]
        assert status(app) == "● ready for your answer"
        assert "2 held, u to undo" in shown(app)
        await pilot.press("k", "k")
        assert re.fullmatch(r"approved, sends in \d+ s", status(app))  # `u` would take back another one
        await pilot.press("j")
        assert re.fullmatch(r"approved, sends in \d+ s: u undo", status(app))
        await pilot.press("u")
        assert app.board.pill("act-2").words == ""
        assert "1 held" in shown(app)
        await pilot.press("u")
        await sent(app)
    assert gate.decided == []


@async_test
async def test_the_time_left_to_undo_counts_down_on_the_row() -> None:
    gate = ScriptedGate(request(1), request(2))
    async with console(gate, replace(QUICK, undo_seconds=3.0)) as (app, pilot):
        await read(pilot, app)
        await pilot.press("a", "n")
        row = app.screen.query_one(RequestList)
        await wait_until(pilot, lambda: "sends in 3 s" in row.render_line(0).text)
        await wait_until(pilot, lambda: "sends in 1 s" in row.render_line(0).text)
        await wait_until(pilot, lambda: len(gate.decided) == 1)


@async_test
async def test_nothing_that_happens_elsewhere_disarms_or_moves_the_shown_request() -> None:
    gate, clock = ScriptedGate(request(1), request(2), request(3)), Clock()
    async with console(gate, HELD, clock=clock) as (app, pilot):
        await read(pilot, app)
        await pilot.press("a", "n")
        clock.run(app, 0.8)
        await read(pilot, app)
        view = app.screen.query_one(PromptView)
        before = (status(app), app.arming.changes, view.region, view.query_one("#prompt-risk").region)
        gate.tell("pending", request(4))
        gate.tell("updated", replace(request(3), state=RequestState.WITHDRAWN, revision=5))
        app.answers._undo_window_over("act-1")
        await wait_until(pilot, lambda: app.board.is_waiting("act-4") and not app.board.is_waiting("act-3"))
        await wait_until(pilot, lambda: app.board.pill("act-1").words == "done ✓")
        app._main._tick()
        await pilot.pause(0.1)
        assert app.board.selected == "act-2"
        assert (status(app), app.arming.changes, view.region, view.query_one("#prompt-risk").region) == before
        await pilot.press("d")
        await wait_until(pilot, lambda: len(gate.decided) == 2)
    assert gate.decided[1][:2] == ("act-2", Verdict.DENY)


@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
@async_test
async def test_another_source_that_is_lost_moves_nothing(size: tuple[int, int]) -> None:
    gates = [ScriptedGate(replace(request(number), source=name), name=name) for number, name in enumerate("abc", 1)]
    async with console(gates, size=size) as (app, pilot):
        view = app.screen.query_one(PromptView)
        await read(pilot, app)
        before = [widget.region for widget in view.query("#prompt-title, #prompt-body, #prompt-body > *")]
        gates[1].hang_up()
        await wait_until(pilot, lambda: "▲ b stale since" in shown(app))
        gates[2].hang_up()
        await wait_until(pilot, lambda: "+1 more" in shown(app))
        await pilot.pause(0.1)
        assert [widget.region for widget in view.query("#prompt-title, #prompt-body, #prompt-body > *")] == before
        assert view.read_to_end


@pytest.mark.parametrize("width", [40, 45, 52, 58, 60, 64])
@async_test
async def test_nothing_moves_while_a_preview_gets_older_and_time_runs_out(width: int) -> None:
    long_name = PreviewResult((Row("To", "team@example.com"), Row("Subject", "Weekly recap")))
    made = samples.item(replace(samples.worked().prompt, preview=long_name))
    async with console(ScriptedGate(made), size=(width, 60)) as (app, pilot):
        view = app.screen.query_one(PromptView)
        await read(pilot, app)
        seen = set()
        for seconds in (2, 4, 11, 13, 40, 61, 200, 269, 271, 301):
            view.tick(samples.START + timedelta(seconds=seconds))
            await pilot.pause()
            seen.add(tuple((child.id, child.region) for child in view.query("#prompt-body > *") if child.display))
        assert len(seen) == 1
        assert view.read_to_end


@async_test
async def test_n_goes_to_the_next_that_waits_and_wraps() -> None:
    gate = ScriptedGate(*(request(number) for number in range(1, 5)))
    async with console(gate) as (app, pilot):
        gate.tell("updated", replace(request(2), state=RequestState.WITHDRAWN, revision=5))
        await wait_until(pilot, lambda: not app.board.is_waiting("act-2"))
        visited = []
        for _ in range(4):
            await pilot.press("n")
            visited.append(app.board.selected)
        assert visited == ["act-3", "act-4", "act-1", "act-3"]
        await pilot.press("slash", *"on-3", "enter", "n")
        await wait_until(pilot, lambda: notifications(app) == "the filter hides the other waiting requests")
        assert "1 of 3 waiting" in shown(app)
        await pilot.press("escape")
        for number in (1, 4):
            gate.tell("updated", replace(request(number), state=RequestState.WITHDRAWN, revision=5))
        await wait_until(pilot, lambda: app.board.waiting_count == 1)
        await pilot.press("n")
        assert app.board.selected == "act-3"
        assert notifications(app) == "no other request is waiting"


@async_test
async def test_marking_goes_on_and_a_star_marks_what_is_listed() -> None:
    gate = ScriptedGate(*(request(number) for number in range(1, 5)))
    async with console(gate) as (app, pilot):
        await pilot.press("space", "space")
        assert (app.board.marked, app.board.selected) == ({"act-1", "act-2"}, "act-3")
        await pilot.press("asterisk")
        assert len(app.board.marked) == 4
        assert "4 marked" in shown(app)
        await pilot.press("asterisk")
        assert not app.board.marked


async def answer_first(pilot: Pilot[None], app: Console, key: str = "a") -> None:
    await read(pilot, app)
    await pilot.press(key)
    await wait_until(pilot, lambda: not app.board.is_waiting("act-1"))


def use(app: Console, clock: Clock) -> None:
    """Lets the test's clock decide when nobody has typed for a while."""
    app._main.following._clock = clock


@pytest.mark.parametrize("key", ["a", "d"])
@async_test
async def test_the_console_moves_on_from_what_was_answered_here(key: str) -> None:
    gate, clock = ScriptedGate(request(1), request(2)), Clock()
    async with console(gate, FOLLOWING, clock=clock) as (app, pilot):
        use(app, clock)
        await answer_first(pilot, app, key)
        await pilot.pause(0.1)
        clock.run(app, FOLLOW_SECONDS - 0.2)
        app.redraw()
        assert app.board.selected == "act-1"
        await pilot.press("y")
        clock.run(app, FOLLOW_SECONDS - 0.2)  # the key began the wait again
        app.redraw()
        assert app.board.selected == "act-1"
        clock.run(app, 0.3)
        app.redraw()
        assert app.board.selected == "act-2"


@async_test
async def test_keys_typed_for_the_old_request_never_answer_the_one_it_moved_to() -> None:
    gate, clock = ScriptedGate(request(1), request(2)), Clock()
    async with console(gate, FOLLOWING, clock=clock) as (app, pilot):
        use(app, clock)
        await answer_first(pilot, app)
        await pilot.pause(0.1)
        clock.run(app, FOLLOW_SECONDS + 0.1)
        app.redraw()
        assert app.board.selected == "act-2"
        for key in "adaaddaD":
            await pilot.press(key)
            clock.run(app, 0.3)
        await sent(app)
        assert len(gate.decided) == 1
        assert len(app.screen_stack) == 1
        clock.run(app, 0.8)
        await read(pilot, app)
        await pilot.press("a")
        await wait_until(pilot, lambda: len(gate.decided) == 2)


@async_test
async def test_it_waits_while_another_screen_or_the_filter_is_used() -> None:
    gate, clock = ScriptedGate(request(1), request(2)), Clock()
    async with console(gate, FOLLOWING, clock=clock) as (app, pilot):
        use(app, clock)
        await answer_first(pilot, app)
        for there, back in (("v", "escape"), ("slash", "enter")):
            await pilot.press(there)
            await pilot.pause(0.1)
            clock.run(app, FOLLOW_SECONDS + 0.1)
            app.redraw()
            assert app.board.selected == "act-1"
            await pilot.press(back)
            await pilot.pause(0.1)
        clock.run(app, FOLLOW_SECONDS + 0.1)
        app.redraw()
        assert app.board.selected == "act-2"


@pytest.mark.parametrize("state", [RequestState.WITHDRAWN, RequestState.EXPIRED, RequestState.EXECUTED])
@async_test
async def test_what_was_not_answered_here_stays(state: RequestState) -> None:
    gate, clock = ScriptedGate(request(1), request(2)), Clock()
    async with console(gate, FOLLOWING, clock=clock) as (app, pilot):
        use(app, clock)
        gate.tell("updated", replace(request(1), state=state, revision=5))
        await wait_until(pilot, lambda: not app.board.is_waiting("act-1"))
        clock.run(app, 10)
        app.redraw()
        assert app.board.selected == "act-1"


@async_test
async def test_following_can_be_turned_off_and_a_request_that_comes_later_is_followed_too() -> None:
    for follow, selected in ((False, "act-1"), (True, "act-2")):
        gate, clock = ScriptedGate(request(1)), Clock()
        async with console(gate, replace(ARMED, follow=follow), clock=clock) as (app, pilot):
            use(app, clock)
            await answer_first(pilot, app)
            clock.run(app, 10)
            gate.tell("pending", request(2))
            await wait_until(pilot, lambda app=app: app.board.is_waiting("act-2"))  # type: ignore[misc]
            clock.run(app, 10)
            app.redraw()
            assert app.board.selected == selected

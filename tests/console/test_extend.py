"""The key for five more minutes: the time left grows, and nothing is answered or disarmed."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from textual.widgets import Input

from aileron_tui.console.settings import ConsoleSettings
from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.request import Request
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import moment, timestamp, utc_now
from tests.console.screen_app import SIZES, async_test, wait_until
from tests.console.scripted_gate import ARMED, Clock, ScriptedGate, console, notifications, request, sent, shown
from tests.runtime.daemon.asked import item

HIGH = Risk(RiskLevel.HIGH, "it sends")


def waiting(number: int = 1, minutes: float = 3, limit: float = 28) -> Request:
    """A request that waits for some more minutes, and can be extended up to a limit."""
    now = utc_now()
    return replace(
        request(number),
        requested_at=timestamp(now - timedelta(minutes=2)),
        expires_at=timestamp(now + timedelta(minutes=minutes)),
        extendable_until=timestamp(now + timedelta(minutes=limit)),
    )


def minutes_left(text: str) -> int:
    """The minutes in the time left beside the prompt."""
    found = re.search(r"(\d+):\d\d left", text)
    assert found, text
    return int(found[1])


@pytest.mark.parametrize("size", SIZES)
@async_test
async def test_each_press_adds_five_minutes_to_the_time_left(size: tuple[int, int]) -> None:
    gate = ScriptedGate(waiting())
    first = moment(gate.items["act-1"].expires_at)
    async with console(gate, size=size) as (app, pilot):
        await wait_until(pilot, lambda: "left" in shown(app))
        assert minutes_left(shown(app)) == 2
        await pilot.press("+")
        await wait_until(pilot, lambda: minutes_left(shown(app)) == 7)
        assert "waits until" in notifications(app)
        await pilot.press("+", "+")
        await wait_until(pilot, lambda: minutes_left(shown(app)) == 17)
    assert gate.extended == [("act-1", timestamp(first + timedelta(minutes=minutes))) for minutes in (5, 10, 15)]
    assert gate.decided == []


@async_test
async def test_an_answer_stays_armed() -> None:
    gate, clock = ScriptedGate(waiting()), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        await wait_until(pilot, lambda: "ready for your answer" in shown(app))
        await pilot.press("+")
        await wait_until(pilot, lambda: minutes_left(shown(app)) == 7)
        assert "ready for your answer" in shown(app)
        await pilot.press("a")
        await wait_until(pilot, lambda: len(gate.decided) == 1)
    assert gate.decided == [("act-1", Verdict.APPROVE, "", None)]


@async_test
async def test_a_prompt_that_just_appeared_is_not_armed_by_it() -> None:
    gate, clock = ScriptedGate(), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        gate.tell("pending", waiting())
        await wait_until(pilot, lambda: app.arming.is_on_screen("act-1", request(1).digest))
        await pilot.press("+", "a")
        await sent(app)
    assert gate.decided == []


@async_test
async def test_a_held_approval_and_its_undo_are_left_alone() -> None:
    gate = ScriptedGate(waiting())
    async with console(gate, ConsoleSettings(arm_seconds=0, undo_seconds=60)) as (app, pilot):
        await pilot.press("a")
        await wait_until(pilot, lambda: app.answers.held_count == 1)
        await pilot.press("+")
        await wait_until(pilot, lambda: bool(notifications(app)))
        assert app.answers.held_count == 1
        await pilot.press("u")
        await wait_until(pilot, lambda: app.answers.held_count == 0)
    assert (gate.decided, gate.extended) == ([], [])


@async_test
async def test_it_extends_only_the_request_that_is_shown() -> None:
    gate = ScriptedGate(waiting(1), waiting(2))
    async with console(gate) as (app, pilot):
        await pilot.press("j", "+")
        await wait_until(pilot, lambda: bool(gate.extended))
        assert [id_ for id_, _ in gate.extended] == ["act-2"]
        await pilot.press("slash", *"act-on-1")
        await wait_until(pilot, lambda: not app.board.is_listed("act-2"))
        app.screen.query_one(Input).blur()
        await pilot.press("+")
        await wait_until(pilot, lambda: "filter hides" in notifications(app))
    assert len(gate.extended) == 1


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (replace(waiting(), extendable_until=""), "this deadline cannot be extended"),
        (waiting(minutes=28, limit=28), "this request cannot wait any longer"),
        (replace(waiting(), state=RequestState.DENIED), "nothing waits here"),
    ],
)
@async_test
async def test_a_deadline_that_cannot_be_extended_says_why(asked: Request, why: str) -> None:
    gate = ScriptedGate(waiting())
    async with console(gate) as (app, pilot):
        gate.tell("updated", replace(asked, revision=2))
        await wait_until(pilot, lambda: app.board.requests["act-1"].revision == 2)
        await pilot.press("+")
        await wait_until(pilot, lambda: why in notifications(app))
    assert gate.extended == []


@async_test
async def test_a_daemon_sets_its_own_deadlines() -> None:
    asked = item("action")
    gate = ScriptedGate(asked)
    async with console(gate) as (app, pilot):
        await pilot.press("+")
        await wait_until(pilot, lambda: "the daemon sets this deadline" in notifications(app))
    assert gate.extended == []


@async_test
async def test_a_read_only_console_extends_nothing() -> None:
    gate = ScriptedGate(waiting())
    async with console(gate, read_only=True) as (app, pilot):
        await pilot.press("+")
        await wait_until(pilot, lambda: "read-only" in notifications(app))
    assert gate.extended == []


@async_test
async def test_a_refusal_is_shown() -> None:
    gate = ScriptedGate(waiting())
    gate.trouble = AileronError("the request has expired; nobody answered in time")
    async with console(gate) as (app, pilot):
        await pilot.press("+")
        await wait_until(pilot, lambda: "nobody answered in time" in notifications(app))
        assert minutes_left(shown(app)) == 2


@async_test
async def test_an_edited_call_shows_the_new_deadline() -> None:
    gate = ScriptedGate(waiting())
    async with console(gate) as (app, pilot):
        await pilot.press("e", "end", "7", "ctrl+s")
        await wait_until(pilot, lambda: "approve edited call" in shown(app))
        await pilot.press("+")
        await wait_until(pilot, lambda: minutes_left(shown(app)) == 7)
        assert "approve edited call" in shown(app)

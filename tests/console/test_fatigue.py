"""Approving without reading: the console asks once more, and offers a rule for what is always approved."""

from dataclasses import replace
from functools import partial

import pytest
from textual.pilot import Pilot

from aileron_tui.console.app import Console
from aileron_tui.console.widgets.answer_bar import AnswerBar
from aileron_tui.console.widgets.prompt_view import PromptView
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import PreviewResult
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.runtime.source_events import SourceEvent
from aileron_tui.surface.agent_notices import AgentNotices
from aileron_tui.surface.reading_time import ReadingTime
from tests.console.screen_app import async_test, wait_until
from tests.console.scripted_gate import ARMED, QUICK, Clock, ScriptedGate, console, notifications, request, sent, shown

READS = replace(ARMED, fastest_reading=100.0)
LONG = PreviewResult((Row("Subject", "a long word " * 40),))
HIGH = Risk(RiskLevel.HIGH, "it sends something")


def asks_again(app: Console) -> bool:
    """Whether the console asks once more about the request on screen."""
    return app.answers.hasty is not None


def status(app: Console) -> str:
    """The line above the keys."""
    return app._main.query_one(AnswerBar).lines_at(100)[0].plain


async def ready(pilot: Pilot[None], app: Console, clock: Clock) -> None:
    """Lets the test's clock decide how long it was read, and waits until every line has been on screen."""
    app.answers.reading = ReadingTime(100.0, clock)
    app.redraw()
    await wait_until(pilot, lambda: app._main.query_one(PromptView).read_to_end)
    clock.run(app, 0.8)


@async_test
async def test_much_text_in_little_time_is_asked_once_more() -> None:
    gate, clock = ScriptedGate(request(1, preview=LONG)), Clock()
    async with console(gate, READS, clock=clock) as (app, pilot):
        await ready(pilot, app, clock)
        await pilot.press("a")
        assert status(app) == "You read 483 characters in 1 s. a approve anyway"
        for _ in range(4):
            await pilot.press("a")  # as a key that is held down
            clock.run(app, 0.2)
        await sent(app)
        assert gate.decided == []
        assert "not yet" in notifications(app)
        clock.run(app, 0.8)
        await pilot.press("a")
        await wait_until(pilot, lambda: len(gate.decided) == 1)


@async_test
async def test_what_was_read_slowly_or_is_short_is_not_asked_again() -> None:
    for item, seconds in ((request(1, preview=LONG), 5.0), (request(1), 0.0)):
        gate, clock = ScriptedGate(item), Clock()
        async with console(gate, READS, clock=clock) as (app, pilot):
            await ready(pilot, app, clock)
            clock.run(app, seconds)
            await pilot.press("a")
            await wait_until(pilot, lambda gate=gate: len(gate.decided) == 1)  # type: ignore[misc]


@async_test
async def test_the_question_ends_when_one_moves_on_or_the_prompt_changes() -> None:
    gate, clock = ScriptedGate(request(1, preview=LONG), request(2)), Clock()
    async with console(gate, READS, clock=clock) as (app, pilot):
        await ready(pilot, app, clock)
        await pilot.press("a")
        assert asks_again(app)
        await pilot.press("j", "k")
        assert not asks_again(app)
        clock.run(app, 0.8)
        await pilot.press("a")
        assert asks_again(app)
        changed = replace(request(1, preview=PreviewResult((Row("Subject", "another word " * 40),))), revision=9)
        gate.tell("updated", changed)
        await wait_until(pilot, lambda: "another word" in shown(app))
        assert not asks_again(app)
        await wait_until(pilot, lambda: app._main.query_one(PromptView).read_to_end)
        clock.run(app, 0.8)
        await pilot.press("a")
        await sent(app)
        assert gate.decided == []
        assert asks_again(app)


@async_test
async def test_high_risk_is_asked_once_more_in_any_case() -> None:
    gate, clock = ScriptedGate(request(1, HIGH, preview=LONG)), Clock()
    async with console(gate, READS, clock=clock) as (app, pilot):
        await ready(pilot, app, clock)
        await pilot.press("a")
        await wait_until(pilot, lambda: "High risk. Approve" in shown(app))
    assert gate.decided == []


@async_test
async def test_denying_is_never_asked_again() -> None:
    gate, clock = ScriptedGate(request(1, preview=LONG)), Clock()
    async with console(gate, READS, clock=clock) as (app, pilot):
        await ready(pilot, app, clock)
        await pilot.press("d")
        await wait_until(pilot, lambda: len(gate.decided) == 1)


@pytest.mark.parametrize("path", ["r-1", "/home/sam/.git/config"])
@async_test
async def test_a_rule_is_offered_after_three_equal_approvals_if_one_can_be_made(path: str) -> None:
    gate = ScriptedGate()
    async with console(gate, QUICK) as (app, pilot):
        for number in range(1, 5):
            gate.tell("pending", replace(request(1, args={"draft_id": path}), id=f"act-{number}"))
            await wait_until(pilot, partial(app.board.is_waiting, f"act-{number}"))
            await pilot.press("n")
            await wait_until(pilot, lambda: status(app).startswith("● ready for your answer"))
            offer = status(app).removeprefix("● ready for your answer")
            assert offer == (" R makes a rule" if path == "r-1" and number > 3 else "")
            await pilot.press("a")
            await wait_until(pilot, partial(has_ended, app, f"act-{number}"))


def has_ended(app: Console, key: str) -> bool:
    return not app.board.is_waiting(key)


@pytest.mark.parametrize("size", [(120, 36), (60, 20)])
@async_test
async def test_an_agent_that_asked_too_often_is_named_and_disarms_nothing(size: tuple[int, int]) -> None:
    gate, clock = ScriptedGate(request(1)), Clock()
    async with console(gate, ARMED, size, clock=clock) as (app, pilot):
        await wait_until(pilot, lambda: app._main.query_one(PromptView).read_to_end)
        changes = app.arming.changes
        app.agent_notices = AgentNotices(clock)
        data: JsonObject = {"agent": "laptop\x1b[2J", "most": 600, "seconds": 90}
        gate._events.put(SourceEvent(9, "limited", data, (), gate.name))
        await wait_until(pilot, lambda: "⚠ laptop⟨ESC⟩[2J asked too often" in shown(app))
        assert notifications(app) == "laptop⟨ESC⟩[2J asked too often: its calls are refused for now"
        assert app.arming.changes == changes
        clock.run(app, 91)
        app.redraw()
        await wait_until(pilot, lambda: "asked too often" not in shown(app))


def test_what_is_not_about_an_agent_is_ignored() -> None:
    limited = AgentNotices()
    odd: tuple[JsonObject, ...] = ({}, {"agent": 7, "seconds": 1}, {"agent": "a", "seconds": "soon"})
    assert limited.receive([SourceEvent(1, "limited", data) for data in odd]) == []
    assert limited.receive([SourceEvent(1, "pending", {"agent": "a", "seconds": 9})]) == []
    assert limited.notes == []
    limited.receive([SourceEvent(1, "limited", {"agent": f"a-{number}", "seconds": 9}) for number in range(1000)])
    assert limited.notes == ["100 agents asked too often"]

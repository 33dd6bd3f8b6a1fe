"""Attacks on the sheet that makes a rule, and accidents: it signs nothing that was not read, and nothing twice."""

from dataclasses import replace

import pytest
from textual import events

from aileron_tui.console.screens.rule import RuleScreen
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import PreviewResult
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.rule import RuleReach, RuleVerdict
from aileron_tui.core.rule_list import RefusedOffer
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.errors import NoReply
from tests.console.fixed_clock import fixed_time
from tests.console.mouse import click
from tests.console.rule_gate import RuleGate, movable, opened, prompt_read, read
from tests.console.screen_app import async_test, wait_until
from tests.console.scripted_gate import ARMED, Clock, console, shown
from tests.console.test_lock import Lockable

LONG = " ".join(f"word{number}" for number in range(150))


@pytest.fixture(autouse=True)
def stopped() -> object:
    """No time passes."""
    with fixed_time():
        yield


@async_test
async def test_keys_typed_before_the_rule_is_shown_do_nothing() -> None:
    gate, clock = RuleGate(movable()), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        await prompt_read(app, pilot)
        gate.let.clear()
        await pilot.press("R")
        clock.run(app, 2.0)
        await pilot.press("y", "y", "enter", "y")
        gate.let.set()
        await wait_until(pilot, lambda: isinstance(app.screen, RuleScreen) and app.screen._offer is not None)
        assert isinstance(app.screen, RuleScreen)
        await read(pilot, app.screen)
        await pilot.press("y")
        assert "not yet: just shown" in shown(app)
        assert gate.made == []
        clock.run(app, 0.6)
        await pilot.press("y")  # held down
        assert gate.made == []
        clock.run(app, 2.0)
        await pilot.press("y")
        await wait_until(pilot, lambda: len(gate.made) == 1)


@async_test
async def test_enter_space_and_pasted_text_make_no_rule() -> None:
    gate, clock = RuleGate(movable()), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        sheet = await opened(app, pilot)
        await read(pilot, sheet)
        clock.run(app, 2.0)
        await pilot.press("enter", "space", "enter")
        clock.run(app, 2.0)
        sheet.post_message(events.Paste("y"))
        await pilot.pause()
        await pilot.press("y")
        assert "not yet: text was pasted" in shown(app)
        assert gate.made == []


@async_test
async def test_a_double_press_makes_one_rule() -> None:
    gate = RuleGate(movable())
    async with console(gate) as (app, pilot):
        sheet = await opened(app, pilot)
        await read(pilot, sheet)
        gate.slow.clear()
        await pilot.press("y", "y", "y")
        assert "making the rule…" in shown(app)
        gate.slow.set()
        await wait_until(pilot, lambda: app.screen is app._main)
        await pilot.press("y", "y")
        await pilot.pause(0.1)
        assert len(gate.made) == 1


@async_test
async def test_a_prompt_that_changes_under_the_sheet_makes_it_unsignable() -> None:
    first = movable()
    gate = RuleGate(first)
    async with console(gate) as (app, pilot):
        sheet = await opened(app, pilot)
        await read(pilot, sheet)
        preview = PreviewResult((Row("Name", "Salaries.pdf"),))
        prompt = replace(first.prompt, preview=preview)
        changed = replace(first, prompt=prompt, digest=prompt.digest, revision=2)
        gate.tell("updated", changed)
        await wait_until(pilot, lambda: app.board.requests[first.key].digest == changed.digest)
        await pilot.press("y")
        await wait_until(pilot, lambda: "the request changed" in shown(app))
        gate.tell("updated", replace(first, revision=3))  # and back again
        await wait_until(pilot, lambda: app.board.requests[first.key].digest == first.digest)
        await pilot.press("y")
        await pilot.pause(0.1)
        assert gate.made == []
        assert "y make the rule" not in shown(app)
        await pilot.press("escape")
        assert app.screen is app._main


@async_test
async def test_a_request_that_ends_under_the_sheet_says_so_by_itself() -> None:
    first = movable()
    gate = RuleGate(first)
    async with console(gate) as (app, pilot):
        await opened(app, pilot)
        gate.tell("updated", replace(first, state=RequestState.EXPIRED, revision=2))
        await wait_until(pilot, lambda: "the request no longer waits" in shown(app))


@pytest.mark.parametrize(
    "twist",
    [
        {"agent": "other"},
        {"action": "delete-file"},
        {"args": {"file_id": "f-2"}},
        {"shown": "sha256:" + "2" * 64},
        {"connector": "sha256:" + "3" * 64},
        {"verdict": RuleVerdict.DENY},
        {"risk": RiskLevel.HIGH},
    ],
    ids=str,
)
@async_test
async def test_an_offer_for_another_call_is_not_shown(twist: JsonObject) -> None:
    gate = RuleGate(movable())
    gate.only, gate.twist = (RuleReach.CALL,), twist
    async with console(gate) as (app, pilot):
        await prompt_read(app, pilot)
        await pilot.press("R")
        await wait_until(pilot, lambda: "the gate offered a rule that does not fit this call" in shown(app))
        await pilot.press("y")
        await pilot.pause(0.1)
        assert gate.made == []


@pytest.mark.parametrize("size", [(40, 15), (45, 20), (80, 24)])
@async_test
async def test_a_long_rule_must_be_read_to_its_end(size: tuple[int, int]) -> None:
    gate = RuleGate(movable(file_id="f-1001", note=LONG))
    async with console(gate, size=size) as (app, pilot):
        sheet = await opened(app, pilot)
        await pilot.press("y")
        assert "more lines to read" in shown(app)
        assert gate.made == []
        await read(pilot, sheet)
        await pilot.press("r", "r")
        await pilot.press("y")  # the words changed, and back
        assert len(gate.made) <= 1
        await read(pilot, sheet)
        await pilot.press("y")
        await wait_until(pilot, lambda: len(gate.made) == 1)


@async_test
async def test_what_scrolls_out_of_a_smaller_window_must_be_read() -> None:
    gate = RuleGate(movable(file_id="f-1001", note=LONG))
    async with console(gate) as (app, pilot):
        await prompt_read(app, pilot)
        gate.let.clear()
        await pilot.press("R")
        await pilot.resize_terminal(40, 15)
        gate.let.set()
        sheet = app.screen
        assert isinstance(sheet, RuleScreen)
        await wait_until(pilot, lambda: sheet._offer is not None)
        await pilot.press("y")
        await pilot.pause(0.1)
        assert gate.made == []
        assert sheet._body.unread > 10
        await read(pilot, sheet)
        await pilot.press("y")
        await wait_until(pilot, lambda: len(gate.made) == 1)


@async_test
async def test_lines_below_a_notification_are_not_read_until_it_is_gone() -> None:
    gate = RuleGate(movable())
    async with console(gate, size=(80, 24), toasts=True) as (app, pilot):
        await prompt_read(app, pilot)
        app.notify("covers the end of the sheet\n" * 3, timeout=600)
        sheet = await opened(app, pilot)
        await pilot.pause(0.3)
        await pilot.press("y")
        assert gate.made == []
        app.clear_notifications()
        await wait_until(pilot, lambda: not sheet._body.unread)
        await pilot.press("y")
        await wait_until(pilot, lambda: len(gate.made) == 1)


@async_test
async def test_a_refusal_stays_on_the_sheet_and_can_be_tried_again() -> None:
    gate = RuleGate(movable())
    gate.rule_trouble = AileronError("500 rules are in force; end one first")
    async with console(gate) as (app, pilot):
        sheet = await opened(app, pilot)
        await read(pilot, sheet)
        await pilot.press("y")
        await wait_until(pilot, lambda: "✗ 500 rules are in force; end one first" in shown(app))
        await pilot.pause(0.7)
        assert "✗ 500 rules are in force; end one first" in shown(app)
        assert app.screen is sheet
        gate.rule_trouble = NoReply("the gate does not answer")
        await pilot.press("y")
        await wait_until(pilot, lambda: "unknown whether the rule was made, ^r shows the rules" in shown(app))
        gate.rule_trouble = None
        await pilot.press("y")
        await wait_until(pilot, lambda: app.screen is app._main)
        assert len(gate.made) == 1


@async_test
async def test_if_no_rule_can_be_made_the_sheet_says_why() -> None:
    gate = RuleGate(movable())
    gate.only, gate.refused = (), (RefusedOffer("call", "its inputs are too large"), RefusedOffer("any", "no"))
    async with console(gate) as (app, pilot):
        await prompt_read(app, pilot)
        await pilot.press("R")
        await wait_until(pilot, lambda: "No rule can be made: its inputs are too large" in shown(app))
        await pilot.press("y", "r", "t", "enter", "j", "y")
        assert gate.made == []
        await click(pilot, "esc close")
        assert app.screen is app._main


@async_test
async def test_a_locked_console_makes_no_rule() -> None:
    gate = RuleGate(movable())
    async with console(gate, keys=Lockable()) as (app, pilot):
        sheet = await opened(app, pilot)
        await read(pilot, sheet)
        app.lock()
        await pilot.pause()
        sheet.action_make()
        await pilot.pause(0.1)
        assert gate.made == []
        assert "move-file" not in shown(app)

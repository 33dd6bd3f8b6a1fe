"""The sheet that makes a rule: it signs what was on screen, once, and nothing else."""

from dataclasses import replace

import pytest

from aileron_tui.core.request import Request
from aileron_tui.core.rule import RuleReach, RuleVerdict
from aileron_tui.core.rule_list import RefusedOffer
from tests.console.fixed_clock import fixed_time
from tests.console.mouse import click
from tests.console.rule_gate import HIGH, ONLY_EXACT, RuleGate, movable, opened, past_calls, prompt_read, read
from tests.console.screen_app import async_test, unsafe, wait_until
from tests.console.scripted_gate import QUICK, ScriptedGate, console, notifications, shown
from tests.console.test_lock import Lockable
from tests.hostile import WORST

LONG = " ".join(f"word{number}" for number in range(150))


@pytest.fixture(autouse=True)
def stopped() -> object:
    """No time passes."""
    with fixed_time():
        yield


@async_test
async def test_a_rule_for_exactly_this_call_is_made_with_one_key() -> None:
    gate = RuleGate(movable())
    gate.past_calls = past_calls(7)
    async with console(gate) as (app, pilot):
        sheet = await opened(app, pilot)
        await read(pilot, sheet)
        text = " ".join(shown(app).split())
        assert "Allows move-file from laptop-claude with exactly these inputs, as long as the preview shows" in text
        assert "until 11:16 today" in text
        assert "file_id ▎ f-1001" in text
        assert "In the last 7 days it would have answered 7 of 8 calls of this agent to this action:" in text
        assert "07:16 done ▎ d-reports · f-1001" in text
        assert "and 2 more" in text
        await pilot.press("y")
        await wait_until(pilot, lambda: app.screen is app._main)
        (rule,) = gate.made
        assert (rule.reach, rule.verdict, rule.args) == (RuleReach.CALL, RuleVerdict.ALLOW, movable().prompt.args)
        assert rule.ends == "2026-05-12T11:16:00.000000Z"
        assert "Rule made: allows move-file from laptop-claude with exactly these inputs" in notifications(app)
        assert "until 11:16 today" in notifications(app)
        assert gate.decided == []
        assert app.board.is_waiting(app.board.selected)
        await pilot.press("a")
        await wait_until(pilot, lambda: bool(gate.decided))


@async_test
async def test_a_wider_rule_and_a_later_end_are_chosen_with_keys() -> None:
    gate = RuleGate(movable())
    async with console(gate) as (app, pilot):
        sheet = await opened(app, pilot)
        await pilot.press("r", "t")
        await read(pilot, sheet)
        assert "with any inputs, until 18:16 today" in shown(app)
        await pilot.press("y")
        await wait_until(pilot, lambda: bool(gate.made))
        assert (gate.made[0].reach, gate.made[0].args, gate.made[0].ends) == (
            RuleReach.ANY,
            None,
            "2026-05-12T18:16:00.000000Z",
        )


@async_test
async def test_choices_can_be_clicked() -> None:
    gate = RuleGate(movable())
    async with console(gate) as (app, pilot):
        sheet = await opened(app, pilot)
        await click(pilot, "any inputs")
        await click(pilot, "for 8 hours")
        await read(pilot, sheet)
        await click(pilot, "make the rule")
        await wait_until(pilot, lambda: bool(gate.made))
        assert (gate.made[0].reach, gate.made[0].ends) == (RuleReach.ANY, "2026-05-12T18:16:00.000000Z")


@pytest.mark.parametrize(
    ("date", "words"),
    [
        ("2026-05-40", "not a date: write it as 2026-05-20 or 2026-05-20 18:00"),
        ("", "not a date"),
        ("2026-05-11", "this date has passed"),
        ("2026-06-12", "too late: a rule can last until 2026-06-11 10:16"),
    ],
)
@async_test
async def test_a_wrong_date_is_refused_in_words(date: str, words: str) -> None:
    gate = RuleGate(movable())
    async with console(gate) as (app, pilot):
        sheet = await opened(app, pilot)
        await pilot.press("t", "t")
        sheet._date.value = date
        await pilot.press("enter")
        assert words in shown(app)
        assert sheet._date.has_focus
        sheet.action_make()
        await pilot.pause(0.1)
        assert gate.made == []


@async_test
async def test_a_date_means_the_end_of_that_day() -> None:
    gate = RuleGate(movable())
    async with console(gate) as (app, pilot):
        sheet = await opened(app, pilot)
        await pilot.press("t", "t")
        assert sheet._date.value == "2026-05-13"
        await pilot.press("y")  # typed into the field, which takes only dates
        assert sheet._date.value == "2026-05-13"
        assert gate.made == []
        await pilot.press("enter")
        await read(pilot, sheet)
        assert "until 2026-05-14 00:00" in shown(app)
        await pilot.press("y")
        await wait_until(pilot, lambda: bool(gate.made))
        assert gate.made[0].ends == "2026-05-14T00:00:00.000000Z"


@async_test
async def test_at_high_risk_only_the_exact_call_is_offered_and_the_reason_is_shown() -> None:
    gate = RuleGate(movable(risk=HIGH))
    async with console(gate) as (app, pilot):
        await opened(app, pilot)
        text = " ".join(shown(app).replace("│", " ").split())
        assert f"Not offered: any inputs, because {ONLY_EXACT}" in text
        assert "○ any inputs" not in text
        await pilot.press("r")
        assert "exactly these inputs" in shown(app)


@async_test
async def test_at_high_risk_the_name_is_typed_if_the_settings_say_so() -> None:
    gate = RuleGate(movable(risk=HIGH))
    async with console(gate, replace(QUICK, high_risk="type")) as (app, pilot):
        sheet = await opened(app, pilot)
        await read(pilot, sheet)
        await pilot.press("y")
        await wait_until(pilot, lambda: "Make a rule for move-file?" in shown(app))
        await pilot.press("escape")
        assert (app.screen, gate.made) == (sheet, [])
        await pilot.pause(0.1)
        await pilot.press("y")
        await wait_until(pilot, lambda: app.screen is not sheet)
        await pilot.press(*"move", "minus", *"file", "enter")
        await wait_until(pilot, lambda: bool(gate.made))


@async_test
async def test_at_high_risk_the_passphrase_is_asked_for_if_the_settings_say_so() -> None:
    gate = RuleGate(movable(risk=HIGH))
    async with console(gate, replace(QUICK, high_risk="passphrase"), keys=Lockable()) as (app, pilot):
        sheet = await opened(app, pilot)
        await read(pilot, sheet)
        await pilot.press("y")
        await wait_until(pilot, lambda: "Make the rule with your passphrase" in shown(app))
        assert gate.made == []
        await pilot.press(*"secret", "enter")
        await wait_until(pilot, lambda: len(gate.made) == 1)
        await wait_until(pilot, lambda: app.screen is app._main)


# when the key says why not


def with_(**changes: object) -> Request:
    """A request with other fields."""
    return replace(movable(), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (with_(daemon=True), "a daemon has no rules"),
        (with_(fetching=True), "the preview is still being fetched"),
        (
            movable(file_id="/home/sam/project/.git/hooks/pre-commit", to_folder="x"),
            "no rule can allow a call that names",
        ),
        (movable(file_id="b\u043ess@example.com", to_folder="x"), "no rule can allow a call with a warning"),
    ],
    ids=["daemon", "fetching", "protected", "warning"],
)
@async_test
async def test_the_key_says_why_no_rule_can_be_made(request_: Request, why: str) -> None:
    async with console(RuleGate(request_)) as (app, pilot):
        if not request_.fetching:
            await prompt_read(app, pilot)
            await pilot.pause(0.2)
        await pilot.press("R")
        await pilot.pause()
        assert why in notifications(app)
        assert app.screen is app._main


@async_test
async def test_a_read_only_console_and_an_edited_call_make_no_rule() -> None:
    async with console(RuleGate(movable()), read_only=True) as (app, pilot):
        await pilot.press("R")
        await pilot.pause()
        assert "this console is read-only" in notifications(app)


@async_test
async def test_a_source_without_rules_says_so_on_the_sheet() -> None:
    async with console(ScriptedGate(movable())) as (app, pilot):
        await prompt_read(app, pilot)
        await pilot.press("R")
        await wait_until(pilot, lambda: "a daemon has no rules" in shown(app))


@pytest.mark.slow
@async_test
async def test_foreign_text_stays_text_on_the_sheet() -> None:
    gate = RuleGate(movable())
    async with console(gate) as (app, pilot):
        await prompt_read(app, pilot)
        for text in WORST.values():
            gate.past_calls = [replace(one, outcome=text, asked=text) for one in past_calls(3, file_id=text)]
            gate.refused = (RefusedOffer(text, text),)
            sheet = await opened(app, pilot)
            await wait_until(pilot, lambda: "this agent to this action" in shown(app))
            assert unsafe(app) == []
            sheet._done(text)
            await pilot.pause()
            assert unsafe(app) == []
            await pilot.press("escape")


@async_test
async def test_after_a_rule_the_offer_disappears_from_the_bar() -> None:
    gate = RuleGate(movable(1))
    async with console(gate) as (app, pilot):
        for number in range(1, 4):
            await wait_until(pilot, lambda: "ready for your answer" in shown(app))
            await pilot.press("a")
            await wait_until(pilot, lambda number=number: not app.board.is_waiting(f"act-{number}"))  # type: ignore[misc]
            gate.tell("pending", movable(number + 1))
            await wait_until(pilot, lambda number=number: app.board.is_waiting(f"act-{number + 1}"))  # type: ignore[misc]
            await pilot.press("n")
        await wait_until(pilot, lambda: "R makes a rule" in shown(app))
        sheet = await opened(app, pilot)
        await read(pilot, sheet)
        await pilot.press("y")
        await wait_until(pilot, lambda: bool(gate.made) and app.screen is app._main)
        await wait_until(pilot, lambda: "● ready" in shown(app) and "R makes a rule" not in shown(app))

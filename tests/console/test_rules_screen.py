"""The screen of the rules in force: what each says, and that one key ends one."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from aileron_tui.console.screens.rules import RulesScreen
from aileron_tui.core.errors import AileronError
from aileron_tui.core.rule import RuleVerdict
from aileron_tui.runtime.errors import NoReply
from tests.console.fixed_clock import fixed_time
from tests.console.mouse import click
from tests.console.rule_gate import RuleGate, listed, movable
from tests.console.screen_app import async_test, unsafe, wait_until
from tests.console.scripted_gate import ARMED, Clock, ScriptedGate, console, notifications, shown
from tests.hostile import WORST

SIZES = [(120, 36), (80, 24), (45, 24), (40, 15)]


@pytest.fixture(autouse=True)
def stopped() -> Iterator[None]:
    """No time passes."""
    with fixed_time():
        yield


def flat(text: str) -> str:
    """Text in one line."""
    return " ".join(text.split())


@pytest.mark.parametrize("size", SIZES)
@async_test
async def test_each_rule_says_what_it_answers_its_use_and_its_end(size: tuple[int, int]) -> None:
    gate = RuleGate(movable(), rules=(listed(1, used=3), listed(2), listed(3, in_force=False)))
    async with console(gate, size=size) as (app, pilot):
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: "2 rules in force" in shown(app))
        text = flat(shown(app))
        words = "Allows move-file from laptop-claude with exactly these inputs, as long as the preview shows the same"
        assert f"● {words}, until 11:16 today" in text
        assert "▎ d-reports · f-1001" in text
        assert "used 3 times, last 10:11 · made 08:16 with the key sam" in text
        assert "o shows 1 ended" in text
        assert "x end rule" in text
        assert "it was ended" not in text
        await pilot.press("o", "j", "j")
        await wait_until(pilot, lambda: "ended 10:16: it was ended" in flat(shown(app)))
        assert "○ Allows move-file" in flat(shown(app))
        await pilot.press("escape")
        assert app.screen is app._main


@async_test
async def test_without_rules_the_screen_says_how_to_make_one() -> None:
    async with console(RuleGate(movable()), size=(40, 15)) as (app, pilot):
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: "No rules in force." in shown(app))
        assert "R makes a rule from the request on screen" in flat(shown(app))
        await pilot.press("x")
        await pilot.pause()
        assert "no rule is selected" in notifications(app)


@async_test
async def test_one_key_ends_a_rule_after_a_question() -> None:
    gate = RuleGate(movable(), rules=(listed(1), listed(2)))
    async with console(gate) as (app, pilot):
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: "2 rules in force" in shown(app))
        await pilot.press("j", "x")
        await wait_until(pilot, lambda: "End this rule now?" in shown(app))
        assert "with any inputs" in shown(app)
        await pilot.press("enter")  # every key but y goes back
        assert gate.ended == []
        await pilot.press("x")
        await wait_until(pilot, lambda: "End this rule now?" in shown(app))
        await pilot.press("y", "y")
        await wait_until(pilot, lambda: "1 rule in force" in shown(app))
        assert gate.ended == [listed(2).rule.id]
        assert "Rule ended: allows move-file from laptop-claude with any inputs" in notifications(app)
        await pilot.press("o", "j", "x")
        await wait_until(pilot, lambda: "this rule has already ended" in notifications(app))


@async_test
async def test_a_click_ends_a_rule_too_and_a_held_key_does_not() -> None:
    gate, clock = RuleGate(movable(), rules=(listed(1), listed(2))), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: "2 rules in force" in shown(app))
        await click(pilot, "with any inputs")
        await click(pilot, "end rule")
        await wait_until(pilot, lambda: "End this rule now?" in shown(app))
        await pilot.press("y")
        assert gate.ended == []
        clock.run(app, 2.0)
        await click(pilot, "yes")
        await wait_until(pilot, lambda: gate.ended == [listed(2).rule.id])


@async_test
async def test_what_cannot_be_ended_says_why() -> None:
    gate = RuleGate(movable(), rules=(listed(1),))
    async with console(gate, read_only=True) as (app, pilot):
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: "1 rule in force" in shown(app))
        await pilot.press("x")
        await wait_until(pilot, lambda: "this console is read-only" in notifications(app))
        assert gate.ended == []


@pytest.mark.parametrize(
    ("trouble", "words"),
    [(AileronError("rule-1 was already ended"), "rule-1 was already ended"), (NoReply("lost"), "unknown whether")],
)
@async_test
async def test_a_gate_that_refuses_is_quoted(trouble: AileronError, words: str) -> None:
    gate = RuleGate(movable(), rules=(listed(1),))
    gate.rule_trouble = trouble
    async with console(gate) as (app, pilot):
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: "1 rule in force" in shown(app))
        await pilot.press("x", "y")
        await wait_until(pilot, lambda: words in notifications(app))
        assert "1 rule in force" in shown(app)


@async_test
async def test_a_source_that_fails_is_named_and_the_others_are_shown() -> None:
    work, home = RuleGate(movable(), name="work", rules=(listed(1),)), ScriptedGate(name="home")
    async with console([work, home]) as (app, pilot):
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: "1 rule in force" in shown(app) and "home" in shown(app))
        assert "⚠ home: a daemon has no rules" in shown(app)
        assert "work · not used yet" in shown(app)
        work.trouble = AileronError("the disk is full")
        await pilot.press("r")
        await wait_until(pilot, lambda: "⚠ work: the disk is full" in shown(app))
        await pilot.press("x", "y")
        await wait_until(pilot, lambda: work.ended == [listed(1).rule.id])


@async_test
async def test_the_palette_finds_the_rules() -> None:
    async with console(RuleGate(movable(), rules=(listed(1),))) as (app, pilot):
        await pilot.press("ctrl+p")
        await pilot.press(*"rules")
        await wait_until(pilot, lambda: "rules" in shown(app) and "^r" in shown(app))
        await pilot.press("enter")
        await wait_until(pilot, lambda: isinstance(app.screen, RulesScreen))
        await pilot.press("question_mark")
        await wait_until(pilot, lambda: "End the selected rule now." in flat(shown(app)))


@async_test
async def test_a_rule_made_is_on_the_screen_when_it_is_opened() -> None:
    gate = RuleGate(movable())
    async with console(gate) as (app, pilot):
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: "No rules in force." in shown(app))
        await pilot.press("escape")
        gate.make_rule(replace(listed(2).rule, verdict=RuleVerdict.DENY))
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: "● Denies move-file from laptop-claude with any inputs" in shown(app))


@pytest.mark.slow
@async_test
async def test_foreign_text_stays_text_in_the_list() -> None:
    gate = RuleGate(movable())
    async with console(gate) as (app, pilot):
        await pilot.press("ctrl+r")
        for text in WORST.values():
            rule = listed(1, in_force=False, agent=text, action=text, args={text: text, "b": text}, ends=text)
            gate.listed = [replace(rule, in_force=True, made=text, made_by=text, why=text, last_used=text, used=2)]
            await pilot.press("r")
            await wait_until(pilot, lambda: "1 rule in force" in shown(app))
            await pilot.pause(0.05)
            assert unsafe(app) == []
            gate.trouble = AileronError(text)
            await pilot.press("r", "x")
            await pilot.pause(0.05)
            assert unsafe(app) == []
            await pilot.press("n")
            gate.trouble = None

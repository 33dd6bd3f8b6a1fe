"""The guide in the console: it takes lines of its own, never answers, and goes when it is told to."""

from dataclasses import replace

import pytest

from aileron_tui.console.widgets.answer_bar import AnswerBar
from aileron_tui.console.widgets.guide_strip import GuideStrip
from aileron_tui.console.widgets.prompt_view import PromptView
from aileron_tui.core.decision import Verdict
from aileron_tui.demo.guide import FINISHED, LATER, LESSONS, DemoGuide
from tests.console import sample_requests as samples
from tests.console.guided_requests import guided
from tests.console.mouse import click
from tests.console.rule_gate import RuleGate, movable, prompt_read
from tests.console.screen_app import SIZES, async_test, lines, unsafe, wait_until
from tests.console.scripted_gate import ARMED, NORMAL, QUICK, Clock, ScriptedGate, console, notifications, shown
from tests.hostile import HOSTILE

FIRST, FAILED, _, RULE = LESSONS


def guide() -> DemoGuide:
    return DemoGuide(lambda: "")


@pytest.mark.parametrize("size", SIZES)
@async_test
async def test_it_is_below_the_prompt_and_above_the_keys(size: tuple[int, int]) -> None:
    async with console(ScriptedGate(guided(1)), QUICK, size, guide=guide()) as (app, pilot):
        strip, view, bar = (app.screen.query_one(kind) for kind in (GuideStrip, PromptView, AnswerBar))
        await wait_until(pilot, lambda: strip.region.height > 0)
        assert strip.region.height == (1 if size == (40, 15) else 2)
        assert view.region.bottom <= strip.region.y
        assert strip.region.bottom == bar.region.y
        said = lines(app)[strip.region.y : bar.region.y]
        assert said[0].endswith(" ^g hide")
        assert (FIRST.look.brief if size == (40, 15) else FIRST.look.text) in " ".join(said)
        assert app.focused is not strip


@pytest.mark.parametrize("size", SIZES)
@async_test
async def test_a_key_or_a_click_hides_it_and_the_key_shows_it_again(size: tuple[int, int]) -> None:
    gate = ScriptedGate(guided(1))
    async with console(gate, QUICK, size, guide=guide()) as (app, pilot):
        await wait_until(pilot, lambda: "^g hide" in shown(app))
        height = app.screen.query_one(PromptView).region.height
        await pilot.press("ctrl+g")
        await wait_until(pilot, lambda: "^g hide" not in shown(app))
        assert app.screen.query_one(PromptView).region.height > height
        await pilot.press("ctrl+g")
        await wait_until(pilot, lambda: "^g hide" in shown(app))
        await click(pilot, "hide")
        await wait_until(pilot, lambda: "^g hide" not in shown(app))
        assert gate.decided == []


@async_test
async def test_it_follows_the_selection_and_what_is_decided() -> None:
    first = guided(1)
    first = replace(first, prompt=replace(first.prompt, risk=NORMAL))
    gate = ScriptedGate(first, guided(2))
    async with console(gate, QUICK, guide=guide()) as (app, pilot):
        await wait_until(pilot, lambda: FIRST.look.text in shown(app))
        await pilot.press("n")
        await wait_until(pilot, lambda: FAILED.look.text in shown(app))
        await pilot.press("d")
        await wait_until(pilot, lambda: FIRST.find.text in shown(app))
        assert gate.decided == [("act-2", Verdict.DENY, "", None)]


@async_test
async def test_a_rule_ends_its_lesson() -> None:
    made = guide()
    async with console(RuleGate(movable()), QUICK, (120, 40), guide=made) as (app, pilot):
        await prompt_read(app, pilot)
        await pilot.press("R")
        await wait_until(pilot, lambda: "y make the rule" in shown(app))
        await pilot.press("pagedown", "y")
        await wait_until(pilot, lambda: RULE in made._done)


@async_test
async def test_what_it_says_does_not_arm_or_disarm_an_answer() -> None:
    """Another request arrives: the words may change, but not where the prompt is or whether an answer counts."""
    gate, clock = ScriptedGate(samples.unpreviewed()), Clock()
    async with console(gate, ARMED, clock=clock, guide=guide()) as (app, pilot):
        await wait_until(pilot, lambda: LATER.text in shown(app))
        before = app.screen.query_one(PromptView).region
        assert app.arming.seconds_until_armed() == 0
        gate.tell("pending", guided(1))
        await wait_until(pilot, lambda: FIRST.find.text in shown(app))
        assert app.screen.query_one(PromptView).region == before
        assert app.arming.seconds_until_armed() == 0
        assert gate.decided == []


@async_test
async def test_no_text_of_a_request_reaches_it() -> None:
    requests = [replace(samples.hostile(text), id=f"act-{number}") for number, text in enumerate(HOSTILE)]
    async with console(ScriptedGate(*requests[:12]), QUICK, guide=guide()) as (app, pilot):
        await wait_until(pilot, lambda: "^g hide" in shown(app))
        strip = app.screen.query_one(GuideStrip)
        said = {line.plain.rstrip() for line in strip.lines_at(strip.size.width)}
        known = {words for lesson in LESSONS for words in (lesson.heading, lesson.find.text, lesson.look.text)}
        known |= {LATER.text, FINISHED.text}
        assert {line.removesuffix("^g hide").rstrip() for line in said} <= known
        assert unsafe(app) == []


@async_test
async def test_without_a_guide_there_is_no_strip() -> None:
    async with console(ScriptedGate(guided(1)), QUICK) as (app, pilot):
        assert not app.screen.query(GuideStrip)
        await pilot.press("ctrl+g")
        assert notifications(app) == "no guide: only the demo has one"


@async_test
async def test_a_window_that_is_too_small_shows_no_guide() -> None:
    async with console(ScriptedGate(guided(1)), QUICK, guide=guide()) as (app, pilot):
        await wait_until(pilot, lambda: "^g hide" in shown(app))
        await pilot.resize_terminal(38, 14)
        await wait_until(pilot, lambda: "too small" in shown(app))
        assert "^g hide" not in shown(app)

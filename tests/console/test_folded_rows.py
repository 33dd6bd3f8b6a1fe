"""Identical requests in one row: one key answers those that were listed when it was armed, and no others."""

from dataclasses import replace

import pytest
from textual.pilot import Pilot

from aileron_tui.console.app import Console
from aileron_tui.console.screens.batch import BatchScreen
from aileron_tui.console.widgets.request_list import RequestList
from aileron_tui.core.decision import Verdict
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.risk import Risk
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.errors import NotWaiting
from tests.console import sample_requests as samples
from tests.console.screen_app import async_test, lines, wait_until
from tests.console.scripted_gate import ARMED, NORMAL, QUICK, Clock, ScriptedGate, console, notifications, sent, shown
from tests.console.test_row_summaries import waiting

HELD = replace(QUICK, undo_seconds=60.0)


def draft(number: int, risk: Risk = NORMAL, to: str = "lin@example.com") -> Request:
    """A request that is identical to the others."""
    inputs = (Row("To", to), Row("Subject", "Friday, 15:00"))
    return waiting(samples.prompt(inputs, action="draft-mail", preview=False, risk=risk), number)


def drafts(count: int) -> list[Request]:
    return [draft(number) for number in range(1, count + 1)]


def rows(app: Console) -> list[str]:
    """The rows of the list, each without its time."""
    listed = app.screen.query_one(RequestList)
    left, top, width, height = listed.region
    names = [line[left + 2 : left + width] for line in lines(app)[top : top + height]]
    return [" ".join(name.split()[:2]) for name in names if name and not name.startswith(" ")]


async def answered(app: Console, pilot: Pilot[None], gate: ScriptedGate, count: int) -> list[str]:
    """The requests whose answers reached the gate."""
    await wait_until(pilot, lambda: len(gate.decided) >= count)
    await sent(app)
    await pilot.pause(0.1)
    return [id_ for id_, *_ in gate.decided]


@pytest.mark.parametrize(
    ("key", "verdict", "words"), [("a", Verdict.APPROVE, "approved"), ("d", Verdict.DENY, "denied")]
)
@async_test
async def test_twenty_in_one_row_are_answered_with_one_key(key: str, verdict: Verdict, words: str) -> None:
    gate = ScriptedGate(*drafts(20))
    async with console(gate) as (app, pilot):
        assert "▸ draft-mail ×20" in shown(app)
        assert "ready to answer 20 identical requests" in shown(app)
        await pilot.press(key)
        ids = await answered(app, pilot, gate, 20)
        assert ids == [f"act-{number:02}" for number in range(1, 21)], "each has a decision of its own"
        assert {one[1] for one in gate.decided} == {verdict}
        assert f"20 {words}" in notifications(app)
        await wait_until(pilot, lambda: "draft-mail ×20" in shown(app))


@async_test
async def test_a_reason_is_given_to_each() -> None:
    gate = ScriptedGate(*drafts(3))
    async with console(gate) as (app, pilot):
        await pilot.press("D", *"enough", "enter")
        await answered(app, pilot, gate, 3)
        assert {reason for _, _, reason, _ in gate.decided} == {"enough"}


@async_test
async def test_a_request_that_joins_an_armed_row_is_not_answered_with_it() -> None:
    gate, clock = ScriptedGate(*drafts(4)), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        gate.tell("pending", draft(5))
        await wait_until(pilot, lambda: "draft-mail ×5" in shown(app))
        assert "ready to answer 4 of 5: 1 came just now" in shown(app)
        await pilot.press("a")
        ids = await answered(app, pilot, gate, 4)
        assert ids == ["act-01", "act-02", "act-03", "act-04"]
        assert app.board.is_waiting("act-05")
        assert rows(app)[0] == "draft-mail ×4"
        assert len(rows(app)) == 2


@async_test
async def test_a_request_that_joined_is_answered_once_the_row_was_armed_again() -> None:
    gate, clock = ScriptedGate(*drafts(2)), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        gate.tell("pending", draft(3))
        await wait_until(pilot, lambda: "draft-mail ×3" in shown(app))
        await pilot.press("z")
        clock.run(app, 1.0)
        assert "ready to answer 3 identical requests" in shown(app)
        await pilot.press("a")
        assert len(await answered(app, pilot, gate, 3)) == 3


@async_test
async def test_a_request_whose_prompt_changes_is_not_answered_with_the_row() -> None:
    gate, clock = ScriptedGate(*drafts(3)), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        gate.tell("pending", replace(draft(2, to="eve@example.com"), revision=2))
        await wait_until(pilot, lambda: "eve@example.com" in shown(app))
        await pilot.press("a")
        assert await answered(app, pilot, gate, 1) == ["act-01"]
        assert app.board.is_waiting("act-02")
        assert app.board.is_waiting("act-03"), "it is no longer next to the first"


@async_test
async def test_one_that_was_answered_elsewhere_is_reported() -> None:
    gate = ScriptedGate(*drafts(3))
    decide = gate.decide

    def refuse_second(
        item: Request, verdict: Verdict, *, reason: str = "", edits: JsonObject | None = None
    ) -> RequestState:
        if item.id == "act-02":
            raise NotWaiting(409, {"error": {"code": "INVALID_STATE", "message": "x"}, "state": "denied"})
        return decide(item, verdict, reason=reason, edits=edits)

    gate.decide = refuse_second  # type: ignore[method-assign]
    async with console(gate) as (app, pilot):
        await pilot.press("a")
        await answered(app, pilot, gate, 2)
        await wait_until(pilot, lambda: "2 approved, 1 skipped (answered elsewhere" in notifications(app))


@async_test
async def test_undo_takes_back_the_whole_row() -> None:
    gate = ScriptedGate(*drafts(4), draft(5, to="ana@example.com"))
    async with console(gate, HELD) as (app, pilot):
        await pilot.press("a")
        await wait_until(pilot, lambda: app.answers.held_count == 4)
        assert "draft-mail ×4" in shown(app)
        await pilot.press("n", "a")
        await wait_until(pilot, lambda: app.answers.held_count == 5)
        await pilot.press("u")
        await wait_until(pilot, lambda: app.answers.held_count == 4)
        assert "undone: the approval of draft-mail was not sent" in notifications(app)
        await pilot.press("u")
        await wait_until(pilot, lambda: app.answers.held_count == 0)
        assert "undone: 4 approvals of draft-mail were not sent" in notifications(app)
        assert gate.decided == []
        assert app.board.waiting_count == 5


@async_test
async def test_an_opened_row_shows_its_requests_one_by_one() -> None:
    gate = ScriptedGate(*drafts(3), draft(4, to="ana@example.com"))
    async with console(gate) as (app, pilot):
        await pilot.press("right")
        await wait_until(pilot, lambda: len(rows(app)) == 4)
        assert "×" not in "".join(rows(app))
        await pilot.press("j", "a")
        assert await answered(app, pilot, gate, 1) == ["act-02"]
        await pilot.press("left")
        await wait_until(pilot, lambda: app.board.rows == ["act-01", "act-02", "act-03", "act-04"])


@async_test
async def test_marking_a_row_marks_each_request() -> None:
    gate = ScriptedGate(*drafts(3), draft(4, to="ana@example.com"))
    async with console(gate) as (app, pilot):
        await pilot.press("space")
        assert app.board.marked == {"act-01", "act-02", "act-03"}
        assert app.board.selected == "act-04"
        await pilot.press("A")
        await wait_until(pilot, lambda: isinstance(app.screen, BatchScreen))
        assert "3 marked" in shown(app)
        assert shown(app).count("approve") >= 3


@async_test
async def test_high_risk_has_a_row_for_each_request() -> None:
    async with console(ScriptedGate(*(draft(number, samples.SENDS) for number in range(1, 4)))) as (app, _):
        assert len(rows(app)) == 3
        assert "×" not in shown(app)


@async_test
async def test_an_action_cannot_pretend_to_be_several() -> None:
    forged = replace(draft(1).prompt, action="draft-mail ×9")
    async with console(ScriptedGate(waiting(forged, 1))) as (app, _):
        assert '▸ "draft-mail ×9"' in shown(app)


@pytest.mark.parametrize("width", [120, 80, 45])
@async_test
async def test_the_count_is_shown_at_every_width(width: int) -> None:
    async with console(ScriptedGate(*drafts(4)), size=(width, 24)) as (app, _):
        assert "draft-mail ×4" in shown(app)
        assert "lin@exa" in shown(app)

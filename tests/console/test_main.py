"""The main view: every key, and what the operator sees of it."""

import asyncio
from dataclasses import replace
from functools import partial

import pytest
from textual import events

from aileron_tui.console.key_table import BY_ID
from aileron_tui.console.settings import ConsoleSettings
from aileron_tui.console.widgets.prompt_view import PromptView
from aileron_tui.console.widgets.request_list import RequestList
from aileron_tui.core.decision import Verdict
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import PreviewResult
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.errors import NoReply, Rejected
from tests.console.hostile_texts import carried, hostile_texts
from tests.console.screen_app import SIZES, async_test, wait_until
from tests.console.scripted_gate import (
    ARMED,
    QUICK,
    Clock,
    ScriptedGate,
    SlowGate,
    console,
    notifications,
    request,
    sent,
    shown,
)

HIGH = Risk(RiskLevel.HIGH, "it sends")
LOW = Risk(RiskLevel.LOW, "it reads")


@async_test
async def test_approve_is_one_key_and_reaches_the_gate_once() -> None:
    gate = ScriptedGate(request(1))
    async with console(gate) as (app, pilot):
        await pilot.press("a")
        await wait_until(pilot, lambda: app.board.pill("act-1").words == "done ✓")
        await pilot.press("a", "a")
        await pilot.pause(0.2)
    assert gate.decided == [("act-1", Verdict.APPROVE, "", None)]


@async_test
async def test_deny_and_deny_with_a_reason() -> None:
    gate = ScriptedGate(request(1), request(2))
    async with console(gate) as (app, pilot):
        await pilot.press("d")
        await wait_until(pilot, lambda: app.board.pill("act-1").words == "denied")
        assert app.board.selected == "act-1"
        await pilot.press("j")
        await pilot.pause(0.15)
        await pilot.press("D")
        await pilot.press(*"wrong")
        await pilot.press("enter")
        await wait_until(pilot, lambda: len(gate.decided) == 2)
    assert gate.decided[1] == ("act-2", Verdict.DENY, "wrong", None)


@async_test
async def test_escape_in_the_reason_decides_nothing() -> None:
    gate = ScriptedGate(request(1))
    async with console(gate) as (_, pilot):
        await pilot.press("D", "x", "escape")
        await pilot.pause(0.1)
    assert gate.decided == []


@async_test
async def test_type_ahead_is_dropped_not_queued() -> None:
    gate, clock = ScriptedGate(), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        gate.tell("pending", request(1))
        await wait_until(pilot, lambda: app.arming.is_on_screen("act-1", request(1).digest))
        await pilot.press(*"banana")
        clock.run(app, 0.8)
        await wait_until(pilot, lambda: "ready for your answer" in shown(app))
        assert gate.decided == []
        await pilot.press("a")
        await wait_until(pilot, lambda: len(gate.decided) == 1)


@async_test
async def test_holding_the_key_down_never_arms() -> None:
    gate, clock = ScriptedGate(), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        gate.tell("pending", request(1))
        await wait_until(pilot, lambda: app.arming.is_on_screen("act-1", request(1).digest))
        for _ in range(12):
            await pilot.press("a")
            clock.run(app, 0.3)
        await sent(app)
        assert gate.decided == []


@async_test
async def test_an_answer_after_another_key_waits() -> None:
    gate, clock = ScriptedGate(request(1)), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        await pilot.press("r")
        clock.run(app, 0.6)
        await pilot.press("a")
        await sent(app)
        assert gate.decided == []
        assert "not yet: you were typing" in notifications(app)


@async_test
async def test_enter_and_space_never_answer() -> None:
    gate = ScriptedGate(request(1))
    async with console(gate) as (app, pilot):
        await pilot.press("enter", "enter", "space", "space")
        await sent(app)
    assert gate.decided == []


@async_test
async def test_what_is_pasted_and_what_follows_it_is_no_answer() -> None:
    gate, clock = ScriptedGate(request(1)), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        app.post_message(events.Paste("a"))
        await pilot.press("a")
        await sent(app)
        assert gate.decided == []
        assert "not yet: text was pasted" in notifications(app)


@async_test
async def test_the_window_that_just_got_the_focus_is_not_armed() -> None:
    gate, clock = ScriptedGate(request(1)), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        app.post_message(events.AppFocus())  # to the app, as a terminal's report goes
        await pilot.press("a")
        await sent(app)
        assert gate.decided == []
        clock.run(app, 0.8)
        await pilot.press("a")
        await wait_until(pilot, lambda: len(gate.decided) == 1)


@async_test
async def test_high_risk_must_be_read_and_confirmed() -> None:
    body = Row("Body", "\n".join(f"line {number}" for number in range(200)), multiline=True)
    gate = ScriptedGate(request(1, HIGH, preview=PreviewResult((body,))))
    async with console(gate) as (app, pilot):
        await pilot.press("a")
        await pilot.pause(0.2)
        assert "more lines to read" in shown(app)
        await pilot.press("enter")
        view = app.screen.query_one(PromptView)
        for _ in range(60):
            await pilot.press("pagedown")
            await pilot.pause(0.05)
            if view.read_to_end:
                break
        assert view.read_to_end
        await pilot.pause(0.2)
        await pilot.press("a")
        await pilot.pause(0.2)
        assert "High risk" in shown(app)
        await pilot.press("enter")
        await pilot.pause(0.1)
        assert gate.decided == []
        await pilot.pause(0.2)
        await pilot.press("a")
        await pilot.pause(0.2)
        await pilot.press("y")
        await wait_until(pilot, lambda: len(gate.decided) == 1)


@async_test
async def test_what_does_not_fit_on_the_screen_has_not_been_read() -> None:
    rows = tuple(Row(f"Row {number}", f"value {number}") for number in range(60))
    gate = ScriptedGate(request(1, HIGH, inputs=rows))
    async with console(gate, size=(100, 30)) as (app, pilot):
        view = app.screen.query_one(PromptView)
        await pilot.pause(0.3)
        assert not view.read_to_end
        await pilot.press("enter", "end")
        await pilot.pause(0.2)
        assert not view.read_to_end
        for _ in range(6):
            await pilot.press("enter")
            await pilot.pause(0.05)
        await wait_until(pilot, lambda: view.read_to_end)


@async_test
async def test_high_risk_by_typing_the_name() -> None:
    gate = ScriptedGate(request(1, HIGH))
    async with console(gate, replace(QUICK, high_risk="type")) as (app, pilot):
        await wait_until(pilot, lambda: app.screen.query_one(PromptView).read_to_end)
        await pilot.press("a")
        await pilot.pause(0.1)
        await pilot.press(*"wrong", "enter")
        await pilot.pause(0.1)
        assert gate.decided == []
        await pilot.press(*"act-on-1", "enter")
        await wait_until(pilot, lambda: len(gate.decided) == 1)


@async_test
async def test_undo_takes_an_approval_back_and_low_risk_has_no_window() -> None:
    gate = ScriptedGate(request(1), request(2, LOW))
    async with console(gate, replace(QUICK, undo_seconds=5.0)) as (app, pilot):
        await pilot.press("a")
        await pilot.pause(0.1)
        assert "s: u undo" in shown(app)
        await pilot.press("u")
        await pilot.pause(0.1)
        assert gate.decided == []
        assert app.board.pill("act-1").words == ""
        await pilot.press("j")
        await pilot.pause(0.2)
        await pilot.press("a")
        await wait_until(pilot, lambda: len(gate.decided) == 1)
    assert gate.decided[0][0] == "act-2"


@pytest.mark.parametrize("size", SIZES)
@async_test
async def test_how_it_ended_fits_the_list_and_the_bar_and_all_of_it_is_in_the_prompt(size: tuple[int, int]) -> None:
    gate = ScriptedGate(request(1))
    async with console(gate, replace(QUICK, undo_seconds=9.0), size) as (app, pilot):
        await pilot.press("a")
        await wait_until(pilot, lambda: "s: u undo" in shown(app))
        row = app.screen.query_one(RequestList).render_line(0).text
        assert "sends in " in row
        assert "⟨+" not in row
        await pilot.press("u")
        error = "connector_runtime_error: the service returned 404 and a word of its own about what it did not find"
        ended = replace(request(1), state=RequestState.FAILED, revision=9)
        gate.tell("updated", replace(ended, fields=ended.fields | {"error": error}))
        await wait_until(pilot, lambda: "nothing to answer here" in shown(app))
        assert "failed ✗ · nothing to answer here" in shown(app)
        assert "⟨+" not in app.screen.query_one(RequestList).render_line(0).text
        note = app.screen.query_one("#prompt-note")
        assert error.split() == " ".join(str(note.render()).split()).removeprefix("failed ✗ ").split()
        await pilot.press("a")
        assert notifications(app) == "nothing to answer here: failed ✗"


@async_test
async def test_only_the_last_word_stands_and_none_once_an_answer_is_taken() -> None:
    gate, clock = ScriptedGate(request(1)), Clock()
    async with console(gate, ARMED, clock=clock, toasts=True) as (app, pilot):
        app.show_message("the first")
        app.show_message("the second")
        await pilot.pause(0.3)
        assert [str(toast.render()) for toast in app.screen.query("Toast")] == ["the second"]
        await pilot.press("y", "a")
        await pilot.pause(0.3)
        assert [str(toast.render()) for toast in app.screen.query("Toast")] == ["not yet: you were typing"]
        clock.run(app, 0.8)
        await pilot.press("a")
        await wait_until(pilot, lambda: app.board.pill("act-1").words == "done ✓")
        assert "not yet" not in shown(app)
        assert not app.screen.query("Toast")


@async_test
async def test_quitting_with_a_held_approval_sends_nothing() -> None:
    gate = ScriptedGate(request(1))
    async with console(gate, replace(QUICK, undo_seconds=0.5)) as (app, pilot):
        await pilot.press("a")
        app.exit()
        await pilot.pause(0.1)
    await asyncio.sleep(0.7)
    assert gate.decided == []


@async_test
async def test_a_held_approval_of_what_changed_is_not_sent() -> None:
    gate = ScriptedGate(request(1))
    async with console(gate, replace(QUICK, undo_seconds=0.6)) as (app, pilot):
        await pilot.press("a")
        changed = replace(request(1, inputs=(Row("Draft id", "another"),)), revision=9)
        gate.tell("updated", changed)
        await pilot.pause(1.0)
        assert gate.decided == []
        assert app.board.pill("act-1").words == ""


@async_test
async def test_what_changed_while_one_was_asked_once_more_is_not_approved() -> None:
    gate = ScriptedGate(request(1, HIGH))
    async with console(gate) as (app, pilot):
        await wait_until(pilot, lambda: app.screen.query_one(PromptView).read_to_end)
        await pilot.press("a")
        await wait_until(pilot, lambda: len(app.screen_stack) == 2)
        changed = replace(request(1, HIGH, inputs=(Row("Draft id", "another"),)), revision=9)
        gate.tell("updated", changed)
        await wait_until(pilot, lambda: app.board.requests["act-1"].digest == changed.digest)
        await pilot.press("y")
        await wait_until(pilot, lambda: "the request changed before your answer was sent" in notifications(app))
        await sent(app)
        assert gate.decided == []


@async_test
async def test_edit_shows_the_difference_then_approves_the_edited_call() -> None:
    gate = ScriptedGate(request(1))
    async with console(gate) as (app, pilot):
        await pilot.press("e")
        await pilot.pause(0.1)
        await pilot.press(*"-new", "ctrl+s")
        await wait_until(pilot, lambda: app.answers.edited is not None)
        await pilot.pause(0.2)
        assert "r-1-new" in shown(app)
        assert "Approve act-on-1?" in shown(app)
        await pilot.press("a")
        await wait_until(pilot, lambda: len(gate.decided) == 1)
        # What was approved stays on screen, beside what was asked.
        await wait_until(pilot, lambda: "done ✓ (edited)" in shown(app))
        assert "Approve act-on-1?" not in shown(app)
        for words in ("edited: − as asked, + as edited", "▎−r-1\n", "▎+r-1-new"):
            assert words in shown(app)
    assert gate.decided == [("act-1", Verdict.APPROVE, "", {"draft_id": "r-1-new"})]


@async_test
async def test_an_edited_call_whose_preview_is_still_to_come_is_not_approved() -> None:
    class Hasty(ScriptedGate):
        def refresh(self, id_: str, edits: JsonObject | None = None) -> Request:
            return replace(super().refresh(id_, edits), fetching=True)

    gate = Hasty(request(1))
    async with console(gate) as (app, pilot):
        await pilot.press("e")
        await wait_until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("x", "ctrl+s")
        await wait_until(pilot, lambda: app.answers.edited is not None)
        await pilot.press("a")
        await wait_until(pilot, lambda: "the preview is still being fetched" in notifications(app))
        await sent(app)
    assert gate.decided == []


@async_test
async def test_editing_again_goes_on_from_the_edit() -> None:
    gate = ScriptedGate(request(1))
    async with console(gate) as (app, pilot):
        for typed, seen in (("-new", "▎+r-1-new"), ("er", "▎+r-1-newer")):
            await pilot.press("e")
            await pilot.pause(0.1)
            await pilot.press("end", *typed, "ctrl+s")
            await wait_until(pilot, lambda seen=seen: seen in shown(app))  # type: ignore[misc]  # bound at once
        await pilot.press("e")
        await pilot.pause(0.1)
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: len(app.screen_stack) == 1 and "▎+r-1-newer" in shown(app))
        await pilot.press("a")
        await wait_until(pilot, lambda: len(gate.decided) == 1)
    assert gate.decided == [("act-1", Verdict.APPROVE, "", {"draft_id": "r-1-newer"})]


@async_test
async def test_an_edited_call_is_on_screen_while_it_is_held_and_sent() -> None:
    gate = SlowGate(request(1), request(2))
    async with console(gate, replace(QUICK, undo_seconds=60.0)) as (app, pilot):
        await pilot.press("e")
        await pilot.pause(0.1)
        await pilot.press("end", *"-new", "ctrl+s")
        await wait_until(pilot, lambda: app.answers.edited is not None)
        await wait_until(pilot, lambda: not BY_ID["approve"].why_not(app.screen.key_state))  # type: ignore[attr-defined]  # the main screen
        await pilot.press("a")
        await wait_until(pilot, lambda: app.answers.held_count > 0)
        await pilot.press("j", "k")
        await wait_until(pilot, lambda: "▎+r-1-new" in shown(app))
        app.answers._undo_window_over("act-1")  # a minute is long
        await wait_until(pilot, lambda: "sending…" in shown(app))
        assert "▎+r-1-new" in shown(app)
        gate.let.set()
        await wait_until(pilot, lambda: "done ✓ (edited)" in shown(app))
        assert "▎+r-1-new" in shown(app)


@async_test
async def test_what_was_edited_before_it_was_asked_again_can_be_edited_once_more() -> None:
    asked = request(1)
    gate = ScriptedGate(replace(asked, edited_from=replace(asked.prompt, inputs=(Row("Draft id", "r-0"),))))
    async with console(gate) as (app, pilot):
        await wait_until(pilot, lambda: "▎−r-0" in shown(app) and "▎+r-1\n" in shown(app))
        await pilot.press("e")
        await wait_until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("end", *"-new", "ctrl+s")
        await wait_until(pilot, lambda: "▎−r-0" in shown(app) and "▎+r-1-new" in shown(app))


@async_test
async def test_an_edit_that_makes_a_call_risky_must_be_read_too() -> None:
    class Raising(ScriptedGate):
        def refresh(self, id_: str, edits: JsonObject | None = None) -> Request:
            prompt = replace(super().refresh(id_, edits).prompt, risk=HIGH, preview=PreviewResult((body,)))
            return replace(self.items[id_], prompt=prompt, digest=prompt.digest)

    body = Row("Body", "\n".join(f"line {number}" for number in range(200)), multiline=True)
    async with console(Raising(request(1))) as (app, pilot):
        await pilot.press("e")
        await wait_until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("end", "x", "ctrl+s")
        await wait_until(pilot, lambda: app.answers.edited is not None and "line 0" in shown(app))
        await pilot.press("a")
        await wait_until(pilot, lambda: "more lines to read" in notifications(app))
        assert len(app.screen_stack) == 1


@async_test
async def test_an_approval_that_goes_out_leaves_the_edit_of_another_request() -> None:
    gate = ScriptedGate(request(1), request(2))
    async with console(gate, replace(QUICK, undo_seconds=60.0)) as (app, pilot):
        await pilot.press("a", "j", "e")
        await wait_until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("end", "x", "ctrl+s")
        await wait_until(pilot, lambda: app.answers.edited is not None)
        before = app.arming.changes
        app.answers._undo_window_over("act-1")  # a minute is long
        assert app.arming.changes == before  # a click that comes now was not meant for the undo of another request
        await wait_until(pilot, lambda: len(gate.decided) == 1)
        await wait_until(pilot, lambda: "▎+r-2x" in shown(app))
        assert app.answers.edited is not None


@async_test
async def test_an_edit_is_forgotten_by_escape_and_by_moving_on() -> None:
    gate = ScriptedGate(request(1), request(2))
    async with console(gate) as (app, pilot):
        for key in ("escape", "j"):
            await pilot.press("e")
            await pilot.pause(0.1)
            await pilot.press("end", "x", "ctrl+s")
            await wait_until(pilot, lambda: app.answers.edited is not None)
            await pilot.press(key)
            assert app.answers.edited is None
    assert gate.decided == []


@async_test
async def test_a_batch_answers_what_is_switched_and_leaves_the_rest() -> None:
    gate = ScriptedGate(request(1), request(2), request(3, HIGH), request(4))
    async with console(gate) as (app, pilot):
        await pilot.press("space", "space", "space")
        assert app.board.marked == {"act-1", "act-2", "act-3"}
        await pilot.press("A")
        await pilot.pause(0.1)
        assert "high risk: approve it separately" in shown(app)
        await pilot.press("j", "space", "ctrl+s")
        await wait_until(pilot, lambda: len(gate.decided) == 2)
        await wait_until(pilot, lambda: app.board.marked == {"act-3"})
    assert [(id_, verdict) for id_, verdict, *_ in gate.decided] == [
        ("act-1", Verdict.APPROVE),
        ("act-2", Verdict.DENY),
    ]


@async_test
async def test_what_is_being_answered_is_not_answered_by_a_batch_too() -> None:
    gate = ScriptedGate(request(1), request(2))
    async with console(gate, replace(QUICK, undo_seconds=30.0)) as (app, pilot):
        await pilot.press("space", "k", "a", "X")
        await wait_until(pilot, lambda: "cannot be answered now: approved, sends in" in notifications(app))
        assert len(app.screen_stack) == 1
        await pilot.press("j", "space", "X")
        await wait_until(pilot, lambda: "1 marked" in shown(app))
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: gate.decided == [("act-2", Verdict.DENY, "", None)])
        assert app.answers.held_count
        await pilot.press("u")
    assert [id_ for id_, *_ in gate.decided] == ["act-2"]


@async_test
async def test_nothing_marked_says_so() -> None:
    gate = ScriptedGate(request(1))
    async with console(gate) as (app, pilot):
        await pilot.press("A")
        await pilot.pause(0.2)
        assert "nothing is marked" in notifications(app)
        assert len(app.screen_stack) == 1


@async_test
async def test_the_filter_narrows_and_escape_clears() -> None:
    gate = ScriptedGate(request(1), request(2))
    async with console(gate) as (app, pilot):
        await pilot.press("slash", *"on-2")
        await pilot.pause(0.1)
        assert app.board.listed == ["act-2"]
        await pilot.press("a")
        await pilot.press("escape")
        assert app.board.listed == ["act-1", "act-2"]
    assert gate.decided == []


@async_test
async def test_a_lost_gate_is_said_answers_are_refused_and_it_comes_back() -> None:
    gate = ScriptedGate(request(1))
    async with console(gate) as (app, pilot):
        gate.hang_up()
        await wait_until(pilot, lambda: bool(app.sources.trouble))
        await pilot.pause(0.2)
        assert "not connected since" in shown(app)
        await pilot.press("a")
        await pilot.pause(0.1)
        assert gate.decided == []
        gate.down = False
        await wait_until(pilot, lambda: not app.sources.trouble)
        await pilot.pause(0.2)
        assert "not connected since" not in shown(app)
        await pilot.press("a")
        await wait_until(pilot, lambda: len(gate.decided) == 1)


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (Rejected(500, {"error": {"code": "x", "message": "it broke"}}), "it broke"),
        (NoReply("the connection broke"), "the request is still waiting"),
    ],
    ids=["500", "lost reply"],
)
def test_what_went_wrong_is_told_and_the_request_still_waits(trouble: Rejected | NoReply, words: str) -> None:
    @async_test
    async def run() -> None:
        gate = ScriptedGate(request(1))
        gate.trouble = trouble
        async with console(gate) as (app, pilot):
            await pilot.press("a")
            await wait_until(pilot, lambda: words in notifications(app))
            assert app.board.pill("act-1").words == ""
            assert gate.decided == []

    run()


@async_test
async def test_what_somebody_else_answered_is_told() -> None:
    gate = ScriptedGate(request(1))
    async with console(gate) as (app, pilot):
        gate.items["act-1"] = replace(gate.items["act-1"], state=RequestState.DENIED)
        await pilot.press("a")
        await wait_until(pilot, lambda: "answered elsewhere" in notifications(app))
    assert gate.decided == []


@async_test
async def test_a_console_that_only_reads_answers_nothing() -> None:
    gate = ScriptedGate(request(1))
    async with console(gate, read_only=True) as (app, pilot):
        await pilot.press("a", "d", "A", "e")
        await pilot.pause(0.2)
        assert "read-only" in shown(app)
    assert gate.decided == []


@pytest.mark.parametrize("size", SIZES)
def test_the_answer_keys_are_on_screen_at_every_size(size: tuple[int, int]) -> None:
    @async_test
    async def run() -> None:
        body = Row("Body", "\n".join(f"line {number}" for number in range(500)), multiline=True)
        gate = ScriptedGate(request(1, preview=PreviewResult((body,))), request(2))
        async with console(gate, size=size) as (app, pilot):
            for _ in range(3):
                last = shown(app).splitlines()[-1]
                assert last.split()[0] == "a"
                assert " d" in last
                assert "?" in last
                await pilot.press("j")
            assert app.board.selected == "act-2"
            assert "act-on-2" in shown(app)

    run()


@async_test
async def test_resizing_keeps_the_request_and_too_small_answers_nothing() -> None:
    gate = ScriptedGate(request(1), request(2))
    async with console(gate) as (app, pilot):
        await pilot.press("j")
        for width, height in ((70, 24), (40, 15), (30, 10)):
            await pilot.resize_terminal(width, height)
            await pilot.pause(0.1)
            assert app.board.selected == "act-2"
        assert "too small" in shown(app).replace("\n", " ")
        await pilot.pause(0.2)
        await pilot.press("d")
        await sent(app)
        assert gate.decided == []
        await pilot.resize_terminal(40, 15)
        await pilot.pause(0.2)
        await pilot.press("d")
        await wait_until(pilot, lambda: len(gate.decided) == 1)


@async_test
async def test_there_is_a_log_where_a_gate_or_an_agent_runs_in_this_window() -> None:
    async with console(ScriptedGate(request(1))) as (app, pilot):
        assert "l log" not in shown(app)
        await pilot.press("l")
        assert notifications(app) == "no log: only the demo and a gate in this window have one"
    async with console(ScriptedGate(request(1)), log_lines=lambda: ["gate  12 actions"]) as (app, pilot):
        assert "l log" in shown(app)
        await pilot.press("l")
        await wait_until(pilot, lambda: "12 actions" in shown(app))


@async_test
async def test_quit_asks_when_something_waits() -> None:
    gate = ScriptedGate(request(1))
    async with console(gate) as (app, pilot):
        await pilot.press("q")
        await pilot.pause(0.1)
        assert "1 request is waiting. Quit anyway?" in shown(app)
        assert "they keep waiting until they time out" in shown(app)
        await pilot.press("n")
        await pilot.pause(0.1)
        assert app.is_running
        await pilot.press("q", "y")
        await pilot.pause(0.1)
    assert gate.decided == []


@async_test
async def test_requests_of_a_gate_in_this_window_do_not_keep_waiting() -> None:
    async with console(ScriptedGate(request(1)), log_lines=lambda: ["gate  12 actions"]) as (app, pilot):
        await pilot.press("q")
        await wait_until(pilot, lambda: "the gate in this window stops too" in shown(app))
        assert "keep waiting" not in shown(app)


@async_test
async def test_a_key_without_a_passphrase_is_not_locked_and_that_is_said() -> None:
    async with console(ScriptedGate(request(1))) as (app, pilot):
        await pilot.press("L")
        assert notifications(app) == "cannot lock: your key has no passphrase"
        assert "Approve act-on-1?" in shown(app)


@pytest.mark.parametrize("size", SIZES)
@async_test
async def test_a_filter_says_that_it_is_on_and_what_the_keys_do_meanwhile(size: tuple[int, int]) -> None:
    async with console(ScriptedGate(request(1), request(2)), size=size) as (app, pilot):
        await pilot.press("slash")
        await wait_until(pilot, lambda: "enter back" in shown(app))
        assert "esc clear" in shown(app)
        assert "filtered" not in shown(app)
        await pilot.press(*"zzz", "enter")
        await wait_until(pilot, lambda: "enter back" not in shown(app))
        assert "filtered" in shown(app)
        assert ("filtered, esc to clear" in shown(app)) == (size[0] > 60)
        await pilot.press("escape")
        await wait_until(pilot, lambda: "filtered" not in shown(app))


@hostile_texts(parts=4)
def test_hostile_text_never_leaves_its_ground(texts: dict[str, str]) -> None:
    """Every text as action, label and value, several at a time: in the list, the prompt, the sheet and the form."""

    @async_test
    async def run() -> None:
        gate = ScriptedGate()
        async with console(gate, size=(80, 24)) as (app, pilot):
            # A prompt with half a surrogate is refused before it is shown: JSON cannot carry it.
            mine = [(name, text) for name, text in texts.items() if carried(text) == text]
            for number, start in enumerate(range(0, len(mine), _TOGETHER)):
                some = mine[start : start + _TOGETHER]
                rows = tuple(Row(text, text, multiline=bool(place % 2)) for place, (_, text) in enumerate(some))
                told = []
                for place, (_, text) in enumerate(some):
                    hostile = replace(request(1000 * number + place, inputs=rows), revision=1)
                    told.append(replace(hostile, prompt=replace(hostile.prompt, action=text)))
                gate.tell("snapshot", *told)
                await wait_until(pilot, partial(lambda key: key in app.board.requests, told[-1].key))
                app.board.selected = told[0].id
                app.redraw()
                await pilot.pause()
                names = ", ".join(name for name, _ in some)
                harmless(shown(app), names)
                await pilot.press(*_DIALOGS[number % len(_DIALOGS)])
                harmless(shown(app), names)
                await pilot.press("escape")
                assert app.is_running
        assert gate.decided == []

    run()


_TOGETHER = 4

_DIALOGS = (["D"], ["space", "A"], ["e"])


def harmless(screen: str, name: str) -> None:
    """Nothing that a terminal would act on is on the screen."""
    odd = [
        character for character in screen if (character < " " and character != "\n") or "\x7f" <= character <= "\x9f"
    ]
    assert odd == [], name


def test_settings_have_safe_defaults() -> None:
    settings = ConsoleSettings()
    assert settings.arm_seconds == 0.7
    assert settings.undo_seconds == 2.0
    assert settings.high_risk == "confirm"


@async_test
async def test_quitting_before_the_first_frame_is_drawn_ends_quietly() -> None:
    """What was typed before the console opened can quit it before it is complete."""
    async with console(ScriptedGate(request(1))) as (app, _):
        app.exit()
    assert not app._main.is_attached
    app._start()
    assert app.sources.listeners[""].source is None, "nothing is connected again"

"""The mouse: a click on a key does what the key does, by the same rules, and never answers by accident."""

from dataclasses import replace

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from aileron_tui.console.app import Console
from aileron_tui.console.screens.batch import BatchScreen
from aileron_tui.console.screens.confirm import ConfirmScreen
from aileron_tui.console.screens.edit import EditScreen
from aileron_tui.console.screens.help import HelpScreen
from aileron_tui.console.screens.lock import LockScreen
from aileron_tui.console.screens.reason import ReasonScreen
from aileron_tui.console.widgets.answer_bar import AnswerBar
from aileron_tui.console.widgets.key_line import KeyLine
from aileron_tui.console.widgets.prompt_view import PromptView
from aileron_tui.console.widgets.request_list import RequestList
from aileron_tui.core.decision import Verdict
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.risk import Risk, RiskLevel
from tests.console.hostile_texts import carried, hostile_texts
from tests.console.mouse import Place, click, down, move, place, report, up
from tests.console.screen_app import SIZES, async_test, lines, unsafe, wait_until
from tests.console.scripted_gate import ARMED, QUICK, Clock, ScriptedGate, console, notifications, request, sent, shown

HIGH = Risk(RiskLevel.HIGH, "it sends something")


def approve(app: Console) -> Place:
    """The first key of the bar."""
    return 1, app.size.height - 1


def bring_forward(app: Console, clock: Clock) -> None:
    """A window that has had the focus for a while, in a terminal that tells of it."""
    app.arming.focused()
    clock.run(app, 0.8)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("key", "verdict"), [("a approve", Verdict.APPROVE), ("d deny", Verdict.DENY)])
@async_test
async def test_a_click_on_a_key_answers_once(size: tuple[int, int], key: str, verdict: Verdict) -> None:
    gate, clock = ScriptedGate(request(1)), Clock()
    async with console(gate, ARMED, size, clock=clock) as (app, pilot):
        bring_forward(app, clock)
        await click(pilot, key)
        await wait_until(pilot, lambda: len(gate.decided) == 1)
    assert gate.decided == [("act-1", verdict, "", None)]


@async_test
async def test_the_pilot_can_click_it_too() -> None:
    gate = ScriptedGate(request(1))
    async with console(gate) as (_, pilot):
        await pilot.click(AnswerBar, offset=(2, 1))
        await wait_until(pilot, lambda: len(gate.decided) == 1)


@async_test
async def test_a_double_click_answers_once() -> None:
    gate, clock = ScriptedGate(request(1), request(2)), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        bring_forward(app, clock)
        for _ in range(3):
            await click(pilot, approve(app))
        await wait_until(pilot, lambda: len(gate.decided) == 1)
        await click(pilot, approve(app))
        await sent(app)
    assert [id_ for id_, *_ in gate.decided] == ["act-1"]


@async_test
async def test_a_press_before_it_is_armed_is_dropped_however_long_it_is_held() -> None:
    gate, clock = ScriptedGate(), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        bring_forward(app, clock)
        gate.tell("pending", request(1))
        await wait_until(pilot, lambda: app.arming.is_on_screen("act-1", request(1).digest))
        await wait_until(pilot, lambda: not app._main.key_state.unread)
        await down(pilot, approve(app))
        assert "not yet: just shown" in notifications(app)
        clock.run(app, 2)
        await up(pilot, approve(app))
        await sent(app)
        assert gate.decided == []


@async_test
async def test_a_click_elsewhere_is_no_answer_and_makes_answers_wait() -> None:
    gate, clock = ScriptedGate(request(1)), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        bring_forward(app, clock)
        gap, harmless, state = place(app, "  d deny"), place(app, "space mark"), (60, app.size.height - 2)
        for spot in (place(app, "Approve act-on-1?"), gap, harmless, state, (0, 0)):
            await click(pilot, spot)
            await click(pilot, approve(app))
            await pilot.press("a")
            await sent(app)
            assert gate.decided == [], spot
            assert "not yet: you" in notifications(app)
            clock.run(app, 0.8)
        await click(pilot, approve(app))
        await wait_until(pilot, lambda: len(gate.decided) == 1)


@async_test
async def test_press_and_release_on_different_keys_do_nothing() -> None:
    gate, clock = ScriptedGate(request(1)), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        bring_forward(app, clock)
        deny, prompt = place(app, "d deny"), place(app, "Approve act-on-1?")
        for first, last in ((approve(app), deny), (approve(app), prompt), (prompt, approve(app))):
            await down(pilot, first)
            await up(pilot, last)
            clock.run(app, 0.8)
        for button in (2, 3):
            await click(pilot, approve(app), button)
            clock.run(app, 0.8)
        await sent(app)
    assert gate.decided == []


@async_test
async def test_another_request_under_the_pointer_is_not_answered() -> None:
    gate, clock = ScriptedGate(request(1), request(2)), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        bring_forward(app, clock)
        await down(pilot, approve(app))
        app.board.selected = "act-2"
        app.redraw()
        await wait_until(pilot, lambda: app.arming.is_on_screen("act-2", request(2).digest))
        clock.run(app, 0.8)
        await up(pilot, approve(app))
        await sent(app)
    assert gate.decided == []


@pytest.mark.parametrize("size", [(120, 30), (100, 36), (59, 20)])
@async_test
async def test_keys_that_moved_under_the_pointer_are_not_pressed(size: tuple[int, int]) -> None:
    gate, clock = ScriptedGate(request(1)), Clock()
    async with console(gate, ARMED, (120, 36), clock=clock) as (app, pilot):
        bring_forward(app, clock)
        await down(pilot, approve(app))
        await pilot.resize_terminal(*size)
        await up(pilot, approve(app))
        clock.run(app, 0.1)
        await click(pilot, approve(app))
        await sent(app)
        assert gate.decided == []
        assert "not yet: the keys just moved" in notifications(app)


@async_test
async def test_the_click_that_brings_the_window_forward_only_does_that() -> None:
    """Whether the terminal reports the focus before the press, after it, or between press and release."""
    gate, clock = ScriptedGate(request(1)), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        bring_forward(app, clock)
        for reports in (("focus", "down", "up"), ("down", "focus", "up"), ("down", "up", "focus")):
            app.post_message(events.AppBlur())
            await pilot.pause()
            clock.run(app, 5)
            for report in reports:
                if report == "focus":
                    app.post_message(events.AppFocus())
                    await pilot.pause()
                else:
                    await (down if report == "down" else up)(pilot, approve(app))
            await sent(app)
            assert gate.decided == [], reports
        clock.run(app, 0.8)
        await click(pilot, approve(app))
        await wait_until(pilot, lambda: len(gate.decided) == 1)


@async_test
async def test_where_the_focus_is_not_reported_the_first_click_after_a_while_only_gives_it() -> None:
    gate, clock = ScriptedGate(request(1)), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        for _ in range(3):
            clock.run(app, 11)
            await click(pilot, approve(app))
            await sent(app)
            assert gate.decided == []
            assert "click again" in notifications(app)
        clock.run(app, 0.8)
        await click(pilot, approve(app))
        await wait_until(pilot, lambda: len(gate.decided) == 1)


@async_test
async def test_high_risk_is_asked_once_more_and_the_safe_choice_comes_first() -> None:
    gate, clock = ScriptedGate(request(1, HIGH)), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        await wait_until(pilot, lambda: app.screen.query_one(PromptView).read_to_end)
        bring_forward(app, clock)

        async def ask() -> None:
            await click(pilot, approve(app))
            await wait_until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
            await wait_until(pilot, lambda: "y yes" in shown(app))

        await ask()
        assert place(app, "n no") < place(app, "y yes")
        await click(pilot, "y yes")
        assert "not yet: " in shown(app)
        clock.run(app, 0.8)
        await click(pilot, "n no")
        await wait_until(pilot, lambda: not isinstance(app.screen, ConfirmScreen))
        clock.run(app, 0.8)
        await ask()
        clock.run(app, 0.8)
        await click(pilot, "High risk")
        await click(pilot, "y yes")
        await sent(app)
        assert gate.decided == []
        clock.run(app, 0.8)
        await click(pilot, "y yes")
        await wait_until(pilot, lambda: len(gate.decided) == 1)


@async_test
async def test_what_is_held_is_taken_back_by_a_click() -> None:
    gate = ScriptedGate(request(1))
    async with console(gate, replace(QUICK, undo_seconds=60.0), size=SIZES[2]) as (app, pilot):
        await click(pilot, "a approve")
        await wait_until(pilot, lambda: "s: u undo" in shown(app))
        await click(pilot, "u undo")
        await wait_until(pilot, lambda: not app.answers.held_count)
    assert gate.decided == []


@async_test
async def test_the_key_that_is_pointed_at_shows_without_colour() -> None:
    gate = ScriptedGate(request(1))
    async with console(gate) as (app, pilot):
        deny = place(app, "d deny")
        await move(pilot, deny)
        assert underlined(app) == "d deny"
        await move(pilot, (deny[0] - 1, deny[1]))
        assert underlined(app) == ""
        await move(pilot, approve(app))
        assert underlined(app) == "a approve"
        await move(pilot, (5, 5))
        assert underlined(app) == ""


def underlined(app: Console) -> str:
    """What is underlined in the last line."""
    strip = app.screen._compositor.render_strips()[-1]
    return "".join(segment.text for segment in strip if segment.style and segment.style.underline)


@pytest.mark.parametrize("size", SIZES)
@async_test
async def test_a_sheet_is_filled_in_and_sent_with_the_mouse(size: tuple[int, int]) -> None:
    gate, clock = ScriptedGate(request(1), request(2), request(3)), Clock()
    async with console(gate, ARMED, size, clock=clock) as (app, pilot):
        bring_forward(app, clock)
        await pilot.press("space", "space", "space", "A")
        await wait_until(pilot, lambda: isinstance(app.screen, BatchScreen) and "ctrl+s" in shown(app))
        clock.run(app, 0.8)
        rows = app.screen.query_one(OptionList)
        corner = rows.region.offset

        def words() -> list[str]:
            return [str(option.prompt).split()[0] for option in rows.options]

        per_row = rows.virtual_size.height // 3
        await click(pilot, (corner.x + 20, corner.y + per_row))
        assert (rows.highlighted, words()) == (1, ["approve"] * 3)
        await click(pilot, (corner.x + 1, corner.y + per_row))
        assert words() == ["approve", "deny", "approve"]
        await click(pilot, (corner.x + 1, corner.y + 2 * per_row))
        await click(pilot, "space switch")
        assert words() == ["approve", "deny", "leave"]
        await click(pilot, "ctrl+s")
        await sent(app)
        assert gate.decided == []
        assert "not yet: you just clicked" in shown(app)
        clock.run(app, 0.8)
        await click(pilot, "ctrl+s")
        await wait_until(pilot, lambda: len(gate.decided) == 2)
    assert [(id_, verdict) for id_, verdict, *_ in gate.decided] == [
        ("act-1", Verdict.APPROVE),
        ("act-2", Verdict.DENY),
    ]


@async_test
async def test_a_reason_is_sent_by_a_click_once_the_form_was_to_be_seen() -> None:
    gate, clock = ScriptedGate(request(1)), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        bring_forward(app, clock)
        await click(pilot, "D deny with reason")
        await wait_until(pilot, lambda: isinstance(app.screen, ReasonScreen) and "enter deny" in shown(app))
        await click(pilot, "enter deny")
        await sent(app)
        assert gate.decided == []
        await pilot.press(*"no")
        clock.run(app, 0.8)
        await click(pilot, "enter deny")
        await wait_until(pilot, lambda: len(gate.decided) == 1)
    assert gate.decided == [("act-1", Verdict.DENY, "no", None)]


@async_test
async def test_an_edited_call_is_made_and_approved_with_the_mouse() -> None:
    gate = ScriptedGate(request(1))
    async with console(gate) as (app, pilot):
        await click(pilot, "e edit")
        await wait_until(pilot, lambda: isinstance(app.screen, EditScreen) and "ctrl+s" in shown(app))
        await pilot.press("end", "x")
        await click(pilot, "ctrl+s review changes")
        await wait_until(pilot, lambda: app.answers.edited is not None)
        await wait_until(pilot, lambda: "esc discard edit" in shown(app))
        await click(pilot, "a approve")
        await wait_until(pilot, lambda: len(gate.decided) == 1)
    assert gate.decided == [("act-1", Verdict.APPROVE, "", {"draft_id": "r-1x"})]


@pytest.mark.parametrize("button", ["y yes", "n no"])
@async_test
async def test_clicking_on_and_on_closes_one_screen(button: str) -> None:
    gate = ScriptedGate(request(1, HIGH))
    async with console(gate) as (app, pilot):
        await wait_until(pilot, lambda: app.screen.query_one(PromptView).read_to_end)
        await click(pilot, "a approve")
        await wait_until(pilot, lambda: isinstance(app.screen, ConfirmScreen) and button in shown(app))
        spot = place(app, button)
        for _ in range(3):
            report(pilot, events.MouseDown, spot)
            report(pilot, events.MouseUp, spot)
        await wait_until(pilot, lambda: len(app.screen_stack) == 1)
        await sent(app)
        assert app.is_running
    assert len(gate.decided) == (button == "y yes")


@async_test
async def test_typing_yes_on_and_on_closes_one_screen() -> None:
    gate = ScriptedGate(request(1, HIGH))
    async with console(gate) as (app, pilot):
        await wait_until(pilot, lambda: app.screen.query_one(PromptView).read_to_end)
        await pilot.press("a")
        await wait_until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        for _ in range(3):
            app.post_message(events.Key("y", "y"))
        await wait_until(pilot, lambda: len(gate.decided) == 1)
        assert app.is_running


@async_test
async def test_what_ends_under_a_lock_does_not_open_it() -> None:
    gate = ScriptedGate(request(1))
    async with console(gate) as (app, pilot):
        await pilot.press("D")
        await wait_until(pilot, lambda: isinstance(app.screen, ReasonScreen))
        dialog = app.screen
        app._show_lock("Locked")
        await wait_until(pilot, lambda: isinstance(app.screen, LockScreen))
        dialog.dismiss(None)
        await pilot.pause()
        assert isinstance(app.screen, LockScreen)


async def opened(app: Console, pilot: Pilot[None], key: str) -> None:
    """Opens a screen by clicking its key, and waits for its own keys."""
    await click(pilot, key)
    await wait_until(pilot, lambda: len(app.screen_stack) > 1 and bool(app.screen.query(KeyLine)))
    await wait_until(pilot, lambda: "esc" in lines(app)[-1] or "esc" in shown(app))


@pytest.mark.parametrize("key", ["h history", "v raw", "l log", "? help", "D deny with reason", "e edit"])
@async_test
async def test_screens_are_opened_and_left_by_their_keys(key: str) -> None:
    gate = ScriptedGate(request(1))
    async with console(gate, size=(150, 36), log_lines=lambda: ["a line"]) as (app, pilot):
        await opened(app, pilot, key)
        await click(pilot, "esc ")
        await wait_until(pilot, lambda: len(app.screen_stack) == 1)
    assert gate.decided == []


@async_test
async def test_a_double_click_goes_back_one_screen() -> None:
    gate = ScriptedGate(request(1))
    async with console(gate, size=(150, 36)) as (app, pilot):
        await opened(app, pilot, "v raw")
        await opened(app, pilot, "? help")
        await wait_until(pilot, lambda: isinstance(app.screen, HelpScreen) and "/ search" in shown(app))
        x, y = place(app, "/ search  esc back")
        spot = (x + len("/ search  "), y)
        for _ in range(2):
            report(pilot, events.MouseDown, spot)
            report(pilot, events.MouseUp, spot)
        await wait_until(pilot, lambda: len(app.screen_stack) < 3)
        assert len(app.screen_stack) == 2


@async_test
async def test_help_is_searched_by_a_click_and_says_what_the_mouse_does() -> None:
    gate = ScriptedGate(request(1))
    async with console(gate, size=SIZES[0]) as (app, pilot):
        await opened(app, pilot, "? help")
        await click(pilot, "/ search")
        await pilot.press(*"click")
        assert isinstance(app.screen, HelpScreen)
        await wait_until(pilot, lambda: "goes to the next request" in " ".join(shown(app).split()))


@async_test
async def test_a_click_looks_at_a_request_and_one_on_the_folded_line_at_the_next() -> None:
    gate, clock = ScriptedGate(request(1), request(2)), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        await click(pilot, (5, app.screen.query_one(RequestList).region.y + 1))
        assert app.board.selected == "act-1", "the second line belongs to the first request"
        await click(pilot, (5, app.screen.query_one(RequestList).region.y + 2))
        assert app.board.selected == "act-2"
        await pilot.resize_terminal(50, 20)
        await pilot.pause()
        for chosen in ("act-1", "act-2"):
            await click(pilot, (5, app.screen.query_one(RequestList).region.y))
            assert app.board.selected == chosen
        await click(pilot, approve(app))
        await sent(app)
    assert gate.decided == []


@async_test
async def test_the_wheel_scrolls_what_is_under_the_pointer_and_stays_there() -> None:
    rows = tuple(Row(f"Row {number}", f"value {number}") for number in range(60))
    gate = ScriptedGate(*(request(number, inputs=rows) for number in range(1, 90)))
    async with console(gate) as (app, pilot):
        waiting, view = app.screen.query_one(RequestList), app.screen.query_one(PromptView)
        for widget in (waiting, view._body):
            x, y = widget.region.x + 3, widget.region.y + 5
            for _ in range(3):
                turned = events.MouseScrollDown(None, x, y, 0, 1, 0, False, False, False, screen_x=x, screen_y=y)
                app.post_message(turned)
            await wait_until(pilot, lambda: waiting.scroll_offset.y > 0)
        await wait_until(pilot, lambda: view._body.scroll_offset.y > 0)
        app.redraw()
        await pilot.pause()
        assert waiting.scroll_offset.y > 0
        assert app.board.selected == "act-1"
        await pilot.press("j")
        await wait_until(pilot, lambda: waiting.scroll_offset.y <= 2)


def _is_clickable(text: str) -> bool:
    return "[@click" in text


@hostile_texts(parts=4)
def test_no_foreign_text_can_be_clicked(texts: dict[str, str]) -> None:
    """Every hostile text as action, label and value; then everything on the screen is clicked but the keys."""

    @async_test
    async def run() -> None:
        sayable = [text for text in texts.values() if carried(text) == text]
        told = []
        for number, some in enumerate(sayable[at : at + 8] for at in range(0, len(sayable), 8)):
            rows = tuple(Row(text[:60], text[:60], multiline=bool(place % 2)) for place, text in enumerate(some))
            hostile = request(number, inputs=rows)
            told.append(replace(hostile, prompt=replace(hostile.prompt, action=max(some, key=_is_clickable)[:60])))
        gate = ScriptedGate(*told)
        async with console(gate, size=(100, 60)) as (app, pilot):
            for item in told:
                app.board.selected = item.id
                app.redraw()
                await pilot.pause()
                assert unsafe(app) == [], repr(item.prompt.inputs)
                for x in (50, 38, 3):
                    for y in range(app.size.height - 2):
                        report(pilot, events.MouseDown, (x, y))
                        report(pilot, events.MouseUp, (x, y))
                await pilot.pause()
            assert app.is_running
            assert len(app.screen_stack) == 1
            assert app.clipboard == ""
        assert gate.decided == []

    run()


@async_test
async def test_a_field_can_be_clicked_into_and_out_of() -> None:
    gate = ScriptedGate(request(1), request(2))
    async with console(gate) as (app, pilot):
        await click(pilot, "/ filter")
        assert isinstance(app.focused, Input)
        await click(pilot, "a approve")
        await wait_until(pilot, lambda: len(gate.decided) == 1)

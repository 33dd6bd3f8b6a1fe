"""Ways in which a person might answer without meaning to: each is tried on a console that is ready for an answer."""

from dataclasses import replace

import pytest
from textual import events
from textual.widgets import Input

from aileron_tui.console.screens.batch import BatchScreen
from aileron_tui.console.screens.confirm import ConfirmScreen, TypedConfirmScreen
from aileron_tui.console.widgets.batch_rows import BatchRows
from aileron_tui.console.widgets.prompt_view import PromptView
from aileron_tui.core.prompt import PreviewResult
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.risk import Risk, RiskLevel
from tests.console.screen_app import async_test, wait_until
from tests.console.scripted_gate import ARMED, QUICK, Clock, ScriptedGate, console, notifications, request, sent, shown

HIGH = Risk(RiskLevel.HIGH, "it sends something")
LONG = PreviewResult((Row("Body", "\n".join(f"line {number}" for number in range(200)), multiline=True),))


@async_test
async def test_a_prompt_that_was_covered_counts_as_just_shown() -> None:
    gate, clock = ScriptedGate(request(1)), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        for there, back in (("question_mark", "escape"), ("h", "q"), ("v", "escape")):
            await pilot.press(there)
            await wait_until(pilot, lambda: len(app.screen_stack) == 2)
            clock.run(app, 0.8)
            await pilot.press(back, "a")
            await sent(app)
            assert gate.decided == [], there
            assert "not yet: just shown" in notifications(app)


@async_test
async def test_what_was_being_typed_does_not_confirm_high_risk() -> None:
    gate, clock = ScriptedGate(request(1, HIGH)), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        await wait_until(pilot, lambda: app.screen.query_one(PromptView).read_to_end)
        for key in ("a", "space", "v", "e", "r", "y"):
            await pilot.press(key)
            clock.run(app, 0.2)
        clock.run(app, 0.8)
        await sent(app)
        assert not isinstance(app.screen, ConfirmScreen)
    assert gate.decided == []


@async_test
async def test_that_a_confirmation_came_too_early_is_said_only_as_long_as_it_is_so() -> None:
    gate, clock = ScriptedGate(request(1, HIGH)), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        await wait_until(pilot, lambda: app.screen.query_one(PromptView).read_to_end)
        await pilot.press("a")
        await wait_until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("y")
        await wait_until(pilot, lambda: "not yet:" in str(app.screen.query_one(".note").render()))
        clock.run(app, 0.8)
        await wait_until(pilot, lambda: not str(app.screen.query_one(".note").render()))
        assert isinstance(app.screen, ConfirmScreen)
    assert gate.decided == []


@pytest.mark.parametrize("what", [events.AppFocus(), events.Paste("y"), None])
@async_test
async def test_a_confirmation_waits_anew(what: events.Event | None) -> None:
    """After the window got the focus, after a paste, and after a `y` that came too early."""
    gate, clock = ScriptedGate(request(1, HIGH)), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        await wait_until(pilot, lambda: app.screen.query_one(PromptView).read_to_end)
        await pilot.press("a")
        await wait_until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        if what:
            clock.run(app, 0.8)
            app.post_message(what)
            await pilot.press("y")
        for _ in range(2):
            clock.run(app, 0.5)
            await pilot.press("y")
        await sent(app)
        assert gate.decided == []
        assert "not yet: " in shown(app)
        clock.run(app, 0.8)
        await pilot.press("y")
        await wait_until(pilot, lambda: len(gate.decided) == 1)


@async_test
async def test_a_sheet_that_was_just_opened_is_not_sent() -> None:
    gate, clock = ScriptedGate(request(1)), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        await pilot.press("space", "A")
        await wait_until(pilot, lambda: isinstance(app.screen, BatchScreen))
        await pilot.press("ctrl+s")
        await sent(app)
        assert gate.decided == []
        assert "not yet: just shown" in shown(app)
        clock.run(app, 0.8)
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: len(gate.decided) == 1)


@async_test
async def test_what_was_typed_while_the_console_was_held_up_is_no_answer() -> None:
    """As after SIGSTOP, a sleep or a stall: the keys of that time are read after it, all at once."""
    gate, clock = ScriptedGate(request(1)), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        clock.now += 3600
        await pilot.press("a", "d", "a")
        await sent(app)
        assert gate.decided == []
        assert "not yet: " in notifications(app)
        clock.run(app, 0.8)
        await pilot.press("a")
        await wait_until(pilot, lambda: len(gate.decided) == 1)


@async_test
async def test_a_key_that_waited_in_the_queue_is_no_answer() -> None:
    gate, clock = ScriptedGate(request(1)), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        late = events.Key("a", "a")
        late.time -= 0.5
        app.post_message(late)
        await pilot.pause()
        await sent(app)
        assert gate.decided == []
        assert "not yet: the console was paused" in notifications(app)


@async_test
async def test_coming_back_from_a_stop_starts_anew() -> None:
    gate, clock = ScriptedGate(request(1)), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        app.app_resume_signal.publish(app)
        await pilot.press("a")
        await sent(app)
        assert gate.decided == []
        assert "not yet: the console was paused" in notifications(app)


@async_test
async def test_the_console_beats_by_itself() -> None:
    """Here nothing else looks at the time: there is no request."""
    gate, clock = ScriptedGate(), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        clock.now += 60
        await wait_until(pilot, lambda: "the console was paused" in app.arming._events)


@async_test
async def test_the_name_of_a_risky_action_cannot_be_pasted() -> None:
    gate = ScriptedGate(request(1, HIGH))
    async with console(gate, replace(QUICK, high_risk="type")) as (app, pilot):
        await wait_until(pilot, lambda: app.screen.query_one(PromptView).read_to_end)
        await pilot.press("a")
        await wait_until(pilot, lambda: isinstance(app.screen, TypedConfirmScreen))
        app.post_message(events.Paste("act-on-1"))
        app.copy_to_clipboard("act-on-1")
        await pilot.pause(0.1)
        await pilot.press("ctrl+v")
        await pilot.pause(0.1)
        assert app.screen.query_one(Input).value == ""
        await pilot.press("enter")
        await pilot.pause(0.2)
        assert gate.decided == []
        await pilot.press(*"act-on-1", "enter")
        await wait_until(pilot, lambda: len(gate.decided) == 1)


@async_test
async def test_a_window_too_small_to_read_in_approves_nothing() -> None:
    gate = ScriptedGate(request(1))
    async with console(gate) as (app, pilot):
        await pilot.resize_terminal(39, 14)
        await pilot.pause(0.2)
        await pilot.press("a")
        await pilot.pause(0.2)
        assert "too small" in notifications(app)
    assert gate.decided == []


@async_test
async def test_an_edited_call_of_high_risk_must_be_read_too() -> None:
    gate = ScriptedGate(request(1, HIGH, preview=LONG))
    async with console(gate, size=(100, 24)) as (app, pilot):
        await pilot.press("e")
        await pilot.pause(0.2)
        await pilot.press("x", "ctrl+s")
        await wait_until(pilot, lambda: app.answers.edited is not None)
        await pilot.pause(0.3)
        await pilot.press("a")
        await pilot.pause(0.2)
        assert not isinstance(app.screen, ConfirmScreen)
        assert "more lines to read" in notifications(app)


@async_test
async def test_the_sheet_says_what_it_leaves_out() -> None:
    long = (Row("To", "team@example.com, " * 8 + "mallory@evil.example"),)
    gate = ScriptedGate(request(1, inputs=long), request(2, preview=PreviewResult(unavailable="timeout")))
    async with console(gate, size=(160, 40)) as (app, pilot):
        await pilot.press("space", "space", "A")
        await wait_until(pilot, lambda: isinstance(app.screen, BatchScreen))
        await pilot.pause(0.1)
        assert "…⟨+" in shown(app)
        assert "Preview unavailable: timeout" in shown(app)


@pytest.mark.parametrize("width", [160, 90, 40])
@async_test
async def test_no_text_passes_for_another_request_of_the_sheet(width: int) -> None:
    forged = " ".join(["approve  read-mail  Id 7"] * 20)
    lost = PreviewResult(unavailable=forged)
    gate = ScriptedGate(request(1, inputs=(Row(forged, forged),) * 2, action=forged, preview=lost), request(2))
    async with console(gate, size=(width, 40)) as (app, pilot):
        await pilot.press("space", "space", "A")
        await wait_until(pilot, lambda: isinstance(app.screen, BatchScreen) and "ctrl+s" in shown(app))
        rows = app.screen.query_one(BatchRows)
        starts = [rows.render_line(y).text.strip("▎ ").split()[0] for y in range(rows.virtual_size.height)]
        words = [rows.render_line(y).text[: 1 + len("approve")].strip() for y in range(rows.virtual_size.height)]
        assert starts.count("approve") > 1
        assert [word for word in words if word] == ["leave", "approve"]


@async_test
async def test_no_value_passes_for_another_row_of_the_sheet() -> None:
    rows = (Row("To", "mallory@evil.example · To boss@example.com"), Row("Cc", "team@example.com"))
    async with console(ScriptedGate(request(1, inputs=rows), request(2)), size=(120, 40)) as (app, pilot):
        await pilot.press("j", "space", "k", "space", "A")
        await wait_until(pilot, lambda: isinstance(app.screen, BatchScreen) and "ctrl+s" in shown(app))
        labels: set[object] = set()
        values: set[object] = set()
        for text, style, _ in app.screen.query_one(BatchRows).render_line(0):
            (labels if text.strip() in ("To", "Cc") else values).add(style and style.color)
        assert len(labels) == 1
        assert labels.isdisjoint(values)


@async_test
async def test_high_risk_that_changed_above_the_screen_is_not_approved() -> None:
    to, body = Row("To", "team@example.com"), LONG.rows[0]
    gate = ScriptedGate(request(1, HIGH, preview=PreviewResult((to, body))))
    async with console(gate, size=(80, 24)) as (app, pilot):
        view = app.screen.query_one(PromptView)
        await pilot.press("enter")
        for _ in range(100):
            await pilot.press("pagedown")
            await pilot.pause()
            if view.read_to_end:
                break
        changed = PreviewResult((replace(to, value="mallory@evil.example"), body))
        gate.tell("updated", replace(request(1, HIGH, preview=changed), revision=2))
        await wait_until(pilot, lambda: view.unread.changed)
        await pilot.press("a")
        await wait_until(pilot, lambda: "it changed: " in notifications(app))
        for _ in range(3):
            await pilot.press("home")
            await pilot.pause()
        await wait_until(pilot, lambda: "evil.example" in shown(app) and not view.unread.changed)
        assert len(app.screen_stack) == 1
    assert gate.decided == []


@pytest.mark.parametrize("size", [(40, 15), (60, 15), (90, 15), (80, 24)])
@async_test
async def test_what_a_source_says_takes_no_room_from_what_it_asks(size: tuple[int, int]) -> None:
    gate = ScriptedGate(replace(request(1, action="a b " * 40), reason="● ready for your answer " * 40))
    async with console(gate, size=size) as (app, pilot):
        view = app.screen.query_one(PromptView)
        await wait_until(pilot, lambda: "source says: ● ready for your answer" in " ".join(shown(app).split()))
        assert view.query_one("#prompt-body").size.height >= 3

"""What is approved has been on screen: warnings, rows and blocks below the fold, at every risk."""

import asyncio
import re
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot

from aileron_tui.console.app import Console
from aileron_tui.console.screens.batch import BatchScreen
from aileron_tui.console.widgets.marked_summary import why_unread
from aileron_tui.console.widgets.prompt_view import PromptView
from aileron_tui.core.decision import Verdict
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import ConnectorRef, PreviewResult, ResolvedStep
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.skeletons import KnownNames
from aileron_tui.core.times import utc_now
from tests.console.mouse import click
from tests.console.screen_app import async_test, wait_until
from tests.console.scripted_gate import ARMED, Clock, ScriptedGate, console, notifications, request, sent, shown

LOW, NORMAL, HIGH = (Risk(level, "it does something") for level in RiskLevel)
MAIL = Row("Body", "\n".join(f"line {number}" for number in range(1, 81)), multiline=True)
ROWS = tuple(Row(f"Row {number}", f"value {number}") for number in range(40))
LOOKALIKE = Row("Cc", "boss@exаmple.com")  # with a Cyrillic letter
BELOW_THE_FOLD: dict[str, dict[str, Any]] = {
    "a block": {"preview": PreviewResult((MAIL,))},
    "a warning": {"inputs": (*ROWS, LOOKALIKE)},
    "a row": {"inputs": ROWS},
}
SIZES = [(120, 24), (80, 24), (40, 15)]


def view(app: Console) -> PromptView:
    return app.screen.query_one(PromptView)


async def read(app: Console, pilot: Pilot[None], *keys: str) -> None:
    """Presses keys again and again until everything is read; each press shows something new."""
    await wait_until(pilot, lambda: view(app)._is_final and view(app).is_settled)
    pressed: tuple[str, ...] = ("enter",)
    for _ in range(200):
        await pilot.press(*pressed)
        await pilot.pause(0.15)
        await wait_until(pilot, lambda: view(app)._is_final and view(app).is_settled)
        if view(app).read_to_end:
            await pilot.pause()
            return
        pressed = keys or ("enter",)
    raise AssertionError(f"{view(app).unread} cannot be read")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("risk", [LOW, NORMAL, HIGH], ids=lambda risk: risk.level)
@pytest.mark.parametrize("what", BELOW_THE_FOLD)
def test_what_is_below_the_fold_is_not_approved_unread(what: str, risk: Risk, size: tuple[int, int]) -> None:
    async def attack() -> None:
        gate = ScriptedGate(request(1, risk, **BELOW_THE_FOLD[what]))
        async with console(gate, size=size) as (app, pilot):
            await pilot.press("a")
            await wait_until(pilot, lambda: "to read" in notifications(app) and "to read" in shown(app))
            await pilot.press("enter", "end", "end", "end")
            await pilot.pause(0.2)
            await pilot.press("a")
            await sent(app)
            assert gate.decided == []
            await read(app, pilot)
            await pilot.press("a")
            if risk is HIGH:
                await wait_until(pilot, lambda: "High risk. Approve" in shown(app))
                await pilot.press("y")
            await wait_until(pilot, lambda: len(gate.decided) == 1)

    asyncio.run(attack())


@pytest.mark.parametrize(
    ("args", "inputs"),
    [
        ({"title": "public"}, {"title": "public", "visibility": "public"}),
        ({"count": 1}, {"count": 1, "permanent": True}),
        ({"from": "a", "to": "b"}, {"from": "b", "to": "a"}),
    ],
)
def test_an_agent_cannot_make_a_value_of_the_manifest_optional_to_read(args: JsonObject, inputs: JsonObject) -> None:
    """A value that the agent sends under another name, or that only Python calls equal, is not the same."""

    async def attack() -> None:
        step = ResolvedStep("one", "put", ConnectorRef("local://samples/files"), inputs)
        rows = tuple(Row(name, str(value)) for name, value in args.items())
        asked = request(1, args=args, inputs=rows, steps=(step,))
        assert why_unread(asked, utc_now(), KnownNames()) == "sends more than shown here"
        gate = ScriptedGate(asked)
        async with console(gate, size=(40, 15)) as (app, pilot):
            await pilot.press("a")
            await wait_until(pilot, lambda: "to read" in notifications(app))
            assert gate.decided == []

    asyncio.run(attack())


@async_test
async def test_long_labels_on_a_narrow_screen_leave_nothing_unreadable() -> None:
    """Where labels are above their values, an empty section counted as a line that nobody could bring on screen."""
    gate = ScriptedGate(request(1, inputs=tuple(Row(f"A rather long label {number}", "x") for number in range(9))))
    async with console(gate, size=(40, 15)) as (app, pilot):
        await read(app, pilot)
        await pilot.press("a")
        await wait_until(pilot, lambda: len(gate.decided) == 1)


@async_test
async def test_the_sheet_says_how_much_of_a_preview_has_no_row() -> None:
    preview = PreviewResult((Row("To", "team@example.com"),), hidden=3)
    gate = ScriptedGate(request(1, preview=preview), request(2, preview=preview))
    async with console(gate, size=(160, 24)) as (app, pilot):
        await pilot.press("space", "space", "A")
        await wait_until(pilot, lambda: isinstance(app.screen, BatchScreen) and "3 fetched fields" in shown(app))


@async_test
async def test_labels_above_their_values_can_be_read() -> None:
    """On a narrow screen with a long label, sections without rows must not count as unread."""
    gate = ScriptedGate(request(1, HIGH, inputs=(Row("Cc, Bcc, Reply-To", "team@example.com"),)))
    async with console(gate, size=(40, 15)) as (app, pilot):
        await read(app, pilot)
        await pilot.press("a")
        await wait_until(pilot, lambda: "High risk. Approve" in shown(app))
        await pilot.press("y")
        await wait_until(pilot, lambda: len(gate.decided) == 1)


@async_test
async def test_pages_read_too_and_a_denial_needs_no_reading() -> None:
    gate = ScriptedGate(request(1, preview=PreviewResult((MAIL,))), request(2, preview=PreviewResult((MAIL,))))
    async with console(gate, size=(80, 24)) as (app, pilot):
        await pilot.press("d")
        await wait_until(pilot, lambda: len(gate.decided) == 1)
        await pilot.press("j")
        await read(app, pilot, "pagedown")
        await pilot.press("a")
        await wait_until(pilot, lambda: len(gate.decided) == 2)
    assert [verdict for _, verdict, *_ in gate.decided] == [Verdict.DENY, Verdict.APPROVE]


@async_test
async def test_what_is_not_painted_is_not_read() -> None:
    """Keys that arrive faster than the screen is drawn skip pages, and skipped pages have not been on screen."""
    gate = ScriptedGate(request(1, preview=PreviewResult((MAIL,))))
    async with console(gate, size=(80, 24)) as (app, pilot):
        await wait_until(pilot, lambda: 0 < view(app).unread.lines < 80)
        before = view(app).unread.lines
        with app.batch_update():  # nothing is painted
            for row in range(0, 80, 5):
                view(app)._body.scroll_to(y=row, animate=False, immediate=True)
                await pilot.pause()
        await pilot.pause(0.1)
        assert view(app).unread.lines > before - 25


@async_test
async def test_reading_survives_a_resize() -> None:
    long = Row("Body", "\n".join(f"line {number} {'word ' * 30}" for number in range(1, 41)), multiline=True)
    gate = ScriptedGate(request(1, preview=PreviewResult((long,))))
    async with console(gate, size=(80, 24)) as (app, pilot):
        for _ in range(6):
            await pilot.press("enter")
            await pilot.pause(0.05)
        text = next(view(app)._shown_quotes()).body
        part = text._seen.first_unseen / text.long_text.height
        assert 0.2 < part < 0.9
        for size in ((60, 20), (120, 30), (80, 24)):
            await pilot.resize_terminal(*size)
            await wait_until(pilot, lambda: text.long_text.counted)
            await pilot.pause(0.1)
            assert not view(app).read_to_end
            assert text._seen.first_unseen / text.long_text.height > part - 0.15
        await read(app, pilot)
        await pilot.resize_terminal(40, 15)
        await pilot.pause(0.2)
        await pilot.press("a")
        await wait_until(pilot, lambda: len(gate.decided) == 1)


@async_test
async def test_what_changes_must_be_read_again_and_the_rest_need_not() -> None:
    to = Row("To", "team@example.com")
    gate = ScriptedGate(request(1, preview=PreviewResult((to, MAIL))))
    async with console(gate, size=(80, 24)) as (app, pilot):
        await read(app, pilot)
        changed = PreviewResult((replace(to, value="mallory@evil.example"), MAIL))
        gate.tell("updated", replace(request(1, preview=changed), revision=2))
        await wait_until(pilot, lambda: view(app).unread.changed)
        assert view(app).unread.lines < 5
        await pilot.press("a")
        await wait_until(pilot, lambda: "it changed" in notifications(app))
        assert gate.decided == []
        await read(app, pilot)
        assert "evil.example" in shown(app)
        await pilot.press("a")
        await wait_until(pilot, lambda: len(gate.decided) == 1)


@async_test
async def test_what_was_read_stays_read_while_another_request_is_shown() -> None:
    gate = ScriptedGate(request(1, preview=PreviewResult((MAIL,))), request(2))
    async with console(gate, size=(80, 24)) as (app, pilot):
        await read(app, pilot)
        await pilot.press("j", "k")
        await pilot.pause(0.1)
        await pilot.press("a")
        await wait_until(pilot, lambda: gate.decided == [("act-1", Verdict.APPROVE, "", None)])


@async_test
async def test_a_name_that_is_cut_can_be_read_in_full() -> None:
    name = f"read-mail-{'x' * 90}-and-delete-everything"
    gate = ScriptedGate(request(1, action=name))
    async with console(gate, size=(80, 24)) as (app, pilot):
        await pilot.press("a")
        await wait_until(pilot, lambda: "to read" in notifications(app))
        await read(app, pilot)
        assert "and-delete-everything" in shown(app)
        await pilot.press("a")
        await wait_until(pilot, lambda: len(gate.decided) == 1)


# the filter


@pytest.mark.parametrize("key", ["a", "d", "D", "e", "space", "A", "X"])
@async_test
async def test_no_key_answers_a_request_that_the_filter_hides(key: str) -> None:
    gate = ScriptedGate(request(1), request(2))
    async with console(gate) as (app, pilot):
        await pilot.press("slash", *"on-2", "enter")
        await pilot.pause(0.1)
        assert app.board.selected == "act-1"
        assert "the filter hides this request" in shown(app)
        await pilot.press(key)
        await pilot.pause(0.2)
        await sent(app)
        assert len(app.screen_stack) == 1
        assert not app.board.marked
    assert gate.decided == []


@async_test
async def test_a_click_denies_nothing_that_the_filter_hides() -> None:
    gate = ScriptedGate(request(1), request(2))
    async with console(gate) as (app, pilot):
        await pilot.press("slash", *"on-2", "enter")
        await pilot.pause(0.1)
        await click(pilot, "d deny")
        await sent(app)
        assert gate.decided == []
        await pilot.press("j")
        await pilot.pause(0.1)
        await click(pilot, "d deny")
        await wait_until(pilot, lambda: gate.decided == [("act-2", Verdict.DENY, "", None)])


@async_test
async def test_a_request_that_is_listed_again_counts_as_just_shown() -> None:
    gate, clock = ScriptedGate(request(1), request(2)), Clock()
    async with console(gate, ARMED, clock=clock) as (app, pilot):
        app.board.set_filter("on-2")
        app.redraw()
        clock.run(app, 2.0)
        app.board.set_filter("")
        app.redraw()
        await pilot.press("a")
        await sent(app)
        assert gate.decided == []


@async_test
async def test_marked_requests_that_the_filter_hides_are_not_answered_and_counted() -> None:
    gate = ScriptedGate(request(1), request(2), request(3))
    async with console(gate) as (app, pilot):
        await pilot.press("space", "space", "space", "slash", *"on-3", "enter", "X")
        await wait_until(pilot, lambda: isinstance(app.screen, BatchScreen))
        await wait_until(pilot, lambda: "2 more are hidden by the filter" in shown(app))
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: gate.decided == [("act-3", Verdict.DENY, "", None)])
        await pilot.press("X")
        await wait_until(pilot, lambda: "the filter hides all 2 marked" in notifications(app))


@async_test
async def test_a_window_that_shows_no_request_answers_none() -> None:
    gate = ScriptedGate(request(1))
    async with console(gate, size=(80, 24)) as (app, pilot):
        await pilot.resize_terminal(40, 5)
        await pilot.pause(0.2)
        await pilot.press("a", "d")
        await sent(app)
        assert gate.decided == []
        await pilot.resize_terminal(80, 24)
        await pilot.pause(0.2)
        await pilot.press("d")
        await wait_until(pilot, lambda: len(gate.decided) == 1)


@async_test
async def test_what_the_preview_pushes_off_the_screen_is_not_read_yet() -> None:
    """Before the preview came, all of the call was on screen, perhaps for the blink of an eye."""
    rows = tuple(Row(f"Row {number}", f"value {number}") for number in range(20))
    complete = request(1, HIGH, inputs=rows[:2], preview=PreviewResult(rows))
    async with console(ScriptedGate(complete), size=(100, 32)) as (app, pilot):
        await wait_until(pilot, lambda: "to read" in shown(app) and "↓" in shown(app))
        unread = view(app).unread.lines
    gate = ScriptedGate(replace(complete, prompt=replace(complete.prompt, preview=None), fetching=True))
    async with console(gate, size=(100, 32)) as (app, pilot):
        await wait_until(pilot, lambda: "fetching from connector" in shown(app))
        await pilot.pause(0.3)
        assert "more line" not in shown(app)
        gate.tell("updated", replace(complete, revision=2))
        await wait_until(pilot, lambda: f"{unread} line" in shown(app) or f"{unread} more lines to read" in shown(app))
        await pilot.press("a")
        await sent(app)
        assert gate.decided == []
        await read(app, pilot)


# batches


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"inputs": (Row("To", "team@example.com, " * 8 + "mallory@evil.example"),)}, "is longer than shown here"),
        ({"inputs": (Row("To", "ana@example.com"), LOOKALIKE)}, "has a warning"),
        ({"inputs": ROWS}, "has 32 more rows"),
        ({"preview": PreviewResult((MAIL,))}, "is longer than shown here"),
        ({"preview": PreviewResult(unavailable="timeout")}, "has no preview"),
    ],
)
def test_a_batch_does_not_approve_what_was_not_read(changes: dict[str, Any], why: str) -> None:
    async def attack() -> None:
        gate = ScriptedGate(request(2), request(3, **changes))
        async with console(gate, size=(100, 24)) as (app, pilot):
            app.board.marked = set(app.board.requests)  # without a look at the second one
            await pilot.press("A")
            await wait_until(pilot, lambda: isinstance(app.screen, BatchScreen))
            reason = f"{why}: read it in the prompt first"
            await wait_until(pilot, lambda: reason in " ".join(re.findall(r"[\w:]+", shown(app))))
            await pilot.press("j", "space", "space", "space")
            await wait_until(pilot, lambda: "deny " in shown(app))
            await pilot.press("ctrl+s")
            await wait_until(pilot, lambda: len(gate.decided) == 2)
        assert sorted((id_, verdict) for id_, verdict, *_ in gate.decided) == [
            ("act-2", Verdict.APPROVE),
            ("act-3", Verdict.DENY),
        ]

    asyncio.run(attack())


@async_test
async def test_a_batch_approves_what_was_read_before() -> None:
    gate = ScriptedGate(request(1, preview=PreviewResult((MAIL,))), request(2))
    async with console(gate, size=(100, 24)) as (app, pilot):
        await read(app, pilot)
        await pilot.press("space", "space", "A")
        await wait_until(pilot, lambda: isinstance(app.screen, BatchScreen) and "ctrl+s" in shown(app))
        await pilot.pause(0.1)
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: len(gate.decided) == 2)
    assert {verdict for _, verdict, *_ in gate.decided} == {Verdict.APPROVE}


@async_test
async def test_a_request_that_changes_under_the_sheet_is_left() -> None:
    gate = ScriptedGate(request(1), request(2))
    async with console(gate, size=(100, 24)) as (app, pilot):
        await pilot.press("space", "space", "A")
        await wait_until(pilot, lambda: isinstance(app.screen, BatchScreen) and "ctrl+s" in shown(app))
        changed = request(1, inputs=(Row("Draft id", "r-666"),))
        gate.tell("updated", replace(changed, revision=2))
        await wait_until(pilot, lambda: "it changed: read it again" in shown(app))
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: gate.decided == [("act-2", Verdict.APPROVE, "", None)])


@async_test
async def test_a_sheet_is_read_before_it_is_sent() -> None:
    gate = ScriptedGate(*(request(number) for number in range(1, 41)))
    async with console(gate, size=(80, 24)) as (app, pilot):
        app.board.marked = set(app.board.requests)
        await pilot.press("A")
        await wait_until(pilot, lambda: isinstance(app.screen, BatchScreen) and "ctrl+s" in shown(app))
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: "more lines to read: press enter" in shown(app))
        assert gate.decided == []
        for _ in range(6):
            await pilot.press("enter")
            await pilot.pause(0.05)
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: len(gate.decided) == 40)

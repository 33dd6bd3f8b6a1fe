"""Look-alikes of hosts and addresses that this console has shown before, in prompts and on the sheet."""

import asyncio
from typing import Any

import pytest
from textual.pilot import Pilot

from aileron_tui.console.app import Console
from aileron_tui.console.screens.batch import BatchChoice, BatchScreen
from aileron_tui.console.widgets.prompt_view import PromptView
from aileron_tui.core.decision import Verdict
from aileron_tui.core.prompt import PreviewResult
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from tests.console.screen_app import async_test, wait_until
from tests.console.scripted_gate import ScriptedGate, console, request, shown

REAL, FALSE = "lin@acme.example", "lin@acrne.example"


def naming(number: int, *values: str, **changes: Any) -> Request:
    """A request with these values."""
    return request(number, inputs=tuple(Row(f"Value {place}", value) for place, value in enumerate(values)), **changes)


def has_warning(app: Console) -> bool:
    """Whether the prompt on screen has a warning, once it is complete."""
    return app.screen.query_one(PromptView).has_warning


async def show(app: Console, pilot: Pilot[None], number: int) -> None:
    """Brings a request on screen."""
    app.board.selected = f"act-{number}"
    app.redraw()
    view = app.screen.query_one(PromptView)
    await wait_until(pilot, lambda: view.request is not None and view.request.id == f"act-{number}" and view._is_final)


@pytest.mark.parametrize("order", [(REAL, FALSE), (FALSE, REAL)])
@pytest.mark.parametrize("place", ["row", "text", "long text", "many rows", "URL"])
def test_each_of_two_names_is_flagged_once_both_were_on_screen(order: tuple[str, str], place: str) -> None:
    async def attack() -> None:
        first, second = (naming(number, name) for number, name in enumerate(order, start=1))
        if place == "text":
            first = request(1, preview=PreviewResult((Row("Body", f"Ask\n{order[0]}\n", multiline=True),)))
        if place == "long text":
            first = request(
                1, preview=PreviewResult((Row("Body", f"{order[0]}\n" + "words\n" * 9000, multiline=True),))
            )
        if place == "many rows":
            first = naming(1, *("x" * 4000 for _ in range(9)), order[0])
        if place == "URL":
            first = naming(1, f"https://{order[0].rpartition('@')[2]}/x")
        async with console(ScriptedGate(first, second), size=(120, 30)) as (app, pilot):
            await show(app, pilot, 1)
            assert not has_warning(app)
            await show(app, pilot, 2)
            await wait_until(pilot, lambda: has_warning(app))
            await show(app, pilot, 1)
            await wait_until(pilot, lambda: has_warning(app))

    asyncio.run(attack())


@async_test
async def test_two_names_in_short_and_long_values_of_one_prompt_are_both_flagged() -> None:
    body = Row("Body", "words\n" * 9000 + FALSE, multiline=True)
    asked = request(1, inputs=(Row("To", REAL),), preview=PreviewResult((body,)))
    async with console(ScriptedGate(asked), size=(120, 30)) as (app, pilot):
        await show(app, pilot, 1)
        await wait_until(pilot, lambda: f'"{REAL}" is easily mistaken for "{FALSE}"' in " ".join(shown(app).split()))


@async_test
async def test_a_name_stays_calm_once_a_request_with_it_was_approved() -> None:
    gate = ScriptedGate(naming(1, FALSE), naming(2, REAL), naming(3, REAL), naming(4, FALSE))
    async with console(gate, size=(120, 30)) as (app, pilot):
        await show(app, pilot, 1)
        await show(app, pilot, 2)
        await wait_until(pilot, lambda: has_warning(app) and app.screen.query_one(PromptView).read_to_end)
        await pilot.press("a")
        await wait_until(pilot, lambda: gate.decided == [("act-2", Verdict.APPROVE, "", None)])
        await wait_until(pilot, lambda: app.answers.seen.is_approved(REAL))
        await show(app, pilot, 3)
        assert not has_warning(app)
        await show(app, pilot, 4)
        await wait_until(pilot, lambda: "which is in a request you approved" in " ".join(shown(app).split()))


@async_test
async def test_one_prompt_does_not_push_out_what_was_seen_before() -> None:
    flood = (" ".join(f"u{arg}-{number}@h{arg}-{number}.example" for number in range(150)) for arg in range(20))
    gate = ScriptedGate(naming(1, REAL), naming(2, *flood), naming(3, FALSE))
    async with console(gate, size=(120, 30)) as (app, pilot):
        await show(app, pilot, 1)
        await show(app, pilot, 2)
        await show(app, pilot, 3)
        await wait_until(pilot, lambda: f'"{FALSE}" is easily mistaken for "{REAL}"' in " ".join(shown(app).split()))


@async_test
async def test_the_sheet_does_not_approve_a_look_alike_of_a_name_seen_in_a_prompt() -> None:
    gate = ScriptedGate(naming(1, REAL), naming(2, FALSE), naming(3, "https://acrne.example/pay"), naming(4, "x"))
    async with console(gate, size=(160, 30)) as (app, pilot):
        await show(app, pilot, 1)
        app.board.marked = {"act-2", "act-3", "act-4"}
        await pilot.press("A")
        await wait_until(pilot, lambda: isinstance(app.screen, BatchScreen) and "ctrl+s" in shown(app))
        assert isinstance(app.screen, BatchScreen)
        assert app.screen._choices == [BatchChoice.LEAVE, BatchChoice.LEAVE, BatchChoice.APPROVE]
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: gate.decided == [("act-4", Verdict.APPROVE, "", None)])


@async_test
async def test_a_name_on_the_sheet_counts_as_seen() -> None:
    gate = ScriptedGate(naming(1, "x"), naming(2, REAL), naming(3, FALSE))
    async with console(gate, size=(160, 30)) as (app, pilot):
        await show(app, pilot, 1)
        app.board.marked = {"act-1", "act-2"}
        await pilot.press("A")
        await wait_until(pilot, lambda: isinstance(app.screen, BatchScreen) and "ctrl+s" in shown(app))
        await pilot.press("escape")
        await wait_until(pilot, lambda: not isinstance(app.screen, BatchScreen))
        await show(app, pilot, 3)
        await wait_until(pilot, lambda: has_warning(app))

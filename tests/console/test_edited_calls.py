"""An edited call until it is sent: what is asked about it, and what happens if the gate refuses it."""

from dataclasses import replace

import pytest
from textual.pilot import Pilot

from aileron_tui.console.app import Console
from aileron_tui.console.screens.edit import EditScreen
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.request import Request
from aileron_tui.core.risk import Risk, RiskLevel
from tests.console.screen_app import async_test, wait_until
from tests.console.scripted_gate import NORMAL, QUICK, ScriptedGate, console, notifications, request, shown
from tests.console.test_lock import Lockable

HIGH = Risk(RiskLevel.HIGH, "may send or publish")
SIZES = [(120, 36), (40, 15)]


class PickyGate(ScriptedGate):
    """Refuses one value of the input."""

    def refresh(self, id_: str, edits: JsonObject | None = None) -> Request:
        if edits == {"draft_id": "r-1bad"}:
            raise AileronError("draft_id: there is no such draft")
        return super().refresh(id_, edits)


async def edit(app: Console, pilot: Pilot[None], *keys: str) -> None:
    """Opens the form, types at the end of its field, and submits it."""
    await pilot.press("e")
    await wait_until(pilot, lambda: isinstance(app.screen, EditScreen))
    await pilot.press("end", *keys, "ctrl+s")
    await wait_until(pilot, lambda: app.screen is app._main)


async def ready(app: Console, pilot: Pilot[None]) -> None:
    """Reads the edited call to its end."""
    await wait_until(pilot, lambda: app.answers.edited is not None)
    while "approve edited call" not in shown(app):
        await pilot.press("enter")
        await pilot.pause(0.05)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("confirm", "High risk. Approve the edited call of act-on-1?"),
        ("type", "High risk. Approve the edited call of act-on-1?"),
        ("passphrase", "Approve the edited call with your passphrase"),
    ],
)
@async_test
async def test_the_confirmation_of_an_edited_call_says_that_it_was_edited(
    how: str, words: str, size: tuple[int, int]
) -> None:
    gate = ScriptedGate(request(1, HIGH))
    async with console(gate, replace(QUICK, high_risk=how), size, keys=Lockable()) as (app, pilot):
        await edit(app, pilot, "7")
        await ready(app, pilot)
        await pilot.press("a")
        await wait_until(pilot, lambda: app.screen is not app._main)
        assert words in " ".join(shown(app).replace("│", " ").replace("▌", " ").split())


@async_test
async def test_the_confirmation_of_a_call_as_it_was_sent_does_not_say_that() -> None:
    gate = ScriptedGate(request(1, HIGH))
    async with console(gate) as (app, pilot):
        await pilot.press("a")
        await wait_until(pilot, lambda: "High risk. Approve act-on-1?" in shown(app))
        assert "edited" not in shown(app)


@pytest.mark.parametrize("size", SIZES)
@async_test
async def test_an_edit_that_the_gate_refuses_is_kept_in_the_form(size: tuple[int, int]) -> None:
    gate = PickyGate(request(1))
    async with console(gate, size=size) as (app, pilot):
        await edit(app, pilot, *"bad")
        await wait_until(pilot, lambda: "your edit was refused" in shown(app))
        assert "there is no such draft" in notifications(app)
        assert app.answers.edited is None
        await pilot.press("e")
        await wait_until(pilot, lambda: isinstance(app.screen, EditScreen))
        assert "r-1bad" in shown(app)
        assert "✗ draft_id: there is no such draft" in " ".join(shown(app).replace("│", " ").split())
        await pilot.press("end", "backspace", "backspace", "backspace", "2", "ctrl+s")
        await ready(app, pilot)
        assert "r-12" in shown(app)
        assert "your edit was refused" not in shown(app)
        assert gate.decided == []


@async_test
async def test_an_approval_of_an_edit_that_the_gate_refuses_keeps_the_edit_too() -> None:
    gate = ScriptedGate(request(1, NORMAL))
    async with console(gate) as (app, pilot):
        await edit(app, pilot, "7")
        await ready(app, pilot)
        gate.trouble = AileronError("the disk is full")
        await pilot.press("a")
        await wait_until(pilot, lambda: "your edit was refused" in shown(app))
        await pilot.press("e")
        await wait_until(pilot, lambda: isinstance(app.screen, EditScreen))
        assert "r-17" in shown(app)
        assert "the disk is full" in shown(app)


@async_test
async def test_a_refused_edit_is_forgotten_once_the_form_is_cancelled() -> None:
    async with console(PickyGate(request(1))) as (app, pilot):
        await edit(app, pilot, *"bad")
        await wait_until(pilot, lambda: "your edit was refused" in shown(app))
        await pilot.press("e")
        await wait_until(pilot, lambda: isinstance(app.screen, EditScreen))
        await pilot.press("escape")
        await wait_until(pilot, lambda: "your edit was refused" not in shown(app))

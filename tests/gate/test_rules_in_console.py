"""A rule made in the console, at a real gate: its calls run without asking until it is ended there."""

import asyncio
from collections.abc import Callable

from textual.pilot import Pilot

from aileron_tui.console.app import Console
from aileron_tui.console.screens.rule import RuleScreen
from aileron_tui.console.settings import ConsoleSettings
from aileron_tui.runtime.gate_client import ApproverClient
from aileron_tui.runtime.gate_discovery import FoundGate
from aileron_tui.surface.operator_key import TemporaryOperatorKey
from aileron_tui.surface.source import SourceSpec
from tests.console.screen_app import text, wait_until
from tests.gate.conftest import GateEnv, run_async
from tests.gate.ruled_gate import newest, sends, verified
from tests.gate.served_gate import DRAFT, SEND, ServedGate, served_gate

QUICK = ConsoleSettings(arm_seconds=0.0, undo_seconds=0.0, follow=False, fastest_reading=0, bell=False, notify=False)


def console(served: ServedGate) -> Console:
    """A console of the approver."""

    def connect(_: object) -> ApproverClient:
        return ApproverClient(FoundGate(served.url), served.env.key, surface="tui")

    return Console([SourceSpec("", connect, "gate")], TemporaryOperatorKey(served.env.key), QUICK)


async def press_until(pilot: Pilot[None], key: str, done: Callable[[], bool]) -> None:
    """Presses a key until something is so."""
    for _ in range(60):
        await pilot.pause(0.1)
        if done():
            return
        await pilot.press(key)
    raise AssertionError(f"{key} had no effect")


def test_a_rule_made_in_the_console_answers_until_it_is_ended(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            asked = (await served.agent.post(SEND, json=DRAFT)).json()
            await served.previewed_request(asked["approval_id"])
            app = console(served)
            async with app.run_test(size=(100, 40)) as pilot:
                await wait_until(pilot, lambda: "send-draft" in text(app))
                await press_until(pilot, "enter", lambda: "ready for your answer" in text(app))
                await pilot.press("R")
                sheet = app.screen
                assert isinstance(sheet, RuleScreen)
                await wait_until(pilot, lambda: "would have answered 1 of 1 call" in text(app))
                assert "Not offered: any inputs, because at high risk" in text(app)
                await press_until(pilot, "enter", lambda: not sheet._body.unread)
                await pilot.press("y")
                await wait_until(pilot, lambda: app.screen is app._main)
                assert app.board.waiting_count == 1
                await pilot.press("d")
                await wait_until(pilot, lambda: app.board.waiting_count == 0)

                reply = await served.agent.post(SEND, json=DRAFT | {"args": {"draft_id": "r-12345"}})
                await served.agent.get(f"/v1/action-approvals/{asked['approval_id']}/result")
                if reply.json()["status"] != "completed":  # the denial of the first call, delivered once
                    reply = await served.agent.post(SEND, json=DRAFT)
                assert reply.json()["status"] == "completed"

                await pilot.press("ctrl+r")
                await wait_until(pilot, lambda: "used once" in text(app))
                await pilot.press("x")
                await wait_until(pilot, lambda: "End this rule now?" in text(app))
                await pilot.press("y")
                await wait_until(pilot, lambda: "No rules in force." in text(app))
            again = await served.agent.post(SEND, json=DRAFT)
            assert again.json()["status"] == "pending_approval"
            await asyncio.sleep(0)

    run_async(work())
    assert sends(env) == 1
    assert newest(env).outcome == "pending"
    assert list(verified(env).rule_answers.values()) == [1]

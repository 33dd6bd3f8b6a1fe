"""A rule made in the console, at a real gate: its calls run without asking until it is ended there."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from textual.pilot import Pilot

from aileron_tui.console.app import Console
from aileron_tui.console.screens.rule import RuleScreen
from aileron_tui.console.settings import ConsoleSettings
from aileron_tui.runtime.gate_client import ApproverClient
from aileron_tui.runtime.gate_discovery import FoundGate
from aileron_tui.surface.operator_key import TemporaryOperatorKey
from aileron_tui.surface.source import SourceSpec
from tests.console.screen_app import text, wait_until
from tests.gate.conftest import GateEnv
from tests.gate.ruled_gate import newest, sends, verified
from tests.gate.served_gate import DRAFT, SEND, ServedGate, served_gate

QUICK = ConsoleSettings(arm_seconds=0.0, undo_seconds=0.0, follow=False, fastest_reading=0, bell=False, notify=False)
T = TypeVar("T")


class GateThread:
    """A gate with an event loop of its own, which the console cannot block."""

    def __init__(self, env: GateEnv) -> None:
        self._env = env
        self._loop = asyncio.new_event_loop()
        self._ready, self._stop = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),))
        self.served: ServedGate

    async def _serve(self) -> None:
        async with served_gate(self._env) as self.served:
            self._ready.set()
            await self._stop.wait()

    @contextmanager
    def running(self) -> Iterator["GateThread"]:
        """Serves the gate."""
        self._thread.start()
        assert self._ready.wait(30)
        try:
            yield self
        finally:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(30)
            self._loop.close()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Does something on the loop of the gate."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def call(self) -> dict[str, Any]:
        """Calls `send-draft` as the agent."""
        body: dict[str, Any] = (await self.run(self.served.agent.post(SEND, json=DRAFT))).json()
        return body


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


async def make_use_and_end(gate: GateThread) -> None:
    """What an operator does, while the agent calls."""
    first = await gate.call()
    await gate.run(gate.served.previewed_request(first["approval_id"]))
    app = console(gate.served)
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
        assert app.board.waiting_count == 1  # the request itself still waits
        await pilot.press("d")
        assert (await gate.run(gate.served.result(first["approval_id"])))["status"] == "denied"

        assert (await gate.call())["status"] == "completed"

        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: "used once" in text(app))
        await pilot.press("x")
        await wait_until(pilot, lambda: "End this rule now?" in text(app))
        await pilot.press("y")
        await wait_until(pilot, lambda: "No rules in force." in text(app))
        assert (await gate.call())["status"] == "pending_approval"


def test_a_rule_made_in_the_console_answers_until_it_is_ended(env: GateEnv) -> None:
    with GateThread(env).running() as gate:
        asyncio.run(make_use_and_end(gate))
    assert sends(env) == 1
    assert newest(env).outcome == "pending"
    assert list(verified(env).rule_answers.values()) == [1]

"""A console at a real gate: what it reports, what it is alerted to, and what it says about other surfaces."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from aileron_tui.console.app import Console
from aileron_tui.core.decision import Verdict
from aileron_tui.runtime.gate_client import ApproverClient
from aileron_tui.runtime.gate_discovery import FoundGate
from aileron_tui.surface.operator_key import TemporaryOperatorKey
from aileron_tui.surface.source import SourceSpec
from tests.console.screen_app import text, wait_until
from tests.gate.conftest import GateEnv
from tests.gate.served_gate import ServedGate
from tests.gate.test_rules_in_console import QUICK, GateThread


def console(served: ServedGate) -> Console:
    """A console of the approver that rings."""

    def connect(_: object) -> ApproverClient:
        return ApproverClient(FoundGate(served.url), served.env.key, surface="console")

    loud = replace(QUICK, bell=True, notify=True)
    return Console([SourceSpec("", connect, "gate")], TemporaryOperatorKey(served.env.key), loud)


async def read_and_answer(gate: GateThread, written: list[str]) -> None:
    """Somebody reads on the page what the console is alerted to, and answers first."""
    presence = gate.served.gate.presence
    app = console(gate.served)
    async with app.run_test(size=(100, 40)) as pilot:
        await wait_until(pilot, lambda: "No requests waiting" in text(app))
        written.clear()
        call = await gate.call()
        id_ = call["approval_id"]
        await wait_until(pilot, lambda: "bell" in written and "send-draft" in text(app))
        assert any("(1) aileron" in sequence for sequence in written)
        await pilot.press("down")
        await wait_until(pilot, lambda: presence.readers() != {})
        assert "being read" not in text(app)
        page = ApproverClient(FoundGate(gate.served.url), gate.served.env.key, surface="page")
        await in_thread(page.status)
        await in_thread(lambda: page.report_presence(awake=True, reading=id_))
        await wait_until(pilot, lambda: "being read on the page by tester" in text(app))
        await gate.run(gate.served.previewed_request(id_))
        await in_thread(lambda: page.decide(page.item(id_), Verdict.DENY))
        await wait_until(pilot, lambda: "denied on the page by tester" in text(app))
        assert "being read" not in text(app)
        await in_thread(page.close)


async def in_thread(work: Callable[[], Any]) -> None:
    await asyncio.to_thread(work)


def test_what_happens_on_the_page_is_said_in_the_console(env: GateEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    monkeypatch.setattr(Console, "write_sequence", lambda _, sequence: written.append(sequence))
    monkeypatch.setattr(Console, "bell", lambda _: written.append("bell"))
    with GateThread(env).running() as gate:
        asyncio.run(asyncio.wait_for(read_and_answer(gate, written), 60))

"""When the terminal of a gate asks although another prompt is open."""

import asyncio
import io
import sys
from types import SimpleNamespace
from typing import cast

import pytest

from aileron_tui.cli import question_floor
from aileron_tui.cli.log_output import LogOutput
from aileron_tui.cli.question_floor import TerminalFloor
from aileron_tui.files.config import Config
from aileron_tui.gate.gate import Gate
from aileron_tui.gate.gate_log import GateLog
from aileron_tui.gate.presence import Presence


@pytest.mark.parametrize("reads", [False, True])
def test_a_prompt_where_nobody_reads_only_comes_first(reads: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(_followed(reads, monkeypatch))


async def _followed(reads: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    presence = Presence(lambda _name, _data: None)
    gate = SimpleNamespace(instance="gate-1", presence=presence, prompt_turn=lambda: frozenset({"act-1"}))
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(question_floor, "OTHER_PROMPT_SECONDS", 1.5)
    monkeypatch.setattr(question_floor, "discover", lambda: gate)
    monkeypatch.setattr(TerminalFloor, "_ask", lambda _self: asked.append(loop.time()))
    floor = TerminalFloor(Config(), "", LogOutput(sys.__stderr__ or sys.stderr), GateLog(io.StringIO()))
    with presence.watching("session", "default", "prompt"):
        presence.report("session", "default", "prompt", awake=True, reading="act-1" if reads else "")
        began = loop.time()
        async with floor.following(cast("Gate", gate)):
            await asyncio.sleep(2.6)
    assert bool(asked) is not reads
    assert all(at - began >= 1.5 for at in asked)

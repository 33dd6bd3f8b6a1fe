"""What a hostile agent tries with rules: each attempt is asked about, refused, or has no effect."""

import asyncio
from dataclasses import replace
from typing import Any

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.gate.gate import Gate
from aileron_tui.gate.replies import Reply
from tests.gate.conftest import ASKER, GateEnv, result_of, run_async
from tests.gate.ruled_gate import AGENT, kinds, make_from, newest, sends, verified, waiting


async def call_in(gate: Gate, session: str, action: str, wait: float | None = None, **args: Any) -> Reply:
    """Calls an action in a session, whose name the agent chooses."""
    return await gate.call(action, args, replace(ASKER, agent=AGENT, session=session), agent=AGENT, wait=wait)


def test_a_ruled_call_whose_agent_disconnects_is_never_called_withdrawn(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            await make_from(env, gate, await waiting(gate))
            env.service.latency_seconds = 0.3
            task = asyncio.create_task(call_in(gate, "s-1", "send-draft", 30, draft_id="r-12345"))
            await asyncio.sleep(0.1)  # the preview is being fetched
            id_ = newest(env).id
            assert EntryKind.RULED not in kinds(env, id_)
            task.cancel()
            states = set()
            while newest(env).outcome in ("pending", "running"):
                item = gate.find_request(id_)
                states |= {item["state"]} if item else set()
                await asyncio.sleep(0.01)
            assert (await result_of(gate, id_))["status"] == "completed"
            assert "withdrawn" not in states

    run_async(work())
    assert sends(env) == 1
    verified(env)

"""What a hostile agent tries with rules: each attempt is asked about, refused, or has no effect."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.rule import RuleReach
from aileron_tui.core.states import RequestState
from aileron_tui.demo.sample_service import ServiceFault
from aileron_tui.gate.gate import Gate
from aileron_tui.gate.replies import Reply
from tests.gate.conftest import ASKER, GateEnv, result_of, run_async
from tests.gate.ruled_gate import AGENT, call, is_asked, kinds, make_from, newest, sends, verified, waiting
from tests.gate.test_staleness import normal_risk

MAIL = {"to": "team@example.com", "subject": "Weekly recap", "body": "Text"}


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


async def ends_unknown(env: GateEnv, gate: Gate) -> None:
    """An agent's call that a rule allows takes effect, but nobody learns that."""
    await make_from(env, gate, await waiting(gate, "draft-mail", **MAIL), RuleReach.ANY)
    env.service.faults["*"] = ServiceFault.HANG_UP
    assert (await call(gate, "draft-mail", **MAIL)).body["status"] == "failed"
    assert newest(env).outcome == RequestState.UNKNOWN
    env.service.faults.clear()


def test_another_session_does_not_hide_that_a_call_may_have_taken_effect(env: GateEnv) -> None:
    normal_risk(env)

    async def work() -> None:
        async with env.gate() as gate:
            await ends_unknown(env, gate)
            unknown = newest(env).id
            reply = await call_in(gate, "another", "draft-mail", **MAIL)
            assert is_asked(reply)
            item = gate.find_request(str(reply.body["approval_id"]))
            assert item
            assert item["asked_again"] == unknown

    run_async(work())
    verified(env)


@pytest.mark.parametrize("restart", [False, True])
def test_a_call_that_may_have_taken_effect_is_asked_about_until_it_is_approved(env: GateEnv, restart: bool) -> None:
    normal_risk(env)

    async def work() -> None:
        async with env.gate() as gate:
            await ends_unknown(env, gate)
            withdrawn = asyncio.create_task(call_in(gate, "another", "draft-mail", 30, **MAIL))
            while not gate.waiting():
                await asyncio.sleep(0.01)
            withdrawn.cancel()
            while newest(env).outcome != RequestState.WITHDRAWN:
                await asyncio.sleep(0.01)
            if not restart:
                await asked_until_approved(gate)
        if restart:
            async with env.gate() as gate:
                await asked_until_approved(gate)

    async def asked_until_approved(gate: Gate) -> None:
        denied = await waiting(gate, "draft-mail", **MAIL)
        await decide(gate, denied, Verdict.DENY)
        approved = await waiting(gate, "draft-mail", **MAIL)
        await decide(gate, approved, Verdict.APPROVE)
        assert (await call(gate, "draft-mail", **MAIL)).body["status"] == "completed"

    async def decide(gate: Gate, id_: str, verdict: Verdict) -> None:
        item = gate.find_request(id_)
        assert item
        assert (await gate.decide(id_, env.decision(item, verdict))).status == 200
        await result_of(gate, id_)

    run_async(work())
    verified(env)

"""What a hostile agent tries with rules: each attempt is asked about, refused, or has no effect."""

import asyncio
from dataclasses import replace

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.rule import RuleReach, RuleVerdict
from aileron_tui.core.states import RequestState
from aileron_tui.demo.sample_service import ServiceFault
from aileron_tui.files.config import Policy
from aileron_tui.gate.gate import Gate
from aileron_tui.gate.replies import Reply
from aileron_tui.gate.rule_registry import RuleRegistry
from aileron_tui.signing.rules import KnownRule
from tests.gate.conftest import ASKER, GateEnv, code, result_of, run_async
from tests.gate.ruled_gate import (
    AGENT,
    call,
    is_asked,
    kinds,
    make,
    make_from,
    named_rule,
    newest,
    sends,
    verified,
    waiting,
)
from tests.gate.test_staleness import normal_risk

MAIL = {"to": "team@example.com", "subject": "Weekly recap", "body": "Text"}


async def call_in(gate: Gate, session: str, action: str, args: JsonObject, wait: float | None = None) -> Reply:
    """Calls an action in a session, whose name the agent chooses."""
    return await gate.call(action, args, replace(ASKER, agent=AGENT, session=session), agent=AGENT, wait=wait)


def test_a_ruled_call_whose_agent_disconnects_is_never_called_withdrawn(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            await make_from(env, gate, await waiting(gate))
            before = newest(env).id
            env.service.latency_seconds = 0.5
            task = asyncio.create_task(call_in(gate, "s-1", "send-draft", {"draft_id": "r-12345"}, 30))
            while (id_ := newest(env).id) == before:  # once it is recorded, the preview is being fetched
                await asyncio.sleep(0.01)
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
            reply = await call_in(gate, "another", "draft-mail", {**MAIL})
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
            withdrawn = asyncio.create_task(call_in(gate, "another", "draft-mail", {**MAIL}, 30))
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


def test_a_rule_that_does_not_answer_is_no_way_around_the_asking_limit(env: GateEnv) -> None:
    env.policy = Policy(asks_per_10_minutes=3)
    normal_risk(env)

    async def work() -> None:
        async with env.gate() as gate:
            await make_from(env, gate, await waiting(gate), RuleReach.ANY)
            env.service.faults["*"] = ServiceFault.NOT_FOUND  # without a preview, the rule does not answer
            replies = [await call(gate, draft_id=f"r-{number}") for number in range(5)]
            assert [reply.status for reply in replies] == [202, 202, 429, 429, 429]
            assert {code(reply) for reply in replies[2:]} == {"asked_too_often"}
            assert len(gate.waiting()) == 2
            assert newest(env).outcome == RequestState.WITHDRAWN
            env.service.faults.clear()
            assert (await call(gate)).body["status"] == "completed"

    run_async(work())
    verified(env)


def test_a_deny_rule_that_ends_meanwhile_lets_nothing_run_beside_an_approval(
    env: GateEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    normal_risk(env)

    async def work() -> None:
        async with env.gate() as gate:
            await make_from(env, gate, await waiting(gate, "draft-mail", **MAIL), RuleReach.ANY)
            denial = named_rule(RuleVerdict.DENY, "draft-mail")
            await make(env, gate, denial)
            in_force = RuleRegistry.in_force
            asked: list[str] = []

            def ending(self: RuleRegistry, agent: str, action: str) -> list[KnownRule]:
                asked.append(action)
                found = in_force(self, agent, action)
                return found if len(asked) == 1 else [known for known in found if known.rule.id != denial.id]

            monkeypatch.setattr(RuleRegistry, "in_force", ending)
            async with gate._gate_state.activity.exclusive({"local://aileron/mail"}, 1):
                assert is_asked(await call(gate, "draft-mail", **MAIL))
            assert len(asked) == 2

    run_async(work())
    verified(env)

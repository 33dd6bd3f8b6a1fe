"""An end that the ledger refuses for ever: its agent is told what happened, and health names the request."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.rule import RuleReach
from aileron_tui.core.states import RequestState
from aileron_tui.demo.sample_service import ServiceFault
from aileron_tui.ledger.errors import EntryRefused
from tests.gate.conftest import ASKER, GateEnv, code, previewed_request, result_of, run_async
from tests.gate.failing_disk import FailingDisk, eventually, failing_disk
from tests.gate.ruled_gate import AGENT, make_from, newest, sends, verified, waiting
from tests.gate.served_gate import served_gate
from tests.gate.test_failing_disk import ENDS, approve, normal_risk, outcome, reason

REFUSED = "this is not recorded, because the ledger refuses it"
DRAFT: JsonObject = {"draft_id": "r-12345"}
End = tuple[ServiceFault | None, EntryKind, str, RequestState, str]


@pytest.fixture
def ledger() -> Iterator[FailingDisk]:
    """A ledger that can be made to refuse entries."""
    with failing_disk() as found:
        found.error = lambda: EntryRefused("the history of this request is damaged")
        yield found


def lost(id_: str) -> str:
    refused = "is missing in the history, because the ledger refuses it: the history of this request is damaged"
    return f"what happened to {id_} {refused}"


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
def test_an_op_whose_end_is_refused_is_over_for_its_agent_and_named_by_health(
    env: GateEnv, ledger: FailingDisk, end: End
) -> None:
    fault, kind, _, state, status = end
    normal_risk(env)

    async def work() -> str:
        async with served_gate(env) as served:
            id_ = await waiting(served.gate)
            if fault:
                env.service.faults["send"] = fault
            ledger.fail(kind)
            assert await approve(env, served.gate, id_) == 200
            for _ in range(2):
                assert (await result_of(served.gate, id_))["status"] == status
            assert outcome(env, id_) == RequestState.RUNNING
            assert (served.gate.find_request(id_) or {})["state"] == state
            ledger.repair()
            reply = await served.anonymous.get("/v1/health")
            assert (reply.status_code, reply.json()["reason"]) == (503, lost(id_))
            return id_

    async def after_a_restart(id_: str) -> None:
        async with env.gate() as gate:
            assert (gate.problem, gate.waiting()) == ("", [])
            assert (await result_of(gate, id_))["status"] == status

    id_ = run_async(work())
    run_async(after_a_restart(id_))
    assert outcome(env, id_) == state


def test_an_op_whose_end_is_refused_is_not_called_running_once_its_result_is_forgotten(
    env: GateEnv, ledger: FailingDisk
) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            id_ = await waiting(gate)
            ledger.fail(EntryKind.EXECUTED)
            assert await approve(env, gate, id_) == 200
            await result_of(gate, id_)
            gate._gate_state.outbox.forget("9999", "9999")
            poll = await gate.result(id_, agent="agent-1")
            assert (poll.status, code(poll)) == (404, "not_found")
            assert f"{id_} is no longer running" in str(poll.body)

    run_async(work())


def test_a_call_that_a_rule_allowed_and_whose_end_is_refused_can_still_be_polled_for(
    env: GateEnv, ledger: FailingDisk
) -> None:
    async def work() -> str:
        async with env.gate() as gate:
            await make_from(env, gate, await waiting(gate), RuleReach.CALL)
            ledger.fail(EntryKind.EXECUTED)
            reply = await gate.call("send-draft", DRAFT, replace(ASKER, agent=AGENT), agent=AGENT, wait=30)
            assert reply.body["status"] == "completed"
            id_ = newest(env).id
            assert newest(env).outcome == RequestState.RUNNING
            assert (await result_of(gate, id_))["status"] == "completed"
            assert gate.problem == lost(id_)
            ledger.repair()
            return id_

    async def after_a_restart() -> None:
        async with env.gate() as gate:
            assert gate.waiting() == []

    id_ = run_async(work())
    run_async(after_a_restart())
    assert outcome(env, id_) == RequestState.EXECUTED
    assert sends(env) == 1
    verified(env)


def test_an_expiry_that_is_refused_is_not_said_to_be_tried_again(env: GateEnv, ledger: FailingDisk) -> None:
    env.policy = replace(env.policy, timeout=1)

    async def work() -> None:
        async with env.gate() as gate:
            id_ = await waiting(gate)
            item = await previewed_request(gate, id_)
            ledger.fail(EntryKind.EXPIRED)
            await eventually(lambda: reason(gate, id_) == f"nobody answered in time, so nothing was run; {REFUSED}")
            poll = await gate.result(id_, agent="agent-1")
            assert poll.body["status"] == "pending_approval"
            assert f"nothing was run; {REFUSED}" in str(poll.body["message"])
            assert gate.waiting() == []
            assert (await gate.decide(id_, env.decision(item))).status == 409
            assert gate.problem == lost(id_)

    run_async(work())
    assert sends(env) == 0

"""What an agent gets back: where to poll, held polls, withdrawn requests, and results as JSON."""

import asyncio
import json
from contextlib import suppress
from typing import Any

import httpx
import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.gate.agent_replies import output_of
from aileron_tui.gate.http_limits import HttpLimits
from tests.gate.conftest import GateEnv, run_async
from tests.gate.served_gate import DRAFT, SEND, WAITING, ServedGate, error_code, served_gate

TOOL = {"tool": "Bash", "input": {"command": "ls"}}


async def asked(served: ServedGate) -> str:
    answer = await served.agent.post(SEND, json=DRAFT)
    return str(answer.json()["approval_id"])


async def decide(served: ServedGate, id_: str, verdict: Verdict = Verdict.APPROVE, reason: str = "") -> None:
    body = served.env.decision(await served.previewed_request(id_), verdict, reason=reason)
    assert (await served.approver.post(f"{WAITING}/{id_}/decide", json=body)).status_code == 200


async def state(served: ServedGate, id_: str) -> str:
    return str((await served.approver.get(f"{WAITING}/{id_}")).json()["state"])


def test_a_pending_call_says_where_and_when_to_poll(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            answer = await served.agent.post(SEND, json=DRAFT)
            url = answer.json()["result_url"]
            assert url == f"{WAITING}/{answer.json()['approval_id']}/result"
            assert (answer.headers["location"], answer.headers["retry-after"]) == (url, "2")
            poll = await served.agent.get(url)
            assert (poll.json()["status"], poll.headers["retry-after"]) == ("pending_approval", "2")
            assert "preference-applied" not in poll.headers

    run_async(main())


def test_a_held_poll_receives_the_result_as_text_and_as_json(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            id_ = await asked(served)
            poll = asyncio.create_task(served.agent.get(f"{WAITING}/{id_}/result", headers={"Prefer": "wait=20"}))
            await decide(served, id_)
            answer = await poll
            body = answer.json()
            assert body["status"] == "completed"
            assert body["output"] == json.loads(body["result"])
            assert answer.headers["preference-applied"] == "wait=20"
            assert "retry-after" not in answer.headers
            assert (await served.agent.get(f"{WAITING}/{id_}/result")).json() == body

    run_async(main())


def test_a_result_has_the_same_output_after_a_restart(env: GateEnv) -> None:
    async def before() -> dict[str, Any]:
        async with served_gate(env) as served:
            id_ = await asked(served)
            await decide(served, id_)
            return {"id": id_, **await served.result(id_)}

    async def after(id_: str) -> dict[str, Any]:
        async with served_gate(env) as served:
            return await served.result(id_)

    first = run_async(before())
    id_ = first.pop("id")
    assert "output" in first
    assert run_async(after(id_)) == first


def test_an_ungated_reply_has_the_output_too(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            body = (await served.agent.post("/v1/actions/list-drafts/run", json={})).json()
            assert body["output"] == json.loads(body["result"])

    run_async(main())


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ('{"a": 1.10}', '{"a": 1.10}'),
        ("\n[1] ", "[1]"),
        ("null", "null"),
        ("12345678901234567890.5", "12345678901234567890.5"),
        ("plain words", ""),
        ("", ""),
        ('{"a":1,"a":2}', ""),
        ("NaN", ""),
        ('"\\ud800"', ""),
        ("[" * 33 + "]" * 33, ""),
        ("[" * 100_000, ""),
        ('"' + "x" * 1024 * 1024 + '"', ""),
        ("[" + "1," * 20_000 + "1]", ""),
        ("\ufeff{}", ""),
        ("\u00a0{}", ""),
    ],
)
def test_only_strict_json_within_the_limits_becomes_output(text: str, output: str) -> None:
    assert output_of(text) == output


def test_a_held_poll_ends_with_the_state_when_its_time_is_over(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env, HttpLimits(max_wait_seconds=1)) as served:
            id_ = await asked(served)
            answer = await served.agent.get(f"{WAITING}/{id_}/result", headers={"Prefer": "wait=99999"})
            assert answer.json()["status"] == "pending_approval"
            assert answer.headers["preference-applied"] == "wait=1"

    run_async(main())


def test_disconnecting_a_held_poll_withdraws_nothing(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            id_ = await asked(served)
            for _ in range(3):
                with suppress(httpx.ReadTimeout):
                    await served.agent.get(f"{WAITING}/{id_}/result", headers={"Prefer": "wait=20"}, timeout=0.2)
            await asyncio.sleep(0.2)
            assert await state(served, id_) == "pending"

    run_async(main())


def test_an_agent_withdraws_its_own_waiting_request(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            id_ = await asked(served)
            await served.previewed_request(id_)
            poll = asyncio.create_task(served.agent.get(f"{WAITING}/{id_}/result", headers={"Prefer": "wait=20"}))
            await asyncio.sleep(0.1)
            answer = await served.agent.delete(f"{WAITING}/{id_}")
            assert (answer.status_code, answer.content) == (204, b"")
            assert await state(served, id_) == "withdrawn"
            failure = (await poll).json()["failure"]["error"]
            assert failure["class"] == "withdrawn"
            assert failure["message"] == "nothing was run: the agent withdrew the request"
            again = await served.agent.delete(f"{WAITING}/{id_}")
            assert (again.status_code, error_code(again), again.json()["state"]) == (409, "INVALID_STATE", "withdrawn")
            assert not env.service.sent

    run_async(main())


def test_an_answered_request_cannot_be_withdrawn(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            id_ = await asked(served)
            await decide(served, id_, Verdict.DENY, "not today")
            answer = await served.agent.delete(f"{WAITING}/{id_}")
            assert (answer.status_code, answer.json()["state"]) == (409, "denied")
            assert (await served.result(id_))["status"] == "denied"

    run_async(main())


def test_only_its_own_agent_withdraws_a_request(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            id_ = await asked(served)
            assert (await served.anonymous.delete(f"{WAITING}/{id_}")).status_code == 401
            assert (await served.approver.delete(f"{WAITING}/{id_}")).status_code == 403
            assert (await served.agent.delete(f"{WAITING}/act-1")).status_code == 404
            refused = await served.gate.withdraw(id_, agent="another")
            assert refused is not None
            assert refused.status == 404
            assert await state(served, id_) == "pending"

    run_async(main())


def test_a_tool_call_is_polled_but_not_withdrawn_as_an_action(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            id_ = (await served.agent.post("/v1/permissions", json=TOOL)).json()["approval_id"]
            poll = await served.agent.get(f"{WAITING}/{id_}/result")
            assert (poll.status_code, poll.headers["location"]) == (202, f"/v1/permissions/{id_}")
            assert (await served.agent.delete(f"{WAITING}/{id_}")).status_code == 404
            assert await state(served, id_) == "pending"

    run_async(main())

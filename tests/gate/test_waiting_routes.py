"""Held calls, disconnecting agents, rate limits, and a gate that stops in the meantime."""

import asyncio
from contextlib import suppress
from dataclasses import replace

import httpx
import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.gate import held_calls
from aileron_tui.gate.gate_state import GateLimits as Waiting
from aileron_tui.gate.http_limits import HttpLimits, TokenBucket
from tests.gate.conftest import GateEnv, run_async
from tests.gate.served_gate import DRAFT, SEND, WAITING, ServedGate, error_code, served_gate


async def held(served: ServedGate, seconds: str = "wait=20") -> "tuple[asyncio.Task[httpx.Response], str]":
    """A call that is held open, and its request's id."""
    call = asyncio.create_task(served.agent.post(served.url + SEND, json=DRAFT, headers={"Prefer": seconds}))
    for _ in range(500):
        if items := served.gate.waiting():
            return call, str(items[0]["id"])
        await asyncio.sleep(0.01)
    raise AssertionError("no request came")


def test_a_held_call_receives_the_result(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            call, id_ = await held(served)
            item = await served.previewed_request(id_)
            body = env.decision(item, Verdict.DENY, reason="not today")
            assert (await served.approver.post(f"{WAITING}/{id_}/decide", json=body)).status_code == 200
            answer = await call
            assert answer.json() == {"status": "denied", "reason": "not today"}
            assert answer.headers["preference-applied"] == "wait=20"

    run_async(main())


def test_a_held_call_that_times_out_is_told_to_poll(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            answer = await served.agent.post(SEND, json=DRAFT, headers={"Prefer": "respond-async, wait=1"})
            assert answer.status_code == 202
            assert answer.headers["preference-applied"] == "wait=1"
            assert len(served.gate.waiting()) == 1

    run_async(main())


@pytest.mark.parametrize(
    ("prefer", "applied"),
    [
        ("wait=1", "wait=1"),
        ("WAIT = 1", "wait=1"),
        ('handling=lenient, wait="1"; x=y', "wait=1"),
        ("wait=0", None),
        ("wait=-1", None),
        ("wait=soon", None),
        ("await=1", None),
        ("return=minimal", None),
    ],
)
def test_the_prefer_header_is_parsed(env: GateEnv, prefer: str, applied: str | None) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            answer = await served.agent.post(SEND, json=DRAFT, headers={"Prefer": prefer})
            assert answer.status_code == 202
            assert answer.headers.get("preference-applied") == applied

    run_async(main())


def test_no_call_is_held_longer_than_the_limit(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env, HttpLimits(max_wait_seconds=1)) as served:
            answer = await served.agent.post(SEND, json=DRAFT, headers={"Prefer": "wait=99999"})
            assert (answer.status_code, answer.headers["preference-applied"]) == (202, "wait=1")

    run_async(main())


def test_a_held_call_is_withdrawn_when_its_agent_disconnects(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            call, id_ = await held(served)
            await served.previewed_request(id_)
            call.cancel()
            with suppress(asyncio.CancelledError):
                await call
            for _ in range(300):
                if not served.gate.waiting():
                    break
                await asyncio.sleep(0.01)
            assert (await served.approver.get(f"{WAITING}/{id_}")).json()["state"] == "withdrawn"

    run_async(main())


def test_a_polled_call_is_not_withdrawn_when_its_agent_disconnects(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            async with httpx.AsyncClient(base_url=served.url, headers=served.agent.headers, trust_env=False) as brief:
                id_ = (await brief.post(SEND, json=DRAFT)).json()["approval_id"]
            await asyncio.sleep(0.1)
            assert (await served.approver.get(f"{WAITING}/{id_}")).json()["state"] == "pending"

    run_async(main())


def test_a_stopping_gate_does_not_withdraw_held_calls(env: GateEnv) -> None:
    async def main() -> tuple[httpx.Response, str]:
        async with httpx.AsyncClient(timeout=20, trust_env=False) as agent:
            async with served_gate(env) as served:
                agent.headers["Authorization"] = served.agent.headers["Authorization"]
                call, id_ = await held(replace(served, agent=agent))
                await served.previewed_request(id_)
            return await call, id_

    answer, id_ = run_async(main())
    assert answer.status_code == 202
    assert answer.json()["approval_id"] == id_

    async def after() -> list[object]:
        async with env.gate() as gate:
            return [item["id"] for item in gate.waiting()]

    assert run_async(after()) == [id_]


def test_too_many_calls_are_rate_limited(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env, HttpLimits(calls_per_second=0.5, burst=3)) as served:
            answers = [await served.agent.get("/v1/actions") for _ in range(4)]
            assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
            assert error_code(answers[3]) == "too_many_requests"
            assert 1 <= int(answers[3].headers["retry-after"]) <= 2
            # The agent's rate limit does not affect the approver or the health check.
            assert (await served.approver.get(WAITING)).status_code == 200
            assert (await served.anonymous.get("/v1/health")).status_code == 200

    run_async(main())


def test_the_more_requests_wait_the_fewer_an_agent_may_add(env: GateEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_calls, "_WAITING_PER_COST", 2)
    limits = HttpLimits(requests_per_second=0.001, requests_burst=7)

    async def main() -> None:
        async with served_gate(env, limits) as served:
            answers = [await served.agent.post(SEND, json={"args": {"draft_id": f"r-{number}"}}) for number in range(5)]
            assert [answer.status_code for answer in answers] == [202] * 4 + [429]  # they count 1, 1, 2, 2 and 3
            assert error_code(answers[4]) == "too_many_requests"

    run_async(main())


def test_too_many_waiting_requests_are_refused_and_none_is_lost(env: GateEnv) -> None:
    env.limits = Waiting(waiting_per_agent=2)

    async def main() -> None:
        async with served_gate(env) as served:
            answers = [
                await served.agent.post(SEND, json={"args": {"draft_id": draft}})
                for draft in ("r-1", "r-2", "r-3", "r-1")
            ]
            assert [answer.status_code for answer in answers] == [202, 202, 429, 202]
            assert error_code(answers[2]) == "too_many_waiting"
            assert answers[2].headers["retry-after"] == "5"
            assert answers[3].json()["approval_id"] == answers[0].json()["approval_id"]
            assert len((await served.approver.get(WAITING)).json()["items"]) == 2

    run_async(main())


def test_a_token_bucket_refills_over_time() -> None:
    now = 0.0
    bucket = TokenBucket(2.0, 2, lambda: now)
    assert [bucket.take() for _ in range(3)] == [0, 0, 1]
    now = 0.5
    assert [bucket.take() for _ in range(2)] == [0, 1]
    now = 100.0
    assert [bucket.take() for _ in range(3)] == [0, 0, 1]
    now = 50.0
    assert bucket.take() == 1


def test_only_the_same_agent_joins_a_waiting_call(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            ids: list[str] = []
            for agent, session in (("a b", ""), ("a", "b"), ("", "a b"), ("agent", ""), ("", ""), ("a", "b")):
                names = {"X-Aileron-Agent": agent, "X-Aileron-Session-Id": session}
                answer = await served.agent.post(SEND, json=DRAFT, headers=names)
                ids.append(answer.json()["approval_id"])
            assert len(set(ids)) == 5
            assert ids[1] == ids[5]

    run_async(main())

"""The hooks of Claude Code at a real gate: over HTTP, and as a process."""

import asyncio
import json
import os
import sys
from typing import Any

import httpx
import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.doors.claude_route import claude_routes
from aileron_tui.files.agent_tokens import token_path
from aileron_tui.gate.gate import Gate
from aileron_tui.gate.http_limits import HttpLimits
from tests.core.test_hook_shapes import CLAUDE
from tests.gate.conftest import GateEnv, run_async
from tests.gate.served_gate import WAITING, ServedGate, served_gate
from tests.gate.tool_calls import decide, only_waiting

HOOK = "/hooks/claude"


async def hook(served: ServedGate, query: str = "", **changes: Any) -> dict[str, Any]:
    """The reply to an event."""
    response = await served.agent.post(f"{HOOK}{query}", json=CLAUDE | changes)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


async def process(served: ServedGate, **changes: Any) -> dict[str, Any]:
    """The reply of a hook process to an event."""
    words = ["-m", "aileron_tui", "hook", "claude", "--timeout", "60", "--url", served.url]
    words += ["--token-file", str(token_path(served.env.data, "default"))]
    environment = {"PATH": os.environ["PATH"], "AILERON_TUI_HOME": str(served.env.data / "elsewhere")}
    pipe = asyncio.subprocess.PIPE
    running = await asyncio.create_subprocess_exec(sys.executable, *words, env=environment, stdin=pipe, stdout=pipe)
    out, _ = await running.communicate(json.dumps(CLAUDE | changes).encode())
    assert running.returncode == 0
    found: dict[str, Any] = json.loads(out) if out else {}
    return found


@pytest.mark.parametrize("ask", [hook, process])
def test_a_call_is_answered_and_its_outcome_compared(env: GateEnv, ask: Any) -> None:
    async def work() -> None:
        async with served_gate(env, doors=claude_routes) as served:
            held = asyncio.create_task(ask(served))
            item = await only_waiting(served)
            assert (item["action_name"], item["door"]) == ("Bash", "claude")
            await decide(served, item)
            said = (await held)["hookSpecificOutput"]
            assert (said["permissionDecision"], said["updatedInput"]) == ("allow", CLAUDE["tool_input"])
            other = {"command": "rm -r /", "description": "x"}
            told = await ask(served, hook_event_name="PostToolUse", tool_input=other)
            assert "not what was approved" in told["systemMessage"]

    run_async(work())


@pytest.mark.parametrize("ask", [hook, process])
def test_a_denied_call(env: GateEnv, ask: Any) -> None:
    async def work() -> None:
        async with served_gate(env, doors=claude_routes) as served:
            held = asyncio.create_task(ask(served))
            await decide(served, await only_waiting(served), Verdict.DENY, reason="use the Makefile")
            said = (await held)["hookSpecificOutput"]
            assert said["permissionDecision"] == "deny"
            assert "use the Makefile" in said["permissionDecisionReason"]

    run_async(work())


def test_two_hooks_of_one_call_get_the_same_answer(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env, doors=claude_routes) as served:
            held = [asyncio.create_task(ask(served)) for ask in (hook, process)]
            item = await only_waiting(served)
            await asyncio.sleep(1)
            await decide(served, item)
            said = [(await task)["hookSpecificOutput"]["permissionDecision"] for task in held]
            assert said == ["allow", "allow"]

    run_async(work())


def test_nobody_answered(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env, doors=claude_routes) as served:
            said = (await hook(served, "?timeout=2"))["hookSpecificOutput"]
            assert said["permissionDecision"] == "deny"
            assert "Nobody answered" in said["permissionDecisionReason"]
            assert await hook(served, "?timeout=2", hook_event_name="PermissionRequest") == {}

    run_async(work())


def test_a_client_that_leaves_withdraws_its_request(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env, doors=claude_routes) as served:
            held = asyncio.create_task(hook(served))
            await only_waiting(served)
            held.cancel()
            for _ in range(500):
                if not (await served.approver.get(WAITING)).json()["items"]:
                    return
                await asyncio.sleep(0.01)
            raise AssertionError("the request still waits")

    run_async(work())


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b"[" * 5000,
        b'{"a": 1, "a": 2}',
        b'{"hook_event_name": "BeforeEverything"}',
        b'{"hook_event_name": "PreToolUse", "tool_name": "Bash"}',
        b'{"x": "' + b"x" * 3_000_000 + b'"}',
    ],
    ids=range(9),
)
def test_whatever_cannot_be_read_is_blocked(env: GateEnv, content: bytes) -> None:
    async def work() -> None:
        async with served_gate(env, doors=claude_routes) as served:
            headers = {"Content-Type": "application/json"}
            response = await served.agent.post(HOOK, content=content, headers=headers)
            assert response.status_code == 200
            assert response.json()["decision"] == "block"
            assert "not run" in response.json()["reason"]

    run_async(work())


def test_more_calls_than_an_agent_may_make_are_blocked(env: GateEnv) -> None:
    async def work() -> None:
        limits = HttpLimits(calls_per_second=1, burst=2, requests_per_second=1, requests_burst=1)
        async with served_gate(env, limits, doors=claude_routes) as served:
            said = await asyncio.gather(*(hook(served, "?timeout=1", tool_use_id=f"c-{n}") for n in range(4)))
            assert any("too many" in str(one) for one in said)
            assert "allow" not in str(said)
            assert all("deny" in str(one) or "block" in str(one) for one in said)

    run_async(work())


def test_a_bug_in_the_gate_is_a_denial(env: GateEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    async def work() -> None:
        monkeypatch.setattr(Gate, "ask_permission", broken)
        async with served_gate(env, doors=claude_routes) as served:
            said = (await hook(served))["hookSpecificOutput"]
            assert said["permissionDecision"] == "deny"

    run_async(work())


def test_only_agents_may_use_it(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env, doors=claude_routes) as served:
            answers: list[httpx.Response] = [
                await client.post(HOOK, json=CLAUDE) for client in (served.anonymous, served.approver)
            ]
            assert [answer.status_code for answer in answers] == [401, 403]
        async with served_gate(env) as served:
            assert (await served.agent.post(HOOK, json=CLAUDE)).status_code == 403

    run_async(work())


@pytest.mark.parametrize("ask", [hook, process])
def test_what_the_user_types_for_the_gate(env: GateEnv, ask: Any) -> None:
    async def work() -> None:
        async with served_gate(env, doors=claude_routes) as served:
            typed = {"hook_event_name": "UserPromptSubmit"}
            said = await ask(served, **typed, prompt="aileron status")
            assert (said["decision"], "Nothing is waiting" in said["reason"]) == ("block", True)
            said = await ask(served, **typed, prompt="/aileron approve act-1")
            assert said == {
                "decision": "block",
                "reason": "Run this in a terminal of your own:\n  aileron-tui approve act-1",
            }
            assert await ask(served, **typed, prompt="aileron approve needs a test, write one") == {}

    run_async(work())

"""The MCP server while its gate misbehaves, restarts or gets new tokens: what a client is told is always so."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.doors.action_calls import GateAccess
from aileron_tui.files.private_files import write_private
from aileron_tui.gate.gate import LEDGER_FILE
from aileron_tui.surface.agent_changes import add_agent, revoke_agent, rotate_agent
from tests.doors.fake_gate import TOKEN, FakeGate, fake_gate
from tests.doors.mcp_client import RawClient, conversation, result_of
from tests.doors.test_mcp_server import DRAFT, answer, waiting
from tests.gate.conftest import GateEnv, run_async
from tests.gate.served_gate import ServedGate, served_gate

ACTIONS = {"items": [{"name": "send-draft", "inputs": [], "approval": {"required": True}, "match": {"intent": "x"}}]}


@asynccontextmanager
async def announced_gate(env: GateEnv) -> AsyncIterator[ServedGate]:
    """A gate that is found through its file, as the one of a home is."""
    async with served_gate(env) as served:
        described = {"url": served.url, "instance": served.gate.instance, "agent_token_file": ""}
        write_private(env.data / "gate.json", json.dumps(described).encode(), replace=True)
        yield served


def test_a_call_survives_a_restart_of_the_gate(env: GateEnv) -> None:
    async def main() -> None:
        async with announced_gate(env):
            pass
        async with conversation(GateAccess("default", env.data), hold=40) as client:
            await client.handshake()
            async with announced_gate(env) as served:
                call = await client.start_call("send-draft", DRAFT)
                (before,) = await waiting(served)
            async with announced_gate(env) as served:
                assert await answer(served) == before["id"]
                assert result_of(await client.reply(call))["status"] == "completed"

    run_async(main())
    assert len(env.service.sent) == 1


def test_the_tools_come_back_with_the_gate(env: GateEnv) -> None:
    async def main() -> None:
        async with announced_gate(env):
            pass
        async with conversation(GateAccess("default", env.data), check_seconds=0.1) as client:
            await client.handshake()
            assert set(await client.tools()) == {"aileron_result", "aileron_status"}
            assert (await client.call("list-drafts"))["status"] == "gate_unavailable"
            async with announced_gate(env):
                assert (await client.receive())["method"] == "notifications/tools/list_changed"
                assert "list-drafts" in await client.tools()
                assert (await client.call("list-drafts"))["status"] == "completed"

    run_async(main())


@pytest.mark.parametrize("hold", [30, pytest.param(1, marks=pytest.mark.slow)], ids=["held", "later"])
def test_a_call_survives_a_new_token(env: GateEnv, hold: int) -> None:
    async def main() -> None:
        async with announced_gate(env) as served:
            ledger = env.data / LEDGER_FILE
            await asyncio.to_thread(add_agent, ledger, "mcp", env.key)
            async with conversation(GateAccess("mcp", env.data), hold=hold) as client:
                await client.handshake()
                call = await client.start_call("send-draft", DRAFT)
                await waiting(served)
                if hold == 1:
                    id_ = result_of(await client.reply(call))["approval_id"]
                await asyncio.to_thread(rotate_agent, ledger, "mcp", env.key)
                if hold == 1:
                    call = await client.start_call("aileron_result", {"approval_id": id_})
                await asyncio.sleep(0.7)
                await answer(served)
                assert result_of(await client.reply(call))["status"] == "completed"

    run_async(main())
    assert len(env.service.sent) == 1


def test_a_revoked_agent_is_told_and_asks_nothing(env: GateEnv) -> None:
    async def main() -> None:
        async with announced_gate(env) as served:
            ledger = env.data / LEDGER_FILE
            await asyncio.to_thread(add_agent, ledger, "mcp", env.key)
            async with conversation(GateAccess("mcp", env.data)) as client:
                await client.handshake()
                call = await client.start_call("send-draft", DRAFT)
                await waiting(served)
                await asyncio.to_thread(revoke_agent, ledger, "mcp", env.key)
                result = result_of(await client.reply(call))
                assert result["is_error"]
                assert "does not accept the token of agent mcp" in result["told"]
                assert "nothing was run" not in result["told"]
                await waiting(served, 0)
                assert "aileron-tui agent add mcp" in (await client.call("aileron_status"))["told"]

    run_async(main())


def test_what_an_agent_asks_for_is_only_its_own(env: GateEnv) -> None:
    async def main() -> None:
        async with announced_gate(env) as served:
            await asyncio.to_thread(add_agent, env.data / LEDGER_FILE, "mcp", env.key)
            async with (
                conversation(GateAccess("default", env.data), hold=1) as mine,
                conversation(GateAccess("mcp", env.data), hold=1) as other,
            ):
                await mine.handshake()
                await other.handshake()
                id_ = (await mine.call("send-draft", DRAFT))["approval_id"]
                assert (await other.call("aileron_status"))["waiting"] == []
                unknown = await other.call("aileron_result", {"approval_id": id_})
                assert unknown["error"]["class"] == "not_found"
                await waiting(served)

    run_async(main())


def talk(tmp_path: Path, work: Callable[[FakeGate, RawClient], Any]) -> None:
    """A conversation before a gate that misbehaves."""

    async def main() -> None:
        with fake_gate(tmp_path, "mcp") as gate:
            gate.answer = lambda _: (200, ACTIONS)
            async with conversation(GateAccess("mcp", tmp_path / "data"), hold=1) as client:
                await client.handshake()
                assert "send-draft" in await client.tools()
                await work(gate, client)

    run_async(main())


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\xff\xff\xff\xff",
        b"HTTP/1.1 302 Found\r\nLocation: http://elsewhere\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"x" * 100_000,
    ],
    ids=lambda raw: repr(raw)[:50],
)
def test_a_reply_that_cannot_be_read_leaves_the_outcome_unknown(tmp_path: Path, raw: bytes) -> None:
    async def work(gate: FakeGate, client: RawClient) -> None:
        gate.raw = raw
        result = await client.call("send-draft")
        assert (result["status"], result["is_error"]) == ("outcome_unknown", True)
        assert "it may have run" in result["told"]
        assert (await client.call("aileron_status"))["is_error"]
        assert set(await client.tools()) == {"aileron_result", "aileron_status"}

    talk(tmp_path, work)


def test_a_program_that_is_not_the_gate_gets_no_token(tmp_path: Path) -> None:
    async def work(gate: FakeGate, client: RawClient) -> None:
        gate.instance = "another"
        gate.received.clear()
        assert (await client.call("send-draft"))["status"] == "gate_unavailable"
        gate.service = "another"
        assert (await client.call("aileron_status"))["status"] == "gate_unavailable"
        assert [path for _, path, _, _ in gate.received] == ["/v1/health"] * 2
        assert all(TOKEN not in str(headers) for _, _, _, headers in gate.received)

    talk(tmp_path, work)


def test_the_answer_to_a_tool_call_is_not_fetched(tmp_path: Path) -> None:
    async def work(gate: FakeGate, client: RawClient) -> None:
        times = {"asked_at": "2026-01-01T00:00:00Z", "expires_at": "2026-01-01T00:05:00Z"}
        gate.waiting = [{"id": "act-1", "action": "Bash", **times}, {"id": "act-2", "action": "send-draft", **times}]
        listed = (await client.call("aileron_status"))["waiting"]
        assert [item["approval_id"] for item in listed] == ["act-2"]
        gate.received.clear()
        for id_ in ("act-1", "act-3"):
            assert (await client.call("aileron_result", {"approval_id": id_}))["error"]["class"] == "not_found"
        assert gate.received == []
        gate.answer = lambda _: (200, {"status": "allowed", "input": {"command": "date"}, "decision": {"secret": 1}})
        result = await client.call("aileron_result", {"approval_id": "act-2"})
        assert result["error"]["class"] == "not_found"
        assert "secret" not in result["told"]

    talk(tmp_path, work)


@pytest.mark.parametrize(
    "name", ["evil\r\nX-Aileron-Agent: root", "x" * 100_000, "\x00\x1b[2J", "\u202e", "\ud83d\ude00"]
)
def test_a_client_describes_itself_in_one_field(tmp_path: Path, name: str) -> None:
    async def main() -> None:
        with fake_gate(tmp_path, "mcp") as gate:
            gate.answer = lambda _: (200, ACTIONS)
            async with conversation(GateAccess("mcp", tmp_path / "data"), hold=1) as client:
                await client.handshake(name=name)
                await client.call("send-draft")
            headers = next(headers for method, _, _, headers in gate.received if method == "POST")
            assert len(headers.get("X-Aileron-Agent", "")) <= 400
            assert "root" not in headers.values()
            assert "\x1b" not in str(headers)

    run_async(main())

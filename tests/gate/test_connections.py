"""Connections: idle, slow and too many ones are closed, and keep neither other agents nor approvers out."""

import asyncio
import json
import resource
import shutil
import socket
import sys
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from aileron_tui.gate import gate_connection
from aileron_tui.gate.connection_pools import APPROVER, ConnectionPools, PoolSizes
from aileron_tui.gate.http_limits import HttpLimits, TokenBucket
from tests.gate.conftest import GateEnv, run_async
from tests.gate.gate_harness import Plan, gate_harness
from tests.gate.served_gate import DRAFT, SEND, WAITING, ServedGate, served_gate

FEW = HttpLimits(connections=80, unknown_connections=2, approver_connections=4, agent_minimum_connections=2)
"""Leaves 48 connections for agents, 12 for one of them."""


async def idle(served: ServedGate, count: int) -> list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Opens connections that send nothing."""
    return [await asyncio.open_connection("127.0.0.1", served.port) for _ in range(count)]


async def is_closed(reader: asyncio.StreamReader, seconds: float = 3.0) -> bool:
    try:
        return await asyncio.wait_for(reader.read(1), seconds) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


def held(served: ServedGate, draft: str) -> bytes:
    body = json.dumps({"args": {"draft_id": draft}}).encode()
    head = (
        f"POST {SEND} HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nAuthorization: Bearer {served.token}\r\n"
        f"Content-Type: application/json\r\nPrefer: wait=60\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def test_connections_are_divided_so_that_none_can_use_all() -> None:
    sizes = PoolSizes.within(HttpLimits(), 1_000_000)
    assert (sizes.lobby, sizes.unknown, sizes.approvers, sizes.agents.total) == (2048, 128, 128, 16_384 - 4608)
    few = PoolSizes.within(HttpLimits(), 1024)
    assert 2 * (few.lobby + few.unknown + few.approvers) + few.agents.total <= 1024 - 256
    assert few.agents.per_agent <= few.agents.total // 4


def test_a_connection_that_sends_nothing_is_closed(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env, HttpLimits(header_seconds=0.2)) as served:
            ((reader, writer),) = await idle(served, 1)
            assert await is_closed(reader)
            writer.close()

    run_async(main())


def test_idle_connections_keep_nobody_out(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env, FEW) as served:
            connections = await idle(served, 100)
            assert (await served.agent.post(SEND, json=DRAFT)).status_code == 202
            assert (await served.anonymous.get("/v1/health")).status_code == 200
            assert len((await served.approver.get(WAITING)).json()["items"]) == 1
            closed = [await is_closed(reader, 0.05) for reader, _ in connections]
            assert all(closed[:90]), "the oldest are closed first"
            assert not closed[-1]
            for _, writer in connections:
                writer.close()

    run_async(main())


def test_many_unknown_callers_at_once_do_not_close_the_connection_of_an_agent(env: GateEnv) -> None:
    """Until its first data was read, the agent's connection used to be one of the unknown ones."""

    async def main() -> None:
        async with served_gate(env, FEW) as served:
            host = f"Host: 127.0.0.1:{served.port}\r\n"
            call = f"GET /v1/actions HTTP/1.1\r\n{host}Authorization: Bearer {served.token}\r\n\r\n"
            with ExitStack() as stack:
                # The event loop does not run meanwhile, so it finds them all at once.
                agent, *others = [
                    stack.enter_context(socket.create_connection(("127.0.0.1", served.port))) for _ in range(8)
                ]
                agent.sendall(call.encode())
                for other in others:
                    other.sendall(f"GET /v1/health HTTP/1.1\r\n{host}\r\n".encode())
                agent.settimeout(5)
                assert (await asyncio.to_thread(agent.recv, 12)) == b"HTTP/1.1 200"

    run_async(main())


def test_half_a_request_from_an_unknown_caller_counts_as_idle(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env, FEW) as served:
            connections = await idle(served, 8)
            for _, writer in connections:
                writer.write(
                    b"POST /v1/approver/challenge HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 100\r\n\r\n{"
                    % served.port
                )
            assert (await served.anonymous.get("/v1/health")).status_code == 200
            assert (await served.agent.get("/v1/actions")).status_code == 200
            for _, writer in connections:
                writer.close()

    run_async(main())


def test_an_agent_has_only_its_share_of_connections(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env, FEW) as served:
            connections, answers = [], list[bytes]()
            for number in range(16):
                connections += await idle(served, 1)
                connections[-1][1].write(held(served, f"r-{number}"))
                await asyncio.sleep(0.02)
            for reader, _ in connections:
                with suppress(TimeoutError):
                    answers.append(await asyncio.wait_for(reader.read(2000), 0.2))
            assert len(answers) == 4
            for answer in answers:
                assert answer.startswith(b"HTTP/1.1 429")
                assert b"this agent has 12 open connections" in answer
                assert b"retry-after: 5" in answer.lower()
            assert len((await served.approver.get(WAITING)).json()["items"]) == 12
            assert (await served.anonymous.get("/v1/health")).status_code == 200
            for _, writer in connections:
                writer.close()

    run_async(main())


def test_an_agent_that_opens_more_loses_the_connection_it_used_least(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env, FEW) as served:
            connections = []
            for _ in range(14):
                connections += await idle(served, 1)
                reader, writer = connections[-1]
                writer.write(
                    f"GET /v1/actions HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
                    f"Authorization: Bearer {served.token}\r\n\r\n".encode()
                )
                assert b" 200 " in await reader.readline()
                await reader.readuntil(b"\r\n\r\n")
            closed = [await _ended(reader) for reader, _ in connections]
            assert closed == [True] * 2 + [False] * 12
            for _, writer in connections:
                writer.close()

    run_async(main())


async def _ended(reader: asyncio.StreamReader) -> bool:
    try:
        async with asyncio.timeout(0.2):
            while await reader.read(65536):
                pass
    except TimeoutError:
        return False
    except ConnectionResetError:
        return True
    return True


def test_a_client_that_does_not_read_its_response_is_closed(env: GateEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_connection, "_STALL_SECONDS", 0.2)

    async def main() -> None:
        async with served_gate(env) as served:
            _, writer = await asyncio.open_connection("127.0.0.1", served.port, limit=1024)
            request = (
                f"GET /v1/actions HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
                f"Authorization: Bearer {served.token}\r\n\r\n"
            ).encode()

            async def ask_on() -> None:
                while True:
                    writer.write(request * 20)
                    await writer.drain()
                    await asyncio.sleep(0.01)

            with pytest.raises((ConnectionResetError, BrokenPipeError)):
                await asyncio.wait_for(ask_on(), 30)
            writer.close()
            assert (await served.anonymous.get("/v1/health")).status_code == 200

    run_async(main())


def test_requests_beyond_the_rate_are_read_later_and_approvers_do_not_wait(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env, HttpLimits(reads_per_second=0.5, reads_burst=3)) as served:
            for _ in range(3):
                assert (await served.agent.get("/v1/actions")).status_code == 200
            later = asyncio.create_task(served.agent.get("/v1/actions"))
            for _ in range(10):
                assert (await served.approver.get(WAITING)).status_code == 200
            assert not later.done()
            assert (await later).status_code == 200

    run_async(main())


class _Connection:
    """A connection of an agent, as the pools see it."""

    on_socket = False
    is_idle = False
    unsent_bytes = 0

    def __init__(self, owner: str = "agent") -> None:
        self.owner = owner
        self.reserved_reads: tuple[TokenBucket, int] | None = None

    def abort(self) -> None:
        raise AssertionError


def test_a_crowd_of_requests_is_read_more_slowly_than_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TokenBucket.__init__, "__defaults__", (lambda: 1.0,))  # a clock that stands still
    limits = HttpLimits(reads_per_second=10, reads_burst=5, crowd_cost=4)
    pools = ConnectionPools(limits, PoolSizes.within(limits, 1024))
    connections = [_Connection() for _ in range(18)]
    delays = [pools.delay(connection, "agent") for connection in connections]
    assert delays[:5] == [0.0] * 5
    assert delays[5:15] == pytest.approx([number / 10 for number in range(1, 11)])
    assert delays[15:] == pytest.approx([1.4, 1.8, 2.2])
    assert pools.delay(_Connection(), "another agent") == pools.delay(_Connection(), APPROVER) == 0.0
    for connection in connections[10:]:  # what is closed unread costs its agent nothing
        pools.closed(connection)
    assert pools.delay(_Connection(), "agent") == pytest.approx(0.6)


def test_an_agent_cannot_send_too_many_bytes_in_a_short_time(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env, HttpLimits(body_bytes_per_second=10, body_bytes_burst=500)) as served:
            large = {"args": {"draft_id": "x" * 400}}
            assert (await served.agent.post(SEND, json=large)).status_code == 202
            refused = await served.agent.post(SEND, json=large)
            assert refused.status_code == 429
            assert int(refused.headers["retry-after"]) > 10
            assert "this agent sends too many bytes" in refused.text

    run_async(main())


def test_requests_sent_without_waiting_for_a_response_are_read_later_too(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env, HttpLimits(reads_per_second=1, reads_burst=2)) as served:
            ask = (
                f"GET /v1/actions HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nAuthorization: Bearer {served.token}\r\n"
            )
            data = f"{ask}\r\n".encode() * 3 + f"{ask}Connection: close\r\n\r\n".encode()
            later = asyncio.create_task(served.raw(data))
            for _ in range(10):
                assert (await served.approver.get(WAITING)).status_code == 200
            assert not later.done()
            assert (await later).count(b"HTTP/1.1 200") == 4

    run_async(main())


def test_a_body_beyond_the_byte_rate_is_read_later(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env, HttpLimits(body_bytes_per_second=500, body_bytes_burst=500)) as served:
            bodies = [{"args": {"draft_id": letter * 400}} for letter in "xy"]
            assert (await served.agent.post(SEND, json=bodies[0])).status_code == 202
            later = asyncio.create_task(served.agent.post(SEND, json=bodies[1]))
            for _ in range(5):
                assert (await served.approver.get(WAITING)).status_code == 200
            assert len(served.gate.waiting()) == 1
            assert (await later).status_code == 202

    run_async(main())


def test_a_large_body_that_is_refused_is_not_read(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env, HttpLimits(calls_per_second=0.01, burst=1)) as served:
            assert (await served.agent.get("/v1/actions")).status_code == 200
            head = (
                f"POST {SEND} HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nAuthorization: Bearer {served.token}\r\n"
                f"Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
            )
            reply = await asyncio.wait_for(served.raw(head.encode()), 10)  # returns when the gate closes the connection
            assert b"429" in reply.splitlines()[0]

    run_async(main())


def test_a_connection_that_the_gate_leaves_unread_is_not_closed_as_slow(env: GateEnv) -> None:
    limits = HttpLimits(reads_per_second=1, reads_burst=1, header_seconds=0.2)

    async def main() -> None:
        async with served_gate(env, limits) as served:
            calls = [held(served, draft).replace(b"Prefer: wait=60", b"Connection: close") for draft in "ab"]
            answers = await asyncio.gather(*map(served.raw, calls))
            assert [answer.split()[1] for answer in answers] == [b"202", b"202"]

    run_async(main())


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process can only be set on Linux")
def test_a_gate_without_free_descriptors_closes_idle_connections(tmp_path: Path, compiled: Path) -> None:
    (tmp_path / "home").mkdir(0o700)
    shutil.copytree(compiled, tmp_path / "home" / "cache")
    with gate_harness(tmp_path) as harness, harness.gate(Plan("few descriptors")) as process, ExitStack() as stack:
        address = process.ready()
        assert address is not None, harness.log()
        agent, approver = harness.agent(address), harness.approver(address)
        few = len(list(Path(f"/proc/{process.pid}/fd").iterdir())) + 20
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (few, few))
        for _ in range(60):
            stack.enter_context(socket.create_connection((address.host, address.port)))
        late = harness.approver(address)
        assert agent.ask("GET", "/v1/actions")[0] == 200
        assert approver.waiting() == late.waiting() == []
    assert "cannot accept a connection" in (harness.home / "log").read_text()

"""The Unix socket for approvers: who may connect, what it serves, and what happens to a socket that is left over."""

import asyncio
import os
import socket
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.files import socket_peer
from aileron_tui.gate.approver_socket import SOCKET_FILE, NoSocket, SocketRefused, bound
from aileron_tui.gate.gate import Gate
from aileron_tui.gate.gate_log import GateLog
from aileron_tui.gate.server import ListenAddress, started_gate
from aileron_tui.runtime.errors import NoGate
from aileron_tui.runtime.gate_client import AgentClient, ApproverClient
from aileron_tui.runtime.gate_discovery import agent_token, discover
from aileron_tui.runtime.gate_probe import GateProbe
from tests.gate.conftest import GateEnv, run_async
from tests.gate.served_gate import session


@pytest.fixture
def folder() -> Iterator[Path]:
    """A private folder with a path that is short enough for a socket."""
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


def test_the_socket_is_private_and_removed_at_the_end(folder: Path) -> None:
    with bound(folder):
        status = (folder / SOCKET_FILE).lstat()
        assert (stat.S_ISSOCK(status.st_mode), stat.S_IMODE(status.st_mode)) == (True, 0o600)
    assert not (folder / SOCKET_FILE).exists()


def test_a_socket_left_by_a_killed_gate_is_replaced(folder: Path) -> None:
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(folder / SOCKET_FILE))
    left.listen()
    left.close()  # like kill -9: the file stays
    with bound(folder), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(folder / SOCKET_FILE))


def test_a_socket_that_a_program_listens_on_is_not_replaced(folder: Path) -> None:
    with bound(folder), pytest.raises(SocketRefused, match="another program"), bound(folder):
        pass


def test_a_file_with_the_name_of_the_socket_is_not_removed(folder: Path) -> None:
    (folder / SOCKET_FILE).write_text("mine")
    with pytest.raises(SocketRefused, match="not a socket"), bound(folder):
        pass
    assert (folder / SOCKET_FILE).read_text() == "mine"


def test_a_new_socket_at_the_same_path_is_not_removed(folder: Path) -> None:
    with bound(folder), socket.socket(socket.AF_UNIX) as other:
        (folder / SOCKET_FILE).unlink()
        other.bind(str(folder / SOCKET_FILE))
    assert (folder / SOCKET_FILE).exists()


def test_a_path_that_is_too_long_means_no_socket(folder: Path) -> None:
    long = folder / ("x" * 100)
    long.mkdir(0o700)
    with pytest.raises(NoSocket, match="longer than"), bound(long):
        pass


def test_approvers_decide_through_the_socket_while_the_port_is_closed_to_them(env: GateEnv, folder: Path) -> None:
    env.folder = folder
    with_key(env)

    def work() -> None:
        found = discover(data=env.data)
        assert found.socket == env.data / SOCKET_FILE
        GateProbe(found).verified_instance()
        elsewhere = type(found)("http://127.0.0.1:1", found.instance, found.token_file, found.socket)
        with AgentClient(found, agent_token(found)) as agent, ApproverClient(elsewhere, env.key) as approver:
            id_ = str(agent.run("send-draft", {"draft_id": "r-12345"})["approval_id"])
            request = next(request for request in approver.waiting() if request.id == id_)
            while request.fetching:
                request = approver.item(id_)
            approver.decide(request, Verdict.DENY)
            assert agent.result(id_)["status"] == "denied"

    run_async(in_gate(env, work))


def test_without_a_socket_approvers_use_the_port(env: GateEnv, folder: Path) -> None:
    env.folder = folder / ("x" * 100)
    with_key(env)

    def work() -> None:
        found = discover(data=env.data)
        assert found.socket is None
        with ApproverClient(found, env.key) as approver:
            assert approver.waiting() == ()

    run_async(in_gate(env, work))


def test_a_program_of_another_user_on_the_socket_gets_nothing(
    env: GateEnv, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env.folder = folder
    with_key(env)

    def work() -> None:
        found = discover(data=env.data)
        monkeypatch.setattr(socket_peer, "peer_user", lambda _: 12345)
        with ApproverClient(found, env.key) as approver, pytest.raises(NoGate, match="user 12345"):
            approver.waiting()
        with pytest.raises(NoGate, match="user 12345"):
            GateProbe(found)

    run_async(in_gate(env, work))


def test_the_gate_hangs_up_on_another_user(env: GateEnv, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env.folder = folder
    with_key(env)

    def work() -> None:
        found = discover(data=env.data)
        monkeypatch.setattr(os, "geteuid", lambda: 4711)
        monkeypatch.setattr(socket_peer, "peer_user", lambda _: 12345)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(found.socket))
            client.settimeout(5)
            with suppress(ConnectionError):
                client.sendall(b"GET /v1/health HTTP/1.0\r\n\r\n")
                assert client.recv(1) == b""

    run_async(in_gate(env, work))


def test_the_socket_serves_no_agents_and_asks_for_no_host(env: GateEnv, folder: Path) -> None:
    env.folder = folder
    with_key(env)

    async def main() -> None:
        async with started_gate(Gate(env.setup()), env.data, ListenAddress(port=0), GateLog()) as info:
            token = Path(info["agent_token_file"]).read_text().strip()
            transport = httpx.AsyncHTTPTransport(uds=str(env.data / SOCKET_FILE))
            async with httpx.AsyncClient(base_url="http://any-name", transport=transport) as client:
                assert (await client.get("/v1/health")).json()["instance"] == info["instance"]
                for path in ("/v1/actions", "/v1/action-approvals"):
                    reply = await client.get(path, headers={"Authorization": f"Bearer {token}"})
                    assert reply.status_code == 403
                reply = await client.get("/v1/actions", headers={"Authorization": f"Bearer {token}"})
                assert info["url"] in reply.json()["error"]["message"]
                client.headers["Authorization"] = f"Bearer {await session(client, env.key)}"
                assert (await client.get("/v1/action-approvals")).json() == {"items": []}

    run_async(main())


def test_idle_connections_to_the_socket_keep_no_approver_out(env: GateEnv, folder: Path) -> None:
    env.folder = folder
    with_key(env)

    def work() -> None:
        found = discover(data=env.data)
        with ExitStack() as stack, ApproverClient(found, env.key) as approver:
            for _ in range(400):
                stack.enter_context(socket.socket(socket.AF_UNIX)).connect(str(found.socket))
            assert approver.waiting() == ()

    run_async(in_gate(env, work))


def with_key(env: GateEnv) -> None:
    """Enrols the key in the folder that was just set."""
    from aileron_tui.core.entry_kinds import EntryKind  # noqa: PLC0415
    from aileron_tui.gate.gate import LEDGER_FILE  # noqa: PLC0415
    from aileron_tui.ledger.open_store import open_ledger  # noqa: PLC0415
    from aileron_tui.signing.approvers import Approvers  # noqa: PLC0415

    with open_ledger(env.data / LEDGER_FILE, role="test") as ledger:
        ledger.append(EntryKind.KEY_ENROLLED, Approvers().enrolment("tester", env.key.public))


async def in_gate(env: GateEnv, work: object) -> None:
    """Runs blocking work while a complete gate runs."""
    assert callable(work)
    async with started_gate(Gate(env.setup()), env.data, ListenAddress(port=0), GateLog()):
        await asyncio.to_thread(work)

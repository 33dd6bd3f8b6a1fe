"""Real servers behind the proxy: the same bytes with and without it, and calls that wait for an answer."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.mcp_tools import pinned
from aileron_tui.core.prompt import lines, read_prompt
from aileron_tui.core.risk import RiskLevel
from aileron_tui.doors.known_servers import KnownServer, write_server
from aileron_tui.files.paths import bundled
from aileron_tui.gate.gate import LEDGER_FILE
from aileron_tui.surface.agent_changes import add_agent
from tests.doors.proxy_harness import MODERN_META
from tests.doors.proxy_process import Conversation
from tests.gate.conftest import GateEnv, run_async
from tests.gate.ruled_gate import verified
from tests.gate.served_gate import ServedGate, served_gate
from tests.gate.tool_calls import decide, only_waiting
from tests.mcp_servers.programs import program, sdk_python

SDK_SERVER = Path(__file__).with_name("sdk_server.py")
LEGACY = ("2025-11-25", "2025-06-18")


def hello(version: str = "2025-11-25") -> bytes:
    """The handshake."""
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "cases", "version": "1"}}
    request = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    return b"".join(json.dumps(message).encode() + b"\n" for message in (request, ready))


def request(id_: int, method: str, **params: Any) -> bytes:
    """A request as a line."""
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}).encode() + b"\n"


def commands(folder: Path) -> dict[str, list[str]]:
    """The servers, by name."""
    return {
        "filesystem": [program("mcp-server-filesystem"), str(folder)],
        "memory": [program("mcp-server-memory")],
        "everything": [program("mcp-server-everything")],
        "sdk": [sdk_python(), str(SDK_SERVER)],
    }


def proxy_command(data: Path, *words: str) -> list[str]:
    """The command of the proxy."""
    return [sys.executable, "-m", "aileron_tui", "mcp-proxy", "--name", "real", "--data", str(data), *words]


def environment(folder: Path) -> dict[str, str]:
    """What the servers may know."""
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "MEMORY_FILE_PATH": str(folder / "memory.jsonl")}


def recorded(command: list[str], folder: Path, conversation: list[bytes]) -> list[bytes]:
    """Everything that a server says in a conversation in which each request waits for the one before."""
    with Conversation(command, environment(folder)) as talk:
        said: list[bytes] = []
        for line in conversation:
            talk.write(line)
            ids = [json.loads(part).get("id") for part in line.splitlines() if b'"method"' in part]
            for id_ in (id_ for id_ in ids if id_ is not None):
                while True:
                    said.append(talk.line())
                    message = json.loads(said[-1])
                    if message.get("id") == id_ and "method" not in message:
                        break
        _, rest = talk.finish()
        return [*said, *rest.splitlines(keepends=True)]


ASKED: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "filesystem": [("tools/list", {}), ("ping", {})],
    "memory": [("tools/list", {}), ("ping", {})],
    "everything": [
        ("tools/list", {}),
        ("prompts/list", {}),
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("prompts/get", {"name": "simple-prompt"}),
        ("ping", {}),
    ],
    "sdk": [("tools/list", {}), ("ping", {})],
}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("version", LEGACY)
def test_a_conversation_is_the_same_with_and_without_the_proxy(tmp_path: Path, name: str, version: str) -> None:
    write_server(tmp_path / "data", KnownServer("real", "mcp-real"))
    asked = [request(number, method, **params) for number, (method, params) in enumerate(ASKED[name], 1)]
    conversation = [hello(version), *asked]
    command = commands(tmp_path)[name]
    alone = recorded(command, tmp_path, conversation)
    assert len(alone) >= len(conversation)
    assert recorded(proxy_command(tmp_path / "data", "--", *command), tmp_path, conversation) == alone


def test_a_modern_conversation_is_the_same_with_and_without_the_proxy(tmp_path: Path) -> None:
    write_server(tmp_path / "data", KnownServer("real", "mcp-real"))
    methods = ("server/discover", "tools/list")
    conversation = [request(number, method, _meta=MODERN_META) for number, method in enumerate(methods)]
    command = commands(tmp_path)["sdk"]
    alone = recorded(command, tmp_path, conversation)
    assert b"2026-07-28" in alone[0]
    assert recorded(proxy_command(tmp_path / "data", "--", *command), tmp_path, conversation) == alone


class Case:
    """A real server behind the proxy and a real gate."""

    def __init__(self, served: ServedGate, talk: Conversation) -> None:
        self.served = served
        self.talk = talk

    async def waiting(self) -> tuple[dict[str, Any], str]:
        """The request that waits, and its prompt as text."""
        item = await only_waiting(self.served)
        return item, "\n".join(lines(read_prompt(item["prompt"])))

    async def answer(self, id_: int) -> tuple[Any, list[Any]]:
        """The response to a request, and what came before it."""
        before: list[Any] = []
        while (message := await asyncio.to_thread(self.talk.message)).get("id") != id_:
            before.append(message)
        return message, before


@asynccontextmanager
async def behind(env: GateEnv, target: list[str], policy: str = "", modern: bool = False) -> AsyncIterator[Case]:
    """Puts a server behind the proxy. Its tools are pinned as it lists them."""
    async with served_gate(env) as served:
        await asyncio.to_thread(add_agent, env.data / LEDGER_FILE, "mcp-real", env.key)
        start = proxy_command(env.data, "--gate", served.url, *target)
        file = str(bundled("manifests") / "mcp" / policy) if policy else ""
        write_server(env.data, KnownServer("real", "mcp-real"))
        listing = request(1, "tools/list", _meta=MODERN_META) if modern else request(1, "tools/list")
        conversation = [listing] if modern else [hello(), listing]
        said = await asyncio.to_thread(recorded, start, env.folder, conversation)
        tools = json.loads(next(line for line in said if b'"tools":[' in line))["result"]["tools"]
        write_server(env.data, KnownServer("real", "mcp-real", policy=file, tools=tuple(map(pinned, tools))))
        with Conversation(start, environment(env.folder)) as talk:
            if not modern:
                talk.write(hello())
                await asyncio.to_thread(talk.line)
            yield Case(served, talk)
    verified(env)


def test_writing_a_file_shows_what_is_there_and_waits(env: GateEnv) -> None:
    file = env.folder / "notes" / "plan.txt"
    file.parent.mkdir()
    file.write_text("present text\n")

    async def work() -> None:
        command = ["--", program("mcp-server-filesystem"), str(file.parent)]
        async with behind(env, command, "filesystem.toml") as case:
            case.talk.call(5, "write_file", path=str(file), content="new")
            item, text = await case.waiting()
            assert "present text" in text
            assert read_prompt(item["prompt"]).risk.level is RiskLevel.HIGH
            await decide(case.served, item, Verdict.DENY, reason="keep it")
            refused, _ = await case.answer(5)
            assert refused["result"]["isError"] is True
            assert "denied this call: keep it" in refused["result"]["content"][0]["text"]
            assert file.read_text() == "present text\n"
            case.talk.call(6, "write_file", path=str(file), content="new")
            item, _ = await case.waiting()
            await decide(case.served, item)
            written, _ = await case.answer(6)
            assert "isError" not in written["result"]
            assert file.read_text() == "new"
            log = (await case.served.approver.get("/v1/action-approvals")).json()
            assert log["items"] == []

    run_async(work())


def test_a_file_that_changes_under_the_prompt_is_asked_about_again(env: GateEnv) -> None:
    file = env.folder / "notes" / "plan.txt"
    file.parent.mkdir()
    file.write_text("one\n")

    async def work() -> None:
        command = ["--", program("mcp-server-filesystem"), str(file.parent)]
        async with behind(env, command, "filesystem.toml") as case:
            case.talk.call(5, "write_file", path=str(file), content="new")
            item, text = await case.waiting()
            assert "one" in text
            file.write_text("two\n")
            await decide(case.served, item)
            again, text = await case.waiting()
            assert again["id"] != item["id"]
            assert "two" in text
            assert file.read_text() == "two\n"
            await decide(case.served, again)
            await case.answer(5)
            assert file.read_text() == "new"

    run_async(work())


def test_a_call_of_everything_passes_progress_on(env: GateEnv) -> None:
    async def work() -> None:
        async with behind(env, ["--", program("mcp-server-everything")]) as case:
            arguments = {"duration": 1, "steps": 2}
            meta = {"progressToken": "p"}
            case.talk.write(
                request(5, "tools/call", name="trigger-long-running-operation", arguments=arguments, _meta=meta)
            )
            item, _ = await case.waiting()
            await decide(case.served, item)
            done, before = await case.answer(5)
            assert "isError" not in done["result"]
            progress = [message["params"]["progress"] for message in before if "progress" in str(message.get("method"))]
            assert progress == sorted(progress)
            assert progress[-1] == 2

    run_async(work())


def test_memory_is_changed_only_after_an_approval(env: GateEnv) -> None:
    async def work() -> None:
        async with behind(env, ["--", program("mcp-server-memory")], "memory.toml") as case:
            entities = [{"name": "Ann", "entityType": "person", "observations": ["likes tea"]}]
            case.talk.call(5, "create_entities", entities=entities)
            item, _ = await case.waiting()
            assert not (env.folder / "memory.jsonl").exists()
            await decide(case.served, item)
            await case.answer(5)
            assert "likes tea" in (env.folder / "memory.jsonl").read_text()

    run_async(work())


@contextmanager
def over_http() -> Iterator[str]:
    """The server of the SDK on a port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sdk_python(), str(SDK_SERVER), str(port)])
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(10)


@pytest.mark.parametrize("is_modern", [True, False], ids=["2026-07-28", "2025-11-25"])
@pytest.mark.parametrize("transport", ["pipes", "http"])
def test_both_generations_over_pipes_and_http(env: GateEnv, transport: str, is_modern: bool) -> None:
    file = env.folder / "out.txt"
    meta: dict[str, Any] = {"progressToken": 1} | (MODERN_META if is_modern else {})

    async def work(target: list[str]) -> None:
        async with behind(env, target, modern=is_modern) as case:
            for id_, verdict in ((5, Verdict.DENY), (6, Verdict.APPROVE)):
                arguments = {"path": str(file), "text": "x"}
                case.talk.write(request(id_, "tools/call", name="append", arguments=arguments, _meta=meta))
                item, _ = await case.waiting()
                await decide(case.served, item, verdict)
                done, before = await case.answer(id_)
                assert ("resultType" in done["result"]) is is_modern
                assert ("isError" in done["result"] and done["result"]["isError"]) is (verdict is Verdict.DENY)
                assert file.exists() is (verdict is Verdict.APPROVE)
            assert before[-1]["params"]["progress"] == 1
            assert file.read_text() == "x"

    if transport == "pipes":
        run_async(work(["--", sdk_python(), str(SDK_SERVER)]))
    else:
        with over_http() as url:
            run_async(work(["--url", url]))

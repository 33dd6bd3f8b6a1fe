"""The MCP proxy with a real gate: signed decisions and rules, edits, previews and outcomes."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.mcp_tools import pinned
from aileron_tui.core.prompt import lines, read_prompt
from aileron_tui.core.rule import RuleReach
from aileron_tui.doors.known_servers import KnownServer, read_server, write_server
from aileron_tui.gate.gate import LEDGER_FILE
from aileron_tui.surface.agent_changes import add_agent
from tests.doors.mcp_script_server import READ, WRITE
from tests.doors.proxy_process import Conversation, proxied
from tests.doors.test_mcp_http_server import Handler, listening
from tests.gate.conftest import GateEnv, run_async
from tests.gate.ruled_gate import entries, kinds, make, offers, verified
from tests.gate.served_gate import WAITING, ServedGate, served_gate
from tests.gate.tool_calls import decide, only_waiting

POLICY = """\
server = "files"

[tools.write.preview]
tool = "read"
args = { path = "${args.path}" }
render = { "Present" = "content.0.text" }
"""


@dataclass
class Behind:
    """A served gate, and a client of a proxy that asks it."""

    served: ServedGate
    talk: Conversation
    home: Path

    async def item(self) -> dict[str, Any]:
        """The only waiting request."""
        return await only_waiting(self.served)

    async def message(self) -> Any:
        """The next message to the client."""
        return await asyncio.to_thread(self.talk.message)

    async def text(self) -> str:
        """The text of the next result."""
        return await asyncio.to_thread(self.talk.text)

    async def entry(self, id_: str, kind: EntryKind) -> JsonObject:
        """The body of the ledger's entry of this kind about a request, once it is there."""
        for _ in range(500):
            for entry in entries(self.served.env, id_):
                if entry.kind == kind:
                    return entry.body
            await asyncio.sleep(0.01)
        raise AssertionError(f"{id_} has {kinds(self.served.env, id_)}")


@asynccontextmanager
async def behind(
    env: GateEnv, mode: str = "plain", policy: str = "", *options: str, command: list[str] | None = None
) -> AsyncIterator[Behind]:
    """A proxy as a process, in front of a server for tests."""
    async with served_gate(env) as served:
        await asyncio.to_thread(add_agent, env.data / LEDGER_FILE, "mcp-files", env.key)
        if policy:
            (env.folder / "policy.toml").write_text(policy)
        file = str(env.folder / "policy.toml") if policy else ""
        write_server(env.data, KnownServer("files", "mcp-files", policy=file, tools=(pinned(WRITE), pinned(READ))))
        with proxied(env.folder, mode, "--gate", served.url, *options, command=command) as talk:
            yield Behind(served, talk, env.folder)


def test_an_approved_call_runs_once_with_the_approved_args(env: GateEnv) -> None:
    async def work() -> None:
        async with behind(env) as proxy:
            path = str(env.folder / "file")
            proxy.talk.call(1, path=path, text="x")
            item = await proxy.item()
            prompt = read_prompt(item["prompt"])
            assert prompt.connector.hash == pinned(WRITE).hash
            assert not Path(path).exists()
            assert (await decide(proxy.served, item)).status_code == 200
            params = json.loads(await proxy.text())
            assert params == {"name": "write", "arguments": {"path": path, "text": "x"}}
            assert Path(path).read_text() == "x"
            assert "error" not in await proxy.entry(item["id"], EntryKind.EXECUTED)
            await asyncio.to_thread(proxy.talk.finish)
        verified(env)

    run_async(work())


def test_an_edited_call_runs_as_edited(env: GateEnv) -> None:
    async def work() -> None:
        async with behind(env) as proxy:
            proxy.talk.call(1, text="x", other=1)
            item = await proxy.item()
            edits: JsonObject = {"text": "edited"}
            url = f"{WAITING}/{item['id']}/refresh"
            edited = (await proxy.served.approver.post(url, json={"edited_payload": edits})).json()["item"]
            assert (await decide(proxy.served, edited, edits=edits)).status_code == 200
            assert json.loads(await proxy.text())["arguments"] == {"text": "edited", "other": 1}
            assert "differs" not in await proxy.entry(item["id"], EntryKind.EXECUTED)
        verified(env)

    run_async(work())


def test_a_denied_call_and_a_failing_one(env: GateEnv) -> None:
    async def work() -> None:
        async with behind(env, "fail") as proxy:
            proxy.talk.call(1)
            await decide(proxy.served, await proxy.item(), Verdict.DENY, reason="not today")
            assert await proxy.text() == "The operator denied this call: not today. Nothing was run."
            proxy.talk.call(2)
            item = await proxy.item()
            await decide(proxy.served, item)
            assert await proxy.text() == "disk full"
            assert (await proxy.entry(item["id"], EntryKind.FAILED))["error"] == "mcp-files says: disk full"
        verified(env)

    run_async(work())


def test_a_rule_allows_a_call_and_only_that_definition(env: GateEnv) -> None:
    async def work() -> None:
        async with behind(env) as proxy:
            proxy.talk.call(1, "read", a=1)
            item = await proxy.item()
            found = (await offers(proxy.served.gate, item["id"])).offers
            rule = next(one.rule for one in found if one.rule.reach is RuleReach.CALL)
            assert rule.runs == pinned(READ).hash
            await make(env, proxy.served.gate, rule)
            await decide(proxy.served, item, Verdict.DENY)
            await proxy.text()
            proxy.talk.call(2, "read", a=1)
            assert json.loads(await proxy.text())["arguments"] == {"a": 1}
            proxy.talk.call(3, "read", a=2)
            await decide(proxy.served, await proxy.item(), Verdict.DENY)
            assert "denied" in await proxy.text()
        verified(env)

    run_async(work())


@pytest.mark.parametrize(
    "member", [{"inputResponses": {"a": {"action": "accept"}}}, {"requestState": "x"}, {"task": {}}]
)
def test_no_rule_allows_members_beside_the_arguments(env: GateEnv, member: dict[str, Any]) -> None:
    async def work() -> None:
        async with behind(env) as proxy:
            proxy.talk.call(1, "read", a=1)
            item = await proxy.item()
            found = (await offers(proxy.served.gate, item["id"])).offers
            await make(env, proxy.served.gate, next(one.rule for one in found if one.rule.reach is RuleReach.ANY))
            await decide(proxy.served, item, Verdict.DENY)
            await proxy.text()
            proxy.talk.call(2, "read", a=2)
            await proxy.text()
            proxy.talk.request(3, "tools/call", name="read", arguments={"a": 1}, **member)
            item = await proxy.item()
            assert not (await offers(proxy.served.gate, item["id"])).offers
            await decide(proxy.served, item, Verdict.DENY)
            assert "denied" in str(await proxy.message())
        verified(env)

    run_async(work())


def test_a_server_that_dies_with_the_call_leaves_the_outcome_unknown(env: GateEnv) -> None:
    async def work() -> None:
        async with behind(env, "crash") as proxy:
            proxy.talk.call(1)
            item = await proxy.item()
            await decide(proxy.served, item)
            assert (await proxy.text()).startswith("Outcome unknown: the server ended")
            assert "not known whether" in str((await proxy.entry(item["id"], EntryKind.FAILED))["error"])
            assert await asyncio.to_thread(proxy.talk.process.wait, 10) == 3
        verified(env)

    run_async(work())


def test_a_failure_that_is_not_unicode_is_in_the_history(env: GateEnv) -> None:
    async def work() -> None:
        async with behind(env, "not unicode") as proxy:
            proxy.talk.call(1)
            item = await proxy.item()
            await decide(proxy.served, item)
            assert (await proxy.entry(item["id"], EntryKind.FAILED))["error"] == "mcp-files says: disk full ?"

    run_async(work())


def test_a_client_that_leaves_a_call_over_http_leaves_its_outcome_unknown(env: GateEnv) -> None:
    def reply(handler: Handler, body: JsonObject) -> None:
        if body["method"] == "tools/list":
            handler.answer(200, {"jsonrpc": "2.0", "id": body["id"], "result": {"tools": [WRITE]}})
        else:
            called.set()
            handler.connection.recv(1)

    called = threading.Event()

    async def work(url: str) -> None:
        async with behind(env, "", "", "--url", url, command=[]) as proxy:
            proxy.talk.call(1)
            item = await proxy.item()
            await decide(proxy.served, item)
            assert await asyncio.to_thread(called.wait, 10)
            proxy.talk.stdin.close()
            assert "not known whether" in str((await proxy.entry(item["id"], EntryKind.FAILED))["error"])

    with listening(reply) as (url, _):
        run_async(work(url))


@pytest.mark.few(1)
@pytest.mark.parametrize("how", ["cancel", "leave", "kill"])
def test_nobody_is_asked_for_a_client_that_no_longer_waits(env: GateEnv, how: str) -> None:
    async def work() -> None:
        async with behind(env) as proxy:
            proxy.talk.call(1)
            item = await proxy.item()
            if how == "cancel":
                params = {"requestId": 1}
                proxy.talk.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
            elif how == "leave":
                proxy.talk.stdin.close()
            else:
                proxy.talk.process.kill()
            await proxy.entry(item["id"], EntryKind.WITHDRAWN)
        verified(env)

    run_async(work())


def test_a_call_that_waits_longer_than_the_client_is_answered_later(env: GateEnv) -> None:
    async def work() -> None:
        async with behind(env, "plain", "", "--hold", "1") as proxy:
            proxy.talk.call(1, text="x")
            assert "still waits" in await proxy.text()
            item = await proxy.item()
            await decide(proxy.served, item)
            proxy.talk.call(2, text="x")
            assert json.loads(await proxy.text())["arguments"] == {"text": "x"}
            assert await proxy.entry(item["id"], EntryKind.EXECUTED)
            proxy.talk.call(3, text="y")
            assert "still waits" in await proxy.text()
            item = await proxy.item()
            proxy.talk.stdin.close()
            await proxy.entry(item["id"], EntryKind.WITHDRAWN)
        verified(env)

    run_async(work())


def test_a_changed_definition_is_accepted_before_the_call_is_asked_about(env: GateEnv) -> None:
    async def work() -> None:
        async with behind(env) as proxy:
            old = pinned(WRITE | {"description": "before"})
            write_server(env.data, KnownServer("files", "mcp-files", tools=(old,)))
            with proxied(env.folder, "plain", "--gate", proxy.served.url) as talk:
                other = Behind(proxy.served, talk, env.folder)
                talk.call(1)
                item = await other.item()
                text = "\n".join(lines(read_prompt(item["prompt"])))
                assert "before" in text
                await decide(proxy.served, item)
                assert await other.entry(item["id"], EntryKind.EXECUTED)
                assert read_server(env.data, "files").tools[0].hash == pinned(WRITE).hash
                await decide(proxy.served, await other.item())
                assert json.loads(await other.text())["name"] == "write"
        verified(env)

    run_async(work())


def test_the_operator_sees_the_preview_and_the_agent_does_not(env: GateEnv) -> None:
    async def work() -> None:
        async with behind(env, "plain", POLICY) as proxy:
            proxy.talk.call(1, path=str(env.folder / "file"), text="new")
            item = await proxy.item()
            text = "\n".join(lines(read_prompt(item["prompt"])))
            assert "fetched by the proxy from files · read" in text
            assert "Present" in text
            await decide(proxy.served, item)
            assert json.loads(await proxy.text())["name"] == "write"
            assert (env.folder / "file").read_text() == "new"
        verified(env)

    run_async(work())

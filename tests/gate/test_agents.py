"""Agents are known by their tokens: one that takes another's name, session or folder gets nothing of the other's."""

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from aileron_tui.core.agent_change import AgentChange, token_hash
from aileron_tui.core.entry_chain import Damage, Entry, encode, link
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.files.agent_tokens import read_token, token_path
from aileron_tui.gate.gate import LEDGER_FILE
from aileron_tui.gate.route_table import RouteAccess
from aileron_tui.ledger.entry_check import CheckReport
from aileron_tui.ledger.full_check import audit
from aileron_tui.ledger.history_filter import HistoryFilter
from aileron_tui.ledger.open_store import open_ledger, open_reader
from aileron_tui.signing.agents import Agents
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.key_store import UnlockedKey, create, for_this_run, unlock
from aileron_tui.signing.recorded_signers import RecordedSigners
from aileron_tui.surface.agent_changes import add_agent, new_token, revoke_agent, rotate_agent
from tests.gate.conftest import GateEnv, run_async
from tests.gate.served_gate import DRAFT, SEND, WAITING, ServedGate, error_code, served_gate
from tests.gate.test_http_app import AGENTS, path, routes

CLAIM = "Gate self-check (verified)"
VICTIM = {"X-Aileron-Agent": "laptop", "X-Aileron-Session-Id": "s-1", "X-Aileron-Folder": "/home/me"}


def ledger_of(env: GateEnv) -> Path:
    return env.data / LEDGER_FILE


def verified(env: GateEnv) -> CheckReport:
    with open_reader(ledger_of(env)) as reader:
        return audit(reader, RecordedSigners())


def with_token(served: ServedGate, token: str) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.AsyncClient(base_url=served.url, trust_env=False, timeout=20, headers=headers)


@asynccontextmanager
async def two_agents(env: GateEnv) -> AsyncIterator[tuple[ServedGate, httpx.AsyncClient, httpx.AsyncClient]]:
    """A gate with the agents `laptop` and `mallory`, which were added while it runs."""
    async with served_gate(env) as served:
        tokens = [read_token(add_agent(ledger_of(env), name, env.key)) for name in ("laptop", "mallory")]
        async with with_token(served, tokens[0]) as laptop, with_token(served, tokens[1]) as mallory:
            yield served, laptop, mallory


async def until(done: Any) -> Any:
    """Waits until a coroutine function returns something true."""
    for _ in range(500):
        if found := await done():
            return found
        await asyncio.sleep(0.02)
    raise AssertionError("it did not happen")


def test_an_agent_that_names_itself_like_the_gate_is_shown_by_its_token(env: GateEnv) -> None:
    async def main() -> None:
        async with two_agents(env) as (served, _, mallory):
            headers = {"X-Aileron-Agent": CLAIM, "X-Aileron-Session-Id": "s-1", "X-Aileron-Folder": "/etc"}
            id_ = (await mallory.post(SEND, json=DRAFT, headers=headers)).json()["approval_id"]
            asker = (await served.previewed_request(id_))["prompt"]["asker"]
            assert asker == {"agent": "mallory", "says": CLAIM, "session": "s-1", "folder": "/etc"}
            page = (await served.approver.get("/v1/history", params={"agent": "mallory"})).json()["items"]
            assert [(item["id"], item["agent"], item["says"]) for item in page] == [(id_, "mallory", CLAIM)]
            assert not (await served.approver.get("/v1/history", params={"agent": CLAIM})).json()["items"]

    run_async(main())
    with open_reader(ledger_of(env)) as reader:
        assert [record.asked_by for record in reader.page(HistoryFilter(text="self-check"))] == ["mallory"]


def test_equal_calls_of_two_agents_are_two_requests(env: GateEnv) -> None:
    async def main() -> None:
        async with two_agents(env) as (served, laptop, mallory):
            ids = [
                (await agent.post(SEND, json=DRAFT, headers=VICTIM)).json()["approval_id"]
                for agent in (laptop, mallory, laptop, served.agent)
            ]
            assert ids[0] == ids[2], "an agent joins its own request"
            assert len(set(ids)) == 3, "another agent does not, whatever it says about itself"

    run_async(main())


def test_a_result_goes_only_to_the_token_that_asked(env: GateEnv) -> None:
    async def main() -> None:
        async with two_agents(env) as (served, laptop, mallory):
            id_ = (await laptop.post(SEND, json=DRAFT, headers=VICTIM)).json()["approval_id"]
            unknown = await mallory.get(f"{WAITING}/act-unknown/result", headers=VICTIM)

            async def refused() -> None:
                for thief in (mallory, served.agent):
                    answer = await thief.get(f"{WAITING}/{id_}/result", headers=VICTIM)
                    assert answer.status_code == unknown.status_code == 404
                    assert answer.text.replace(id_, "ID") == unknown.text.replace("act-unknown", "ID")
                    assert answer.headers.keys() == unknown.headers.keys()

            await refused()
            item = await served.previewed_request(id_)
            decided = await served.approver.post(f"{WAITING}/{id_}/decide", json=env.decision(item))
            assert decided.status_code == 200
            await until(lambda: _is_final(served, id_))
            await refused()
            # Nobody has fetched the result yet. An equal call collects it, but only with the same token.
            again = await mallory.post(SEND, json=DRAFT, headers=VICTIM)
            assert again.status_code == 202
            assert again.json()["approval_id"] != id_
            mine = (await laptop.get(f"{WAITING}/{id_}/result")).json()
            assert mine["status"] == "completed"
            await refused()

    run_async(main())


async def _is_final(served: ServedGate, id_: str) -> bool:
    return bool((await served.approver.get(f"{WAITING}/{id_}")).json()["state"] not in ("pending", "running"))


def test_no_agent_opens_an_approver_route(env: GateEnv) -> None:
    async def main() -> None:
        async with two_agents(env) as (served, laptop, mallory):
            for agent in (laptop, mallory, served.agent):
                for route in routes(served.gate):
                    if route.access in AGENTS or route.access is RouteAccess.OPEN:
                        continue
                    answer = await agent.request(route.method, path(route), json={}, headers=VICTIM)
                    assert (answer.status_code, error_code(answer)) == (403, "forbidden"), route

    run_async(main())


def test_a_revoked_token_ends_at_once_and_its_requests_are_withdrawn(env: GateEnv) -> None:
    async def main() -> None:
        async with two_agents(env) as (served, laptop, mallory):
            mine = (await laptop.post(SEND, json=DRAFT)).json()["approval_id"]
            waiting = (await mallory.post(SEND, json=DRAFT)).json()["approval_id"]
            other = {"args": {"draft_id": "r-67890"}}
            held = asyncio.create_task(mallory.post(SEND, json=other, headers={"Prefer": "wait=30"}))
            await until(lambda: _waiting(served, 3))
            item = await served.previewed_request(waiting)
            revoke_agent(ledger_of(env), "mallory", env.key)
            for answer in (await mallory.get("/v1/actions"), await mallory.post(SEND, json=DRAFT)):
                assert (answer.status_code, error_code(answer)) == (401, "unauthorized")
            late = await served.approver.post(f"{WAITING}/{waiting}/decide", json=env.decision(item))
            assert (late.status_code, error_code(late)) == (409, "INVALID_STATE")
            ended = await held
            assert ended.status_code == 401 or ended.json()["failure"]["error"]["class"] == "withdrawn"
            await until(lambda: _waiting(served, 1))
            assert (await laptop.get(f"{WAITING}/{mine}/result")).json()["status"] == "pending_approval"

    run_async(main())
    assert not token_path(env.data, "mallory").exists()
    assert verified(env).fault is None
    with open_reader(ledger_of(env)) as reader:
        ends = [(record.outcome, record.error) for record in reader.page(HistoryFilter(agents=("mallory",)))]
    assert ends == [("withdrawn", "the agent's token was revoked")] * 2
    assert env.service.mailbox.sent == ()


async def _waiting(served: ServedGate, count: int) -> bool:
    return len((await served.approver.get(WAITING)).json()["items"]) == count


def test_a_call_whose_body_ends_after_the_revocation_asks_nobody(env: GateEnv) -> None:
    async def main() -> None:
        async with two_agents(env) as (served, _, mallory):
            token = mallory.headers["Authorization"]
            body = json.dumps(DRAFT).encode()
            reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
            head = f"POST {SEND} HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nAuthorization: {token}\r\n"
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            writer.write(head.encode() + body[:5])
            await asyncio.sleep(0.2)
            revoke_agent(ledger_of(env), "mallory", env.key)
            writer.write(body[5:])
            assert (await reader.read()).startswith(b"HTTP/1.1 401 ")
            writer.close()
            assert await _waiting(served, 0)

    run_async(main())


def test_a_new_token_keeps_the_identity(env: GateEnv) -> None:
    async def main() -> None:
        async with two_agents(env) as (served, laptop, _):
            id_ = (await laptop.post(SEND, json=DRAFT)).json()["approval_id"]
            other = {"args": {"draft_id": "r-67890"}}
            held = asyncio.create_task(laptop.post(SEND, json=other, headers={"Prefer": "wait=30"}))
            await until(lambda: _waiting(served, 2))
            token = read_token(rotate_agent(ledger_of(env), "laptop", env.key))
            assert (await laptop.get(f"{WAITING}/{id_}/result")).status_code == 401
            assert (await held).status_code == 401, "whoever holds the old token gets no result"
            async with with_token(served, token) as again:
                assert (await again.post(SEND, json=DRAFT)).json()["approval_id"] == id_
                assert (await again.get(f"{WAITING}/{id_}/result")).json()["status"] == "pending_approval"
                assert await _waiting(served, 2), "the request of the held call keeps waiting"

    run_async(main())


def test_tokens_and_results_survive_a_restart(env: GateEnv) -> None:
    async def first() -> tuple[str, str]:
        async with two_agents(env) as (_, laptop, _other):
            return laptop.headers["Authorization"], (await laptop.post(SEND, json=DRAFT)).json()["approval_id"]

    async def second() -> None:
        async with served_gate(env) as served:
            laptop = with_token(served, token.removeprefix("Bearer "))
            mallory = with_token(served, read_token(token_path(env.data, "mallory")))
            async with laptop, mallory:
                assert (await laptop.get(f"{WAITING}/{id_}/result")).json()["status"] == "pending_approval"
                assert (await laptop.post(SEND, json=DRAFT)).json()["approval_id"] == id_
                assert (await mallory.get(f"{WAITING}/{id_}/result")).status_code == 404
                assert (await mallory.post(SEND, json=DRAFT)).json()["approval_id"] != id_
                assert read_token(token_path(env.data, "default")) == default
                assert (await served.agent.get("/v1/actions")).status_code == 200

    token, id_ = run_async(first())
    default = read_token(token_path(env.data, "default"))
    run_async(second())


def test_requests_of_an_agent_that_was_revoked_while_the_gate_was_down_are_withdrawn(env: GateEnv) -> None:
    async def first() -> str:
        async with two_agents(env) as (_, _laptop, mallory):
            return str((await mallory.post(SEND, json=DRAFT)).json()["approval_id"])

    async def second() -> None:
        async with served_gate(env) as served:
            await until(lambda: _waiting(served, 0))

    id_ = run_async(first())
    revoke_agent(ledger_of(env), "mallory", env.key)
    run_async(second())
    with open_reader(ledger_of(env)) as reader:
        record = reader.find(id_)
    assert record is not None
    assert (record.outcome, record.error) == ("withdrawn", "the agent's token was revoked")


def test_without_the_default_agent_the_gate_starts_and_says_so(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            revoke_agent(ledger_of(env), "default", env.key)
            assert (await served.agent.get("/v1/actions")).status_code == 401
            assert served.gate.default_token_file() is None
        async with env.gate() as gate:
            assert gate.default_token_file() is None
            assert gate.agents().active == ()

    run_async(main())
    assert not token_path(env.data, "default").exists()


def test_the_default_agent_is_added_only_to_a_ledger_without_agents(env: GateEnv) -> None:
    add_agent(ledger_of(env), "laptop", env.key)

    async def main() -> None:
        async with env.gate() as gate:
            assert [agent.name for agent in gate.agents().active] == ["laptop"]

    run_async(main())
    assert not token_path(env.data, "default").exists()
    add_agent(ledger_of(env), "default", env.key)
    assert verified(env).fault is None


# forged entries


def forge(env: GateEnv, kind: EntryKind, body: dict[str, Any]) -> None:
    """Writes an entry into the ledger past all checks, as a program of the same user could."""
    with open_reader(ledger_of(env)) as reader:
        head = reader.head()
    entry = Entry(head.seq + 1, timestamp(utc_now()), kind, "", body)
    data = encode(entry)
    db = sqlite3.connect(ledger_of(env), isolation_level=None)
    hash_ = bytes.fromhex(link(head.hash, data).removeprefix("sha256:"))
    db.execute("INSERT INTO entries VALUES (?, ?, ?)", (entry.seq, data, hash_))
    db.execute("INSERT INTO agents VALUES (?)", (entry.seq,))
    db.close()


def signed_body(env: GateEnv, change: AgentChange, key: UnlockedKey) -> dict[str, Any]:
    with open_reader(ledger_of(env)) as reader:
        head = reader.head().hash
    whole = AgentChange(change.change, change.name, change.token, change.head or head, timestamp(utc_now()))
    return whole.body(sign(whole, key).fields())


@pytest.mark.parametrize(
    "forgery", ["unsigned", "second default", "other key", "other head", "other name", "revoked key"]
)
def test_an_agent_that_no_approver_added_is_not_let_in(env: GateEnv, forgery: str) -> None:
    token = new_token()
    added = AgentChange(EntryKind.AGENT_ADDED, "mallory", token_hash(token))

    def body() -> dict[str, Any]:
        match forgery:
            case "unsigned":
                return added.body()
            case "second default":
                return AgentChange(EntryKind.AGENT_ADDED, "default", token_hash(token)).body()
            case "other key":
                with for_this_run("mallory") as key:
                    return signed_body(env, added, key)
            case "other head":
                return signed_body(
                    env, AgentChange(added.change, "mallory", added.token, "sha256:" + "1" * 64), env.key
                )
            case "other name":
                return signed_body(env, added, env.key) | {"name": "default-2"}
            case _:
                with open_ledger(ledger_of(env), role="key", guest=True) as ledger, open_reader(ledger.path) as reader:
                    approvers = Approvers.of(reader.key_changes())
                    ledger.append(EntryKind.KEY_REVOKED, approvers.revocation("tester"))
                return signed_body(env, added, env.key)

    async def main() -> str:
        async with served_gate(env) as served:
            forge(env, EntryKind.AGENT_ADDED, body())
            async with with_token(served, token) as mallory:
                assert (await mallory.get("/v1/actions")).status_code == 401
            assert (await served.agent.get("/v1/actions")).status_code == 200
            return served.log.getvalue()

    assert "mallory" not in run_async(main())
    fault = verified(env).fault
    assert fault is not None
    assert fault.damage is Damage.AGENT


def test_a_recorded_change_cannot_be_used_again(env: GateEnv) -> None:
    async def main() -> None:
        async with two_agents(env) as (_served, _laptop, mallory):
            with open_reader(ledger_of(env)) as reader:
                added = reader.agent_changes()[-1]
            revoke_agent(ledger_of(env), "mallory", env.key)
            forge(env, EntryKind.AGENT_ADDED, dict(added.body))
            assert (await mallory.get("/v1/actions")).status_code == 401

    run_async(main())
    fault = verified(env).fault
    assert fault is not None
    assert fault.damage is Damage.AGENT


def test_a_missing_line_of_the_agents_index_is_found(env: GateEnv) -> None:
    add_agent(ledger_of(env), "laptop", env.key)
    db = sqlite3.connect(ledger_of(env), isolation_level=None)
    db.execute("DELETE FROM agents")
    db.close()
    fault = verified(env).fault
    assert fault is not None
    assert fault.damage is Damage.INDEX


# crashes and secrets


KILLED = """
import os, signal, sys
from pathlib import Path
from aileron_tui.signing.key_store import unlock
from aileron_tui.surface import agent_changes

ledger, keys, command, moment = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4]
write = agent_changes.write_token

def killed(path, token):
    if moment == "after":
        write(path, token)
    os.kill(os.getpid(), signal.SIGKILL)

agent_changes.write_token = killed
change = {"add": agent_changes.add_agent, "rotate": agent_changes.rotate_agent}[command]
change(ledger, "laptop", unlock(keys, "me", None))
"""


@pytest.fixture
def stored_key(env: GateEnv, tmp_path: Path) -> UnlockedKey:
    """A key on disk that may approve, for another process."""
    created = create(tmp_path / "keys", "me", None)
    with open_ledger(ledger_of(env), role="test") as ledger:
        ledger.append(EntryKind.KEY_ENROLLED, Approvers().enrolment("me", created.public, insecure=True))
    return unlock(tmp_path / "keys", "me", None)


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("command", ["add", "rotate"])
def test_a_command_that_is_killed_halfway_can_be_repeated(
    env: GateEnv, tmp_path: Path, stored_key: UnlockedKey, command: str, moment: str
) -> None:
    ledger = ledger_of(env)
    if command == "rotate":
        add_agent(ledger, "laptop", stored_key)
    words = [sys.executable, "-c", KILLED, str(ledger), str(tmp_path / "keys"), command, moment]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    change = add_agent if command == "add" else rotate_agent
    token = read_token(change(ledger, "laptop", stored_key))
    with open_reader(ledger) as reader:
        assert Agents.of(reader).with_hash(token_hash(token)) == "laptop"
    assert verified(env).fault is None
    files = sorted(file.name for file in (env.data / "agents").iterdir() if not file.name.startswith("."))
    assert files == ["laptop.approvers", "laptop.token"]


def test_a_gate_that_is_killed_while_it_adds_the_default_agent_adds_it_at_the_next_start(env: GateEnv) -> None:
    lines = [
        "import os, runpy, signal, sys",
        "from aileron_tui.gate import agent_registry",
        "write = agent_registry.write_token",
        "agent_registry.write_token = lambda *words: (write(*words), os.kill(os.getpid(), signal.SIGKILL))",
        "from aileron_tui.cli import main",
        "main(['gate', '--port', '0', '--manifests', sys.argv[1]])",
    ]
    home = env.folder / "home"
    home.mkdir(0o700)
    shutil.copytree(env.cache, home / "cache", copy_function=os.link)
    words = [sys.executable, "-c", "\n".join(lines), str(env.manifests)]
    environment = os.environ | {"AILERON_TUI_HOME": str(home)}
    killed = subprocess.run(words, env=environment, check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    orphan = read_token(token_path(home / "data", "default"))
    words = [sys.executable, "-m", "aileron_tui", "gate", "--port", "0", "--manifests", str(env.manifests)]
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as gate:
        try:
            assert gate.stdout is not None
            ready = json.loads(gate.stdout.readline())
            token = read_token(Path(ready["agent_token_file"]))
            for sent, status in ((token, 200), (orphan, 401)):
                headers = {"Authorization": f"Bearer {sent}"}
                assert httpx.get(f"{ready['url']}/v1/actions", headers=headers, trust_env=False).status_code == status
        finally:
            gate.terminate()


def test_a_token_is_nowhere_but_in_its_file(env: GateEnv) -> None:
    tokens: list[str] = []

    async def main() -> str:
        async with two_agents(env) as (served, laptop, mallory):
            for agent in (laptop, mallory, served.agent):
                await agent.post(SEND, json=DRAFT)
                tokens.append(agent.headers["Authorization"].removeprefix("Bearer "))
            tokens.append(read_token(rotate_agent(ledger_of(env), "laptop", env.key)))
            revoke_agent(ledger_of(env), "mallory", env.key)
            shown = [(await served.approver.get(page)).text for page in (WAITING, "/v1/history")]
            return served.log.getvalue() + "".join(shown)

    printed = run_async(main())
    assert len(set(tokens)) == 4
    assert not any(token in printed for token in tokens)
    found: dict[str, set[str]] = {}
    for file in filter(Path.is_file, env.data.rglob("*")):
        content = file.read_bytes()
        for token in tokens:
            if token.encode() in content or bytes.fromhex(token) in content:
                found.setdefault(token, set()).add(str(file.relative_to(env.data)))
    assert found == {tokens[2]: {"agent.token"}, tokens[3]: {"agents/laptop.token"}}
    assert all(file.stat().st_mode & 0o077 == 0 for file in (env.data / "agents").iterdir())

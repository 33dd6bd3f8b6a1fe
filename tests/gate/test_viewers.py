"""Viewers: who may be one, what they see, and that they can do nothing else."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.gate import viewer_sessions
from aileron_tui.gate.approver_socket import SOCKET_FILE
from aileron_tui.gate.event_feed import FeedEvent
from aileron_tui.gate.gate import LEDGER_FILE, Gate
from aileron_tui.gate.gate_log import GateLog
from aileron_tui.gate.http_app import GateApp
from aileron_tui.gate.origin_check import OriginCheck
from aileron_tui.gate.route_table import RouteAccess
from aileron_tui.gate.server import ListenAddress, started_gate
from aileron_tui.gate.viewer_requests import viewer_event, viewer_list, viewer_request
from aileron_tui.gate.viewer_sessions import ViewerSessions
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.runtime.gate_client import ApproverClient
from aileron_tui.runtime.gate_discovery import discover
from aileron_tui.runtime.viewer_client import ViewerClient
from tests.gate.conftest import GateEnv, ask, previewed_request, run_async
from tests.gate.served_gate import DRAFT, SEND, WAITING, session
from tests.gate.test_approver_socket import with_key
from tests.gate.test_event_stream import Stream

VIEW = "/v1/viewer/session"
FETCHED = ("team@example.com", "Weekly recap", "standup")


@dataclass
class Scope:
    """Clients of a complete gate: on its Unix socket without a token, on its port as an agent and without a token."""

    env: GateEnv
    gate: Gate
    socket: httpx.AsyncClient
    port: httpx.AsyncClient
    agent: httpx.AsyncClient
    token: str

    async def viewer(self) -> dict[str, str]:
        """The headers of a new viewer."""
        reply = await self.socket.post(VIEW)
        assert reply.status_code == 200, reply.text
        return {"Authorization": f"Bearer {reply.json()['token']}"}

    async def previewed(self) -> str:
        """A request whose preview is fetched; returns its id."""
        id_ = str((await self.agent.post(SEND, json=DRAFT)).json()["approval_id"])
        approver = {"Authorization": f"Bearer {await session(self.socket, self.env.key)}"}
        for _ in range(500):
            item = (await self.socket.get(f"{WAITING}/{id_}", headers=approver)).json()
            if item["preview_state"] == "ready":
                assert all(text in json.dumps(item) for text in FETCHED)
                return id_
            await asyncio.sleep(0.01)
        raise AssertionError("the preview was not fetched")


@pytest.fixture
def short_env(env: GateEnv) -> Iterator[GateEnv]:
    """A gate whose folder has a path that is short enough for a socket."""
    with tempfile.TemporaryDirectory() as path:
        env.folder = Path(path)
        with_key(env)
        yield env


@asynccontextmanager
async def scope(env: GateEnv) -> AsyncIterator[Scope]:
    gate = Gate(env.setup())
    async with started_gate(gate, env.data, ListenAddress(port=0), GateLog()) as info:
        token = Path(info["agent_token_file"]).read_text().strip()
        uds = httpx.AsyncHTTPTransport(uds=str(env.data / SOCKET_FILE))
        as_agent = {"Authorization": f"Bearer {token}"}
        async with (
            httpx.AsyncClient(base_url="http://gate", transport=uds, timeout=20) as socket,
            httpx.AsyncClient(base_url=info["url"], trust_env=False, timeout=20) as port,
            httpx.AsyncClient(base_url=info["url"], trust_env=False, timeout=20, headers=as_agent) as agent,
        ):
            yield Scope(env, gate, socket, port, agent, token)


def test_a_viewer_sees_what_agents_sent_and_no_preview(short_env: GateEnv) -> None:
    async def main() -> None:
        async with scope(short_env) as on:
            id_ = await on.previewed()
            reply = await on.socket.get("/v1/viewer/requests", headers=await on.viewer())
            (item,) = reply.json()["items"]
            assert (item["id"], item["args"], item["state"]) == (id_, {"draft_id": "r-12345"}, "pending")
            assert not any(text in reply.text for text in FETCHED)

    run_async(main())


def test_a_viewer_may_use_no_other_route(short_env: GateEnv) -> None:
    """Every route of the gate, so that a new one is closed to viewers until someone opens it."""

    async def main() -> None:
        async with scope(short_env) as on:
            id_ = await on.previewed()
            headers = await on.viewer()
            table = GateApp(on.gate, OriginCheck("127.0.0.1", 1)).table
            tried = 0
            for route in table.routes:
                if route.access in (RouteAccess.OPEN, RouteAccess.VIEWER):
                    continue
                path = route.path.replace("{id}", id_).replace("{name}", "send-draft")
                reply = await on.socket.request(route.method, path, headers=headers)
                assert (reply.status_code, reply.json()["error"]["code"]) == (403, "forbidden"), route
                assert not any(text in reply.text for text in FETCHED)
                tried += 1
            assert tried > 15
            assert (await on.socket.get("/v1/unknown", headers=headers)).status_code == 403
            envelope = {"approved": True, "reason": "", "envelope": {}}
            decided = await on.socket.post(f"{WAITING}/{id_}/decide", json=envelope, headers=headers)
            assert decided.status_code == 403
            assert (await on.agent.get(f"{WAITING}/{id_}/result")).json()["status"] == "pending_approval"

    run_async(main())


def test_only_this_user_on_the_socket_becomes_a_viewer(short_env: GateEnv) -> None:
    async def main() -> None:
        async with scope(short_env) as on:
            agent, wrong = {"Authorization": f"Bearer {on.token}"}, {"Authorization": "Bearer wrong"}
            approver = {"Authorization": f"Bearer {await session(on.socket, on.env.key)}"}
            viewer = await on.viewer()
            for client, headers, status in (
                (on.port, {}, 401),  # no token, by TCP
                (on.port, wrong, 401),
                (on.agent, {}, 403),  # an agent's token, by TCP
                (on.socket, agent, 403),  # an agent's token, by the socket
                (on.socket, wrong, 401),
                (on.socket, {"Authorization": "Basic x"}, 401),
                (on.socket, approver, 403),
                (on.socket, viewer, 403),  # a viewer is one already
                (on.port, viewer, 401),
            ):
                reply = await client.post(VIEW, headers=headers)
                assert reply.status_code == status, (headers, reply.text)
                assert "token" not in reply.json()
            for path in ("/v1/viewer/requests", "/v1/viewer/watch"):
                assert (await on.socket.get(path)).status_code == 401
                assert (await on.socket.get(path, headers=agent)).status_code == 403
                assert (await on.agent.get(path)).status_code == 403
                assert (await on.port.get(path)).status_code == 401
                assert (await on.port.get(path, headers=viewer)).status_code == 401, "the token is for the socket only"
                assert (await on.socket.get(path, headers=approver)).status_code == 403

    run_async(main())


def test_a_viewer_watches_without_previews_and_is_not_someone_who_was_shown_a_prompt(short_env: GateEnv) -> None:
    async def main() -> None:
        async with scope(short_env) as on:
            headers = await on.viewer()
            async with on.socket.stream("GET", "/v1/viewer/watch", headers=headers) as response:
                stream = Stream(response)
                assert (await stream.event())[1:] == ("snapshot", {"items": []})
                id_ = await on.previewed()
                seen: list[tuple[int, str, dict[str, Any]]] = [await stream.event(), await stream.event()]
                on.gate.feed.publish("invented", {"secret": FETCHED[0]})
                with open_reader(on.env.data / LEDGER_FILE) as reader:
                    kinds = [entry.kind for entry in reader.of_request(id_)]
                assert EntryKind.SHOWN not in kinds
                found = discover(data=on.env.data)

                def deny() -> None:
                    with ApproverClient(found, on.env.key) as approver:
                        approver.decide(approver.item(id_), Verdict.DENY, reason="no")

                await asyncio.to_thread(deny)
                while seen[-1][2].get("state") != "denied":
                    frame = await stream.frame()
                    if not frame.startswith(b":"):
                        number, name, data = frame.split(b"\n")
                        seen.append((int(number[4:]), name[7:].decode(), json.loads(data[6:])))
            assert {name for _, name, _ in seen} <= {"pending", "updated"}
            assert [data["id"] for _, _, data in seen] == [id_] * len(seen)
            assert not any(text in json.dumps(data) for _, _, data in seen for text in FETCHED)
            resumed = {**headers, "Last-Event-ID": str(seen[0][0])}
            async with on.socket.stream("GET", "/v1/viewer/watch", headers=resumed) as response:
                assert (await Stream(response).event())[:2] == seen[1][:2]

    run_async(main())


def test_viewers_cannot_keep_approvers_from_watching(short_env: GateEnv) -> None:
    async def main() -> None:
        async with scope(short_env) as on:
            headers = await on.viewer()
            streams = []
            for _ in range(30):
                request = on.socket.build_request("GET", "/v1/viewer/watch", headers=headers)
                streams.append(await on.socket.send(request, stream=True))
            assert {stream.status_code for stream in streams} == {200, 429}
            approver = {"Authorization": f"Bearer {await session(on.socket, on.env.key)}"}
            async with on.socket.stream("GET", f"{WAITING}/watch", headers=approver) as response:
                assert response.status_code == 200
            for stream in streams:
                await stream.aclose()

    run_async(main())


def test_a_closed_session_ends(short_env: GateEnv) -> None:
    async def main() -> None:
        async with scope(short_env) as on:
            headers = await on.viewer()
            assert (await on.socket.delete(VIEW, headers=headers)).status_code == 204
            assert (await on.socket.get("/v1/viewer/requests", headers=headers)).status_code == 401

    run_async(main())


def test_the_client_lists_and_watches(short_env: GateEnv) -> None:
    async def main() -> None:
        async with scope(short_env) as on:
            id_ = await on.previewed()

            def work() -> None:
                with ViewerClient(discover(data=on.env.data), name="here") as viewer:
                    (request,) = viewer.waiting()
                    assert (request.id, request.source, request.prompt.preview) == (id_, "here", None)
                    assert "digest" not in request.fields
                    event = next(iter(viewer.watch()))
                    assert event is not None
                    assert [one.id for one in event.requests] == [id_]
                    assert "digest" not in json.dumps(event.data).replace("args_digest", "")

            await asyncio.to_thread(work)

    run_async(main())


def test_sessions_expire_and_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    sessions = ViewerSessions(lambda: now)
    first, _ = sessions.open()
    now += viewer_sessions.IDLE_SECONDS - 1
    assert sessions.find(first)
    now += viewer_sessions.IDLE_SECONDS
    assert sessions.find(first) is None
    monkeypatch.setattr(viewer_sessions, "MAX_VIEWERS", 3)
    tokens = [sessions.open()[0] for _ in range(4)]
    assert [sessions.is_open(token) for token in tokens] == [False, True, True, True]


def test_only_named_fields_and_events_reach_a_viewer(env: GateEnv) -> None:
    async def main() -> None:
        async with env.gate() as gate:
            asked = await ask(gate, draft_id="r-12345")
            request = await previewed_request(gate, str(asked.body["approval_id"]))
            added = request | {"result": "R", "error": "E", "reason": "W", "decision": "D", "new_field": "N"}
            seen = viewer_request(added)
            assert not {"result", "error", "reason", "decision", "new_field", "preview", "previewed_at"} & seen.keys()
            assert seen["digest"] != request["digest"], "nobody can sign what they have not seen"
            encoded = json.dumps({"items": [added], "new_field": "N"}).encode()
            assert set(json.loads(viewer_list(encoded))) == {"items"}
            for name in ("resolved", "invented", "extended"):
                assert viewer_event(FeedEvent(1, name, b"{}")) is None

    run_async(main())

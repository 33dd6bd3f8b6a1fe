"""A gate behind its real doors on a loopback port, with an agent, a stranger and an approver at them."""

import asyncio
import base64
import io
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import httpx

from aileron_tui.gate.gate import Gate
from aileron_tui.gate.gate_log import GateLog
from aileron_tui.gate.http_limits import HttpLimits
from aileron_tui.gate.server import new_token, serving
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.signing.session_proof import session_proof
from tests.gate.conftest import Bench

SEND = "/v1/actions/send-draft/run"
WAITING = "/v1/action-approvals"
DRAFT = {"args": {"draft_id": "r-12345"}}


@dataclass
class House:
    """Who stands where."""

    bench: Bench
    gate: Gate
    url: str
    token: str
    agent: httpx.AsyncClient
    stranger: httpx.AsyncClient
    approver: httpx.AsyncClient
    log: io.StringIO

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    async def item(self, id_: str) -> dict[str, Any]:
        """A request once its preview is there."""
        for _ in range(500):
            item: dict[str, Any] = (await self.approver.get(f"{WAITING}/{id_}")).json()
            if item["preview_state"] != "fetching":
                return item
            await asyncio.sleep(0.01)
        raise AssertionError("the preview did not come")

    async def ending(self, id_: str) -> dict[str, Any]:
        """The agent's answer once there is one."""
        for _ in range(500):
            body: dict[str, Any] = (await self.agent.get(f"{WAITING}/{id_}/result")).json()
            if body["status"] not in ("pending_approval", "running"):
                return body
            await asyncio.sleep(0.01)
        raise AssertionError("the request did not end")

    async def raw(self, data: bytes, *, seconds: float = 5.0) -> bytes:
        """What comes back for bytes that no client library would send, until the other side hangs up."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(data)
            received = b""
            with suppress(ConnectionResetError):
                while chunk := await asyncio.wait_for(reader.read(65_536), seconds):
                    received += chunk
            return received
        finally:
            writer.close()


@asynccontextmanager
async def house(bench: Bench, limits: HttpLimits | None = None) -> AsyncIterator[House]:
    """A gate that is served, and an approver who has proven the bench's key."""
    token, log = new_token(), io.StringIO()
    async with AsyncExitStack() as stack:
        gate = await stack.enter_async_context(bench.gate())
        url = await stack.enter_async_context(serving(gate, agent_token=token, limits=limits, gate_log=GateLog(log)))
        agent, stranger, approver = [
            await stack.enter_async_context(httpx.AsyncClient(base_url=url, trust_env=False, timeout=20))
            for _ in range(3)
        ]
        agent.headers["Authorization"] = f"Bearer {token}"
        approver.headers["Authorization"] = f"Bearer {await session(approver, bench.key)}"
        yield House(bench, gate, url, token, agent, stranger, approver, log)


async def session(client: httpx.AsyncClient, key: UnlockedKey) -> str:
    """A session token for the holder of a key."""
    answer = await prove(client, key)
    assert answer.status_code == 200, answer.text
    token = answer.json()["token"]
    assert isinstance(token, str)
    return token


async def prove(client: httpx.AsyncClient, key: UnlockedKey, **changes: str) -> httpx.Response:
    """Asks for a session, with parts of the proof replaced."""
    asked = (await client.post("/v1/approver/challenge")).json()
    challenge = changes.pop("challenge", asked["challenge"])
    instance, ledger = (changes.pop(name, asked[name]) for name in ("instance", "ledger"))
    signature = key.sign(session_proof(challenge, instance, ledger))
    proof = {
        "challenge": challenge,
        "keyid": key.public.fingerprint,
        "signature": base64.b64encode(signature).decode(),
    }
    return await client.post("/v1/approver/session", json=proof | changes)


def error_code(response: httpx.Response) -> str:
    """The code of a refusal, which has Aileron's shape."""
    error = response.json()["error"]
    assert set(error) <= {"code", "message", "details"}
    assert error["message"]
    return str(error["code"])

"""A gate served on a loopback port, with clients for an agent, an anonymous caller and an approver."""

import asyncio
import base64
import io
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

import httpx

from aileron_tui.files.agent_tokens import read_token, token_path
from aileron_tui.gate.gate import Gate
from aileron_tui.gate.gate_log import GateLog
from aileron_tui.gate.http_app import Doors
from aileron_tui.gate.http_limits import HttpLimits
from aileron_tui.gate.page_port import MakePage
from aileron_tui.gate.server import serving
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.signing.session_proof import session_proof
from tests.gate.conftest import GateEnv
from tests.gate.documented_replies import check_documented

CHECKED: Final = {"response": [check_documented]}
"""Every reply must be as the API document says."""

NO_TLS: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Trusts nobody, and is only used without TLS. Reading the authorities of the machine for each client takes long."""

SEND = "/v1/actions/send-draft/run"
WAITING = "/v1/action-approvals"
DRAFT = {"args": {"draft_id": "r-12345"}}


@dataclass
class ServedGate:
    """A served gate and its clients."""

    env: GateEnv
    gate: Gate
    url: str
    token: str
    agent: httpx.AsyncClient
    anonymous: httpx.AsyncClient
    approver: httpx.AsyncClient
    log: io.StringIO

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    async def previewed_request(self, id_: str) -> dict[str, Any]:
        """Returns a request once its preview has been fetched."""
        for _ in range(500):
            item: dict[str, Any] = (await self.approver.get(f"{WAITING}/{id_}")).json()
            if item["preview_state"] != "fetching":
                return item
            await asyncio.sleep(0.01)
        raise AssertionError("the preview was not fetched")

    async def result(self, id_: str) -> dict[str, Any]:
        """Returns the agent's result once the request has ended."""
        for _ in range(500):
            body: dict[str, Any] = (await self.agent.get(f"{WAITING}/{id_}/result")).json()
            if body["status"] not in ("pending_approval", "running"):
                return body
            await asyncio.sleep(0.01)
        raise AssertionError("the request did not end")

    async def raw(self, data: bytes, *, seconds: float = 5.0) -> bytes:
        """Sends raw bytes and returns everything received until the gate closes the connection."""
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
async def served_gate(
    env: GateEnv, limits: HttpLimits | None = None, doors: Doors | None = None, page: MakePage | None = None
) -> AsyncIterator[ServedGate]:
    """Serves a gate, with an approver session for the key of the environment."""
    log = io.StringIO()
    async with AsyncExitStack() as stack:
        gate = await stack.enter_async_context(env.gate())
        url = await stack.enter_async_context(
            serving(gate, limits=limits, gate_log=GateLog(log), doors=doors, page=page)
        )
        agent, anonymous, approver = [
            await stack.enter_async_context(
                httpx.AsyncClient(base_url=url, verify=NO_TLS, trust_env=False, timeout=20, event_hooks=CHECKED)
            )
            for _ in range(3)
        ]
        token = read_token(token_path(env.data, "default"))
        agent.headers["Authorization"] = f"Bearer {token}"
        approver.headers["Authorization"] = f"Bearer {await session(approver, env.key)}"
        yield ServedGate(env, gate, url, token, agent, anonymous, approver, log)


async def session(client: httpx.AsyncClient, key: UnlockedKey) -> str:
    """Opens a session for the holder of a key; returns its token."""
    response = await prove(client, key)
    assert response.status_code == 200, response.text
    token = response.json()["token"]
    assert isinstance(token, str)
    return token


async def prove(client: httpx.AsyncClient, key: UnlockedKey, **changes: str) -> httpx.Response:
    """Requests a session, with parts of the proof replaced."""
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
    """Returns the code of an error response, after checking its format."""
    error = response.json()["error"]
    assert set(error) <= {"code", "message", "details"}
    assert error["message"]
    return str(error["code"])

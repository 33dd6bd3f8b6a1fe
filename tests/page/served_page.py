"""A gate with its page, and a tab that speaks to it in raw HTTP, so that every header can be wrong."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from aileron_tui.core.decision import Verdict
from aileron_tui.gate.http_limits import HttpLimits
from aileron_tui.page.offer import make_page
from tests.gate.conftest import GateEnv
from tests.gate.served_gate import DRAFT, SEND, ServedGate, served_gate

HIGH = SEND
"""The sample action of high risk."""


@dataclass(frozen=True)
class PageReply:
    """A response, read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json()["error"]["code"])

    @property
    def message(self) -> str:
        return str(self.json()["error"]["message"])


@dataclass
class Tab:
    """A tab of a browser: what it sends with every HTTP request, and nothing that a browser would not send."""

    port: int
    token: str = ""
    cookie: str = ""
    address: str = "127.0.0.1"
    headers: dict[str, str | None] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        return f"http://localhost:{self.port}"

    async def send(
        self, method: str, path: str, body: Any = None, *, raw: bytes | None = None, **changes: str | None
    ) -> PageReply:
        """Sends an HTTP request. `changes` replace headers, with None removing them; `_` stands for a dash."""
        headers: dict[str, str | None] = {"Host": f"localhost:{self.port}", "Sec-Fetch-Site": "same-origin"}
        if self.token:
            headers["X-Aileron-Tab"] = self.token
        if self.cookie:
            headers["Cookie"] = self.cookie
        data = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        if method != "GET":
            headers |= {"Origin": self.origin, "Content-Type": "application/json", "Content-Length": str(len(data))}
        named = {name.replace("_", "-").title(): value for name, value in changes.items()}
        headers |= self.headers | named
        lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
        head = "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "Connection: close", "", ""]).encode("latin-1")
        return read_reply(await exchange(self.address, self.port, head + data))

    async def get(self, path: str, **changes: str | None) -> PageReply:
        return await self.send("GET", path, **changes)

    async def post(self, path: str, body: Any = None, **changes: str | None) -> PageReply:
        return await self.send("POST", path, {} if body is None else body, **changes)

    async def open(self, code: str) -> PageReply:
        """Passes on a code, and keeps what the page gives for it."""
        reply = await self.post("/page/session", {"code": code})
        if reply.status == 200:
            self.token = reply.json()["tab"]
            if cookie := reply.headers.get("set-cookie", "").partition(";")[0]:
                self.cookie = cookie
        return reply

    def copy(self, **changes: Any) -> "Tab":
        return replace(self, headers=dict(self.headers), **changes)


async def exchange(address: str, port: int, data: bytes, seconds: float = 10.0) -> bytes:
    """Everything that the gate sends until it closes the connection."""
    reader, writer = await asyncio.open_connection(address, port)
    try:
        writer.write(data)
        received = b""
        with suppress(ConnectionResetError):
            while chunk := await asyncio.wait_for(reader.read(65_536), seconds):
                received += chunk
        return received
    finally:
        writer.close()


def read_reply(data: bytes) -> PageReply:
    """Reads a response."""
    head, _, body = data.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return PageReply(int(status.split()[1]), headers, body)


@dataclass
class ServedPage:
    """A gate with its page, and a tab that is open."""

    served: ServedGate
    tab: Tab

    async def code(self, **body: str) -> dict[str, Any]:
        """A new code for the page."""
        reply = await self.served.approver.post("/v1/page/codes", json={"purpose": "open"} | body)
        assert reply.status_code == 200, reply.text
        found: dict[str, Any] = reply.json()
        return found

    async def other_tab(self, **body: str) -> Tab:
        """A tab in another browser."""
        tab = Tab(self.served.port)
        assert (await tab.open((await self.code(**body))["code"])).status == 200
        return tab

    async def ask(self, args: Mapping[str, Any] | None = None, path: str = SEND) -> dict[str, Any]:
        """A request of the sample agent, once its preview is there."""
        reply = await self.served.agent.post(path, json={"args": args} if args else DRAFT)
        return await self.served.previewed_request(reply.json()["approval_id"])

    async def challenge(
        self, item: Mapping[str, Any], verdict: Verdict = Verdict.APPROVE, tab: Tab | None = None, **changes: Any
    ) -> PageReply:
        """Asks for what a passkey must sign."""
        body = {"verdict": verdict, "reason": "", "digest": item["digest"]} | changes
        return await (tab or self.tab).post(f"/page/requests/{item['id']}/challenge", body)

    async def state(self, item: Mapping[str, Any]) -> str:
        reply = await self.served.approver.get(f"/v1/action-approvals/{item['id']}")
        return str(reply.json()["state"])


@asynccontextmanager
async def served_page(env: GateEnv, limits: HttpLimits | None = None) -> AsyncIterator[ServedPage]:
    """A gate with its page, open in one tab."""
    async with served_gate(env, limits, page=make_page) as served:
        page = ServedPage(served, Tab(served.port))
        assert (await page.tab.open((await page.code())["code"])).status == 200
        yield page

"""The MCP proxy without processes: a test is its client, its server and its gate at once."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.mcp_tools import PinnedTool, pinned
from aileron_tui.doors.known_servers import KnownServer, write_server
from aileron_tui.doors.mcp_gated_calls import ProxySetting
from aileron_tui.doors.mcp_previews import Policy
from aileron_tui.doors.mcp_proxy import McpProxy
from aileron_tui.doors.mcp_questions import Allowed, Answer, Asking, Question, Refused, StillWaiting

MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def definition(name: str, description: str = "", /, **hints: bool) -> dict[str, Any]:
    """A tool as servers list it."""
    made: dict[str, Any] = {"name": name, "description": description, "inputSchema": {"type": "object"}}
    return made | {"annotations": hints} if hints else made


class WaitingAsk(Asking):
    """A question that a test answers."""

    def __init__(self, question: Question, then: Callable[[Answer], None], resumed: str) -> None:
        super().__init__()
        self.question = question
        self.id = resumed
        self._then = then

    def allow(self, args: JsonObject | None = None, id_: str = "req-1") -> None:
        """Approves, perhaps with other args."""
        self._then(Allowed(self.id or id_, dict(self.question.args) if args is None else args))

    def deny(self, text: str = "The operator denied this call. Nothing was run.") -> None:
        """Denies."""
        self._then(Refused(text))

    def wait_on(self, id_: str = "req-1") -> None:
        """The time to hold the call is over."""
        self._then(StillWaiting(id_))


class FakeAsker:
    """The gate of a test."""

    def __init__(self) -> None:
        self.asked: list[WaitingAsk] = []
        self.reports: list[tuple[str, JsonObject, str]] = []
        self.withdrawn: list[str] = []

    def ask(self, question: Question, seconds: float, then: Callable[[Answer], None], resumed: str = "") -> Asking:
        """Keeps the question for the test."""
        assert seconds > 0
        made = WaitingAsk(question, then, resumed)
        self.asked.append(made)
        return made

    def report(self, id_: str, args: JsonObject, error: str = "") -> None:
        """Keeps the report for the test."""
        self.reports.append((id_, dict(args), error))

    def withdraw(self, id_: str) -> None:
        """Keeps the withdrawal for the test."""
        self.withdrawn.append(id_)


class Harness:
    """A proxy, and everything that it wrote."""

    def __init__(self, data: Path, *tools: dict[str, Any], hold: float = 50, policy: Policy | None = None) -> None:
        self.data = data
        self.tools: list[dict[str, Any]] = [dict(tool) for tool in tools] or [definition("write")]
        self.client: list[bytes] = []
        self.server: list[bytes] = []
        self.notes: list[str] = []
        self.gate = FakeAsker()
        pins: tuple[PinnedTool, ...] = tuple(pinned(tool) for tool in self.tools)
        server = KnownServer("files", "mcp-files", tools=pins)
        if data.parent.exists():
            write_server(data, server)
        self.proxy = McpProxy(self, self.gate, ProxySetting(server, data, hold, policy))

    # what the proxy writes to

    def to_client(self, line: bytes) -> None:
        """Keeps a line for the client."""
        assert line.endswith(b"\n")
        self.client.append(line)

    def to_server(self, line: bytes) -> None:
        """Keeps a line for the server."""
        self.server.append(line)

    def note(self, text: str) -> None:
        """Keeps a remark."""
        self.notes.append(text)

    # what a test does

    def send(self, message: object) -> None:
        """The client sends a message."""
        self.proxy.from_client(message if isinstance(message, bytes) else json.dumps(message).encode())

    def request(self, id_: object, method: str, **params: Any) -> None:
        """The client sends a request."""
        self.send({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})

    def call(self, id_: object = 1, name: str = "write", **arguments: Any) -> None:
        """The client calls a tool; the proxy's own list of tools is answered."""
        self.request(id_, "tools/call", name=name, arguments=arguments)
        self.answer_lists()

    def reply(self, message: object) -> None:
        """The server sends a message."""
        self.proxy.from_server(message if isinstance(message, bytes) else json.dumps(message).encode())

    def result(self, id_: object, result: object) -> None:
        """The server answers a request."""
        self.reply({"jsonrpc": "2.0", "id": id_, "result": result})

    def answer_lists(self) -> None:
        """The server answers the proxy's own requests for its tools."""
        while self.server and (last := json.loads(self.server[-1])).get("method") == "tools/list":
            if not str(last.get("id")).startswith("aileron-"):
                return
            self.server.pop()
            self.result(last["id"], {"tools": self.tools})

    def list_as_client(self, id_: object = "list", tools: list[dict[str, Any]] | None = None) -> None:
        """The client lists the tools."""
        self.request(id_, "tools/list")
        self.server.pop()
        self.result(id_, {"tools": self.tools if tools is None else tools})
        self.client.pop()

    def answers(self) -> list[Any]:
        """What the client got since the last time."""
        got, self.client = [json.loads(line) for line in self.client], []
        return got

    def answer(self) -> Any:
        """The only message that the client got since the last time."""
        (got,) = self.answers()
        return got

    def sent(self) -> list[Any]:
        """What the server got since the last time."""
        got, self.server = [json.loads(line) for line in self.server], []
        return got

    def error_text(self) -> str:
        """The text of the only answer, which must be a failed tool."""
        result = self.answer()["result"]
        assert result["isError"] is True
        (content,) = result["content"]
        return str(content["text"])

    def later(self, seconds: float) -> None:
        """Lets time pass."""
        self.proxy.tick(time.monotonic() + seconds)

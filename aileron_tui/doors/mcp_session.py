"""A short conversation with an MCP server: its tools are listed, and maybe one is called.

Both generations of the protocol are spoken: first the handshake of 2025-11-25 is tried, and if the server refuses it,
every request says its revision itself, as from 2026-07-28 on. Nothing that the server asks for is done.
"""

import time
from collections.abc import Iterator
from typing import Final, Protocol, Self

from aileron_tui import __version__
from aileron_tui.core.jsontext import JsonObject, compact
from aileron_tui.core.mcp_listings import MOST_PAGES, MOST_TOOLS, read_page
from aileron_tui.core.mcp_messages import CALL, INITIALIZE, INITIALIZED, LIST, MODERN, VERSION_KEY, ServerMessage
from aileron_tui.core.mcp_tools import PinnedTool
from aileron_tui.core.values import dataclass
from aileron_tui.doors.mcp_session_process import ServerError, SessionFault, error_text

HANDSHAKE_VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
_CLIENT: Final[JsonObject] = {"name": "aileron-tui", "version": __version__}
_MODERN_META: Final[JsonObject] = {
    VERSION_KEY: MODERN,
    "io.modelcontextprotocol/clientInfo": _CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_METHOD_NOT_FOUND: Final = -32601
_LONGEST_VERSION: Final = 50


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """How many seconds to wait until a server has started and answered once, has listed its tools, has run a tool."""

    start: float = 30.0
    listing: float = 10.0
    call: float = 5.0


class Transport(Protocol):
    """How messages reach a server."""

    version: str

    def send(self, message: JsonObject) -> None:
        """Sends a message, or queues it until `messages` is called."""

    def messages(self, deadline: float) -> Iterator[ServerMessage]:
        """Yields what the server sends, until the deadline on the monotonic clock."""

    def problem(self) -> str:
        """What may explain why the server did not answer."""

    def close(self) -> None:
        """Ends the connection, and the server if it was started."""


class McpSession:
    """A conversation with one server. It must be closed, which also ends a server that was started for it."""

    def __init__(self, transport: Transport, limits: SessionLimits | None = None) -> None:
        self._transport = transport
        self._limits = limits or SessionLimits()
        self._number = 0
        self._is_modern = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._transport.close()

    def start(self) -> None:
        """Agrees on a revision of the protocol with the server. Raises SessionFault."""
        hello: JsonObject = {"protocolVersion": HANDSHAKE_VERSIONS[0], "capabilities": {}, "clientInfo": _CLIENT}
        deadline = time.monotonic() + self._limits.start
        try:
            result = self._request(INITIALIZE, hello, deadline)
        except ServerError:
            self._is_modern = True
            self._transport.version = MODERN
            self._request("server/discover", {}, deadline)
            return
        version = result.get("protocolVersion")
        if version not in HANDSHAKE_VERSIONS:
            raise SessionFault("the server speaks an unknown revision of MCP", compact(version)[:_LONGEST_VERSION])
        self._transport.version = str(version)
        self._transport.send({"jsonrpc": "2.0", "method": INITIALIZED})

    def tools(self) -> dict[str, PinnedTool]:
        """All tools of the server by name. Raises SessionFault or ToolFault."""
        deadline = time.monotonic() + self._limits.listing
        found: dict[str, PinnedTool] = {}
        cursor = ""
        for _ in range(MOST_PAGES):
            page, cursor = read_page(self._request(LIST, {"cursor": cursor} if cursor else {}, deadline))
            for tool in page:
                if tool.name in found:
                    raise SessionFault(f"the server lists two tools called {tool.name}")
                found[tool.name] = tool
            if not cursor:
                return found
            if len(found) > MOST_TOOLS:
                break
        raise SessionFault("the server's list of tools does not end")

    def call(self, tool: str, args: JsonObject) -> JsonObject:
        """The result of a tool, which may say that it failed. Raises SessionFault if there is none in time."""
        return self._request(CALL, {"name": tool, "arguments": args}, time.monotonic() + self._limits.call)

    def _request(self, method: str, params: JsonObject, deadline: float) -> JsonObject:
        self._number += 1
        if self._is_modern:
            params = {**params, "_meta": _MODERN_META}
        started = time.monotonic()
        self._transport.send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        for message in self._transport.messages(deadline):
            if message.is_response and self._number in message.ids:
                return _result(method, message)
            if message.method and not message.is_response:
                self._refuse(message)
        seconds = time.monotonic() - started
        raise SessionFault(f"the server did not answer {method} within {seconds:.2g} s", self._transport.problem())

    def _refuse(self, message: ServerMessage) -> None:
        """Answers a request of the server: it is there, but nothing else is done for it."""
        if len(message.ids) != 1:
            return
        answer: JsonObject = {"jsonrpc": "2.0", "id": message.ids[0]}
        if message.method == "ping":
            self._transport.send({**answer, "result": {}})
        else:
            error: JsonObject = {"code": _METHOD_NOT_FOUND, "message": "this client does not offer that"}
            self._transport.send({**answer, "error": error})


def _result(method: str, message: ServerMessage) -> JsonObject:
    body = message.body or {}
    if (
        not message.is_strict
        or message.is_disguised
        or len(message.ids) != 1
        or ("result" in body) == ("error" in body)
    ):
        raise SessionFault(f"the server's answer to {method} can be understood in two ways")
    if "error" in body:
        raise ServerError(f"the server refused {method}", error_text(body["error"]))
    result = body["result"]
    if not isinstance(result, dict):
        raise SessionFault(f"the server's answer to {method} is not an object")
    return result

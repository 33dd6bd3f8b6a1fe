"""A raw MCP client, without the SDK: it sends lines and reads lines."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from aileron_tui.doors.action_calls import ActionCalls, GateAccess
from aileron_tui.doors.mcp_server import converse
from aileron_tui.doors.mcp_stdio import StdioTransport, Wire
from tests.doors.fake_gate import TOKEN

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class RawClient:
    """One conversation. `meta` is sent with every request, as the revision without a handshake wants it."""

    def __init__(self, reader: asyncio.StreamReader, writer: Any, meta: dict[str, Any] | None = None) -> None:
        self._reader = reader
        self._writer = writer
        self._meta = meta
        self._ids = 100
        self.notifications: list[dict[str, Any]] = []

    async def handshake(self, version: str = "2025-11-25", name: str = "raw") -> dict[str, Any]:
        """Opens a conversation of a revision that has a handshake."""
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}
        reply = await self.ask("initialize", params)
        await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return reply

    async def send(self, message: Any) -> None:
        """Sends a message, or a line as it is."""
        self._writer.write((message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n")
        await self._writer.drain()

    async def request(self, method: str, params: dict[str, Any] | None = None, **meta: Any) -> int:
        """Sends a request and returns its id."""
        self._ids += 1
        sent = dict(params or {})
        if self._meta or meta:
            sent["_meta"] = {**(self._meta or {}), **meta}
        await self.send({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": sent})
        return self._ids

    async def receive(self, seconds: float = 20) -> dict[str, Any]:
        """The next message. There must be nothing but messages."""
        line = await asyncio.wait_for(self._reader.readline(), seconds)
        assert line.endswith(b"\n"), line
        assert TOKEN.encode() not in line
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    async def reply(self, id_: Any, seconds: float = 20) -> dict[str, Any]:
        """The reply to a request; notifications before it are kept."""
        while True:
            message = await self.receive(seconds)
            if "method" in message:
                self.notifications.append(message)
            else:
                assert message["id"] == id_, message
                return message

    async def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Sends a request and returns the reply."""
        return await self.reply(await self.request(method, params))

    async def start_call(self, tool: str, args: Any = None, **meta: Any) -> int:
        """Calls a tool without waiting."""
        return await self.request("tools/call", {"name": tool, "arguments": args or {}}, **meta)

    async def call(self, tool: str, args: Any = None) -> dict[str, Any]:
        """Calls a tool; returns its result, whose text and structured content must agree."""
        return result_of(await self.reply(await self.start_call(tool, args)))

    async def tools(self) -> dict[str, dict[str, Any]]:
        """The tools by name."""
        listed = (await self.ask("tools/list"))["result"]["tools"]
        tools = {tool["name"]: tool for tool in listed}
        assert len(tools) == len(listed)
        return tools

    def leave(self) -> None:
        """Closes the conversation."""
        self._writer.close()


def result_of(reply: dict[str, Any]) -> dict[str, Any]:
    """The structured content of a result, with `is_error`."""
    result = reply["result"]
    (text,) = result["content"]
    structured: dict[str, Any] = result["structuredContent"]
    assert text["text"] == structured.get("message") or json.loads(text["text"]) == structured
    return structured | {"is_error": result.get("isError", False), "told": text["text"]}


@asynccontextmanager
async def conversation(
    access: GateAccess, hold: int = 20, *, modern: bool = False, check_seconds: float = 10
) -> AsyncIterator[RawClient]:
    """A server in this process, with pipes instead of standard input and output. It must end when the client leaves."""
    (their_reads, my_writes), (my_reads, their_writes) = os.pipe(), os.pipe()
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 26)
    reading, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(my_reads, "rb"))
    protocol = asyncio.streams.FlowControlMixin
    pipe, mixin = await loop.connect_write_pipe(protocol, os.fdopen(my_writes, "wb"))
    writer = asyncio.StreamWriter(pipe, mixin, reader, loop)
    serving = asyncio.create_task(
        converse(ActionCalls(access, hold), StdioTransport(Wire(their_reads, their_writes)), check_seconds)
    )
    try:
        yield RawClient(reader, writer, META if modern else None)
    finally:
        writer.close()
        await asyncio.wait_for(serving, 15)
        reading.close()
        for descriptor in (their_reads, their_writes):
            with suppress(OSError):
                os.close(descriptor)


def access_to(url: str, token_file: Path) -> GateAccess:
    """The gate at an address, called with the token of its default agent."""
    return GateAccess("default", url=url, token_file=token_file)

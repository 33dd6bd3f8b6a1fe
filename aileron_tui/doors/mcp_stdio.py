"""Standard input and output as the transport of an MCP server: one JSON message per line.

The SDK's own transport cannot be stopped while it reads, ignores what it cannot parse, and has no limits. Here the
length of lines and the number of open requests are limited, everything that is wrong is answered, and only messages
reach standard output.
"""

import asyncio
import json
import os
import queue
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final, TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from aileron_tui.core.jsontext import Json, JsonError, JsonLimits, read
from aileron_tui.core.values import dataclass

LARGEST_LINE: Final = 16 * 1024 * 1024
MOST_REQUESTS: Final = 128

_NOTIFICATIONS: Final = "notifications/"
_CHUNK: Final = 64 * 1024
_LAST_ANSWERS_SECONDS: Final = 2.0
_LINE_LIMITS: Final = JsonLimits(size=LARGEST_LINE, depth=200, count=2_000_000)

Received: TypeAlias = SessionMessage | Exception
Inbound: TypeAlias = MemoryObjectReceiveStream[Received]
Outbound: TypeAlias = MemoryObjectSendStream[SessionMessage]
Message: TypeAlias = JSONRPCRequest | JSONRPCNotification | JSONRPCResponse | JSONRPCError


@dataclass(frozen=True, slots=True)
class Wire:
    """The descriptors of the conversation. Descriptors 0 and 1 no longer lead to it, so no stray output can."""

    reads: int
    writes: int


def take_standard_streams() -> Wire:
    """Moves the conversation to descriptors of its own; what is printed from now on goes to standard error."""
    sys.stdout.flush()
    wire = Wire(os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return wire


class StdioTransport:
    """The conversation with one client. `ended` is set when it cannot go on."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._loop = asyncio.get_running_loop()
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue(4)
        self._to_write: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]] | None] = queue.SimpleQueue()
        self._open_ids: set[RequestId] = set()
        self.ended = asyncio.Event()

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[tuple[Inbound, Outbound]]:
        """What the SDK reads from and writes to."""
        to_server, received = anyio.create_memory_object_stream[Received](0)
        from_server, to_send = anyio.create_memory_object_stream[SessionMessage](0)
        # Threads that are not waited for: a read from standard input cannot be interrupted.
        threading.Thread(target=self._read_forever, name="mcp-input", daemon=True).start()
        threading.Thread(target=self._write_forever, name="mcp-output", daemon=True).start()
        reading = asyncio.create_task(self._receive(to_server))
        writing = asyncio.create_task(self._send(to_send))
        try:
            yield received, from_server
        finally:
            for task in (reading, writing):
                task.cancel()
            await asyncio.gather(reading, writing, return_exceptions=True)
            self._to_write.put(None)
            for stream in (to_server, received, from_server, to_send):
                stream.close()

    def end(self) -> None:
        """Ends the conversation as if the client had closed it."""
        self.ended.set()

    async def _receive(self, to_server: MemoryObjectSendStream[Received]) -> None:
        async with to_server:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                async for line in self._lines():
                    if (message := await self._accepted(line)) is not None:
                        await to_server.send(SessionMessage(message))

    async def _lines(self) -> AsyncIterator[bytes]:
        """The lines of the client. One that is too long is dropped and reported."""
        rest, dropping = bytearray(), False
        while chunk := await self._next_chunk():
            *lines, last = chunk.split(b"\n")
            for part in lines:
                if not dropping and len(rest) + len(part) <= LARGEST_LINE:
                    yield bytes(rest + part)
                else:
                    await self._refuse(None, INVALID_REQUEST, f"the message is larger than {LARGEST_LINE:,} bytes")
                rest.clear()
                dropping = False
            if not dropping:
                rest += last
            if len(rest) > LARGEST_LINE:
                rest.clear()
                dropping = True

    async def _next_chunk(self) -> bytes:
        """What was read next; b"" at the end."""
        read_task, end_task = asyncio.create_task(self._chunks.get()), asyncio.create_task(self.ended.wait())
        try:
            await asyncio.wait((read_task, end_task), return_when=asyncio.FIRST_COMPLETED)
            return b"" if self.ended.is_set() else read_task.result()
        finally:
            read_task.cancel()
            end_task.cancel()

    async def _accepted(self, line: bytes) -> Message | None:
        """The message in a line, unless it must be refused."""
        if not line.strip():
            return None
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except (ValidationError, ValueError, RecursionError):
            await self._refuse_invalid(line)
            return None
        if isinstance(message, JSONRPCNotification) and not message.method.startswith(_NOTIFICATIONS) and _has_id(line):
            await self._refuse(None, INVALID_REQUEST, "the id of a request must be a string or an integer")
            return None
        if isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            cancelled = cancelled_request_id_from_params(message.params)
            if cancelled is not None:
                self._open_ids.discard(coerce_request_id(cancelled))  # it will not be answered
        if not isinstance(message, JSONRPCRequest):
            return message
        id_ = coerce_request_id(message.id)
        if id_ in self._open_ids:
            # With this id, the error would be taken for the answer to the other request.
            await self._refuse(None, INVALID_REQUEST, "another request with the same id has not been answered yet")
            return None
        if len(self._open_ids) >= MOST_REQUESTS:
            await self._refuse(message.id, INVALID_REQUEST, f"{MOST_REQUESTS} requests have not been answered yet")
            return None
        self._open_ids.add(id_)
        return message

    async def _refuse_invalid(self, line: bytes) -> None:
        """Says what is wrong with a line that is not a message."""
        try:
            value = read(line, _LINE_LIMITS)
        except JsonError as error:
            await self._refuse(None, PARSE_ERROR, f"not valid JSON: {error}")
            return
        match value:
            case list():
                await self._refuse(None, INVALID_REQUEST, "batches are not supported; send one message per line")
            case {"id": str() | int() as id_, "method": _} if not isinstance(id_, bool):
                free = coerce_request_id(id_) not in self._open_ids
                await self._refuse(id_ if free else None, INVALID_REQUEST, "not a valid JSON-RPC 2.0 request")
            case _:
                await self._refuse(None, INVALID_REQUEST, "not a JSON-RPC 2.0 message")

    async def _refuse(self, id_: Json, code: int, message: str) -> None:
        error: Json = {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}}
        await self._write(_line(error))

    async def _send(self, to_send: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with to_send:
            async for item in to_send:
                message = item.message
                try:
                    line = message.model_dump_json(by_alias=True, exclude_unset=True).encode()
                except (ValueError, RecursionError):
                    id_ = getattr(message, "id", None)
                    error: Json = {"code": INTERNAL_ERROR, "message": "the result cannot be written as JSON"}
                    line = _line({"jsonrpc": "2.0", "id": id_, "error": error})
                if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
                    self._open_ids.discard(coerce_request_id(message.id))
                await self._write(line)

    async def _write(self, line: bytes) -> None:
        """Writes one message. Waits while the client does not read."""
        done: asyncio.Future[None] = self._loop.create_future()
        self._to_write.put((line + b"\n", done))
        await done

    def _read_forever(self) -> None:
        """Runs in a thread of its own."""
        while True:
            try:
                chunk = os.read(self._wire.reads, _CHUNK)
            except OSError:
                chunk = b""
            try:
                asyncio.run_coroutine_threadsafe(self._chunks.put(chunk), self._loop).result()
            except (RuntimeError, asyncio.CancelledError):  # the loop has ended
                return
            if not chunk:
                self._in_loop(self._end_soon)
                return

    def _end_soon(self) -> None:
        """Ends the conversation after the last line, even if the client does not read the answers to the others."""
        self._loop.call_later(_LAST_ANSWERS_SECONDS, self.end)

    def _write_forever(self) -> None:
        """Runs in a thread of its own."""
        while item := self._to_write.get():
            line, done = item
            rest = memoryview(line)
            try:
                while rest:
                    rest = rest[os.write(self._wire.writes, rest) :]
            except OSError:
                self._in_loop(self.end)
            self._in_loop(_finish, done)

    def _in_loop(self, work: Callable[..., None], *values: object) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(work, *values)


def _has_id(line: bytes) -> bool:
    """Whether a message has an id of any type. The SDK takes a request with a wrong one for a notification."""
    try:
        value = read(line, _LINE_LIMITS)
    except JsonError:
        return False
    return isinstance(value, dict) and "id" in value


def _finish(done: "asyncio.Future[None]") -> None:
    if not done.done():
        done.set_result(None)


def _line(message: Json) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()

"""HTTP connections to a gate, the service behind it, and programs that say where they listen."""

import asyncio
import json
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks._bare_wasmtime import ANSWER

HOST: Final = "127.0.0.1"


@dataclass
class Upstream:
    """The service that the connector calls: notes when the first byte of each send arrives."""

    port: int = 0
    sends: "asyncio.Queue[float]" = field(default_factory=asyncio.Queue)


@asynccontextmanager
async def upstream_service() -> AsyncIterator[Upstream]:
    upstream = Upstream()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while first := await reader.read(1):
                began = time.perf_counter()
                head = first + await reader.readuntil(b"\r\n\r\n")
                length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
                await reader.readexactly(int(length or 0))
                writer.write(ANSWER)
                if head.startswith(b"POST"):
                    upstream.sends.put_nowait(began)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, HOST, 0)
    upstream.port = server.sockets[0].getsockname()[1]
    try:
        yield upstream
    finally:
        server.close()


class Connection:
    """One HTTP connection that stays open."""

    def __init__(self, port: int, token: str = "") -> None:
        self._port = port
        self._token = token
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, method: str, path: str, body: bytes = b"") -> asyncio.StreamReader:
        if self._streams is None:
            self._streams = await asyncio.open_connection(HOST, self._port, limit=2**22)
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {HOST}:{self._port}\r\nAuthorization: Bearer {self._token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._streams[1].write(head.encode() + body)
        return self._streams[0]

    async def receive(self, reader: asyncio.StreamReader) -> bytes:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        body = await reader.readexactly(length)
        if not head.startswith((b"http/1.1 200", b"http/1.1 202")):
            raise RuntimeError(f"{head!r} {body!r}")
        return body

    async def ask(self, method: str, path: str, body: bytes = b"") -> Any:
        return json.loads(await self.receive(await self.send(method, path, body)))

    def close(self) -> None:
        if self._streams:
            self._streams[1].close()


class Watcher:
    """Reads events as they come."""

    def __init__(self, port: int, token: str, path: str) -> None:
        self._connection = Connection(port, token)
        self._path = path
        self._rest = b""

    async def open(self) -> None:
        self._reader = await self._connection.send("GET", self._path)
        await self._reader.readuntil(b"\r\n\r\n")

    async def next(self, name: bytes) -> tuple[float, bytes]:
        """Returns when the next event with this name arrived, and its bytes; skips others."""
        while True:
            while b"\n\n" not in self._rest:
                size = int(await self._reader.readline(), 16)
                self._rest += await self._reader.readexactly(size)
                await self._reader.readexactly(2)
            came = time.perf_counter()
            event, _, self._rest = self._rest.partition(b"\n\n")
            if b"\nevent: %b\n" % name in event:
                return came, event + b"\n\n"

    def close(self) -> None:
        self._connection.close()


@asynccontextmanager
async def process(words: tuple[str, ...], environment: dict[str, str] | None = None) -> AsyncIterator[bytes]:
    """Starts a program and yields the first line it prints."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *words,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        if process.stdout is None or not (line := await process.stdout.readline()):
            raise RuntimeError(f"{words} does not start")
        yield line
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await process.wait()

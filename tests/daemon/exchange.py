"""A minimal HTTP/1.1 server with control over every byte and over when a connection ends."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus
from urllib.parse import parse_qsl, unquote, urlsplit

LARGEST = 64 * 1024 * 1024
REQUEST_ID = "X-Request-Id"

_KNOWN = frozenset(HTTPStatus)


class HangUp(Exception):
    """The connection ends here, with nothing said."""


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    request_id: str

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def parts(self) -> list[str]:
        """The decoded segments of the path."""
        return [unquote(part) for part in self.path.split("/")[1:]]

    @property
    def query(self) -> dict[str, str]:
        return dict(reversed(parse_qsl(urlsplit(self.target).query, keep_blank_values=True)))

    @property
    def origin(self) -> str:
        return self.headers.get("origin", "")


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    body: bytes = b""
    type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    """Only half of the body is sent, then the connection ends."""


class Channel:
    """The way back of one request: an answer at once, or a stream."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: Request) -> None:
        self.reader = reader
        self.writer = writer
        self._request = request

    def head(self, status: int, headers: dict[str, str]) -> None:
        phrase = HTTPStatus(status).phrase if status in _KNOWN else "Unknown"
        lines = [f"HTTP/1.1 {status} {phrase}"]
        said = {REQUEST_ID: self._request.request_id, "Date": formatdate(usegmt=True)} | headers
        if self._request.origin:
            said |= {"Access-Control-Allow-Origin": self._request.origin, "Access-Control-Allow-Credentials": "true"}
        lines += [f"{name}: {value}" for name, value in said.items()]
        self.writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))

    def chunk(self, data: bytes) -> None:
        """A piece of a stream."""
        self.writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    async def send(self, response: Response) -> None:
        headers = dict(response.headers)
        if response.status != 204:
            headers["Content-Length"] = str(len(response.body))
            if response.body:
                headers["Content-Type"] = response.type
        self.head(response.status, headers)
        sent = response.body[: len(response.body) // 2] if response.cut else response.body
        self.writer.write(b"" if self._request.method == "HEAD" else sent)
        await self.writer.drain()
        if response.cut:
            raise HangUp


Answer = Callable[[Request, Channel], Awaitable[Response | None]]
"""Gives None when it has streamed its answer itself."""


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Answer) -> None:
    """All requests of one connection."""
    try:
        while (request := await _read(reader, writer)) is not None:
            channel = Channel(reader, writer, request)
            response = await answer(request, channel)
            if response is None:
                break
            await channel.send(response)
            if request.headers.get("connection", "").lower() == "close":
                break
    except (HangUp, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
        pass
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    method, target, _ = first.split(" ")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    body = b""
    if headers.get("transfer-encoding", "").lower() == "chunked":
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readuntil(b"\r\n")
    elif length := int(headers.get("content-length", "0")):
        if length > LARGEST:
            raise HangUp
        body = await reader.readexactly(length)
    return Request(method, target, headers, body, headers.get("x-request-id") or secrets.token_hex(8))

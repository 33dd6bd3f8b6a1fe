"""One HTTP request to the gate: strict, limited reading of bodies and queries, and a common format for errors."""

import asyncio
import json
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import field
from typing import Final, NoReturn, TypeAlias
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from aileron_tui.core.jsontext import JsonError, JsonObject, read_object
from aileron_tui.core.values import dataclass
from aileron_tui.gate import replies
from aileron_tui.gate.approver_sessions import Session
from aileron_tui.gate.http_limits import AgentBuckets, HttpLimits
from aileron_tui.gate.large_values import LARGE_BYTES, work_on
from aileron_tui.gate.replies import Reply, compact_json
from aileron_tui.gate.viewer_sessions import ViewerSession

MAX_NAME_LENGTH: Final = 200
ON_SOCKET: Final = "aileron.on_socket"
"""The key in the ASGI scope that says whether the connection came through the Unix socket for approvers."""
IDENTIFY: Final = "aileron.identify"
"""The key in the ASGI scope for a function that gives the connection to its owner, or returns why it cannot."""

_WAIT: Final = re.compile(r'\s*wait\s*=\s*"?\s*(\d{1,9})\s*"?\s*(?:;.*)?', re.ASCII | re.IGNORECASE | re.DOTALL)
_DRAIN_BYTES: Final = 16 * 1024 * 1024
_DRAIN_SECONDS: Final = 2.0
_RETRY_SECONDS: Final = 5
_CLOSE_CONNECTION: Final = {"Connection": "close"}


class Refusal(Exception):
    """Ends an HTTP request with an error reply."""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.reply = replies.error(status, code, message)
        self.headers = headers or {}


class ClientDisconnected(Exception):
    """The client closed the connection."""


@dataclass(frozen=True, slots=True)
class AgentCaller:
    """An agent: its name, and the hash of the token that it sent. The name is its identity everywhere in the gate."""

    name: str
    token: str


@dataclass(frozen=True, slots=True)
class MetricsReader:
    """Who has the token for metrics, and may read nothing else."""

    name: str = "metrics"


Caller: TypeAlias = AgentCaller | Session | ViewerSession | MetricsReader
"""Who makes an HTTP request."""


class BodyRates:
    """How many bytes each agent may send per second, which also limits how many are on the way in.

    A body beyond the rate is left unread for a while, so that its sender waits instead of trying again at once.
    """

    def __init__(self, limits: HttpLimits) -> None:
        self._longest_wait = limits.body_seconds
        self._rates = AgentBuckets(limits.body_bytes_per_second, limits.body_bytes_burst)

    async def wait(self, agent: str, expected: int) -> None:
        """Waits until a body of this size may be read. Refuses it if that would take too long."""
        bucket = self._rates.of(agent)
        if (seconds := bucket.wait_seconds(expected)) > self._longest_wait:
            raise _unread(too_many(f"this agent sends too many bytes; try again in {seconds} s", seconds), expected)
        await asyncio.sleep(bucket.reserve(expected))

    def refund(self, agent: str, size: int) -> None:
        """Gives back what was expected but not sent."""
        self._rates.of(agent).charge(-size)


@dataclass(slots=True)
class HttpRequest:
    """An HTTP request with its caller and its path parameters.

    `refused` makes the response to an error, for a route whose callers do not understand the usual one.
    """

    raw: Request
    limits: HttpLimits
    caller: "Caller | None" = None
    body_rates: BodyRates | None = None
    path_params: Mapping[str, str] = field(default_factory=dict)
    refused: "Callable[[Exception], Response] | None" = None

    @property
    def on_socket(self) -> bool:
        """Whether it came through the Unix socket for approvers."""
        return bool(self.raw.scope.get(ON_SOCKET))

    @property
    def session(self) -> Session:
        """The approver's session; only approver routes use it."""
        if not isinstance(self.caller, Session):
            raise unauthorized()
        return self.caller

    @property
    def viewer(self) -> ViewerSession:
        """The viewer's session; only viewer routes use it."""
        if not isinstance(self.caller, ViewerSession):
            raise unauthorized()
        return self.caller

    @property
    def agent(self) -> AgentCaller:
        """The agent that calls; only agent routes use it."""
        if not isinstance(self.caller, AgentCaller):
            raise unauthorized()
        return self.caller

    async def body(self, size: int, fields: Collection[str] | None, *, optional: bool = False) -> JsonObject:
        """Reads the JSON body, which may only have these fields; any if None."""
        data = await self._read_body(size)
        if not data and optional:
            return {}
        media_type = self.raw.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type != "application/json":
            raise Refusal(415, "unsupported_media_type", "send the body as Content-Type: application/json")
        try:
            body = await work_on(len(data), lambda: read_object(data, self.limits.json(size)))
        except JsonError as error:
            raise invalid_body(error) from None
        if fields is not None and (unknown := sorted(body.keys() - set(fields))):
            allowed = ", ".join(sorted(fields)) or "none"
            _refuse_unknown("field", unknown, allowed, "invalid_body")
        return body

    def query(self, *allowed: str) -> dict[str, list[str]]:
        """Reads the query parameters, which may only have these names."""
        try:
            text = self.raw.scope["query_string"].decode("ascii")
            pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), max_num_fields=100)
        except ValueError:
            raise Refusal(400, "invalid_query", "the query string is not valid") from None
        found: dict[str, list[str]] = {}
        for name, value in pairs:
            found.setdefault(name, []).append(value)
        if unknown := sorted(found.keys() - set(allowed)):
            _refuse_unknown("parameter", unknown, ", ".join(allowed) or "none", "invalid_query")
        return found

    def wait(self, most: int = 0) -> int | None:
        """Returns how many seconds the agent prefers to wait (RFC 7240), up to `most` or else the usual limit."""
        for value in self.raw.headers.getlist("prefer"):
            for preference in value.split(","):
                if found := _WAIT.fullmatch(preference):
                    return min(int(found[1]), most or self.limits.max_wait_seconds) or None
        return None

    def agent_header(self, header: str) -> str:
        """Returns a header in which the agent describes itself; it is not verified."""
        values = self.raw.headers.getlist(header)
        text = ", ".join(values).encode("latin-1").decode("utf-8", errors="replace").strip()
        if len(text) > MAX_NAME_LENGTH:
            raise Refusal(400, "invalid_header", f"{header} is longer than {MAX_NAME_LENGTH} characters")
        return text

    async def wait_for_disconnect(self) -> None:
        """Returns when the client has disconnected."""
        while (await self.raw.receive())["type"] != "http.disconnect":
            pass

    async def wait_for_rate(self) -> None:
        """Waits until the body of an agent's call may be read."""
        if self.body_rates is not None and (expected := self._expected_bytes()):
            await self.body_rates.wait(self.agent.name, expected)

    def refused_unread(self, refusal: Refusal) -> Refusal:
        """Returns a refusal that is sent before the body is read."""
        return _unread(refusal, self._expected_bytes())

    async def _read_body(self, size: int) -> bytes:
        declared = self.raw.headers.get("content-length", "0")
        if not declared.isascii() or not declared.isdigit():
            raise Refusal(400, "invalid_request", "Content-Length is not a number", _CLOSE_CONNECTION)
        if int(declared) > size:
            await self._refuse_size(size)
        data = await self._receive_body(size)
        if self.body_rates is not None and isinstance(self.caller, AgentCaller):
            self.body_rates.refund(self.caller.name, self._expected_bytes() - len(data))
        return data

    def _expected_bytes(self) -> int:
        """The size of the body of a call. Without a length, it may become as large as the limit."""
        declared, most = self.raw.headers.get("content-length", "0"), self.limits.call_bytes
        if "transfer-encoding" in self.raw.headers:
            return most
        return min(int(declared), most) if declared.isascii() and declared.isdigit() else 0

    async def _receive_body(self, size: int) -> bytes:
        data = bytearray()
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                async for chunk in self.raw.stream():
                    data += chunk
                    if len(data) > size:
                        await self._refuse_size(size)
        except TimeoutError:
            message = f"the body did not arrive within {self.limits.body_seconds:g} seconds"
            raise Refusal(408, "request_timeout", message, _CLOSE_CONNECTION) from None
        except ClientDisconnect:
            raise ClientDisconnected from None
        return bytes(data)

    async def _refuse_size(self, size: int) -> NoReturn:
        """Refuses the body. Reads and discards some of the rest first; otherwise many clients would miss the error."""
        if "expect" not in self.raw.headers:
            remaining = _DRAIN_BYTES
            with suppress(TimeoutError):
                async with asyncio.timeout(_DRAIN_SECONDS):
                    while remaining > 0:
                        message = await self.raw.receive()
                        remaining -= len(message.get("body", b""))
                        if not message.get("more_body"):
                            break
        raise Refusal(413, "body_too_large", f"the body is larger than the limit of {size:,} bytes", _CLOSE_CONNECTION)


def unauthorized() -> Refusal:
    """The error for a missing or invalid token."""
    headers = {"WWW-Authenticate": "Bearer"}
    return Refusal(401, "unauthorized", "missing or invalid token", headers)


def invalid_body(error: JsonError) -> Refusal:
    """The error for an invalid body; the message says where."""
    return Refusal(400, "invalid_body", f"{error}. {error.hint}" if error.hint else str(error))


def _unread(refusal: Refusal, size: int) -> Refusal:
    """Closes the connection after a refusal if the body is large, because reading it to its end costs too much.

    A small body is read, so that the connection can be used again.
    """
    if size > LARGE_BYTES:
        refusal.headers = {**refusal.headers, **_CLOSE_CONNECTION}
    return refusal


def rate_limited(what: str, seconds: int) -> Refusal:
    """The error for exceeding a rate limit."""
    return too_many(f"too many {what}; try again in {seconds} s", seconds)


def too_many(message: str, seconds: int) -> Refusal:
    """The error for exceeding a limit; `seconds` is when to try again."""
    return Refusal(429, "too_many_requests", message, {"Retry-After": str(seconds)})


def not_found(what: str) -> Refusal:
    """The error for something that does not exist."""
    return Refusal(404, "not_found", f"no such {what}")


def reply_response(reply: Reply, headers: Mapping[str, str] | None = None) -> Response:
    """Returns a reply as an HTTP response; adds Retry-After to a 429."""
    retry = {"Retry-After": str(reply.retry_after or _RETRY_SECONDS)} if reply.status == 429 else {}
    return json_response(reply.body, reply.status, {**retry, **(headers or {})})


def json_response(body: JsonObject | bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Returns a JSON response that must not be cached; the body may be encoded already."""
    fixed = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    content = body if isinstance(body, bytes) else compact_json(body)
    return Response(content, status, {**fixed, **(headers or {})}, "application/json")


def _refuse_unknown(noun: str, unknown: list[str], allowed: str, code: str) -> NoReturn:
    names = ", ".join(json.dumps(name[:MAX_NAME_LENGTH]) for name in unknown[:8])
    plural = "s" if len(unknown) > 1 else ""
    raise Refusal(400, code, f"unknown {noun}{plural} {names}; expected: {allowed}")

"""One HTTP request as the doors see it: bounded and strict on the way in, one shape of error on the way out."""

import asyncio
import json
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import field
from typing import Final, NoReturn
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from aileron_tui.core.jsontext import Json, JsonError, JsonObject, read_object
from aileron_tui.core.values import dataclass
from aileron_tui.gate.approver_sessions import Session
from aileron_tui.gate.http_limits import HttpLimits
from aileron_tui.gate.replies import Reply, error

LONGEST_NAME: Final = 200

_WAIT: Final = re.compile(r'\s*wait\s*=\s*"?\s*(\d{1,9})\s*"?\s*(?:;.*)?', re.ASCII | re.IGNORECASE | re.DOTALL)
_DRAIN_BYTES: Final = 16 * 1024 * 1024
_DRAIN_SECONDS: Final = 2.0
_LATER_SECONDS: Final = 5
_LAST: Final = {"Connection": "close"}


class Refusal(Exception):
    """A request that goes no further; carries what is answered."""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.reply = error(status, code, message)
        self.headers = headers or {}


class ClientGone(Exception):
    """The client hung up; there is nobody to answer."""


@dataclass(frozen=True, slots=True)
class AgentCaller:
    """Whoever shows the agent token."""


@dataclass(slots=True)
class HttpRequest:
    """A request that passed the border, with who sends it and the names in its path."""

    request: Request
    limits: HttpLimits
    caller: AgentCaller | Session | None = None
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def session(self) -> Session:
        """The approver's session; only routes of the approver's door ask for it."""
        if not isinstance(self.caller, Session):
            raise unauthorised()
        return self.caller

    async def body(self, size: int, fields: Collection[str], *, optional: bool = False) -> JsonObject:
        """The JSON object that was sent, with none but these fields."""
        data = await self._read(size)
        if not data and optional:
            return {}
        kind = self.request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Refusal(415, "unsupported_media_type", "send the body as Content-Type: application/json")
        try:
            body = read_object(data, self.limits.json(size))
        except JsonError as fault:
            raise invalid_body(fault) from None
        if unknown := sorted(body.keys() - set(fields)):
            known = ", ".join(sorted(fields)) or "none"
            _refuse_unknown("field", unknown, known, "invalid_body")
        return body

    def query(self, *known: str) -> dict[str, list[str]]:
        """The parameters after the question mark, with none but these names."""
        try:
            text = self.request.scope["query_string"].decode("ascii")
            pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), max_num_fields=100)
        except ValueError:
            raise Refusal(400, "invalid_query", "the parameters after the question mark cannot be read") from None
        found: dict[str, list[str]] = {}
        for name, value in pairs:
            found.setdefault(name, []).append(value)
        if unknown := sorted(found.keys() - set(known)):
            _refuse_unknown("parameter", unknown, ", ".join(known) or "none", "invalid_query")
        return found

    def wait(self) -> int | None:
        """How many seconds the agent prefers to wait for the end (RFC 7240), within our limit."""
        for value in self.request.headers.getlist("prefer"):
            for preference in value.split(","):
                if found := _WAIT.fullmatch(preference):
                    return min(int(found[1]), self.limits.longest_wait) or None
        return None

    def told(self, header: str) -> str:
        """A name the agent gives itself or its work; nobody has verified it."""
        values = self.request.headers.getlist(header)
        text = ", ".join(values).encode("latin-1").decode("utf-8", errors="replace").strip()
        if len(text) > LONGEST_NAME:
            raise Refusal(400, "invalid_header", f"{header} is longer than {LONGEST_NAME} characters")
        return text

    async def left(self) -> None:
        """Returns when the client has hung up."""
        while (await self.request.receive())["type"] != "http.disconnect":
            pass

    async def _read(self, size: int) -> bytes:
        declared = self.request.headers.get("content-length", "0")
        if not declared.isascii() or not declared.isdigit():
            raise Refusal(400, "invalid_request", "Content-Length is not a number", _LAST)
        if int(declared) > size:
            await self._refuse_size(size)
        data = bytearray()
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                async for chunk in self.request.stream():
                    data += chunk
                    if len(data) > size:
                        await self._refuse_size(size)
        except TimeoutError:
            message = f"the body did not arrive within {self.limits.body_seconds:g} seconds"
            raise Refusal(408, "request_timeout", message, _LAST) from None
        except ClientDisconnect:
            raise ClientGone from None
        return bytes(data)

    async def _refuse_size(self, size: int) -> NoReturn:
        """Refuses; but first lets some of the rest run into the void, or many clients would never see why."""
        if "expect" not in self.request.headers:
            left = _DRAIN_BYTES
            with suppress(TimeoutError):
                async with asyncio.timeout(_DRAIN_SECONDS):
                    while left > 0:
                        message = await self.request.receive()
                        left -= len(message.get("body", b""))
                        if not message.get("more_body"):
                            break
        raise Refusal(413, "body_too_large", f"the body has more than the {size:,} bytes that are allowed", _LAST)


def unauthorised() -> Refusal:
    """Neither token nor session, or one that is not valid."""
    headers = {"WWW-Authenticate": "Bearer"}
    return Refusal(401, "unauthorized", "missing or invalid token", headers)


def invalid_body(fault: JsonError) -> Refusal:
    """A body that is not what the route takes; the message names the place."""
    return Refusal(400, "invalid_body", f"{fault}. {fault.hint}" if fault.hint else str(fault))


def too_many(what: str, seconds: int) -> Refusal:
    """More of something than is good for the gate."""
    headers = {"Retry-After": str(seconds)}
    return Refusal(429, "too_many_requests", f"too many {what}; try again in {seconds} s", headers)


def no_such(what: str) -> Refusal:
    """There is nothing here by that name."""
    return Refusal(404, "not_found", f"there is no such {what}")


def answered(reply: Reply, headers: Mapping[str, str] | None = None) -> Response:
    """The reply as an HTTP response; one that says "too much" also says when to try again."""
    later = {"Retry-After": str(_LATER_SECONDS)} if reply.status == 429 else {}
    return answer(reply.body, reply.status, {**later, **(headers or {})})


def answer(body: JsonObject, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Compact JSON, not to be stored by anyone on the way."""
    fixed = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return Response(encoded(body), status, {**fixed, **(headers or {})}, "application/json")


def encoded(body: Json) -> bytes:
    """One line of JSON."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _refuse_unknown(noun: str, unknown: list[str], known: str, code: str) -> NoReturn:
    names = ", ".join(json.dumps(name[:LONGEST_NAME]) for name in unknown[:8])
    plural = "s" if len(unknown) > 1 else ""
    raise Refusal(400, code, f"unknown {noun}{plural} {names}; known here: {known}")

"""One HTTP exchange with a gate on an event loop. Cancelling it closes the connection, which withdraws a waiting call.

As in `gate_link`, the token is sent only after the program at the other end has shown that it is the gate of this home.
"""

import asyncio
import json
import ssl
from collections.abc import Mapping
from typing import Final

from aileron_tui.core.address import read_address
from aileron_tui.core.jsontext import JsonError, JsonLimits, JsonObject, read_object
from aileron_tui.core.values import dataclass
from aileron_tui.doors.gate_link import LARGEST_HEAD, START, check_health, check_listener, lost, read_head, timed_out
from aileron_tui.runtime.errors import InvalidReply, NoGate
from aileron_tui.runtime.gate_discovery import FoundGate

LARGEST_CALL: Final = 1024 * 1024
"""How many bytes a gate accepts as the body of a call."""

_CHECK_SECONDS: Final = 5.0
_LIMITS: Final = JsonLimits(size=64 * 1024 * 1024, depth=80, count=4_000_000)


@dataclass(frozen=True, slots=True)
class GateCall:
    """What is sent: a method and a path, header fields, and a JSON body; and how long the reply may take."""

    method: str
    path: str
    fields: Mapping[str, str]
    body: JsonObject | None = None
    seconds: float = 10.0


class NotSent(NoGate):
    """The gate could not be reached, so the call was not sent."""


class ClosedEarly(NotSent):
    """The gate closed the connection before the call was sent, for example because very many were opened at once."""


async def exchange(found: FoundGate, token: str, call: GateCall) -> tuple[int, JsonObject]:
    """Returns the status and the body of the reply. Raises NotSent, or NoReply or InvalidReply once it was sent."""
    data = b"" if call.body is None else _encoded(call.body)
    reader, writer = await _connect(found)
    try:
        await _check(found, reader, writer)
        try:
            async with asyncio.timeout(call.seconds):
                fields = {"Authorization": f"Bearer {token}", **call.fields}
                return await _ask(found, reader, writer, _request(found, call.method, call.path, fields, data))
        except TimeoutError:
            raise timed_out() from None
        except (OSError, EOFError) as error:
            raise lost(_words(error)) from None
    finally:
        writer.transport.abort()  # at once, also while this is being cancelled


async def _connect(found: FoundGate) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    address = read_address(found.url)
    secure = ssl.create_default_context() if address.scheme == "https" else None
    try:
        async with asyncio.timeout(_CHECK_SECONDS):
            return await asyncio.open_connection(address.host, address.port, ssl=secure, limit=LARGEST_HEAD)
    except ConnectionError:
        raise NotSent("no gate is running", f"nothing listens at {found.url}", START) from None
    except TimeoutError:
        raise NotSent(f"cannot connect to {found.url}", "it does not answer", START) from None
    except (OSError, ValueError) as error:
        raise NotSent(f"cannot connect to {found.url}", str(error), "Check its address and certificate.") from None


async def _check(found: FoundGate, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Checks that the other end is the gate that was found. If that fails, nothing was sent."""
    try:
        check_listener(found, writer.get_extra_info("socket"))
        async with asyncio.timeout(_CHECK_SECONDS):
            _, health = await _ask(found, reader, writer, _request(found, "GET", "/v1/health", {}, b""))
        check_health(found, health)
    except TimeoutError:
        raise NotSent("the gate does not answer", found.url, "Check that it is running.") from None
    except (OSError, EOFError) as error:
        raise ClosedEarly("the gate closed the connection", _words(error), START) from None
    except (NoGate, InvalidReply) as error:
        raise NotSent(error.title, error.detail, error.hint) from None


def _request(found: FoundGate, method: str, path: str, fields: Mapping[str, str], data: bytes) -> bytes:
    sent = {"Host": found.url.partition("://")[2], **fields}
    if data:
        sent |= {"Content-Type": "application/json", "Content-Length": str(len(data))}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items())]
    if any("\r" in line or "\n" in line for line in lines):
        raise NotSent("the gate cannot be called", "the token or another header field contains a line break")
    return "\r\n".join([*lines, "", ""]).encode() + data


async def _ask(
    found: FoundGate, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
) -> tuple[int, JsonObject]:
    writer.write(request)
    await writer.drain()
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        status, length = read_head(head.removesuffix(b"\r\n\r\n"), _LIMITS.size)
        body = await reader.readexactly(length)
        return status, read_object(body, _LIMITS) if body else {}
    except asyncio.LimitOverrunError:
        raise InvalidReply(f"the program at {found.url} sent a header that is too long", hint=START) from None
    except JsonError as error:
        raise InvalidReply("the gate sent an invalid reply", str(error)) from None


def _encoded(body: JsonObject) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _words(error: BaseException) -> str:
    return getattr(error, "strerror", "") or "it closed the connection"

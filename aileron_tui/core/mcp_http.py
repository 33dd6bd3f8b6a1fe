"""MCP over HTTP: the address of a server, the headers of a message, and the events of a stream. Pure."""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from aileron_tui.core.address import Address, BadAddress, read_address
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.mcp_messages import CALL, LONGEST_LINE, VERSION_KEY, is_modern
from aileron_tui.core.values import dataclass

_URL: Final = re.compile(r"(https?://[^/?#@\s]+)(/[!-~]*)?", re.ASCII | re.IGNORECASE)
_PLAIN_VALUE: Final = re.compile(r"[!-~](?:[ -~]*[!-~])?", re.ASCII)
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
_NAMES: Final = {CALL: "name", "prompts/get": "name", "resources/read": "uri"}
_HEADER_TYPES: Final = ("string", "integer", "boolean")
_DEEPEST: Final = 16


class BadUrl(AileronError):
    """An address that cannot be that of an MCP server."""


@dataclass(frozen=True, slots=True)
class ServerUrl:
    """Where an MCP server is reached."""

    address: Address
    path: str


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event of a stream. `retry` is how many seconds to wait before the stream is opened again."""

    data: bytes
    id: str = ""
    retry: float | None = None


def read_url(text: str) -> ServerUrl:
    """Reads the address of a server. Raises BadUrl."""
    hint = "Write it as https://example.com/mcp, or as http://127.0.0.1:8000/mcp on this machine."
    parts = _URL.fullmatch(text)
    try:
        if parts is None or "#" in text:
            raise BadAddress("it is not an http or https address")
        address = read_address(parts[1])
    except BadAddress as error:
        raise BadUrl("--url is not the address of an MCP server", str(error), hint) from None
    if not address.is_confidential:
        raise BadUrl("what is called would be sent unencrypted over the network", address.url, "Use https.")
    return ServerUrl(address, parts[2] or "/")


def message_headers(body: JsonObject, schema: Json = None) -> dict[str, str]:
    """The headers that repeat parts of a message, as revisions without a handshake want it.

    `schema` is that of the tool that is called; it may name further arguments to repeat.
    """
    params = body.get("params")
    fields = params if isinstance(params, dict) else {}
    meta = fields.get("_meta")
    method = body.get("method")
    if not isinstance(meta, dict) or not isinstance(method, str) or not is_modern(meta):
        return {}
    headers = {"MCP-Protocol-Version": header_value(str(meta[VERSION_KEY])), "Mcp-Method": header_value(method)}
    name = fields.get(_NAMES.get(method, ""))
    if isinstance(name, str):
        headers["Mcp-Name"] = header_value(name)
    if method == CALL:
        headers |= {f"Mcp-Param-{key}": value for key, value in _params(schema, fields.get("arguments"))}
    return headers


def header_value(text: str) -> str:
    """A text as the value of a header: in base64 if a header could not hold it."""
    if _PLAIN_VALUE.fullmatch(text) and not text.startswith("=?base64?"):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def _params(schema: Json, arguments: Json, depth: int = 0) -> Iterator[tuple[str, str]]:
    """The arguments that a schema wants repeated in headers."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or not isinstance(arguments, dict) or depth > _DEEPEST:
        return
    for name, of_property in properties.items():
        value = arguments.get(name)
        if not isinstance(of_property, dict) or value is None:
            continue
        key = of_property.get("x-mcp-header")
        is_header = isinstance(key, str) and _TOKEN.fullmatch(key) and of_property.get("type") in _HEADER_TYPES
        if is_header and isinstance(value, str | bool | int):
            yield str(key), header_value(value if isinstance(value, str) else json.dumps(value))
        yield from _params(of_property, value, depth + 1)


def events(lines: Iterator[bytes]) -> Iterator[StreamEvent]:
    """The events in the lines of a stream, which are without their line ends. One that is too long ends the stream."""
    data: list[bytes] = []
    size = 0
    id_, retry, kind = "", None, b"message"
    for line in lines:
        if not line:
            if (data or id_ or retry is not None) and kind == b"message":
                yield StreamEvent(b"\n".join(data), id_, retry)
            data, id_, retry, kind, size = [], "", None, b"message", 0
            continue
        size += len(line)
        if size > LONGEST_LINE:
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                data.append(value)
            case b"event":
                kind = value
            case b"id" if b"\0" not in value:
                id_ = value.decode("latin-1")
            case b"retry" if value.isdigit() and len(value) < 9:
                retry = int(value) / 1000


def as_line(data: bytes) -> bytes:
    """A message on one line. Line ends can only be between the tokens of JSON, where a space means the same."""
    return data.replace(b"\r\n", b" ").replace(b"\n", b" ").replace(b"\r", b" ").strip()


def content_type(headers: Mapping[str, str]) -> str:
    """The media type of a response, without its parameters."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()

"""Messages of the Model Context Protocol: JSON-RPC, one message on each line.

What a client sends is read strictly, because a server may read the same bytes in another way: it may take the last of
two equal keys, ignore the case of keys, or end a line at other characters. A message is passed on only if every reader
must understand it alike. What a server sends is read as far as possible; `is_strict` tells whether there is only one
way to understand it.
"""

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, TypeAlias, TypeGuard

from aileron_tui.core.jsontext import Json, JsonError, JsonLimits, JsonObject, kind, read
from aileron_tui.core.values import dataclass

RequestId: TypeAlias = int | str

LONGEST_LINE: Final = 64 * 1024 * 1024
LIMITS: Final = JsonLimits(size=LONGEST_LINE, depth=100, count=2_000_000)

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
INVALID_PARAMS: Final = -32602
NOT_ALLOWED: Final = -32000

CALL: Final = "tools/call"
LIST: Final = "tools/list"
INITIALIZE: Final = "initialize"
INITIALIZED: Final = "notifications/initialized"
CANCELLED: Final = "notifications/cancelled"
PROGRESS: Final = "notifications/progress"
LIST_CHANGED: Final = "notifications/tools/list_changed"
VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
MODERN: Final = "2026-07-28"
"""The first revision without a handshake, in which every request says its revision itself."""

HARMLESS_REQUESTS: Final = frozenset(
    {
        INITIALIZE,
        LIST,
        "ping",
        "completion/complete",
        "logging/setLevel",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/subscribe",
        "resources/templates/list",
        "resources/unsubscribe",
        "server/discover",
        "subscriptions/listen",
        "tasks/cancel",
        "tasks/get",
        "tasks/list",
        "tasks/result",
    }
)
"""Requests that, by the protocol, do nothing but read, negotiate or end something. All others are asked about."""

_PLAIN: Final = frozenset(method.encode() for method in HARMLESS_REQUESTS - {LIST, INITIALIZE})

HARMLESS_NOTIFICATIONS: Final = frozenset(
    {INITIALIZED, CANCELLED, PROGRESS, "notifications/roots/list_changed", "notifications/tasks/status"}
)
"""Notifications that are passed on. A server might execute any other one, and it cannot be answered."""

_MEMBERS: Final = frozenset({"jsonrpc", "id", "method", "params", "result", "error"})
_OF_METHODS: Final = frozenset({"jsonrpc", "id", "method", "params"})
_LONGEST_ID: Final = 1000
_LARGEST_ID: Final = 2**53
_OTHER_LINE_ENDS: Final = re.compile(rb"\xc2\x85|\xe2\x80[\xa8\xa9]")
_ESCAPED: Final = {b"\xc2\x85": rb"\u0085", b"\xe2\x80\xa8": rb"\u2028", b"\xe2\x80\xa9": rb"\u2029"}


_ID: Final = rb'"id": ?(?:(?P<number>0|[1-9][0-9]{0,14})|"(?P<text>[A-Za-z0-9_.:-]{1,100})")'
_ID_FIRST: Final = re.compile(rb'\{"jsonrpc": ?"2\.0", ?' + _ID + rb', ?"result": ?\{')
_ID_LAST: Final = re.compile(_ID + rb"\}\Z")
_ANY_ID: Final = re.compile(rb'"[iI][dD]"')
_METHOD: Final = rb'"method": ?"(?P<method>[A-Za-z/]{1,60})"'
_PARAMS: Final = rb'(?:, ?"params": ?\{(?:"[A-Za-z]{1,40}": ?(?:"[^"\\\x00-\x1f\x7f-\xff]*"|0|[1-9][0-9]{0,14}))?\})?'
_REQUESTS: Final = (
    re.compile(rb'\{"jsonrpc": ?"2\.0", ?' + _ID + rb", ?" + _METHOD + _PARAMS + rb"\}\r?\Z"),
    re.compile(rb"\{" + _METHOD + _PARAMS + rb', ?"jsonrpc": ?"2\.0", ?' + _ID + rb"\}\r?\Z"),
)
_FARTHEST: Final = 120
"""Bytes at the end of a response in which its id is looked for."""


class MessageKind(StrEnum):
    """What a message is."""

    REQUEST = "request"
    NOTIFICATION = "notification"
    RESPONSE = "response"
    BLANK = "blank"


class BadMessage(Exception):
    """A message that is not passed on. `id` is that of the request, if it is certain."""

    def __init__(self, code: int, reason: str, id_: RequestId | None = None) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.id = id_


@dataclass(slots=True)
class ClientMessage:
    """What a client sent. `line` is what may be passed on."""

    kind: MessageKind
    line: bytes
    method: str = ""
    id: RequestId | None = None
    params: JsonObject | None = None

    @property
    def meta(self) -> JsonObject:
        """The `_meta` of a request, {} if it has none."""
        meta = (self.params or {}).get("_meta")
        return meta if isinstance(meta, dict) else {}


@dataclass(slots=True)
class ServerMessage:
    """What a server sent. `body` is None if it is not JSON.

    `ids` are the ids it may be a response to: more than one if two keys are equal.
    """

    body: JsonObject | None
    is_strict: bool
    ids: tuple[Json, ...] = ()

    @property
    def is_response(self) -> bool:
        """Whether some client would take it for a response."""
        return self.body is not None and ("result" in self.body or "error" in self.body or self.is_disguised)

    @property
    def is_disguised(self) -> bool:
        """Whether a key differs from one of JSON-RPC only in its case, which some readers ignore."""
        body = self.body or {}
        if body.keys() <= _MEMBERS:
            return False
        return any(key not in _MEMBERS and key.casefold() in _MEMBERS for key in body)

    @property
    def method(self) -> str:
        """The method of a request or notification, "" otherwise."""
        method = (self.body or {}).get("method")
        return method if isinstance(method, str) else ""


def read_client_line(line: bytes) -> ClientMessage:
    """Reads a line of a client, without the newline at its end. Raises BadMessage if it must not be passed on."""
    if line.strip(b" \t") in (b"", b"\r"):
        return ClientMessage(MessageKind.BLANK, line)
    line = one_line(line)
    try:
        body = read(line, LIMITS)
    except JsonError as error:
        raise BadMessage(PARSE_ERROR, str(error)) from None
    if isinstance(body, list):
        raise BadMessage(INVALID_REQUEST, "batches are not supported: send each message on a line of its own")
    if not isinstance(body, dict) or body.get("jsonrpc") != "2.0":
        raise BadMessage(INVALID_REQUEST, "this is not a JSON-RPC 2.0 message")
    return _client_message(body, line)


def one_line(line: bytes) -> bytes:
    """The same message in which no reader finds the end of a line. Raises BadMessage if there is none."""
    if b"\r" in line[:-1]:
        raise BadMessage(PARSE_ERROR, "there is a carriage return inside the message, where some programs end a line")
    if line.isascii():
        return line
    # In JSON, these characters can only be inside strings, where an escape sequence means the same.
    return _OTHER_LINE_ENDS.sub(lambda found: _ESCAPED[found[0]], line)


def without_returns(line: bytes) -> bytes:
    """A message of a server in which no reader ends a line at a carriage return, where a whole message might follow.

    In JSON, it can only be between tokens, where a space means the same.
    """
    return line[:-1].replace(b"\r", b" ") + line[-1:] if b"\r" in line else line


def plain_request(line: bytes) -> tuple[str, RequestId] | None:
    """The id of a request that can be passed on as it is, for the most common ones; None if it must be read.

    Nothing in such a line can be understood in two ways: it has at most one parameter, and no escape sequence.
    """
    found = _REQUESTS[line.startswith(b'{"m')].match(line)
    if found is None:
        return None
    number, text, method = found.group("number", "text", "method")
    if method not in _PLAIN:
        return None
    return ("number", int(number)) if number else ("text", text.decode())


def _client_message(body: JsonObject, line: bytes) -> ClientMessage:
    id_ = body.get("id")
    known = id_ if is_id(id_) else None
    if "id" in body and known is None:
        raise BadMessage(INVALID_REQUEST, "the id must be a string or a whole number")
    if "method" not in body:
        if known is None or len(body) != 3 or ("result" in body) == ("error" in body):
            raise BadMessage(INVALID_REQUEST, "this is neither a request nor a response")
        return ClientMessage(MessageKind.RESPONSE, line, id=known)
    method, params = body["method"], body.get("params")
    if unknown := sorted(body.keys() - _OF_METHODS):
        raise BadMessage(INVALID_REQUEST, f"a member is unknown: {json.dumps(unknown[0][:100])}", known)
    if not isinstance(method, str) or not method:
        raise BadMessage(INVALID_REQUEST, f"the method is {kind(method)}, not a name", known)
    if "params" in body and not isinstance(params, dict):
        raise BadMessage(INVALID_PARAMS, f"params must be an object, not {kind(params)}", known)
    which = MessageKind.NOTIFICATION if known is None else MessageKind.REQUEST
    return ClientMessage(which, line, method, known, params if isinstance(params, dict) else None)


def is_id(value: Json) -> TypeGuard[RequestId]:
    """Whether a value can be the id of a request. Numbers that readers might round or spell differently cannot."""
    if isinstance(value, str):
        return len(value) <= _LONGEST_ID
    return type(value) is int and -_LARGEST_ID < value < _LARGEST_ID


def id_key(value: Json) -> tuple[str, RequestId] | None:
    """What ids are compared by: 1 and "1" are two ids. None if the value cannot be one."""
    if isinstance(value, str):
        return "text", value
    return ("number", value) if type(value) is int else None


def certain_id(line: bytes) -> tuple[str, RequestId] | None:
    """The id that a line of a server answers, if that is certain without reading all of it; otherwise None.

    The line must begin or end as most servers write it, and there must be no other id in it, however it is written.
    """
    found = _ID_FIRST.match(line)
    if found is None and line.startswith(b'{"result":{'):
        found = _ID_LAST.search(line, max(0, len(line) - _FARTHEST))
    if found is None or b"\\u" in line or b"\r" in line or len(_ANY_ID.findall(line)) != 1:
        return None
    number, text = found.groups()
    return ("number", int(number)) if number else ("text", text.decode())


def read_server_line(line: bytes) -> tuple[ServerMessage, ...]:
    """Reads a line of a server, without the newline at its end. A batch has several messages."""
    try:
        value = read(line, LIMITS)
    except JsonError:
        return _read_loosely(line)
    if isinstance(value, list):
        return tuple(_server_message(item, is_strict=True) for item in value)
    return (_server_message(value, is_strict=True),)


class _Pairs(dict[str, Json]):
    """An object that remembers all its pairs, also those with equal keys."""

    ids: tuple[Json, ...] = ()


def _read_loosely(line: bytes) -> tuple[ServerMessage, ...]:
    """Reads what the standard library accepts, which is about what the most tolerant clients accept."""

    def gather(pairs: list[tuple[str, Json]]) -> JsonObject:
        made = _Pairs(pairs)
        made.ids = tuple(value for key, value in pairs if key == "id")
        return made

    try:
        value = json.loads(line.decode("utf-8-sig", "replace"), object_pairs_hook=gather)
    except (ValueError, RecursionError):
        return (ServerMessage(None, is_strict=False),)
    items = value if isinstance(value, list) else [value]
    return tuple(_server_message(item, is_strict=False) for item in items)


def _server_message(value: Json, *, is_strict: bool) -> ServerMessage:
    if not isinstance(value, dict):
        return ServerMessage(None, is_strict)
    ids = value.ids if isinstance(value, _Pairs) else (value["id"],) if "id" in value else ()
    return ServerMessage(value, is_strict, ids)


def is_modern(meta: Mapping[str, Json]) -> bool:
    """Whether a request with this `_meta` is of a revision without a handshake."""
    version = meta.get(VERSION_KEY)
    return isinstance(version, str) and version >= MODERN


def written(body: JsonObject) -> bytes:
    """A message as a line, in ASCII, so that no reader can find another line in it."""
    return json.dumps(body, separators=(",", ":")).encode() + b"\n"


def request_line(id_: RequestId, method: str, params: JsonObject) -> bytes:
    """A request as a line."""
    return written({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})


def notification_line(method: str, params: JsonObject) -> bytes:
    """A notification as a line."""
    return written({"jsonrpc": "2.0", "method": method, "params": params})


def error_line(id_: RequestId | None, code: int, message: str) -> bytes:
    """An error response as a line."""
    return written({"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}})


def tool_error_line(id_: RequestId, text: str, *, modern: bool) -> bytes:
    """The result of a tool that failed, as a line. Agents read the text of such a result."""
    result: JsonObject = {"content": [{"type": "text", "text": text}], "isError": True}
    if modern:
        result["resultType"] = "complete"
    return written({"jsonrpc": "2.0", "id": id_, "result": result})

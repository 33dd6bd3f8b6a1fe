"""A request of an MCP client that is asked about: what the operator is shown, and what is sent if it is approved.

Only the approved arguments are sent, written anew, with the members that belong to the protocol. Whatever else a client
adds is refused or left out.
"""

from typing import Final

from aileron_tui.core.jsontext import Json, JsonError, JsonObject, kind, with_canonical_numbers
from aileron_tui.core.mcp_messages import (
    CALL,
    INVALID_PARAMS,
    BadMessage,
    ClientMessage,
    RequestId,
    is_modern,
    request_line,
)
from aileron_tui.core.tool_names import BESIDE_ARGS
from aileron_tui.core.values import dataclass

METHOD_PREFIX: Final = "(method) "
"""What the name of a request that is no tool call begins with where the name of a tool is shown."""

_OF_CALLS: Final = frozenset({"name", "arguments", "_meta", "task", "inputResponses", "requestState"})
_EXTRAS: Final = {name: BESIDE_ARGS + name for name in ("task", "inputResponses", "requestState")}
"""Members of a call beside its arguments, and what they are called where arguments are shown."""

_RESERVED: Final = frozenset(_EXTRAS.values())
_PROTOCOL_KEYS: Final = frozenset(
    f"io.modelcontextprotocol/{name}"
    for name in ("protocolVersion", "clientInfo", "clientCapabilities", "logLevel", "related-task")
)
_TRACE_KEYS: Final = frozenset({"traceparent", "tracestate", "baggage"})
_LONGEST_NAME: Final = 200
_KINDS: Final[dict[str, type]] = {"task": dict, "inputResponses": dict, "requestState": str}


@dataclass(frozen=True, slots=True)
class AskedCall:
    """A request that is asked about.

    `tool` is the name of the tool, or of another request with a prefix. `args` are its arguments with those members of
    the call that the server acts on.
    """

    id: RequestId
    method: str
    tool: str
    args: JsonObject
    meta: JsonObject
    has_arguments: bool = True
    is_task: bool = False

    @property
    def is_tool(self) -> bool:
        """Whether it is a call of a tool."""
        return self.method == CALL

    @property
    def is_modern(self) -> bool:
        """Whether it is of a revision without a handshake."""
        return is_modern(self.meta)

    @property
    def progress_token(self) -> RequestId | None:
        """What the client wants to be told about progress with."""
        token = self.meta.get("progressToken")
        return token if isinstance(token, str) or type(token) is int else None

    def approved_line(self, args: JsonObject) -> bytes:
        """The request with the approved arguments, as a line for the server."""
        params: JsonObject = {}
        if self.is_tool:
            extras = {member: args[shown] for member, shown in _EXTRAS.items() if shown in args}
            arguments: JsonObject = {name: value for name, value in args.items() if name not in _RESERVED}
            params = {"name": self.tool}
            if self.has_arguments or arguments:
                params["arguments"] = arguments
            params |= extras
        else:
            params = dict(args)
        if self.meta:
            params["_meta"] = self.meta
        return request_line(self.id, self.method, params)


def read_call(message: ClientMessage) -> AskedCall:
    """Reads a request that must be asked about. Raises BadMessage."""
    id_, params = message.id, message.params or {}
    if id_ is None:
        raise TypeError("only a request can be asked about")
    try:
        if message.method != CALL:
            return _other_request(id_, message, params)
        return _tool_call(id_, params)
    except JsonError as error:
        raise BadMessage(INVALID_PARAMS, str(error), id_) from None


def protocol_meta(meta: JsonObject, *, with_token: bool = True) -> JsonObject:
    """The part of `_meta` that belongs to the protocol. Nobody is shown the rest, so no server gets it."""
    return {key: value for key, value in meta.items() if _is_of_protocol(key, value, with_token=with_token)}


def _is_of_protocol(key: str, value: Json, *, with_token: bool) -> bool:
    if key == "progressToken":
        return with_token and (isinstance(value, str) or type(value) is int)
    return key in _PROTOCOL_KEYS or (key in _TRACE_KEYS and isinstance(value, str))


def _other_request(id_: RequestId, message: ClientMessage, params: JsonObject) -> AskedCall:
    args = with_canonical_numbers({key: value for key, value in params.items() if key != "_meta"})
    tool = METHOD_PREFIX + message.method
    if len(tool) > _LONGEST_NAME:
        raise JsonError("the name of the method is too long", "$.method")
    return AskedCall(id_, message.method, tool, args, _meta(params))


def _tool_call(id_: RequestId, params: JsonObject) -> AskedCall:
    if unknown := sorted(params.keys() - _OF_CALLS):
        raise JsonError(f"an unknown member: {unknown[0][:100]!a}", "$.params")
    name, arguments = params.get("name"), params.get("arguments", {})
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME or name.startswith(METHOD_PREFIX):
        raise JsonError(f"a name of 1 to {_LONGEST_NAME} characters is needed", "$.params.name")
    if not isinstance(arguments, dict):
        raise JsonError(f"expected an object, found {kind(arguments)}", "$.params.arguments")
    if taken := sorted(arguments.keys() & _RESERVED):
        raise JsonError(f"no argument can be called {taken[0]}", "$.params.arguments")
    args = dict(arguments)
    for member, shown in _EXTRAS.items():
        if (value := params.get(member)) is None:
            continue
        if not isinstance(value, _KINDS[member]):
            raise JsonError(f"unexpected: {kind(value)}", f"$.params.{member}")
        args[shown] = value
    args = with_canonical_numbers(args)
    has_arguments = "arguments" in params
    return AskedCall(id_, CALL, name, args, _meta(params), has_arguments, params.get("task") is not None)


def _meta(params: JsonObject) -> JsonObject:
    meta = params.get("_meta", {})
    if not isinstance(meta, dict):
        raise JsonError(f"expected an object, found {kind(meta)}", "$.params._meta")
    return protocol_meta(meta)

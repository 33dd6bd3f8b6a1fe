"""The MCP proxy: passes messages on between a client and a server, and holds the calls that must be asked about.

It knows no processes and no sockets: lines come in, and lines go out through `Lines`. What is not gated is passed on
with its exact bytes.
"""

import time
from typing import Final, Protocol

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.mcp_calls import read_call
from aileron_tui.core.mcp_listings import ToolFault, ToolListings
from aileron_tui.core.mcp_messages import (
    CANCELLED,
    HARMLESS_NOTIFICATIONS,
    HARMLESS_REQUESTS,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LIST,
    LIST_CHANGED,
    NOT_ALLOWED,
    BadMessage,
    ClientMessage,
    MessageKind,
    RequestId,
    ServerMessage,
    certain_id,
    error_line,
    id_key,
    one_line,
    plain_request,
    read_client_line,
    read_server_line,
    tool_error_line,
    without_returns,
    written,
)
from aileron_tui.doors.mcp_gated_calls import Asker, GatedCalls, ProxySetting
from aileron_tui.doors.mcp_held_call import HeldCall
from aileron_tui.doors.mcp_own_requests import OwnRequests
from aileron_tui.doors.mcp_questions import Allowed

UNKNOWN: Final = "it is not known whether the call took effect"
_CANCEL_SECONDS: Final = 5.0
"""How long the server may still answer a call that its client cancelled."""

_NEVER: Final = float("inf")
_MOST_OPEN: Final = 10_000
_NOT_PASSED_ON: Final = "aileron-tui did not pass this message on"

IdKey = tuple[str, RequestId]


class Lines(Protocol):
    """Where the proxy writes to. Every line ends with a newline."""

    def to_client(self, line: bytes) -> None:
        """Sends a line to the client."""

    def to_server(self, line: bytes) -> None:
        """Sends a line to the server."""

    def note(self, text: str) -> None:
        """Tells the user of the client something, on standard error."""


class _Sent:
    """A request of the client that the server has. A gated call has a grant."""

    __slots__ = ("cursor", "grant", "held", "is_cancelled", "is_plain")

    def __init__(self, held: HeldCall | None = None, grant: Allowed | None = None, cursor: str | None = None) -> None:
        self.held = held
        self.grant = grant
        self.cursor = cursor
        self.is_plain = grant is None and cursor is None


class McpProxy:
    """One connection of a client to a server. Must only be used from one thread."""

    def __init__(self, lines: Lines, asker: Asker, setting: ProxySetting) -> None:
        self._lines = lines
        self._asker = asker
        self._open: dict[IdKey, HeldCall | _Sent] = {}
        self._cancelled: dict[IdKey, float] = {}
        self._listings = ToolListings()
        self._own = OwnRequests(lines.to_server)
        self._calls = GatedCalls(setting, asker, self, self._own, self._listings)

    # from the client

    def from_client(self, line: bytes, end: bytes = b"\n") -> None:
        """Takes a line of the client. `end` is the newline after it, b"" for the rest at the end of the input."""
        key = plain_request(line)
        if key is not None and key not in self._open and len(self._open) < _MOST_OPEN and not self._own.owns(key[1]):
            self._open[key] = _Sent()
            self._lines.to_server(line + end)
            return
        try:
            message = read_client_line(line)
            match message.kind:
                case MessageKind.REQUEST:
                    self._request(message, end)
                case MessageKind.NOTIFICATION:
                    self._notification(message, end)
                case _:
                    self._lines.to_server(message.line + end)
        except BadMessage as bad:
            is_open = bad.id is not None and id_key(bad.id) in self._open
            text = f"{_NOT_PASSED_ON}: {bad.reason}"
            self._lines.to_client(error_line(None if is_open else bad.id, bad.code, text))

    def _request(self, message: ClientMessage, end: bytes) -> None:
        key = id_key(message.id)
        if key is None or self._own.owns(message.id):
            raise BadMessage(INVALID_REQUEST, "the id cannot be used")
        if key in self._open:  # also if it was cancelled: its answer may come later, and would count for this one
            raise BadMessage(INVALID_REQUEST, "a request with the same id has not been answered yet")
        if len(self._open) >= _MOST_OPEN:
            raise BadMessage(INVALID_REQUEST, "too many requests have not been answered yet", message.id)
        if message.method not in HARMLESS_REQUESTS:
            asked = read_call(message)
            self._open[key] = held = self._calls.hold(asked)
            self._calls.begin(held)
            return
        cursor = (message.params or {}).get("cursor", "") if message.method == LIST else None
        if cursor is not None and not isinstance(cursor, str):
            raise BadMessage(INVALID_PARAMS, "the cursor must be a string", message.id)
        self._open[key] = _Sent(cursor=cursor)
        self._lines.to_server(message.line + end)

    def _notification(self, message: ClientMessage, end: bytes) -> None:
        if message.method not in HARMLESS_NOTIFICATIONS:
            self._lines.note(f"{_NOT_PASSED_ON}: a notification that is not part of the protocol")
            return
        if message.method == CANCELLED and not self._cancel((message.params or {}).get("requestId")):
            return
        self._lines.to_server(message.line + end)

    def _cancel(self, id_: Json) -> bool:
        """Cancels a request; returns whether the server must be told."""
        key = id_key(id_)
        found = self._open.get(key) if key else None
        if key is None or self._own.owns(id_):
            return False
        if isinstance(found, HeldCall):
            del self._open[key]
            self._calls.cancel(found)
            return False
        if found is not None and found.grant is not None:
            self._cancelled[key] = time.monotonic() + _CANCEL_SECONDS
        return True

    # from the server

    def from_server(self, line: bytes, end: bytes = b"\n") -> None:
        """Takes a line of the server. `end` is the newline after it, b"" for the rest at the end of its output."""
        if (key := certain_id(line)) and isinstance(sent := self._open.get(key), _Sent) and sent.is_plain:
            del self._open[key]
            self._lines.to_client(line + end)
            return
        messages = read_server_line(line)
        passed = [self._passed(message, line) for message in messages]
        if passed.count(None) == len(passed):
            self._lines.to_client(without_returns(line) + end)
            return
        for message, instead in zip(messages, passed, strict=True):
            if instead is None and message.body is not None:
                self._lines.to_client(written(message.body))
            elif instead:
                self._lines.to_client(instead)

    def _passed(self, message: ServerMessage, line: bytes) -> bytes | None:
        """None if a message is passed on as it is; otherwise what is sent instead, which may be nothing."""
        if message.body is None:
            if b"{" in line:  # it may be a response or a list of tools that only the client can read
                self._lines.note("a line of the server cannot be read and was dropped")
                return b""
            return None
        if message.is_response or not message.method:
            return self._response(message, line)
        if message.method == LIST_CHANGED:
            self._listings.changed()
        return None

    def _response(self, message: ServerMessage, line: bytes) -> bytes | None:
        body = message.body or {}
        if message.ids == (None,) and "error" in body and "result" not in body and not message.is_disguised:
            return None
        key = id_key(message.ids[0]) if len(message.ids) == 1 and not message.is_disguised else None
        if key is None:
            self._lines.note("a response of the server can be understood in two ways and was dropped")
            return b""
        if self._own.owns(key[1]):
            self._own.take(str(key[1]), message)
            return b""
        sent = self._open.get(key)
        if not isinstance(sent, _Sent):
            self._lines.note("a response of the server answers no request and was dropped")
            return b""
        del self._open[key]
        if sent.grant is not None:
            self._cancelled.pop(key, None)
            if not _has_only_begun(body):  # then its end is not reported, and it stays handed over
                self._asker.report(sent.grant.id, sent.grant.args, _failure(body))
        return self._list(key[1], sent.cursor, message, line) if sent.cursor is not None else None

    def _list(self, id_: RequestId, cursor: str, message: ServerMessage, line: bytes) -> bytes | None:
        """Takes a list of tools. The client gets it only if both understand the same."""
        body = message.body or {}
        if message.is_strict and "error" in body and "result" not in body:
            return None
        try:
            if not message.is_strict or "error" in body:
                raise ToolFault("the list of tools can be understood in two ways")
            whole = one_line(line)
            self._listings.add_client_page(cursor, body.get("result"))
        except (ToolFault, BadMessage) as error:
            return error_line(id_, NOT_ALLOWED, f"{_NOT_PASSED_ON}: {error}")
        return None if whole == line else whole + b"\n"

    # what gated calls need

    def refuse(self, held: HeldCall, text: str) -> None:
        """Answers a call that was not made."""
        asked = held.asked
        self._open.pop(_key(asked.id), None)
        if asked.is_tool and not asked.is_task:
            self._lines.to_client(tool_error_line(asked.id, text, modern=asked.is_modern))
        else:
            self._lines.to_client(error_line(asked.id, NOT_ALLOWED, text))

    def forward(self, held: HeldCall, grant: Allowed) -> None:
        """Sends an approved call to the server."""
        self._open[_key(held.asked.id)] = _Sent(held, grant)
        self._lines.to_server(held.asked.approved_line(grant.args))

    def notify(self, line: bytes) -> None:
        """Sends a notification to the client."""
        self._lines.to_client(line)

    def input_schema(self, tool: str) -> Json:
        """The schema of a tool's arguments, as the server listed it last."""
        try:
            return self._listings.versions(tool)[-1].definition.get("inputSchema")
        except ToolFault:
            return None

    # time and ends

    def tick(self, now: float) -> None:
        """Does what is due."""
        self._own.expire(now)
        self._calls.tick(now)
        if not self._cancelled:
            return
        for key in [key for key, end in self._cancelled.items() if end <= now]:
            del self._cancelled[key]
            sent = self._open.get(key)
            if isinstance(sent, _Sent) and sent.grant is not None:
                self._open[key] = _Sent()  # its answer may still come
                self._asker.report(sent.grant.id, sent.grant.args, f"the client cancelled the call: {UNKNOWN}")

    def next_time(self, now: float) -> float:
        """When `tick` has something to do."""
        return min(self._own.next_time(), self._calls.next_time(now), min(self._cancelled.values(), default=_NEVER))

    @property
    def is_timed(self) -> bool:
        """Whether `tick` will ever have something to do, as things are now."""
        return bool(self._cancelled) or self._calls.is_timed or self._own.is_timed

    def client_left(self) -> None:
        """The client is gone: withdraws what waits."""
        self._calls.refuse_all("Nothing was run: the client ended the connection.")
        self._calls.close()

    def lost(self, id_: RequestId, problem: str, *, is_sent: bool) -> None:
        """A server that is reached over HTTP will not answer this request."""
        if self._own.owns(id_):
            self._own.fail(str(id_), problem)
            return
        sent = self._open.pop(_key(id_), None)
        if not isinstance(sent, _Sent):
            return
        if sent.held is None or sent.grant is None:
            self._lines.to_client(error_line(id_, NOT_ALLOWED, f"aileron-tui: {problem}"))
        else:
            self._give_up(sent.held, sent.grant, problem, is_sent=is_sent)

    def _give_up(self, held: HeldCall, grant: Allowed, reason: str, *, is_sent: bool) -> None:
        if is_sent:
            self._asker.report(grant.id, grant.args, f"{reason}: {UNKNOWN}")
            self.refuse(held, f"Outcome unknown: {reason}, so {UNKNOWN}. Check before you make it again.")
        else:
            self._asker.report(grant.id, grant.args, f"nothing was run: {reason}")
            self.refuse(held, f"Nothing was run: {reason}.")

    def server_left(self, reason: str) -> None:
        """The server is gone: answers the calls that it can no longer answer."""
        self._own.close(reason)
        for sent in list(self._open.values()):
            if isinstance(sent, _Sent) and sent.held is not None and sent.grant is not None:
                self._give_up(sent.held, sent.grant, reason, is_sent=True)
        self._calls.refuse_all(f"Nothing was run: {reason}.")
        self._calls.close()


def _key(id_: RequestId) -> IdKey:
    return ("text", id_) if isinstance(id_, str) else ("number", id_)


def _has_only_begun(body: JsonObject) -> bool:
    """Whether a server answered with a task that it goes on working on."""
    result = body.get("result")
    return isinstance(result, dict) and (isinstance(result.get("task"), dict) or result.get("resultType") == "task")


def _failure(body: JsonObject) -> str:
    """Why a call failed, as the server says; "" if it did not."""
    error, result = body.get("error"), body.get("result")
    if isinstance(error, dict):
        message = error.get("message")
        return f"the server answered with an error: {message if isinstance(message, str) else 'it gives no reason'}"
    if not isinstance(result, dict):
        return "the server sent an invalid response"
    if result.get("resultType") == "input_required":
        return "the server answered that it needs more input; the agent must make the call again with it"
    if result.get("isError") is not True:
        return ""
    content = result.get("content")
    items = content if isinstance(content, list) else []
    texts = [item["text"] for item in items if isinstance(item, dict) and isinstance(item.get("text"), str)]
    return " ".join(map(str, texts)) or "the server says that the tool failed"

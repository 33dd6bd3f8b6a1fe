"""An MCP server behind the proxy that is reached over streamable HTTP. Each request waits in a thread of its own."""

import http.client
import json
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Final, Protocol

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.mcp_http import (
    StreamEvent,
    as_line,
    content_type,
    events,
    header_value,
    message_headers,
    read_url,
)
from aileron_tui.core.mcp_messages import CALL, CANCELLED, INITIALIZE, INITIALIZED, LONGEST_LINE, RequestId, id_key
from aileron_tui.core.values import dataclass

_CONNECT_SECONDS: Final = 15.0
_ANSWER_SECONDS: Final = 24 * 3600.0
_CLOSE_SECONDS: Final = 2.0
_FULL_SECONDS: Final = 0.05
_MOST_RETRIES: Final = 5
_LONGEST_SESSION: Final = 1024
_JSON: Final = "application/json"
_STREAM: Final = "text/event-stream"
_REFUSALS: Final = frozenset((401, 403, 404, 405, 413, 415, 421, 429))
"""Statuses that say that a server did not look at what it was sent."""

_REJECTED: Final = "the server refused the request"


class ClientSide(Protocol):
    """The loop that writes to the client, which is in another thread."""

    def post(self, work: Callable[[], None]) -> None:
        """Hands over work."""

    @property
    def is_full(self) -> bool:
        """Whether so much waits for the client that it should be sent no more."""


class Replies(Protocol):
    """What takes the messages of the server."""

    def from_server(self, line: bytes, end: bytes = b"\n") -> None:
        """Takes a message."""

    def lost(self, id_: RequestId, problem: str, *, is_sent: bool) -> None:
        """A request will not be answered."""

    def input_schema(self, tool: str) -> Json:
        """The schema of a tool's arguments, as it is pinned."""


@dataclass(frozen=True, slots=True)
class _Outgoing:
    """A message for the server. `headers` repeat parts of it, in revisions that want that."""

    body: JsonObject
    line: bytes
    headers: dict[str, str]

    @property
    def is_handshake(self) -> bool:
        return self.body.get("method") == INITIALIZE


class _Lost(Exception):
    """A request that will not be answered. `is_sent` means that the server may have it."""

    def __init__(self, problem: str, *, is_sent: bool) -> None:
        super().__init__(problem)
        self.problem = problem
        self.is_sent = is_sent


class _Exchange:
    """One HTTP request, which another thread can end."""

    def __init__(self, *, modern: bool) -> None:
        self.connection: http.client.HTTPConnection | None = None
        self.is_aborted = False
        self.is_modern = modern

    def abort(self) -> None:
        self.is_aborted = True
        if self.connection is not None and (open_ := self.connection.sock) is not None:
            with suppress(OSError):
                open_.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()


class HttpServer:
    """Sends the messages of a client to a server, and passes on what it answers."""

    def __init__(self, url: str, bearer: str, client: ClientSide, replies: Replies) -> None:
        self._url = read_url(url)
        self._bearer = bearer
        self._client = client
        self._replies = replies
        self._session = ""
        self._version = ""
        self._is_closed = False
        self._lines: queue.SimpleQueue[_Outgoing | None] = queue.SimpleQueue()
        self._running: dict[tuple[str, RequestId] | None, _Exchange] = {}
        self._started = threading.Thread(target=self._send_in_order, name="messages", daemon=True)
        self._started.start()

    def send(self, line: bytes) -> None:
        """Sends a message. A blank line is none."""
        if not line.strip():
            return
        body: JsonObject = json.loads(line)
        params = body.get("params")
        name = params.get("name") if isinstance(params, dict) else None
        schema = self._replies.input_schema(name) if body.get("method") == CALL and isinstance(name, str) else None
        self._lines.put(_Outgoing(body, line.rstrip(b"\n"), message_headers(body, schema)))

    def close(self) -> None:
        """Ends the session and every request."""
        self._is_closed = True
        self._lines.put(None)
        for exchange in list(self._running.values()):
            exchange.abort()
        if self._session:
            with suppress(OSError, http.client.HTTPException, _Lost):
                connection = self._connect(_CLOSE_SECONDS)
                with closing(connection):
                    connection.request("DELETE", self._url.path, headers=self._headers({}))
                    connection.getresponse().read(0)

    # sending

    def _send_in_order(self) -> None:
        """Sends notifications and responses one after the other, and each request after those before it."""
        while (message := self._lines.get()) is not None:
            if "method" not in message.body or "id" not in message.body:
                self._notify(message)
            elif message.is_handshake:
                self._request(message)
            else:
                threading.Thread(target=self._request, args=(message,), name="request", daemon=True).start()

    def _notify(self, message: _Outgoing) -> None:
        body = message.body
        if body.get("method") == CANCELLED and self._is_cancelled_here(body):
            return
        exchange = _Exchange(modern=False)
        with suppress(_Lost):
            self._read(self._exchange(exchange, message))
        exchange.close()
        if body.get("method") == INITIALIZED:
            threading.Thread(target=self._listen, name="stream", daemon=True).start()

    def _is_cancelled_here(self, body: JsonObject) -> bool:
        """Ends a request of a revision in which the end of the connection is what cancels a request."""
        params = body.get("params")
        id_ = params.get("requestId") if isinstance(params, dict) else None
        exchange = self._running.get(id_key(id_))
        if exchange is None or not exchange.is_modern:
            return False
        exchange.abort()
        return True

    def _request(self, message: _Outgoing) -> None:
        id_ = message.body["id"]
        if not isinstance(id_, str | int):
            return
        exchange = _Exchange(modern=bool(message.headers))
        key = id_key(id_)
        self._running[key] = exchange
        try:
            self._answer(exchange, message, id_)
        except _Lost as lost:
            if not exchange.is_aborted:
                problem, is_sent = lost.problem, lost.is_sent
                self._client.post(lambda: self._replies.lost(id_, problem, is_sent=is_sent))
        finally:
            self._running.pop(key, None)
            exchange.close()

    def _answer(self, exchange: _Exchange, sent: _Outgoing, id_: RequestId) -> None:
        """Passes on everything up to the response."""
        response = self._exchange(exchange, sent)
        kind = content_type(_lower(response))
        if response.status == 200 and kind == _STREAM:
            self._follow(exchange, response, id_, sent.is_handshake)
            return
        data = self._read(response)
        message = _message(data) if kind == _JSON else None
        if response.status == 200 and message is not None:
            self._deliver(data, message, id_, sent.is_handshake)
            if not _answers(message, id_):
                raise _Lost("the server answered something else", is_sent=True)
            return
        if response.status >= 400:
            error = message.get("error") if isinstance(message, dict) else None
            if isinstance(error, dict):
                self._pass_on(json.dumps({"jsonrpc": "2.0", "id": id_, "error": error}).encode())
                return
            raise _Lost(f"{_REJECTED} (status {response.status})", is_sent=response.status not in _REFUSALS)
        raise _Lost(f"the server answered with status {response.status}", is_sent=True)

    def _follow(self, exchange: _Exchange, response: http.client.HTTPResponse, id_: RequestId, handshake: bool) -> None:
        """Reads a stream until the response has come; opens it again if the server says how."""
        last = ""
        for attempt in range(_MOST_RETRIES):
            wait = 1.0
            for event in self._events(response):
                last = event.id or last
                wait = wait if event.retry is None else event.retry
                message = _message(event.data) if event.data else None
                if event.data:
                    self._deliver(event.data, message, id_, handshake)
                if _answers(message, id_):
                    return
            if not last or self._is_closed or exchange.is_aborted or attempt == _MOST_RETRIES - 1:
                break
            time.sleep(min(wait, 10.0))
            response = self._open_stream(exchange, last)
        raise _Lost("the server ended the stream before it answered", is_sent=True)

    def _listen(self) -> None:
        """Takes what the server sends by itself, in revisions with a handshake."""
        last, failures = "", 0
        while not self._is_closed and failures < _MOST_RETRIES:
            exchange = _Exchange(modern=False)
            self._running[None] = exchange
            wait = 1.0
            try:
                response = self._open_stream(exchange, last)
                if response.status != 200 or content_type(_lower(response)) != _STREAM:
                    return
                for event in self._events(response):
                    failures = 0
                    last, wait = event.id or last, wait if event.retry is None else event.retry
                    if event.data:
                        self._deliver(event.data, _message(event.data), None)
            except _Lost:
                pass
            finally:
                exchange.close()
            failures += 1
            time.sleep(min(wait, 10.0))

    # HTTP

    def _exchange(self, exchange: _Exchange, message: _Outgoing) -> http.client.HTTPResponse:
        headers = self._headers(message.headers) | {"Content-Type": _JSON}
        return self._send_request(exchange, "POST", headers, message.line)

    def _open_stream(self, exchange: _Exchange, last: str) -> http.client.HTTPResponse:
        headers = self._headers({}) | {"Accept": _STREAM}
        return self._send_request(exchange, "GET", headers | ({"Last-Event-ID": last} if last else {}), None)

    def _send_request(
        self, exchange: _Exchange, method: str, headers: dict[str, str], data: bytes | None
    ) -> http.client.HTTPResponse:
        is_sent = False
        exchange.close()
        try:
            connection = exchange.connection = self._connect(_CONNECT_SECONDS)
            if exchange.is_aborted:
                raise _Lost("the request was cancelled", is_sent=False)
            is_sent = True
            connection.request(method, self._url.path, data, headers)
            if connection.sock is not None:
                connection.sock.settimeout(_ANSWER_SECONDS)
            response = connection.getresponse()
        except (OSError, http.client.HTTPException, ValueError) as error:
            where = self._url.address.url
            reason = str(error) or type(error).__name__
            what = "did not answer" if is_sent else "cannot be reached"
            raise _Lost(f"the server at {where} {what} ({reason})", is_sent=is_sent) from None
        session = response.headers.get("Mcp-Session-Id", "")
        if session and session.isascii() and session.isprintable() and len(session) <= _LONGEST_SESSION:
            self._session = session
        return response

    def _connect(self, seconds: float) -> http.client.HTTPConnection:
        address = self._url.address
        kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
        connection = kind(address.host, address.port, timeout=seconds)
        connection.connect()
        return connection

    def _headers(self, of_message: dict[str, str]) -> dict[str, str]:
        headers = {"Accept": f"{_JSON}, {_STREAM}"}
        if self._bearer:
            headers["Authorization"] = f"Bearer {self._bearer}"
        if self._session:
            headers["Mcp-Session-Id"] = self._session
        if self._version:
            headers["MCP-Protocol-Version"] = self._version
        return headers | of_message

    def _read(self, response: http.client.HTTPResponse) -> bytes:
        try:
            data = response.read(LONGEST_LINE + 1)
        except (OSError, http.client.HTTPException) as error:
            raise _Lost(f"the answer of the server broke off ({error})", is_sent=True) from None
        if len(data) > LONGEST_LINE:
            raise _Lost("the answer of the server is too long", is_sent=True)
        return data

    def _events(self, response: http.client.HTTPResponse) -> Iterator[StreamEvent]:
        """The events of a stream, until it ends or breaks off."""
        with suppress(OSError, http.client.HTTPException, ValueError):
            yield from events(_stream_lines(response))

    # messages

    def _deliver(self, data: bytes, message: Json, id_: RequestId | None, handshake: bool = False) -> None:
        if handshake and isinstance(message, dict) and _answers(message, id_):
            self._note_version(message)
        self._pass_on(data)

    def _note_version(self, message: JsonObject) -> None:
        result = message.get("result")
        version = result.get("protocolVersion") if isinstance(result, dict) else None
        if isinstance(version, str) and version.isascii():
            self._version = header_value(version)

    def _pass_on(self, data: bytes) -> None:
        """Hands a message over, and waits until the client reads: what a server sends does not pile up here."""
        line = as_line(data)
        taken = threading.Event()

        def take() -> None:
            taken.set()
            self._replies.from_server(line)

        self._client.post(take)
        while not self._is_closed and (not taken.wait(_FULL_SECONDS) or self._client.is_full):
            time.sleep(_FULL_SECONDS)


def _stream_lines(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """The lines of a stream without their ends. A line that is too long ends the stream."""
    while line := response.readline(LONGEST_LINE):
        if not line.endswith(b"\n"):
            return
        yield line.rstrip(b"\n").removesuffix(b"\r")


def _message(data: bytes) -> JsonObject | list[Json] | None:
    try:
        value: Json = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _answers(message: Json, id_: RequestId | None) -> bool:
    items = message if isinstance(message, list) else [message]
    return any(
        isinstance(item, dict) and ("result" in item or "error" in item) and id_key(item.get("id")) == id_key(id_)
        for item in items
    )


def _lower(response: http.client.HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}

"""MCP servers over HTTP behind the proxy: sessions, streams, and answers that do not come."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import repeat
from queue import Empty, Queue
from typing import Any

import pytest

from aileron_tui.core import mcp_http
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.doors.mcp_http_server import HttpServer
from tests.doors.proxy_harness import MODERN_META

SECONDS = 10
RESULT = {"jsonrpc": "2.0", "id": 1, "result": {"ok": True}}
Reply = Callable[["Handler", JsonObject], None]


class Handler(BaseHTTPRequestHandler):
    """Answers as the test says, and keeps what arrived."""

    protocol_version = "HTTP/1.1"
    reply: Reply
    received: "list[tuple[str, dict[str, str], JsonObject]]"

    def log_message(self, *_: object) -> None:
        """Logs nothing."""

    def do_POST(self) -> None:
        """Takes a message."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.received.append(("POST", dict(self.headers), body))
        type(self).reply(self, body)

    def do_GET(self) -> None:
        """Has a stream only for those who continue one."""
        self.received.append(("GET", dict(self.headers), {}))
        if "Last-Event-ID" in self.headers:
            self.stream(sse(RESULT))
        else:
            self.answer(405)

    def do_DELETE(self) -> None:
        """Ends a session."""
        self.received.append(("DELETE", dict(self.headers), {}))
        self.answer(200)

    def answer(self, status: int, value: object = None, **headers: str) -> None:
        """Sends a response with a JSON body."""
        data = b"" if value is None else json.dumps(value, indent=1).encode()
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name.replace("_", "-"), text)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def hang_up(self) -> None:
        """Ends the connection without a response."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def stream(self, *events: bytes) -> None:
        """Sends events and ends the stream."""
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in events:
            self.wfile.write(event)


def sse(message: object, id_: str = "") -> bytes:
    """A message as an event."""
    return (f"id: {id_}\n" if id_ else "").encode() + f"data: {json.dumps(message)}\n\n".encode()


@dataclass
class Far:
    """A server over HTTP, and what the proxy got from it."""

    server: HttpServer
    received: list[tuple[str, dict[str, str], JsonObject]]
    lines: "Queue[Any]" = field(default_factory=Queue)
    is_full: bool = False

    def post(self, work: Callable[[], None]) -> None:
        """Does it at once."""
        work()

    def from_server(self, line: bytes, end: bytes = b"\n") -> None:
        """Keeps a message."""
        assert b"\n" not in line
        self.lines.put(json.loads(line))

    def lost(self, id_: int | str, problem: str, *, is_sent: bool) -> None:
        """Keeps what was lost."""
        self.lines.put((id_, problem, is_sent))

    def input_schema(self, tool: str) -> Json:
        """There is none."""
        del tool
        return None

    def send(self, id_: object, method: str = "ping", **params: Any) -> None:
        """Sends a message."""
        body: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        self.server.send(json.dumps(body | ({} if id_ is None else {"id": id_})).encode() + b"\n")

    def next(self) -> Any:
        """What came next."""
        return self.lines.get(timeout=SECONDS)


@contextmanager
def listening(reply: Reply) -> Iterator[tuple[str, list[tuple[str, dict[str, str], JsonObject]]]]:
    """A server that listens on this machine: its URL, and what arrives there."""
    received: list[tuple[str, dict[str, str], JsonObject]] = []
    handler = type("Own", (Handler,), {"reply": staticmethod(reply), "received": received})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as made:
        made.daemon_threads = True
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{made.server_address[1]}/mcp", received
        finally:
            made.shutdown()
            thread.join()


@contextmanager
def far(reply: Reply, bearer: str = "") -> Iterator[Far]:
    """The proxy's side of a server that listens on this machine."""
    with listening(reply) as (url, received):
        made = Far.__new__(Far)
        Far.__init__(made, HttpServer(url, bearer, made, made), received)
        try:
            yield made
        finally:
            made.server.close()


def ok(handler: Handler, body: JsonObject) -> None:
    """Answers every message."""
    if "id" in body:
        handler.answer(200, {"jsonrpc": "2.0", "id": body["id"], "result": {"protocolVersion": "2025-11-25"}})
    else:
        handler.answer(202)


def test_a_session_is_kept_and_ended() -> None:
    def reply(handler: Handler, body: JsonObject) -> None:
        if body.get("method") == "initialize":
            result = {"protocolVersion": "2025-11-25"}
            handler.answer(200, {"jsonrpc": "2.0", "id": body["id"], "result": result}, Mcp_Session_Id="s-1")
        else:
            ok(handler, body)

    with far(reply, bearer="secret") as server:
        server.send(0, "initialize")
        assert server.next()["id"] == 0
        server.send(None, "notifications/initialized")
        server.send(1)
        assert server.next()["id"] == 1
    first, *others = server.received
    assert first[1]["Authorization"] == "Bearer secret"
    assert "Mcp-Session-Id" not in first[1]
    assert {headers["Mcp-Session-Id"] for _, headers, _ in others} == {"s-1"}
    assert {headers["MCP-Protocol-Version"] for _, headers, _ in others} == {"2025-11-25"}
    assert [body.get("method") for _, _, body in others][:1] == ["notifications/initialized"]
    assert others[-1][0] == "DELETE"


def test_modern_messages_have_their_headers() -> None:
    with far(ok) as server:
        server.server.send(b" \r\n")
        server.send(1, "tools/call", name="write", arguments={}, _meta=MODERN_META)
        assert server.next()["id"] == 1
    headers = server.received[0][1]
    assert headers["Mcp-Method"] == "tools/call"
    assert headers["Mcp-Name"] == "write"
    assert headers["MCP-Protocol-Version"] == "2026-07-28"


def test_a_stream_is_passed_on_message_for_message() -> None:
    progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}
    with far(lambda handler, _: handler.stream(sse(progress), sse(RESULT))) as server:
        server.send(1)
        assert [server.next(), server.next()] == [progress, RESULT]


def test_a_stream_that_ends_is_continued_where_the_server_allows_it() -> None:
    with far(lambda handler, _: handler.stream(b"id: 5\nretry: 10\ndata:\n\n")) as server:
        server.send(1)
        assert server.next() == RESULT
    assert [headers.get("Last-Event-ID") for method, headers, _ in server.received if method == "GET"] == ["5"]


@pytest.mark.parametrize(
    ("reply", "words", "is_sent"),
    [
        (lambda handler, _: handler.answer(202), "status 202", True),
        (lambda handler, _: handler.answer(403), "refused the request (status 403)", False),
        (lambda handler, _: handler.answer(500, {"oops": 1}), "status 500", True),
        (lambda handler, _: handler.answer(307, Location="http://127.0.0.1:1/"), "status 307", True),
        (lambda handler, _: handler.answer(200, {"jsonrpc": "2.0", "id": 2, "result": {}}), "something else", True),
        (lambda handler, _: handler.answer(200, "text"), "status 200", True),
        (lambda handler, _: handler.stream(b"data: {", b"\n"), "ended the stream", True),
        (lambda handler, _: handler.hang_up(), "did not answer", True),
    ],
    ids=["202", "403", "500", "redirect", "other id", "text", "cut off", "closed"],
)
def test_an_answer_that_does_not_come_is_reported(reply: Reply, words: str, is_sent: bool) -> None:
    with far(reply) as server:
        server.send(1)
        while isinstance(got := server.next(), dict):
            continue
        assert got[0] == 1
        assert words in got[1]
        assert got[2] is is_sent


def test_an_error_in_the_body_is_passed_on_with_the_id_of_the_request() -> None:
    error = {"code": -32602, "message": "no"}
    with far(lambda handler, _: handler.answer(400, {"jsonrpc": "2.0", "id": None, "error": error})) as server:
        server.send(1)
        assert server.next() == {"jsonrpc": "2.0", "id": 1, "error": error}


def test_a_server_that_is_not_there_was_sent_nothing() -> None:
    with far(ok) as server:
        pass
    gone = Far.__new__(Far)
    Far.__init__(gone, HttpServer(f"http://127.0.0.1:{free_port()}/", "", gone, gone), [])
    gone.send(1)
    id_, problem, is_sent = gone.next()
    assert (id_, is_sent) == (1, False)
    assert "cannot be reached" in problem
    gone.server.close()
    assert server.received == []


def free_port() -> int:
    """A port that nobody listens on."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        return int(listening.server_address[1])


def test_a_modern_cancellation_ends_the_connection() -> None:
    arrived, released = threading.Event(), threading.Event()

    def reply(handler: Handler, body: JsonObject) -> None:
        if body["id"] == 1:
            arrived.set()
            released.wait(SECONDS)
        else:
            ok(handler, body)

    with far(reply) as server:
        server.send(1, _meta=MODERN_META)
        assert arrived.wait(SECONDS)
        server.send(None, "notifications/cancelled", requestId=1)
        server.send(2, _meta=MODERN_META)
        assert server.next()["id"] == 2
        released.set()
    assert [body.get("method") for _, _, body in server.received] == ["ping", "ping"]


def test_a_blank_line_is_not_sent() -> None:
    with far(ok) as server:
        server.server.send(b"\n")
        server.send(1)
        assert server.next()["id"] == 1
        assert len(server.received) == 1


def test_an_event_without_an_end_ends_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_http, "LONGEST_LINE", 10_000)

    def reply(handler: Handler, _: JsonObject) -> None:
        with suppress(OSError):
            handler.stream(*repeat(b"data: 1234567890\n", 1_000_000))

    with far(reply) as server:
        server.send(1)
        assert server.next()[1:] == ("the server ended the stream before it answered", True)


def test_a_server_that_sends_more_than_the_client_reads_is_not_read() -> None:
    notes = [sse({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})] * 5
    with far(lambda handler, _: handler.stream(*notes, sse(RESULT))) as server:
        server.is_full = True
        server.send(1)
        server.next()
        with pytest.raises(Empty):
            server.lines.get(timeout=0.5)
        server.is_full = False
        assert [server.next() for _ in range(5)][-1] == RESULT

"""A short conversation with an MCP server over HTTP, which may answer in several ways or have a fault."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from aileron_tui.doors.mcp_session import McpSession, SessionLimits
from aileron_tui.doors.mcp_session_http import SessionHttp
from aileron_tui.doors.mcp_session_process import SessionFault

TOOL = {"name": "read_note", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}


class Server(ThreadingHTTPServer):
    """What it does, and the headers and methods that it has seen."""

    mode: str = ""
    seen: ClassVar[list[tuple[str, dict[str, str]]]] = []
    daemon_threads = True


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.seen.append((message.get("method", ""), headers))
        self.reply(message)

    def drip(self) -> None:
        """Sends a header that does not end, one byte at a time."""
        with suppress(OSError):
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
            for _ in range(100):
                self.wfile.write(b"x")
                time.sleep(0.05)

    def do_DELETE(self) -> None:
        self.server.seen.append(("DELETE", {name.lower(): value for name, value in self.headers.items()}))
        self.send(200, "text/plain", b"")

    def reply(self, message: dict[str, Any]) -> None:
        mode = self.server.mode
        results = {
            "initialize": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {}},
            "tools/list": {"tools": [TOOL]},
            "tools/call": {"content": [{"type": "text", "text": "hello"}]},
        }
        body = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": results.get(message["method"], {})})
        if mode.startswith("modern") and "_meta" not in message["params"]:
            error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32022, "message": "use a newer revision"}}
            is_json = mode == "modern"
            self.send(400, "application/json" if is_json else "text/plain", json.dumps(error).encode())
        elif mode == "html":
            self.send(502, "text/html", b"<h1>Bad gateway</h1>")
        elif mode == "garbage":
            self.send(200, "application/json", b"\xff{")
        elif mode == "redirect":
            self.send_response(307)
            self.send_header("location", "http://127.0.0.1:1/")
            self.end_headers()
        elif mode == "drips":
            self.drip()
        elif mode == "slow":
            time.sleep(2)
        elif "id" not in message:
            self.send(202, "text/plain", b"")
        elif mode == "events":
            note = '{"jsonrpc":"2.0","method":"notifications/message"}'
            self.send(200, "text/event-stream", f"event: message\ndata: {note}\n\nid: 1\ndata: {body}\n\n".encode())
        else:
            self.send(200, "application/json; charset=utf-8", body.encode())

    def send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.send_header("mcp-session-id", "s-1")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as server:
        server.seen.clear()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def session(server: Server) -> McpSession:
    limits = (
        SessionLimits(start=0.3, listing=0.3, call=0.3)
        if server.mode in ("slow", "drips")
        else SessionLimits(20, 20, 20)
    )
    return McpSession(SessionHttp(f"http://127.0.0.1:{server.server_port}/mcp"), limits)


@pytest.mark.parametrize("mode", ["", "events"])
def test_tools_are_listed_and_called(server: Server, mode: str) -> None:
    server.mode = mode
    with session(server) as talk:
        talk.start()
        assert list(talk.tools()) == ["read_note"]
        assert talk.call("read_note", {}) == {"content": [{"type": "text", "text": "hello"}]}
    methods = [method for method, _ in server.seen]
    assert methods == ["initialize", "notifications/initialized", "tools/list", "tools/call", "DELETE"]
    assert "mcp-session-id" not in server.seen[0][1]
    for _, headers in server.seen[1:]:
        assert (headers["mcp-session-id"], headers["mcp-protocol-version"]) == ("s-1", "2025-06-18")
    assert "authorization" not in server.seen[2][1]


@pytest.mark.parametrize("mode", ["modern", "modern, in plain text"])
def test_a_server_that_refuses_the_handshake(server: Server, mode: str) -> None:
    server.mode = mode
    with session(server) as talk:
        talk.start()
        assert list(talk.tools()) == ["read_note"]
        assert talk.call("read_note", {})
    assert [method for method, _ in server.seen][:2] == ["initialize", "server/discover"]
    headers = server.seen[-2][1]
    assert (headers["mcp-protocol-version"], headers["mcp-method"], headers["mcp-name"]) == (
        "2026-07-28",
        "tools/call",
        "read_note",
    )


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("html", "HTTP status 502"),
        ("garbage", "not a message of MCP"),
        ("redirect", "HTTP status 307"),
        ("slow", "did not answer initialize"),
        ("drips", "did not answer initialize"),
    ],
)
def test_a_server_with_a_fault(server: Server, mode: str, words: str) -> None:
    server.mode = mode
    with session(server) as talk, pytest.raises(SessionFault) as raised:
        talk.start()
    assert words in str(raised.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/mcp", "nonsense", "http://[", "ftp://127.0.0.1/"])
def test_an_address_without_a_server(url: str) -> None:
    with McpSession(SessionHttp(url)) as talk, pytest.raises(SessionFault, match="cannot reach"):
        talk.start()

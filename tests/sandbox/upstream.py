"""A loopback service with good, bad, slow, endless and redirecting responses, which records what it receives."""

import gzip
import json
import ssl
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

DRAFT = {
    "id": "r-12345",
    "message": {
        "snippet": "Here is the recap\nfrom this week.",
        "payload": {
            "headers": [{"name": "To", "value": "team@example.com"}, {"name": "Subject", "value": "Weekly recap"}]
        },
    },
}


@dataclass(slots=True)
class ReceivedRequest:
    """One request as received."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Upstream:
    """A running service. Requests for `/scripted` get the responses of the paths in `script`, one after another."""

    port: int
    scheme: str = "http"
    received: list[ReceivedRequest] = field(default_factory=list)
    script: list[str] = field(default_factory=list)

    @property
    def host_port(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str) -> str:
        return f"{self.scheme}://{self.host_port}{path}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def log_message(self, *args: Any) -> None:
        """Prints nothing: tests read `received`."""

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.upstream.received.append(ReceivedRequest(self.command, self.path, dict(self.headers.items()), body))
        split = urlsplit(self.server.upstream.script.pop(0) if self.path == "/scripted" else self.path)
        query = {key: values[0] for key, values in parse_qs(split.query).items()}
        route = getattr(self, "_" + split.path.strip("/").replace("/", "_"), None)
        if route is None:
            self._send(404, b"not found")
        else:
            route(query, body)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = _answer  # noqa: N815 - http.server asks for these

    def _send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _draft(self, query: dict[str, str], body: bytes) -> None:
        self._send(200, json.dumps(DRAFT).encode())

    def _status(self, query: dict[str, str], body: bytes) -> None:
        self._send(int(query["code"]), b"line one, code 999: more")

    def _echo(self, query: dict[str, str], body: bytes) -> None:
        seen = {"method": self.command, "headers": dict(self.headers.items()), "body": body.decode("latin-1")}
        secret = self.headers.get("Authorization", "none")
        self._send(200, json.dumps(seen).encode(), X_Echo=secret)

    def _echo_escaped(self, query: dict[str, str], body: bytes) -> None:
        def escaped(text: str) -> str:
            return "".join(f"\\u{ord(character):04x}" for character in text)

        secret = escaped(self.headers.get("Authorization", "none"))
        self._send(200, f'{{"headers": {{"{secret}": ["{secret}"]}}, "body": "{secret}"}}'.encode())

    def _echo_fail(self, query: dict[str, str], body: bytes) -> None:
        self._send(403, f"bad token {self.headers.get('Authorization')}".encode())

    def _slow(self, query: dict[str, str], body: bytes) -> None:
        self.server.stopping.wait(float(query.get("seconds", "30")))
        self._send(200, b"{}")

    def _drip(self, query: dict[str, str], body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        self._trickle(b" ")

    def _drip_headers(self, query: dict[str, str], body: bytes) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\n")
        self._trickle(b"X-Drip: yes\r\n")

    def _trickle(self, part: bytes) -> None:
        self.close_connection = True
        while not self.server.stopping.wait(0.05):
            self.wfile.write(part)
            self.wfile.flush()

    def _huge(self, query: dict[str, str], body: bytes) -> None:
        self._send(200, b" " * 9_000_000)

    def _endless(self, query: dict[str, str], body: bytes) -> None:
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        while not self.server.stopping.is_set():
            self.wfile.write(b" " * 65536)

    def _many_headers(self, query: dict[str, str], body: bytes) -> None:
        self._send(200, b"{}", X_Long="x" * 200_000)

    def _garbage(self, query: dict[str, str], body: bytes) -> None:
        self._send(200, b"<html>not json")

    def _binary(self, query: dict[str, str], body: bytes) -> None:
        self._send(200, b"\xff\xfe\x00\x80")

    def _not_http(self, query: dict[str, str], body: bytes) -> None:
        self.close_connection = True
        self.wfile.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")

    def _hang_up(self, query: dict[str, str], body: bytes) -> None:
        self.close_connection = True

    def _cut(self, query: dict[str, str], body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"{")
        self.close_connection = True

    def _gzip(self, query: dict[str, str], body: bytes) -> None:
        self._send(200, b"\x1f\x8b", Content_Encoding="gzip")

    def _packed(self, query: dict[str, str], body: bytes) -> None:
        how = query["how"]
        plain = json.dumps(DRAFT).encode()
        packed = {
            "gzip": gzip.compress(plain),
            "deflate": zlib.compress(plain),
            "members": gzip.compress(plain[:20]) + gzip.compress(plain[20:]),
            "raw": zlib.compress(plain)[2:-4],
        }.get(how, plain)
        encoding = {"members": "GZIP", "raw": "deflate"}.get(how, how)
        self._send(200, packed, Content_Encoding=encoding)

    def _bomb(self, query: dict[str, str], body: bytes) -> None:
        self._send(200, gzip.compress(bytes(20_000_000), 1), Content_Encoding="gzip")

    def _retry(self, query: dict[str, str], body: bytes) -> None:
        self._send(int(query.get("code", "503")), b"busy", Retry_After=query["after"])

    def _redirect(self, query: dict[str, str], body: bytes) -> None:
        self._send(int(query.get("code", "302")), b"", Location=query["to"])

    def _loop(self, query: dict[str, str], body: bytes) -> None:
        self._send(302, b"", Location="/loop")

    def _echo_location(self, query: dict[str, str], body: bytes) -> None:
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        self._send(302, b"", Location=f"/draft?token={token}")


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 256
    upstream: Upstream
    stopping: threading.Event

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores clients that disconnect early, which some tests do on purpose."""


@contextmanager
def upstream(tls: ssl.SSLContext | None = None) -> Iterator[Upstream]:
    """Serves until the block ends."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.stopping = threading.Event()
    server.upstream = Upstream(server.server_address[1], "https" if tls else "http")
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server.upstream
    finally:
        server.stopping.set()
        server.shutdown()
        thread.join()
        server.server_close()

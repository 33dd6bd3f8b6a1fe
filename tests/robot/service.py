"""A service that writes down every call it receives, word for word, and can fail in the ways that services do."""

import json
import socket
import struct
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self

READING_OP: Final = "get_"
"""Ops with this prefix read; every other op has an effect."""


class Fault(StrEnum):
    """How the service treats a call that has an effect."""

    NONE = "none"
    REFUSED = "refuses with 403, does nothing"
    MISSING = "answers 404, does nothing"
    ERROR_AFTER = "does it, then answers 502"
    CUT_AFTER = "does it, then cuts the connection"
    CUT_BEFORE = "cuts the connection, does nothing"
    HALF_REPLY = "does it, then cuts the reply in half"
    GARBAGE = "does it, then answers something unreadable"
    LATE = "does it, then answers after the time limit"
    SLOW = "does it, then answers after a moment"


@dataclass(frozen=True, slots=True)
class Received:
    """One call as it arrived. `raw` is the text of its args; `happened` is False if the service refused it."""

    connector: str
    op: str
    raw: str
    happened: bool
    content: Any = None
    """What the object with this id held at that moment."""

    @property
    def args(self) -> Any:
        """The args, with numbers as they were spelled."""
        return spelled(self.raw)


class Spelled(str):
    """A number in the spelling in which it was sent."""

    __slots__ = ()


def spelled(text: str) -> Any:
    """Reads JSON and keeps the spelling of its numbers."""
    return json.loads(text, parse_int=Spelled, parse_float=Spelled, parse_constant=Spelled)


@dataclass
class Service:
    """The service on a port of its own. `objects` is what its reading ops return, by id."""

    late_seconds: float = 40.0
    slow_seconds: float = 1.5
    objects: dict[str, Any] = field(default_factory=dict)
    log: list[Received] = field(default_factory=list)
    reads: list[Received] = field(default_factory=list)
    using: frozenset[str] = frozenset({"send_object", "copy_object"})
    """Ops that act on what the object with the id `id` holds."""
    faults: dict[str, Fault] = field(default_factory=dict)
    """By op."""
    changes: dict[str, tuple[str, Any]] = field(default_factory=dict)
    """What an op changes: its name, and the id and new value of an object."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._closing = threading.Event()
        service = self

        class Handler(BaseHTTPRequestHandler):
            """Hands each call to the service."""

            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:  # the name that http.server expects
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                service.receive(self, self.path.rpartition("/")[2], body.decode())

            def log_message(self, *_args: object) -> None:
                """Writes no log."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def receive(self, handler: BaseHTTPRequestHandler, connector: str, body: str) -> None:
        """Writes the call down, does what it asks for, and replies."""
        op, raw = _split(body)
        if op.startswith(READING_OP):
            with self._lock:
                self.reads.append(Received(connector, op, raw, False))
                found = self.objects.get(str(json.loads(raw).get("id", "")))
            _reply(handler, 404 if found is None else 200, json.dumps(found, ensure_ascii=False))
            return
        fault = self.faults.get(op, Fault.NONE)
        happened = fault not in {Fault.REFUSED, Fault.MISSING, Fault.CUT_BEFORE}
        with self._lock:
            content = self.objects.get(str(spelled(raw).get("id", ""))) if op in self.using else None
            self.log.append(Received(connector, op, raw, happened, content))
            if happened and op in self.changes:
                id_, value = self.changes[op]
                self.objects[id_] = value
        self._reply_with(handler, fault)

    def _reply_with(self, handler: BaseHTTPRequestHandler, fault: Fault) -> None:
        match fault:
            case Fault.REFUSED:
                _reply(handler, 403, '{"error":"no"}')
            case Fault.MISSING:
                _reply(handler, 404, '{"error":"no such object"}')
            case Fault.ERROR_AFTER:
                _reply(handler, 502, '{"error":"bad gateway"}')
            case Fault.CUT_AFTER | Fault.CUT_BEFORE:
                _cut(handler)
            case Fault.HALF_REPLY:
                handler.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n{"ok":')
                handler.wfile.flush()
                _cut(handler)
            case Fault.GARBAGE:
                _reply(handler, 200, "\x00 this is not JSON")
            case Fault.LATE:
                self._closing.wait(self.late_seconds)
                handler.close_connection = True
                with suppress(OSError):  # nobody waits for it any more
                    _reply(handler, 200, '{"ok":true}')
            case Fault.SLOW:
                self._closing.wait(self.slow_seconds)
                _reply(handler, 200, '{"ok":true}')
            case Fault.NONE:
                _reply(handler, 200, '{"ok":true}')


def _split(body: str) -> tuple[str, str]:
    """The op, and the text of the args as it was sent."""
    op = json.loads(body)["op"]
    start = body.index('"args":') + len('"args":')
    decoder = json.JSONDecoder()
    _, end = decoder.raw_decode(body, start + len(body[start:]) - len(body[start:].lstrip()))
    return str(op), body[start:end].strip()


def _reply(handler: BaseHTTPRequestHandler, status: int, text: str) -> None:
    data = text.encode()
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


def _cut(handler: BaseHTTPRequestHandler) -> None:
    """Ends the connection with a reset, as a network that breaks does."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.close_connection = True
    time.sleep(0.01)
    handler.connection.close()

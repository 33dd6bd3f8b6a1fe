"""A small gate on the loopback interface with the routes that hooks use, which can also misbehave in many ways."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from aileron_tui.files.agent_tokens import token_path, write_token
from aileron_tui.files.private_files import private_folder, write_private

TOKEN = "canary-token-1234"
INSTANCE = "gate-of-the-test"

Answer = Callable[[dict[str, Any]], tuple[int, dict[str, Any]]]


def allow(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Allows a call unchanged, as a rule does."""
    return 200, {
        "status": "allowed",
        "approval_id": "req-1",
        "input": body["input"],
        "edited": False,
        "rule": "rule-1",
    }


def edit(**changes: Any) -> Answer:
    """Allows a call with other input."""
    return lambda _: (
        200,
        {"status": "allowed", "approval_id": "req-1", "input": changes, "edited": True, "decision": {}},
    )


def deny(reason: str) -> Answer:
    """Denies a call."""
    return lambda _: (200, {"status": "denied", "approval_id": "req-1", "reason": reason})


def fail(class_: str) -> Answer:
    """Ends a call without a decision."""
    failure = {"error": {"class": class_, "message": "it was withdrawn"}}
    return lambda _: (200, {"status": "failed", "approval_id": "req-1", "failure": failure})


def refuse(status: int, code: str) -> Answer:
    """Refuses to ask."""
    return lambda _: (status, {"error": {"code": code, "message": f"this is {code}"}})


def hold(seconds: float, then: Answer = allow) -> Answer:
    """Answers after some time."""

    def held(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        time.sleep(seconds)
        return then(body)

    return held


@dataclass
class FakeGate:
    """What the gate answers, and what it received: method, path, the body, and all headers."""

    home: Path
    answer: Answer = allow
    raw: bytes | None = None
    drip: float = 0.0
    instance: str = INSTANCE
    service: str = "aileron"
    received: list[tuple[str, str, dict[str, Any], dict[str, str]]] = field(default_factory=list)
    asked: threading.Event = field(default_factory=threading.Event)
    gone: threading.Event = field(default_factory=threading.Event)
    outcome: dict[str, Any] = field(default_factory=lambda: {"state": "executed", "differs": False})
    waiting: list[dict[str, Any]] = field(default_factory=list)
    polls: int = 0
    url: str = ""
    server: ThreadingHTTPServer | None = None

    def bodies(self, path: str) -> list[dict[str, Any]]:
        """The bodies that arrived at a path."""
        return [body for _, where, body, _ in self.received if where == path]

    def stop(self) -> None:
        """Stops listening."""
        assert self.server is not None
        self.server.shutdown()
        self.server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    gate: FakeGate

    def log_message(self, *_: object) -> None:
        """Logs nothing."""

    def do_GET(self) -> None:
        self._respond({})

    def do_POST(self) -> None:
        self._respond(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _respond(self, body: dict[str, Any]) -> None:
        gate = self.gate
        gate.received.append((self.command, self.path, body, dict(self.headers)))
        if self.path == "/v1/health":
            self._send(200, {"status": "ok", "service": gate.service, "instance": gate.instance, "version": "1"})
            return
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            self._send(401, {"error": {"code": "unauthorized", "message": "the token is not valid"}})
            return
        gate.asked.set()
        if gate.raw is not None:
            self._send_raw(gate.raw, gate.drip)
        elif self.path.startswith("/v1/permissions/") and self.path.endswith("/outcome"):
            self._send(200, gate.outcome)
        elif self.path == "/v1/doors":
            self.send_response(204)
            self.end_headers()
        elif self.path == "/v1/agent":
            self._send(200, {"agent": "claude", "version": "1", "instance": gate.instance, "waiting": gate.waiting})
        elif gate.polls:
            gate.polls -= 1
            self._send(202, {"status": "pending_approval", "approval_id": "req-1", "result_url": "/x"})
        else:
            self._send(*gate.answer(body))

    def _send(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _send_raw(self, data: bytes, drip: float) -> None:
        self.close_connection = True
        try:
            for byte in [data[i : i + 1] for i in range(len(data))] if drip else [data]:
                self.wfile.write(byte)
                self.wfile.flush()
                time.sleep(drip)
        except OSError:
            self.gate.gone.set()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256  # with the usual 5, some of many connections at once are delayed for seconds

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that leaves is not an error here."""


@contextmanager
def fake_gate(home: Path, agent: str = "claude") -> Iterator[FakeGate]:
    """A gate that listens, with its address and the agent's token in a home."""
    gate = FakeGate(home)
    gate.server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"gate": gate}))
    gate.url = f"http://127.0.0.1:{gate.server.server_address[1]}"
    data = private_folder(home / "data")
    write_token(token_path(data, agent), TOKEN)
    described = {"url": gate.url, "instance": INSTANCE, "agent_token_file": "", "pid": 1}
    write_private(data / "gate.json", json.dumps(described).encode(), replace=True)
    thread = threading.Thread(target=gate.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield gate
    finally:
        gate.stop()
        thread.join()

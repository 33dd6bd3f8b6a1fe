"""A fake opencode server: real HTTP and server-sent events on loopback, in the shapes that 1.18.33 sends."""

import base64
import copy
import json
import queue
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import parse_qs, unquote, urlsplit

RECORDED: Final[dict[str, Any]] = json.loads((Path(__file__).parent / "recorded.json").read_text())
FOLDER: Final = "/home/lin/project"


class FakeOpencode:
    """One server. `replies` has every reply that was sent to it; the other attributes are switches for faults."""

    def __init__(self, password: str = "", port: int = 0) -> None:
        self.password = password
        self.requests: dict[str, tuple[str, Any]] = {}
        self.messages: dict[str, Any] = {}
        self.replies: list[tuple[str, str, Any]] = []
        self.broken_list = False
        self.raw_list: bytes | None = None
        self.lose_reply = False
        self.drop_reply = False
        self.no_messages = False
        self.silent_events = False
        self.delay = 0.0
        self.called: list[str] = []
        self._streams: list[queue.SimpleQueue[bytes | None]] = []
        self._http = _Server(("127.0.0.1", port), _Handler)
        self._http.fake = self
        self.port = self._http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Stops the server, as if it was killed."""
        self.cut()
        self._http.shutdown()
        self._http.server_close()

    # what happens in opencode

    def ask(self, name: str = "bash", *, id_: str = "", folder: str = FOLDER, **changes: Any) -> str:
        """A recorded request comes in; returns its id."""
        request = copy.deepcopy(RECORDED["requests"][name])
        message = copy.deepcopy(RECORDED["messages"][name])
        self.messages.setdefault(message["info"]["id"], message)
        return self.add(request | ({"id": id_} if id_ else {}) | changes, folder)

    def ask_two(self) -> tuple[str, str]:
        """Two requests of one session come in."""
        message = copy.deepcopy(RECORDED["messages"]["two"])
        self.messages[message["info"]["id"]] = message
        one, other = (self.add(copy.deepcopy(request)) for request in RECORDED["requests"]["two"])
        return one, other

    def add(self, request: Any, folder: str = FOLDER) -> str:
        """Any request comes in."""
        self.requests[str(request["id"])] = (folder, request)
        self.emit("permission.asked", request, folder)
        return str(request["id"])

    def part(self, id_: str) -> Any:
        """The tool part of a request."""
        tool = self.requests[id_][1]["tool"]
        return next(part for part in self.messages[tool["messageID"]]["parts"] if part.get("callID") == tool["callID"])

    def change(self, id_: str, **state: Any) -> None:
        """The state of a call changes."""
        part = self.part(id_)
        part["state"] |= state
        self.emit("message.part.updated", {"sessionID": part["sessionID"], "part": part}, self.requests[id_][0])

    def end(self, id_: str, reply: str) -> None:
        """A request is answered: in opencode itself, or by us."""
        folder, request = self.requests[id_]
        ids = [id_]
        if reply == "reject":
            session = request["sessionID"]
            ids += [one for one, (_, other) in self.requests.items() if other["sessionID"] == session and one != id_]
        for one in ids:
            part = self.part(one) if "tool" in request and not self.no_messages else None
            del self.requests[one]
            self.emit(
                "permission.replied", {"sessionID": request["sessionID"], "requestID": one, "reply": reply}, folder
            )
            if part is not None:
                said = {"status": "error", "error": "The user rejected permission to use this specific tool call."}
                part["state"] |= said if reply == "reject" else {"status": "completed", "output": ""}
                self.emit("message.part.updated", {"sessionID": part["sessionID"], "part": part}, folder)

    def emit(self, type_: str, properties: Any, folder: str = FOLDER) -> None:
        """Sends an event to every stream."""
        if not self.silent_events:
            event = {"directory": folder, "payload": {"id": "evt_1", "type": type_, "properties": properties}}
            self.send_raw(b"data: " + json.dumps(event).encode() + b"\n\n")

    def send_raw(self, data: bytes) -> None:
        """Sends any bytes to every stream."""
        for stream in list(self._streams):
            stream.put(data)

    def cut(self) -> None:
        """Ends every stream."""
        for stream in list(self._streams):
            stream.put(None)

    @property
    def listeners(self) -> int:
        return len(self._streams)


class _Server(ThreadingHTTPServer):
    fake: FakeOpencode
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is no error."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # as in the base class
        pass

    def _is_allowed(self) -> bool:
        password = self.server.fake.password
        expected = "Basic " + base64.b64encode(f"opencode:{password}".encode()).decode()
        if not password or self.headers.get("Authorization") == expected:
            return True
        self.send_response(401)
        self.send_header("www-authenticate", 'Basic realm="Secure Area"')
        self.send_header("Content-Length", "0")
        self.end_headers()
        return False

    def _reply(self, value: Any, status: int = 200, raw: bytes | None = None) -> None:
        data = raw if raw is not None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        fake, url = self.server.fake, urlsplit(self.path)
        fake.called.append(self.path)
        folder = parse_qs(url.query).get("directory", [FOLDER])[0]
        parts = [unquote(part) for part in url.path.split("/")[1:]]
        time.sleep(fake.delay)
        if not self._is_allowed():
            return
        match parts:
            case ["global", "health"]:
                self._reply({"healthy": True, "version": RECORDED["version"]})
            case ["path"]:
                self._reply({"directory": FOLDER, "worktree": FOLDER})
            case ["config"]:
                self._reply({"permission": {"*": "ask"}})
            case ["permission"] if fake.broken_list:
                self._reply(RECORDED["unlisted"], 400)
            case ["permission"]:
                listed = [request for where, request in fake.requests.values() if where == folder]
                self._reply(listed, raw=fake.raw_list)
            case ["session", _, "message", message] if message in fake.messages and not fake.no_messages:
                self._reply(fake.messages[message])
            case ["global", "event"]:
                self._stream()
            case _:
                self._reply({"name": "NotFoundError", "data": {"message": "not found"}}, 404)

    def _stream(self) -> None:
        stream: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        connected = b'data: {"payload":{"id":"evt_1","type":"server.connected","properties":{}}}\n\n'
        try:
            self.wfile.write(connected)
            self.server.fake._streams.append(stream)
            while (data := stream.get()) is not None:
                self.wfile.write(data)
        except OSError:
            pass
        finally:
            if stream in self.server.fake._streams:
                self.server.fake._streams.remove(stream)

    def do_POST(self) -> None:
        fake, url = self.server.fake, urlsplit(self.path)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self._is_allowed():
            return
        id_ = unquote(url.path.split("/")[2])
        folder = parse_qs(url.query).get("directory", [FOLDER])[0]
        fake.replies.append((id_, folder, body))
        if fake.drop_reply:
            self.close_connection = True
            return
        if id_ not in fake.requests or fake.requests[id_][0] != folder:
            self._reply(RECORDED["not_found"], 404)
            return
        fake.end(id_, body["reply"])
        if fake.lose_reply:
            self.close_connection = True
            return
        self._reply(True)

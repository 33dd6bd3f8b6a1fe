"""A model on this machine that asks for the calls of a script, so that an agent can be tried without an account.

It speaks the APIs of all agents, listens on the loopback interface only, and answers anyone there: what it says is no
secret, and it can do nothing.
"""

import gzip
import json
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Final, Self

from aileron_tui.core.jsontext import JsonError, JsonObject, read_object
from aileron_tui.doors.scripted_replies import (
    Reply,
    ScriptedCall,
    chat_reply,
    gemini_reply,
    messages_reply,
    responses_reply,
)

_LARGEST: Final = 32 * 1024 * 1024


class ScriptedModel:
    """The model, until the block ends. `asked` is set once an agent was told to make a call."""

    def __init__(self, *script: ScriptedCall) -> None:
        self.asked = threading.Event()
        self._script = script
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    @property
    def url(self) -> str:
        """The address of the model."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def reply(self, path: str, body: JsonObject) -> Reply | None:
        """The reply to a request, or None if no API has this path."""
        make = _api(path.split("?", maxsplit=1)[0].rstrip("/"))
        if make is None:
            return None
        reply = make(body, self._script)
        if reply.calls:
            self.asked.set()
        return reply

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        model = self

        class Handler(_Handler):
            def answer(self, body: JsonObject) -> None:
                """Answers a POST request."""
                if "count" in self.path and "okens" in self.path:
                    self.send_body({"input_tokens": 1, "totalTokens": 1})
                elif reply := model.reply(self.path, body):
                    streams = body.get("stream") is True or ":stream" in self.path
                    self.send_events(reply) if streams else self.send_body(reply.body)
                else:
                    self.send_body({"error": {"message": "not found"}}, 404)

        return Handler


def _api(path: str) -> "Callable[[JsonObject, Sequence[ScriptedCall]], Reply] | None":
    if path.endswith("/v1/messages"):
        return messages_reply
    if path.endswith("/responses"):
        return responses_reply
    if path.endswith("/chat/completions"):
        return chat_reply
    return gemini_reply if path.endswith(("enerateContent",)) else None


class _Handler(BaseHTTPRequestHandler):
    """The HTTP of the model."""

    protocol_version = "HTTP/1.1"

    def answer(self, body: JsonObject) -> None:
        """Answers a POST request."""
        raise NotImplementedError

    def do_HEAD(self) -> None:
        """Says that the model is there."""
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        """Lists no models, which all agents accept."""
        self.send_body({"data": [], "models": [], "has_more": False})

    def do_POST(self) -> None:
        """Answers a request to the model."""
        try:
            body = read_object(self._body())
        except (JsonError, ValueError, OSError):
            self.send_body({"error": {"message": "not JSON"}}, 400)
            return
        self.answer(body)

    def send_body(self, body: JsonObject, status: int = 200) -> None:
        """Sends JSON."""
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def send_events(self, reply: Reply) -> None:
        """Sends a stream of events."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for name, data in reply.events:
            text = data if isinstance(data, str) else json.dumps(data)
            self.wfile.write(f"{f'event: {name}{chr(10)}' if name else ''}data: {text}\n\n".encode())
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name in the standard library
        """Logs nothing."""

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            parts: list[bytes] = []
            while size := int(self.rfile.readline(100).split(b";")[0].strip() or b"0", 16):
                if size + sum(map(len, parts)) > _LARGEST:
                    raise ValueError("too large")
                parts.append(self.rfile.read(size))
                self.rfile.readline(100)
            self.rfile.readline(100)
            data = b"".join(parts)
        else:
            data = self.rfile.read(min(int(self.headers.get("Content-Length", "0")), _LARGEST))
        return gzip.decompress(data) if self.headers.get("Content-Encoding") == "gzip" else data

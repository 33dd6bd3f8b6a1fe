"""A webhook receiver on the loopback interface. It verifies signatures with code of its own, from the specification."""

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
OTHER = "whsec_" + base64.b64encode(bytes(range(32, 64))).decode()


@dataclass
class Delivered:
    """One message that arrived."""

    headers: Mapping[str, str]
    body: bytes
    path: str
    at: float

    @property
    def data(self) -> Any:
        return json.loads(self.body)["data"]

    @property
    def type(self) -> str:
        return str(json.loads(self.body)["type"])

    def signed_with(self, secret: str) -> bool:
        """Whether one of the signatures is by this secret."""
        mac = hmac.new(base64.b64decode(secret[6:]), digestmod=hashlib.sha256)
        for part in (self.headers["webhook-id"], ".", self.headers["webhook-timestamp"], "."):
            mac.update(part.encode())
        mac.update(self.body)
        wanted = "v1," + base64.b64encode(mac.digest()).decode()
        return wanted in self.headers["webhook-signature"].split(" ")


@dataclass
class Receiver:
    """What arrived, and what is answered: a status with headers for each message, the last one for all further."""

    port: int = 0
    messages: list[Delivered] = field(default_factory=list)
    answers: list[tuple[int, dict[str, str]]] = field(default_factory=lambda: [(204, {})])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?key=path-secret"

    def wait_for(self, number: int, seconds: float = 5.0) -> list[Delivered]:
        """The messages once there are this many."""
        until(lambda: len(self.messages) >= number, seconds)
        return self.messages


def until(condition: Callable[[], object], seconds: float = 5.0) -> None:
    """Waits until something holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


@contextmanager
def running_receiver(*answers: tuple[int, dict[str, str]]) -> Iterator[Receiver]:
    """Listens until the block ends."""
    receiver = Receiver()
    if answers:
        receiver.answers = list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            number = len(receiver.messages)
            receiver.messages.append(Delivered(dict(self.headers.items()), body, self.path, time.monotonic()))
            status, headers = receiver.answers[min(number, len(receiver.answers) - 1)]
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

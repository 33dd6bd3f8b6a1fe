"""The sample mail and files service: real HTTP on loopback, in memory, with faults to switch on.

`python -m aileron_tui.demo.sample_service` runs it alone on the port that the bundled suite expects.
"""

import argparse
import hmac
import socket
import socketserver
import sys
import threading
from collections.abc import Sequence
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import TracebackType
from typing import Final, TypeAlias

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonError, JsonLimits, read_object
from aileron_tui.core.values import dataclass
from aileron_tui.demo.drive import Drive
from aileron_tui.demo.errors import DemoError
from aileron_tui.demo.mailbox import Mail, Mailbox
from aileron_tui.demo.service_routes import (
    LARGEST_BODY,
    ServiceRefusal,
    ServiceRequest,
    ServiceResponse,
    ServiceRoutes,
    refusal,
)

HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8725
# Not secrets: they open nothing but sample data, and the service only listens on loopback.
MAIL_CREDENTIAL: Final = "sample-mail-token"
FILES_CREDENTIAL: Final = "sample-files-key"
EVERYTHING: Final = "*"

_IDLE_SECONDS = 30
_CHUNK = 64 * 1024
_Connection: TypeAlias = socket.socket | tuple[bytes, socket.socket]


class ServiceFault(StrEnum):
    """A way for the service to misbehave."""

    SLOW = "slow"  # answers rightly, after `SampleService.slow_seconds`
    NOT_FOUND = "404"
    SERVER_ERROR = "500"
    GARBAGE = "garbage"  # 200 and bytes that are no JSON
    HUGE = "huge"  # 200 and `SampleService.huge_bytes` of sound JSON
    REDIRECT = "redirect"  # 302 to `SampleService.redirect_to`
    HANG_UP = "hang-up"  # does what was asked and closes the connection without an answer


@dataclass(frozen=True, slots=True)
class ServiceCall:
    """One request the service has seen."""

    method: str
    target: str
    authorised: bool


class SampleService:
    """A running service. Use it as a context manager, or call `start` and `stop`.

    `faults` maps an id (of a draft, message or file, or `*`) to what goes wrong for it; it may be changed at any time.
    The ids `r-slow`, `r-404`, `r-500`, … and `f-slow`, … are in it from the beginning; for an answer that is right but
    late, give `slow` to the id of something that exists.
    """

    def __init__(
        self,
        port: int = 0,
        *,
        mail_credential: str = MAIL_CREDENTIAL,
        files_credential: str = FILES_CREDENTIAL,
    ) -> None:
        self.mailbox = Mailbox()
        self.drive = Drive()
        self.faults: dict[str, ServiceFault] = {
            f"{kind}-{fault.value}": fault for fault in ServiceFault for kind in ("r", "f")
        }
        self.latency_seconds = 0.0
        self.slow_seconds = 8.0
        self.huge_bytes = 16 * 1024 * 1024
        self.redirect_to = "https://collector.example/collect"
        self._requested_port = port
        self._credentials = {
            "gmail": ("Authorization", f"Bearer {mail_credential}"),
            "drive": ("X-Api-Key", files_credential),
        }
        self._routes = ServiceRoutes(self.mailbox, self.drive)
        self._calls: list[ServiceCall] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._server: _ServiceServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """The port it listens on."""
        if self._server is None:
            raise DemoError("the sample service is not running")
        return self._server.server_port

    @property
    def url(self) -> str:
        """Where it listens, as `http://127.0.0.1:8725`."""
        return f"http://{HOST}:{self.port}"

    @property
    def sent(self) -> tuple[Mail, ...]:
        """Every mail that was sent."""
        return self.mailbox.sent

    @property
    def calls(self) -> tuple[ServiceCall, ...]:
        """Every request so far, also those that were turned away."""
        with self._lock:
            return tuple(self._calls)

    def start(self) -> "SampleService":
        """Listen and answer in the background."""
        if self._server is not None:
            raise DemoError("the sample service is already running")
        self._stopping.clear()
        try:
            self._server = _ServiceServer(self, self._requested_port)
        except (OSError, OverflowError) as error:
            raise DemoError(
                f"the sample service cannot listen on {HOST}:{self._requested_port}",
                str(error),
                "end the program that uses this port, or choose another with --port",
            ) from error
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="sample-service", daemon=True
        )
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop listening, cut what is still open, and wait until all is quiet. Stopping twice is fine."""
        server, thread = self._server, self._thread
        if server is None or thread is None:
            return
        self._stopping.set()
        server.shutdown()
        thread.join()
        server.cut()
        server.server_close()
        self._server = self._thread = None

    def __enter__(self) -> "SampleService":
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def serve(self, request: ServiceRequest, target: str, credentials: dict[str, str]) -> ServiceResponse | None:
        """The answer to one request; nothing means to hang up."""
        header, wanted = self._credentials.get(request.segments[0], ("", ""))
        shown = credentials.get(header, "")
        authorised = bool(wanted) and hmac.compare_digest(shown.encode(), wanted.encode())
        with self._lock:
            self._calls.append(ServiceCall(request.method, target, authorised))
        self._stopping.wait(self.latency_seconds)
        if not wanted:
            return refusal(ServiceRefusal(404, "Not found."))
        if not authorised:
            return refusal(ServiceRefusal(401, "Request had invalid authentication credentials."))
        match self._fault(request):
            case None:
                return self._routes.answer(request)
            case ServiceFault.SLOW:
                self._stopping.wait(self.slow_seconds)
                return self._routes.answer(request)
            case ServiceFault.NOT_FOUND:
                return refusal(ServiceRefusal(404, "Requested entity was not found."))
            case ServiceFault.SERVER_ERROR:
                return refusal(ServiceRefusal(500, "Backend error."))
            case ServiceFault.GARBAGE:
                return ServiceResponse(200, b"\x00\xff<!doctype html><p>not what you asked for")
            case ServiceFault.HUGE:
                frame = b'{"id":"%b"}'
                return ServiceResponse(200, frame % (b"x" * max(self.huge_bytes - len(frame) + 2, 0)))
            case ServiceFault.REDIRECT:
                return ServiceResponse(302, headers={"Location": self.redirect_to})
            case ServiceFault.HANG_UP:
                self._routes.answer(request)
                return None

    def _fault(self, request: ServiceRequest) -> ServiceFault | None:
        names = [request.segments[-1], EVERYTHING]
        if request.segments[-1] == "send":
            names.insert(0, _named(request.body))
        return next((self.faults[name] for name in names if name in self.faults), None)


class _ServiceServer(socketserver.ThreadingMixIn, HTTPServer):
    daemon_threads = False
    request_queue_size = 256

    def __init__(self, service: SampleService, port: int) -> None:
        self.service = service
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        super().__init__((HOST, port), _Handler)

    def server_bind(self) -> None:
        # HTTPServer would ask the resolver for this machine's name, which may take seconds.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.socket.getsockname()[1]

    def process_request(self, request: _Connection, client_address: object) -> None:
        if isinstance(request, socket.socket):
            with self._open_lock:
                self._open.add(request)
            super().process_request(request, client_address)

    def shutdown_request(self, request: _Connection) -> None:
        if isinstance(request, socket.socket):
            with self._open_lock:
                self._open.discard(request)
            super().shutdown_request(request)

    def handle_error(self, request: _Connection, client_address: object) -> None:
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    def cut(self) -> None:
        with self._open_lock:
            for connection in self._open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue  # the other side was first


class _Handler(BaseHTTPRequestHandler):
    server: _ServiceServer
    protocol_version = "HTTP/1.1"
    server_version = "sample-service"
    sys_version = ""
    timeout = _IDLE_SECONDS
    disable_nagle_algorithm = True
    wbufsize = -1

    def _serve(self) -> None:
        try:
            body = self._body()
        except ServiceRefusal as error:
            self.close_connection = True
            self._send(refusal(error))
            return
        request = ServiceRequest.of(self.command, self.path, body)
        credentials = {name: self.headers.get(name, "") for name in ("Authorization", "X-Api-Key")}
        answer = self.server.service.serve(request, self.path, credentials)
        if answer is None:
            self.close_connection = True
        else:
            self._send(answer)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815 (the base class looks for these)

    def _body(self) -> bytes:
        if "Transfer-Encoding" in self.headers:
            raise ServiceRefusal(411, "A body needs a Content-Length.")
        length = self.headers.get("Content-Length", "0")
        if not (length.isascii() and length.isdigit()):
            raise ServiceRefusal(400, "Content-Length is not a number.")
        if len(length) > 18 or int(length) > LARGEST_BODY:
            raise ServiceRefusal(413, f"A body may have at most {LARGEST_BODY} bytes.")
        return self.rfile.read(int(length))

    def _send(self, answer: ServiceResponse) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        if answer.status != 204:
            self.send_header("Content-Type", "application/json; charset=UTF-8")
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        for start in range(0, len(answer.body), _CHUNK):
            self.wfile.write(answer.body[start : start + _CHUNK])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name is the base class's)
        """Say nothing: `SampleService.calls` has it all."""


def _named(body: bytes) -> str:
    """The id inside the body of a send request."""
    try:
        id_ = read_object(body, JsonLimits(size=LARGEST_BODY)).get("id")
    except JsonError:
        return ""
    return id_ if isinstance(id_, str) else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the service alone until ctrl+c."""
    parser = argparse.ArgumentParser(
        prog="python -m aileron_tui.demo.sample_service", description="A sample mail and files service on loopback."
    )
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="port to listen on (default %(default)s)")
    options = parser.parse_args(arguments)
    try:
        with SampleService(options.port) as service:
            sys.stdout.write(
                f"listening on {service.url} (ctrl+c ends it)\n"
                f"mail wants   Authorization: Bearer {MAIL_CREDENTIAL}\n"
                f"files want   X-Api-Key: {FILES_CREDENTIAL}\n"
            )
            sys.stdout.flush()
            threading.Event().wait()
    except KeyboardInterrupt:
        return 0
    except AileronError as error:
        sys.stderr.write(f"error: {error}\n{error.hint}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

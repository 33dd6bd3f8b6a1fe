"""The sample mail and files service: real HTTP on loopback, data in memory, and faults that can be switched on.

`python -m aileron_tui.demo.sample_service` runs it on its own, on the port that the bundled suite expects.
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
    MAX_BODY_SIZE,
    ServiceError,
    ServiceRequest,
    ServiceResponse,
    ServiceRoutes,
    error_response,
)

HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8725
# Not secrets: they only give access to sample data, and the service only listens on loopback.
MAIL_CREDENTIAL: Final = "sample-mail-token"
FILES_CREDENTIAL: Final = "sample-files-key"
ANY_ID: Final = "*"

_IDLE_TIMEOUT_SECONDS = 30
_CHUNK = 64 * 1024
_Connection: TypeAlias = socket.socket | tuple[bytes, socket.socket]


class ServiceFault(StrEnum):
    """How the service can misbehave."""

    SLOW = "slow"  # the right response, after `SampleService.slow_seconds`
    NOT_FOUND = "404"
    SERVER_ERROR = "500"
    GARBAGE = "garbage"  # 200 with bytes that are not JSON
    HUGE = "huge"  # 200 with `SampleService.huge_bytes` of valid JSON
    REDIRECT = "redirect"  # 302 to `SampleService.redirect_to`
    HANG_UP = "hang-up"  # processes the request, then closes the connection without a response


@dataclass(frozen=True, slots=True)
class ServiceCall:
    """One request that the service received."""

    method: str
    target: str
    authorised: bool


class SampleService:
    """A running service. Use it as a context manager, or call `start` and `stop`.

    `faults` maps an id (of a draft, message or file, or `*`) to its fault; it may be changed at any time. It initially
    contains the ids `r-slow`, `r-404`, `r-500`, … and `f-slow`, …. For a correct but late response, map the id of an
    existing draft or file to `slow`.
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
        """The port the service listens on."""
        if self._server is None:
            raise DemoError("the sample service is not running")
        return self._server.server_port

    @property
    def url(self) -> str:
        """The URL of the service, such as `http://127.0.0.1:8725`."""
        return f"http://{HOST}:{self.port}"

    @property
    def sent(self) -> tuple[Mail, ...]:
        """All sent mail."""
        return self.mailbox.sent

    @property
    def calls(self) -> tuple[ServiceCall, ...]:
        """All requests so far, including rejected ones."""
        with self._lock:
            return tuple(self._calls)

    def start(self) -> "SampleService":
        """Starts serving in the background."""
        if self._server is not None:
            raise DemoError("the sample service is already running")
        self._stopping.clear()
        try:
            self._server = _ServiceServer(self, self._requested_port)
        except (OSError, OverflowError) as error:
            raise DemoError(
                f"cannot start the sample service on {HOST}:{self._requested_port}",
                str(error),
                "Stop the program that is using this port, or choose another port with --port.",
            ) from error
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="sample-service", daemon=True
        )
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stops listening, closes open connections and waits for the handlers. Does nothing if already stopped."""
        server, thread = self._server, self._thread
        if server is None or thread is None:
            return
        self._stopping.set()
        server.shutdown()
        thread.join()
        server.close_connections()
        server.server_close()
        self._server = self._thread = None

    def __enter__(self) -> "SampleService":
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def serve(self, request: ServiceRequest, target: str, credentials: dict[str, str]) -> ServiceResponse | None:
        """Returns the response to one request, or None to close the connection without one."""
        header, expected = self._credentials.get(request.segments[0], ("", ""))
        sent = credentials.get(header, "")
        authorised = bool(expected) and hmac.compare_digest(sent.encode(), expected.encode())
        with self._lock:
            self._calls.append(ServiceCall(request.method, target, authorised))
        self._stopping.wait(self.latency_seconds)
        if not expected:
            return error_response(ServiceError(404, "Not found."))
        if not authorised:
            return error_response(ServiceError(401, "Request had invalid authentication credentials."))
        match self._fault(request):
            case None:
                return self._routes.respond(request)
            case ServiceFault.SLOW:
                self._stopping.wait(self.slow_seconds)
                return self._routes.respond(request)
            case ServiceFault.NOT_FOUND:
                return error_response(ServiceError(404, "Requested entity was not found."))
            case ServiceFault.SERVER_ERROR:
                return error_response(ServiceError(500, "Backend error."))
            case ServiceFault.GARBAGE:
                return ServiceResponse(200, b"\x00\xff<!doctype html><p>not what you asked for")
            case ServiceFault.HUGE:
                frame = b'{"id":"%b"}'
                return ServiceResponse(200, frame % (b"x" * max(self.huge_bytes - len(frame) + 2, 0)))
            case ServiceFault.REDIRECT:
                return ServiceResponse(302, headers={"Location": self.redirect_to})
            case ServiceFault.HANG_UP:
                self._routes.respond(request)
                return None

    def _fault(self, request: ServiceRequest) -> ServiceFault | None:
        ids = [request.segments[-1], ANY_ID]
        if request.segments[-1] == "send":
            ids.insert(0, _draft_id(request.body))
        return next((self.faults[id_] for id_ in ids if id_ in self.faults), None)


class _ServiceServer(socketserver.ThreadingMixIn, HTTPServer):
    daemon_threads = False
    request_queue_size = 256

    def __init__(self, service: SampleService, port: int) -> None:
        self.service = service
        self._connections: set[socket.socket] = set()
        self._connections_lock = threading.Lock()
        super().__init__((HOST, port), _Handler)

    def server_bind(self) -> None:
        # HTTPServer would look up the name of this machine, which can take seconds.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.socket.getsockname()[1]

    def process_request(self, request: _Connection, client_address: object) -> None:
        if isinstance(request, socket.socket):
            with self._connections_lock:
                self._connections.add(request)
            super().process_request(request, client_address)

    def shutdown_request(self, request: _Connection) -> None:
        if isinstance(request, socket.socket):
            with self._connections_lock:
                self._connections.discard(request)
            super().shutdown_request(request)

    def handle_error(self, request: _Connection, client_address: object) -> None:
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    def close_connections(self) -> None:
        with self._connections_lock:
            for connection in self._connections:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue  # the peer already closed it


class _Handler(BaseHTTPRequestHandler):
    server: _ServiceServer
    protocol_version = "HTTP/1.1"
    server_version = "sample-service"
    sys_version = ""
    timeout = _IDLE_TIMEOUT_SECONDS
    disable_nagle_algorithm = True
    wbufsize = -1

    def _serve(self) -> None:
        try:
            body = self._body()
        except ServiceError as error:
            self.close_connection = True
            self._send(error_response(error))
            return
        request = ServiceRequest.parse(self.command, self.path, body)
        credentials = {name: self.headers.get(name, "") for name in ("Authorization", "X-Api-Key")}
        response = self.server.service.serve(request, self.path, credentials)
        if response is None:
            self.close_connection = True
        else:
            self._send(response)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815 (the names the base class expects)

    def _body(self) -> bytes:
        if "Transfer-Encoding" in self.headers:
            raise ServiceError(411, "Content-Length is required.")
        length = self.headers.get("Content-Length", "0")
        if not (length.isascii() and length.isdigit()):
            raise ServiceError(400, "Content-Length is not a number.")
        if len(length) > 18 or int(length) > MAX_BODY_SIZE:
            raise ServiceError(413, f"The body is larger than {MAX_BODY_SIZE} bytes.")
        return self.rfile.read(int(length))

    def _send(self, response: ServiceResponse) -> None:
        self.send_response(response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        if response.status != 204:
            self.send_header("Content-Type", "application/json; charset=UTF-8")
            self.send_header("Content-Length", str(len(response.body)))
        self.end_headers()
        for start in range(0, len(response.body), _CHUNK):
            self.wfile.write(response.body[start : start + _CHUNK])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name is the base class's)
        """Logs nothing: `SampleService.calls` records every request."""


def _draft_id(body: bytes) -> str:
    """Returns the draft id in the body of a send request."""
    try:
        id_ = read_object(body, JsonLimits(size=MAX_BODY_SIZE)).get("id")
    except JsonError:
        return ""
    return id_ if isinstance(id_, str) else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the service until ctrl+c."""
    parser = argparse.ArgumentParser(
        prog="python -m aileron_tui.demo.sample_service", description="A sample mail and files service on loopback."
    )
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="port to listen on (default %(default)s)")
    options = parser.parse_args(arguments)
    try:
        with SampleService(options.port) as service:
            sys.stdout.write(
                f"listening on {service.url} (press ctrl+c to stop)\n"
                f"mail needs   Authorization: Bearer {MAIL_CREDENTIAL}\n"
                f"files need   X-Api-Key: {FILES_CREDENTIAL}\n"
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

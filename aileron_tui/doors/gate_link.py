"""One connection to the gate for one hook call, without the HTTP client, which takes longer to load than the call.

The token is sent only after the program at the other end has shown that it is the gate of this home: its port belongs
to this user, and it is the instance that `gate.json` names. Whatever it then sends, this module returns a JSON object
with its status or raises a RuntimeFault.
"""

import json
import select
import socket
import time
from contextlib import suppress
from typing import Final

from aileron_tui.core.address import read_address
from aileron_tui.core.jsontext import JsonError, JsonObject, read_object
from aileron_tui.runtime.errors import InvalidReply, NoGate, NoReply
from aileron_tui.runtime.gate_discovery import FoundGate
from aileron_tui.runtime.port_owner import foreign_listener

START: Final = "Start one with `aileron-tui gate`."
AGAIN: Final = "Start it again with `aileron-tui gate`."

_CONNECT_SECONDS: Final = 5.0
LARGEST_HEAD: Final = 32 * 1024
_LARGEST_BODY: Final = 8 * 1024 * 1024
_CHUNK: Final = 64 * 1024


class TimedOut(NoReply):
    """The deadline has passed."""


class GateLink:
    """A connection to a gate that has been checked. Closing it withdraws the call that is waiting on it."""

    def __init__(self, found: FoundGate, token: str, deadline: float) -> None:
        self._host = found.url.partition("://")[2]
        self._token = token
        self._deadline = deadline
        self._unread = b""
        self._socket = _connect(found, min(deadline, time.monotonic() + _CONNECT_SECONDS))
        try:
            self._check(found)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "GateLink":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        self._socket.close()

    def abort(self) -> None:
        """Ends the connection while another thread waits on it, which then gets an error."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    @property
    def is_idle(self) -> bool:
        """Whether the connection is open and nothing has arrived that nobody asked for."""
        try:
            return not self._unread and not select.select([self._socket], [], [], 0)[0]
        except (OSError, ValueError):
            return False

    def ask(
        self, method: str, path: str, body: JsonObject | None = None, wait: int = 0, deadline: float | None = None
    ) -> tuple[int, JsonObject]:
        """Makes one HTTP request and returns the status and the body of the reply, {} if it has none.

        `deadline` replaces that of the connection.
        """
        if deadline is not None:
            self._deadline = deadline
        return self._exchange(method, path, agent_fields(self._token, wait), body)

    def _check(self, found: FoundGate) -> None:
        check_listener(found, self._socket)
        check_health(found, self._exchange("GET", "/v1/health", "", None)[1])

    def _exchange(self, method: str, path: str, fields: str, body: JsonObject | None) -> tuple[int, JsonObject]:
        try:
            self._wait_at_most()
            self._socket.sendall(request_bytes(self._host, method, path, fields, body))
            return self._reply()
        except TimeoutError:
            raise timed_out() from None
        except OSError as error:
            raise lost(error.strerror or "") from None

    def _reply(self) -> tuple[int, JsonObject]:
        while b"\r\n\r\n" not in self._unread:
            if len(self._unread) > LARGEST_HEAD:
                raise _invalid("its header is too long")
            self._receive()
        head, _, self._unread = self._unread.partition(b"\r\n\r\n")
        status, length = read_head(head)
        while len(self._unread) < length:
            self._receive()
        body, self._unread = self._unread[:length], self._unread[length:]
        if self._unread:
            raise _invalid("it is longer than it says")
        return status, read_body(body)

    def _receive(self) -> None:
        self._wait_at_most()
        received = self._socket.recv(_CHUNK)
        if not received:
            raise lost("it closed the connection")
        self._unread += received

    def _wait_at_most(self) -> None:
        """Limits the next step to what is left until the deadline, however slowly the gate sends."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)


def agent_fields(token: str, wait: int) -> str:
    """The header lines of an agent's request."""
    return f"Authorization: Bearer {token}\r\n" + (f"Prefer: wait={wait}\r\n" if wait else "")


def request_bytes(host: str, method: str, path: str, fields: str, body: JsonObject | None) -> bytes:
    """An HTTP request."""
    data = b""
    if body is not None:
        data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        fields += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n"
    return f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n".encode() + data


def check_listener(found: FoundGate, connection: socket.socket) -> None:
    """Refuses a port on which another user listens."""
    if (user := foreign_listener(connection)) is not None:
        raise NoGate(f"refused to use the program at {found.url}", f"it belongs to user {user}, not to you", START)


def check_health(found: FoundGate, health: JsonObject) -> None:
    """Refuses a program that is not the gate that was found, or a gate that does not work."""
    instance = health.get("instance")
    if health.get("service") != "aileron" or not isinstance(instance, str):
        raise InvalidReply(f"the program at {found.url} is not a gate", hint=START)
    if found.instance not in ("", instance):
        raise NoGate("another gate has taken the place of the one of this home", found.url, AGAIN)
    if health.get("status") == "failing":
        reason = health.get("reason")
        raise NoGate("the gate is not working", reason if isinstance(reason, str) else "it gives no reason", AGAIN)


def _connect(found: FoundGate, deadline: float) -> socket.socket:
    address = read_address(found.url)
    try:
        connection = socket.create_connection((address.host, address.port), max(0.1, deadline - time.monotonic()))
    except OSError as error:
        detail = f"nothing listens at {found.url}" if isinstance(error, ConnectionError) else str(error)
        raise NoGate("no gate is running", detail, START) from None
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if address.scheme != "https":
        return connection
    import ssl  # noqa: PLC0415  # only for a gate on another machine

    try:
        return ssl.create_default_context().wrap_socket(connection, server_hostname=address.host)
    except (OSError, ValueError) as error:
        connection.close()
        raise NoGate(f"cannot connect to {found.url}", str(error), "Check its address and certificate.") from None


def read_head(head: bytes, largest: int = _LARGEST_BODY) -> tuple[int, int]:
    """The status and the length of the body."""
    first, *lines = head.split(b"\r\n")
    version, _, rest = first.partition(b" ")
    status = rest[:3]
    if version not in (b"HTTP/1.1", b"HTTP/1.0") or not status.isdigit() or rest[3:4] not in (b"", b" "):
        raise _invalid("it is not HTTP")
    number = int(status)
    if number < 200 or 300 <= number < 400:
        raise _invalid(f"its status is {number}")
    lengths = []
    for line in lines:
        name, _, value = line.partition(b":")
        match name.strip().lower():
            case b"content-length":
                lengths.append(value.strip())
            case b"transfer-encoding" | b"content-encoding":
                raise _invalid("its body is encoded")
    if number == 204 and not lengths:
        return number, 0
    if len(lengths) != 1 or not lengths[0].isdigit() or len(lengths[0]) > 12:
        raise _invalid("it does not say how long it is")
    if (length := int(lengths[0])) > largest:
        raise _invalid(f"it has {length:,} bytes")
    return number, length


def read_body(body: bytes) -> JsonObject:
    """The JSON of a reply, {} if it has none."""
    try:
        return read_object(body) if body else {}
    except JsonError as error:
        raise _invalid(str(error)) from None


def _invalid(detail: str) -> InvalidReply:
    return InvalidReply("the gate sent an invalid reply", detail, "Use the same version of aileron-tui for both.")


def timed_out() -> TimedOut:
    """The error if the deadline has passed."""
    return TimedOut("the gate did not answer in time", hint="Check that it is running.")


def lost(detail: str) -> NoReply:
    """The error if the connection ended before the reply."""
    return NoReply("the gate stopped before it answered", detail, AGAIN)

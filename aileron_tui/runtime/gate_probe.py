"""Checks that a gate is running on this machine, without the HTTP client, which takes longer to load than the check.

The request is sent at once and the reply is read when it is needed, so that other work can be done in between.
"""

import socket
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from aileron_tui.core.jsontext import JsonError, JsonObject, read_object
from aileron_tui.runtime.errors import InvalidReply, NoGate, NoReply
from aileron_tui.runtime.gate_discovery import START, FoundGate
from aileron_tui.runtime.port_owner import check_peer

_CONNECT_SECONDS: Final = 3.0
_REPLY_SECONDS: Final = 30.0
_LARGEST: Final = 64 * 1024


class GateProbe:
    """One health check of the gate that was found; raises NoGate if nothing listens there."""

    def __init__(self, found: FoundGate) -> None:
        self._found = found
        address = urlsplit(found.url)
        try:
            if found.socket is None:
                self._socket = socket.create_connection((address.hostname or "", address.port or 80), _CONNECT_SECONDS)
            else:
                self._socket = _connect_socket(found.socket)
        except (OSError, ValueError) as error:
            raise NoGate(f"cannot connect to {found.socket or found.url}", str(error), START) from None
        with suppress(OSError):  # if the connection is already closed, reading the reply reports that
            self._socket.settimeout(_REPLY_SECONDS)
            self._socket.sendall(f"GET /v1/health HTTP/1.0\r\nHost: {address.netloc}\r\n\r\n".encode())

    def verified_instance(self) -> str:
        """Returns the instance id of the gate, after checking that it is the gate that was found."""
        health = self._health()
        instance = health.get("instance")
        if health.get("service") != "aileron" or not isinstance(instance, str):
            raise InvalidReply(f"the program at {self._found.url} is not a gate", hint=START)
        if self._found.instance not in ("", instance):
            detail = f"{self._found.url} is now {instance}, not {self._found.instance}"
            raise NoGate("another gate has replaced the one that was found", detail, "Try again.")
        return instance

    def _health(self) -> JsonObject:
        url = self._found.url
        try:
            with self._socket, self._socket.makefile("rb") as file:
                head, _, body = file.read(_LARGEST).partition(b"\r\n\r\n")
        except TimeoutError:
            hint = "Check that it is running."
            raise NoReply(f"the gate at {url} did not reply in time", hint=hint) from None
        except OSError as error:
            raise NoReply(f"the connection to {url} was lost", str(error), "Try again.") from None
        try:
            return read_object(body) if head.split(b" ", 2)[1:2] in ([b"200"], [b"503"]) else {}  # 503: it is failing
        except JsonError:
            return {}


def _connect_socket(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(_CONNECT_SECONDS)
        connection.connect(str(path))
        check_peer(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection

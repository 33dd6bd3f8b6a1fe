"""Asking a gate of this machine whether it is there, without the HTTP client, which takes longer to load than to ask.

The question is sent at once and the answer is read when it is needed, so that one can do something else in between.
"""

import socket
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

from aileron_tui.core.jsontext import JsonError, JsonObject, read_object
from aileron_tui.runtime.errors import NoGate, Unanswered, Untrustworthy
from aileron_tui.runtime.gate_discovery import START, FoundGate

_CONNECT: Final = 3.0
_ANSWER: Final = 30.0
_LARGEST: Final = 64 * 1024


class GateProbe:
    """One question to the gate that was found; NoGate if nobody listens there."""

    def __init__(self, found: FoundGate) -> None:
        self._found = found
        address = urlsplit(found.url)
        try:
            self._socket = socket.create_connection((address.hostname or "", address.port or 80), _CONNECT)
        except (OSError, ValueError) as error:
            raise NoGate(f"nobody answers at {found.url}", str(error), START) from None
        with suppress(OSError):  # whoever hung up already gives no answer either
            self._socket.settimeout(_ANSWER)
            self._socket.sendall(f"GET /v1/health HTTP/1.0\r\nHost: {address.netloc}\r\n\r\n".encode())

    def answered(self) -> str:
        """The instance that answers, if it is the gate that was found; NoGate if it is another."""
        health = self._health()
        instance = health.get("instance")
        if health.get("service") != "aileron" or not isinstance(instance, str):
            raise Untrustworthy(f"what answers at {self._found.url} is not a gate", hint=START)
        if self._found.instance not in ("", instance):
            detail = f"{self._found.url} is now {instance}, not {self._found.instance}"
            raise NoGate("another gate took the place of the one that was found", detail, "Try again.")
        return instance

    def _health(self) -> JsonObject:
        url = self._found.url
        try:
            with self._socket, self._socket.makefile("rb") as file:
                head, _, body = file.read(_LARGEST).partition(b"\r\n\r\n")
        except TimeoutError:
            hint = "Look whether it is still well."
            raise Unanswered(f"the gate at {url} did not answer in time", hint=hint) from None
        except OSError as error:
            raise Unanswered(f"the connection to {url} broke", str(error), "Try again.") from None
        try:
            return read_object(body) if head.split(b" ", 2)[1:2] == [b"200"] else {}
        except JsonError:
            return {}

"""Keeps connections for later requests to the same origin.

The pool of httpcore looks at all its connections whenever a request begins or ends, with a system call for each idle
one. With 100 requests at once that takes longer than everything else together. This one only looks at the connection
that is used next.
"""

import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import httpcore

_MOST_IN_USE: Final = 256
_MOST_IDLE: Final = 128
_IDLE_SECONDS: Final = 5.0
_LONGEST_WAIT: Final = 3600.0


class ConnectionPool:
    """The connections of one scheme. Thread-safe. With `keep=False` every request gets a new connection."""

    def __init__(self, backend: httpcore.NetworkBackend, tls: ssl.SSLContext | None, *, keep: bool) -> None:
        self._backend = backend
        self._tls = tls
        self._keep = keep
        self._free = threading.Semaphore(_MOST_IN_USE)
        self._lock = threading.Lock()
        self._in_use: set[httpcore.HTTPConnection] = set()
        self._idle: list[tuple[float, httpcore.HTTPConnection]] = []  # since when; the latest is last

    @contextmanager
    def response(self, request: httpcore.Request, seconds: float) -> Iterator[httpcore.Response]:
        """Sends a request, and yields the response while it is read. Waits so long if all connections are in use."""
        if not self._free.acquire(timeout=min(max(seconds, 0.0), _LONGEST_WAIT)):
            raise httpcore.PoolTimeout
        try:
            connection = self._taken(request.url.origin)
            try:
                response = connection.handle_request(request)
                try:
                    yield response
                finally:
                    response.close()
            finally:
                self._put_back(connection)
        finally:
            self._free.release()

    def close(self) -> None:
        """Closes all connections, also those in use."""
        with self._lock:
            closing = [*self._in_use, *(connection for _, connection in self._idle)]
            self._in_use.clear()
            self._idle.clear()
        _close(closing)

    def _taken(self, origin: httpcore.Origin) -> httpcore.HTTPConnection:
        """The connection to this origin that was used last and that the peer has not closed, or a new one."""
        while connection := self._latest(origin):
            if not connection.has_expired():
                return connection
            self._put_back(connection, usable=False)
        connection = httpcore.HTTPConnection(
            origin, self._tls, keepalive_expiry=_IDLE_SECONDS, network_backend=self._backend
        )
        with self._lock:
            self._in_use.add(connection)
        return connection

    def _latest(self, origin: httpcore.Origin) -> httpcore.HTTPConnection | None:
        with self._lock:
            for index in reversed(range(len(self._idle))):
                connection = self._idle[index][1]
                if connection.can_handle_request(origin):
                    del self._idle[index]
                    self._in_use.add(connection)
                    return connection
        return None

    def _put_back(self, connection: httpcore.HTTPConnection, *, usable: bool = True) -> None:
        """Keeps a connection for the next request, unless it cannot be used again or the pool was closed meanwhile."""
        closing, now = [connection], time.monotonic()
        with self._lock:
            if connection in self._in_use:
                self._in_use.remove(connection)
                if usable and self._keep and connection.is_available():
                    self._idle.append((now, closing.pop()))
            while self._idle and (len(self._idle) > _MOST_IDLE or now - self._idle[0][0] > _IDLE_SECONDS):
                closing.append(self._idle.pop(0)[1])
        _close(closing)


def _close(connections: list[httpcore.HTTPConnection]) -> None:
    for connection in connections:
        connection.close()

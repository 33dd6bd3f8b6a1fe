"""Reads a daemon's event stream byte by byte."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from tests.daemon.process import PATIENCE, FakeDaemon


def answer(
    daemon: FakeDaemon, method: str, path: str, headers: Mapping[str, str], body: bytes = b""
) -> tuple[http.client.HTTPResponse, bytes]:
    """The whole answer to one request that has no other headers than these."""
    connection = http.client.HTTPConnection(*daemon.address, timeout=PATIENCE)
    try:
        connection.request(method, path, body, dict(headers))
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


class Listener:
    """An open stream. Frames are separated by empty lines."""

    def __init__(self, daemon: FakeDaemon, *, timeout: float = PATIENCE) -> None:
        self._connection = http.client.HTTPConnection(*daemon.address, timeout=timeout)
        self._connection.request("GET", "/v1/action-approvals/watch", headers=daemon.headers)
        self.response = self._connection.getresponse()
        self._rest = b""

    def frame(self) -> bytes:
        """The next frame, without its empty line; b"" at the end of the stream."""
        while b"\n\n" not in self._rest:
            try:
                more = self.response.read1(65536)
            except http.client.IncompleteRead:
                more = b""
            if not more:
                return b""
            self._rest += more
        found, _, self._rest = self._rest.partition(b"\n\n")
        return found

    def event(self) -> tuple[str, Any]:
        """The next event: exactly a line with its name and a line with its data."""
        name, data = self.frame().split(b"\n")
        assert name.startswith(b"event: "), name
        assert data.startswith(b"data: "), data
        return name[7:].decode(), json.loads(data[6:])

    def events(self, count: int) -> list[tuple[str, Any]]:
        """The next events."""
        return [self.event() for _ in range(count)]

    def close(self) -> None:
        self._connection.close()
        self.response.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

"""The pool of connections: which are used again, which are closed, and what a request costs the others."""

from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

import httpcore
import pytest

from aileron_tui.sandbox import connection_pool
from aileron_tui.sandbox.connection_pool import ConnectionPool

REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Stream(httpcore.NetworkStream):
    """A connection to a server that answers every request with `reply`."""

    def __init__(self, host: str, reply: bytes) -> None:
        self.host = host
        self.reply = reply
        self.requests = 0
        self.looks = 0
        self.closed = self.closed_by_peer = False
        self._unread = b""

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data, self._unread = self._unread, b""
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if buffer:
            self.requests += 1
            self._unread = self.reply

    def close(self) -> None:
        self.closed = True

    def get_extra_info(self, info: str) -> Any:
        self.looks += info == "is_readable"
        return self.closed_by_peer if info == "is_readable" else None


class Network(httpcore.NetworkBackend):
    """Makes such connections, and keeps them in `streams`."""

    def __init__(self, reply: bytes = REPLY) -> None:
        self.reply = reply
        self.streams: list[Stream] = []

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        self.streams.append(Stream(host, self.reply))
        return self.streams[-1]


def pool(network: Network, *, keep: bool = True) -> ConnectionPool:
    return ConnectionPool(network, None, keep=keep)


def request(host: str = "one.example") -> httpcore.Request:
    return httpcore.Request("GET", f"http://{host}/", headers=[("Host", host)])


def ask(pool: ConnectionPool, host: str = "one.example") -> bytes:
    with pool.response(request(host), 1) as response:
        return b"".join(response.iter_stream())


def ask_at_once(pool: ConnectionPool, count: int) -> None:
    with ExitStack() as stack:
        for response in [stack.enter_context(pool.response(request(), 1)) for _ in range(count)]:
            assert b"".join(response.iter_stream()) == b"ok"


def test_a_connection_is_used_again_only_for_its_origin() -> None:
    connections = pool(network := Network())
    for host in ("one.example", "two.example", "one.example", "one.example:8080"):
        assert ask(connections, host) == b"ok"
    assert [(stream.host, stream.requests) for stream in network.streams] == [
        ("one.example", 2),
        ("two.example", 1),
        ("one.example", 1),
    ]


def test_without_keep_every_request_gets_a_new_connection() -> None:
    connections = pool(network := Network(), keep=False)
    ask(connections)
    ask(connections)
    assert [(stream.requests, stream.closed) for stream in network.streams] == [(1, True), (1, True)]


def test_a_connection_that_the_peer_closed_is_not_used_again() -> None:
    connections = pool(network := Network())
    ask(connections)
    network.streams[0].closed_by_peer = True
    ask(connections)
    assert [(stream.requests, stream.closed) for stream in network.streams] == [(1, True), (1, False)]


def test_a_response_that_is_not_read_to_its_end_closes_its_connection() -> None:
    connections = pool(network := Network(REPLY[:-1]))
    with connections.response(request(), 1):
        pass
    assert network.streams[0].closed
    with connections.response(request(), 1):
        assert len(network.streams) == 2


def test_a_request_looks_at_no_other_connections() -> None:
    """Each look is a system call; with 100 requests at once they took longer than the requests."""
    connections = pool(network := Network())
    ask_at_once(connections, 50)
    assert not sum(stream.looks for stream in network.streams)
    ask(connections)
    assert sum(stream.looks for stream in network.streams) == 1


def test_connections_that_were_idle_for_long_or_are_too_many_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    connections = pool(network := Network())
    ask_at_once(connections, connection_pool._MOST_IDLE + 2)
    assert sum(stream.closed for stream in network.streams) == 2
    monkeypatch.setattr(connection_pool, "_IDLE_SECONDS", 0.0)
    ask(connections)
    assert sum(not stream.closed for stream in network.streams) == 1


def test_a_request_waits_for_a_free_connection_only_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_pool, "_MOST_IN_USE", 1)
    connections = pool(Network())
    with connections.response(request(), 1), pytest.raises(httpcore.PoolTimeout):
        ask(connections)
    assert ask(connections) == b"ok"


def test_a_failed_connection_leaves_room_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_pool, "_MOST_IN_USE", 1)
    connections = pool(network := Network(b"not HTTP\r\n\r\n"))
    for _ in range(3):
        with pytest.raises(httpcore.RemoteProtocolError):
            ask(connections)
    network.reply = REPLY
    assert ask(connections) == b"ok"
    assert [stream.closed for stream in network.streams] == [True, True, True, False]


def test_closing_also_closes_what_is_in_use() -> None:
    connections = pool(network := Network())
    ask_at_once(connections, 2)
    with connections.response(request(), 1):
        connections.close()
        assert all(stream.closed for stream in network.streams)
    assert ask(connections) == b"ok"
    assert len(network.streams) == 3


def test_a_connection_that_was_made_while_the_pool_closed_is_not_kept() -> None:
    class Closing(Network):
        def connect_tcp(self, *args: Any, **more: Any) -> httpcore.NetworkStream:
            connections.close()
            return super().connect_tcp(*args, **more)

    connections = pool(network := Closing())
    assert ask(connections) == b"ok"
    assert network.streams[0].closed

"""Accepts connections and reads HTTP requests, so that no client can keep others waiting.

A client must send its headers within seconds and must read its response. The HTTP requests of an agent that sends too
many are left unread for a while.
"""

import asyncio
import errno
import logging
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from aileron_tui.core.errors import AileronError
from aileron_tui.files.socket_peer import foreign_peer
from aileron_tui.gate import replies
from aileron_tui.gate.connection_pools import APPROVER, NOBODY, ConnectionPools, PoolSizes, raise_descriptor_limit
from aileron_tui.gate.event_stream import ABORT
from aileron_tui.gate.http_limits import TokenBucket
from aileron_tui.gate.http_request import IDENTIFY, ON_SOCKET
from aileron_tui.gate.replies import compact_json

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from aileron_tui.gate.http_app import GateApp

log: Final = logging.getLogger("aileron_tui.gate")

_ACCEPTS_AT_ONCE: Final = 32
_RETRY_SECONDS: Final = 0.1
_SWEEP_SECONDS: Final = 0.5
_SHORT_SWEEP_SECONDS: Final = 0.01
_CLOSED_AT_ONCE: Final = 32
_NO_RESOURCES: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_READ_BYTES: Final = 64 * 1024
_HEADERS_PEEKED: Final = 8 * 1024
_STALL_SECONDS: Final = 5.0
_UNREADABLE: Final = "this is not valid HTTP/1.1, or its headers are too large"
_LEAST_PROGRESS: Final = 64 * 1024
_TOKEN: Final = re.compile(rb"\r\nauthorization:[ \t]*bearer[ \t]+([!-~]+)", re.IGNORECASE)
_TAB: Final = re.compile(rb"\r\nx-aileron-tab:[ \t]*([!-~]+)", re.IGNORECASE)


class GateServer(uvicorn.Server):
    """A uvicorn server that accepts a few connections at a time, and installs no signal handlers."""

    def __init__(self, config: uvicorn.Config, app: "GateApp") -> None:
        super().__init__(config)
        self._gate_app = app
        self.limits = app.limits
        self._listeners: list[_Listener] = []
        self.pools = ConnectionPools(app.limits, PoolSizes.within(app.limits, raise_descriptor_limit()))

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Does nothing, because `run` handles the signals."""
        yield

    async def startup(self, sockets: "list[socket.socket] | None" = None) -> None:
        """Starts to accept connections."""
        self.servers: list[asyncio.Server] = []
        self._listeners = [_Listener(listener, self) for listener in sockets or ()]
        self.started = True

    async def shutdown(self, sockets: "list[socket.socket] | None" = None) -> None:
        """Stops accepting connections, then lets the open ones end."""
        for listener in self._listeners:
            listener.stop()
        await super().shutdown(sockets)

    def new_connection(self, owner: str) -> "GateConnection":
        """Returns the protocol for a new connection. `owner` is whose token is in what it sent first, or nobody."""
        connection = GateConnection(self.config, self.server_state, {}, app=self._gate_app, pools=self.pools)
        connection.expected_owner = owner
        return connection

    def peeked_owner(self, connection: socket.socket) -> str:
        """Returns whose token is in what a connection has sent so far. Leaves that to be read."""
        try:
            return _peeked_owner(self._gate_app, connection.recv(_HEADERS_PEEKED, socket.MSG_PEEK))
        except (OSError, AileronError):  # whoever reads it reports that
            return NOBODY

    def free_descriptor(self) -> None:
        """Closes the connection that is needed least."""
        if not any(listener.dismiss() for listener in self._listeners):
            self.pools.close_idle()


class _Listener:
    """Accepts connections, a few at a time, so that many at once do not delay the open ones.

    A connection waits in the lobby until it sends something, because there it costs next to nothing.
    """

    def __init__(self, listener: socket.socket, server: GateServer) -> None:
        self._listener = listener
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._lobby: dict[socket.socket, float] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._pause: asyncio.TimerHandle | None = None
        self._start()
        self._sweeper = self._loop.call_later(0, self._sweep)

    def stop(self) -> None:
        """Accepts no more connections."""
        self._loop.remove_reader(self._listener)
        for timer in (self._sweeper, self._pause):
            if timer is not None:
                timer.cancel()
        while self.dismiss():
            pass

    def dismiss(self) -> bool:
        """Closes the connection that has been silent in the lobby longest; returns False if there is none."""
        while self._lobby:
            connection = next(iter(self._lobby))
            if _has_sent(connection):
                self._enter(connection)
                continue
            self._leave_lobby(connection)
            connection.close()
            return True
        return False

    def _start(self) -> None:
        self._pause = None
        self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        for _ in range(_ACCEPTS_AT_ONCE):
            try:
                connection, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _NO_RESOURCES:
                    raise
                log.error("cannot accept a connection: %s", error.strerror)
                self._loop.remove_reader(self._listener)
                self._server.free_descriptor()
                self._pause = self._loop.call_later(_RETRY_SECONDS, self._start)
                return
            if connection.family == socket.AF_UNIX and foreign_peer(connection) is not None:
                connection.close()
                continue
            connection.setblocking(False)
            if len(self._lobby) >= self._server.pools.sizes.lobby:
                self.dismiss()
            self._lobby[connection] = self._loop.time()
            self._loop.add_reader(connection.fileno(), self._enter, connection)

    def _enter(self, connection: socket.socket) -> None:
        """Serves a connection that has sent something."""
        self._leave_lobby(connection)
        new_connection = partial(self._server.new_connection, self._server.peeked_owner(connection))
        task = self._loop.create_task(self._loop.connect_accepted_socket(new_connection, connection))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _leave_lobby(self, connection: socket.socket) -> None:
        self._loop.remove_reader(connection.fileno())
        del self._lobby[connection]

    def _sweep(self) -> None:
        """Closes the connections that have been in the lobby too long."""
        oldest, count = self._loop.time() - self._server.limits.header_seconds, 0
        while count < _CLOSED_AT_ONCE and self._lobby and next(iter(self._lobby.values())) < oldest:
            self.dismiss()
            count += 1
        pause = _SWEEP_SECONDS if count < _CLOSED_AT_ONCE else _SHORT_SWEEP_SECONDS
        self._sweeper = self._loop.call_later(min(pause, self._server.limits.header_seconds), self._sweep)


def _has_sent(connection: socket.socket) -> bool:
    """Whether a connection has sent something that was not read yet."""
    try:
        return bool(connection.recv(1, socket.MSG_PEEK))
    except OSError:
        return False


class GateConnection(H11Protocol):
    """One connection: its owner, and the timers for its headers and its response."""

    def __init__(self, *values: Any, app: "GateApp", pools: ConnectionPools, **options: Any) -> None:
        super().__init__(*values, **options)
        self.owner = NOBODY
        self.expected_owner = NOBODY
        self.on_socket = False
        self.reserved_reads: tuple[TokenBucket, int] | None = None
        self._gate_app = app
        self._pools = pools
        self._held = b""
        self._is_new = True
        self._header_timer: asyncio.TimerHandle | None = None
        self._read_timer: asyncio.TimerHandle | None = None
        self._stall_timer: asyncio.TimerHandle | None = None

    @property
    def is_idle(self) -> bool:
        """Whether it can be closed without losing a response; an unknown caller that is still sending can be, too.

        A new connection has sent something that will be read at once.
        """
        if self._awaits_request:
            return not self._is_new and self._read_timer is None and not self.unsent_bytes
        return not self.owner and self.cycle.more_body

    @property
    def unsent_bytes(self) -> int:
        """How much of a response the client has not read."""
        return self.transport.get_write_buffer_size()

    def abort(self) -> None:
        """Closes the connection at once."""
        self.transport.abort()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  # ours says more
        """Refuses what cannot be read as HTTP, as JSON like every other error, and closes the connection."""
        body = compact_json(replies.error(400, "invalid_request", _UNREADABLE).body)
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body))), ("Connection", "close")]
        for event in (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as its parent does
        """Starts the timer for the first request."""
        super().connection_made(transport)
        connection: socket.socket = transport.get_extra_info("socket")
        self.on_socket = connection.family == socket.AF_UNIX
        self.app = self._call_app
        transport.max_size = _READ_BYTES  # type: ignore[attr-defined]  # how much asyncio reads at a time
        # A connection with a valid token is never one of the unknown ones, of which a flood leaves few.
        if not self.expected_owner or self._pools.identify(self, self.expected_owner):
            self._pools.opened(self)
        self._update_header_timer()

    def data_received(self, data: bytes) -> None:
        """Processes data, or leaves it unread for a while if its sender sends too many requests."""
        self._is_new = False
        if self._awaits_request:
            owner = self.owner or _peeked_owner(self._gate_app, data)
            # Counted as its owner's from now on; if the owner has too many, the app refuses the request.
            self._pools.identify(self, owner)
            if seconds := self._pools.delay(self, owner):
                self._held = data
                self.transport.pause_reading()
                self._stop_header_timer()  # the client is not slow, the gate makes it wait
                self._read_timer = self.loop.call_later(seconds, self._read_held)
                return
        self._process(data)

    def _read_held(self) -> None:
        data, self._held, self._read_timer, self.reserved_reads = self._held, b"", None, None
        if not self.transport.is_closing():
            self.transport.resume_reading()
            self._process(data)

    def on_response_complete(self) -> None:
        """Continues with the next HTTP request if the client sent it already, which may have to wait, too."""
        is_next = bool(self.conn.trailing_data[0]) and not self.transport.is_closing()
        if is_next and (seconds := self._pools.delay(self, self.owner)):
            self.flow.pause_reading()
            self._read_timer = self.loop.call_later(seconds, self._continue)
        else:
            super().on_response_complete()

    def _continue(self) -> None:
        self._read_timer, self.reserved_reads = None, None
        super().on_response_complete()

    def _process(self, data: bytes) -> None:
        self._pools.used(self)
        super().data_received(data)
        self._update_header_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancels the timers."""
        self._pools.closed(self)
        for timer in (self._header_timer, self._read_timer, self._stall_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Starts to watch whether the client reads its response."""
        super().pause_writing()
        self._watch_progress()
        self._pools.stalled(self)

    def resume_writing(self) -> None:
        """Stops watching."""
        super().resume_writing()
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None
        self._pools.resumed(self)

    def _check_progress(self, before: int) -> None:
        if self.unsent_bytes > before - _LEAST_PROGRESS:
            self.transport.abort()
        else:
            self._watch_progress()

    def _watch_progress(self) -> None:
        seconds = self._gate_app.limits.send_seconds if self.owner == APPROVER else _STALL_SECONDS
        self._stall_timer = self.loop.call_later(seconds, self._check_progress, self.unsent_bytes)

    @property
    def _awaits_request(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def _update_header_timer(self) -> None:
        if not self._awaits_request:
            self._stop_header_timer()
        elif self._header_timer is None:
            self._header_timer = self.loop.call_later(self._gate_app.limits.header_seconds, self.transport.abort)

    def _stop_header_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    async def _call_app(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        scope[ABORT] = self.transport.abort
        scope[ON_SOCKET] = self.on_socket
        scope[IDENTIFY] = self._identify
        await self._gate_app(scope, receive, send)

    def _identify(self, owner: str) -> str:
        return self._pools.identify(self, owner)


def _peeked_owner(app: "GateApp", data: bytes) -> str:
    """Finds the owner by the token in the headers, to decide who waits. The app checks the token again."""
    # A caller with a token is never taken for a tab of the page, or agents could hide behind that.
    found = _TOKEN.search(data, 0, _HEADERS_PEEKED) or _TAB.search(data, 0, _HEADERS_PEEKED)
    return app.owner_of_token(found[1].decode("ascii")) if found else NOBODY

"""A gate on a port: binds, tells where it is and how agents get in, and stops cleanly."""

import asyncio
import errno
import json
import logging
import os
import secrets
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from aileron_tui import __version__
from aileron_tui.core.errors import AileronError
from aileron_tui.core.times import timestamp
from aileron_tui.core.values import dataclass
from aileron_tui.files.private_files import write_private
from aileron_tui.gate.event_stream import ABORT
from aileron_tui.gate.gate_log import GateLog, GateLogHandler
from aileron_tui.gate.http_app import GateApp
from aileron_tui.gate.http_limits import HttpLimits
from aileron_tui.gate.origin_check import OriginCheck, authority, is_loopback

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from aileron_tui.gate.gate import Gate

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8722
DISCOVERY_FILE: Final = "gate.json"
TOKEN_FILE: Final = "agent.token"  # noqa: S105  # the name of a file

_HEADER_SECONDS: Final = 10.0
_KEEP_ALIVE_SECONDS: Final = 65
_STOP_SECONDS: Final = 3
_CONNECTIONS: Final = 2000
_LONGEST_HEADERS: Final = 32 * 1024
_LOGGERS: Final = ("aileron_tui", "uvicorn.error")


class GateStartError(AileronError):
    """The gate cannot be reached where it was asked to be."""


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Where to listen. Port 0 lets the system choose; other machines must be allowed in on purpose."""

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    remote: bool = False


def bind(address: ListenAddress) -> socket.socket:
    """A listening socket, or words about why not."""
    if not address.remote and not is_loopback(address.host):
        raise GateStartError(
            f"a gate on {address.host} could be reached from other machines",
            "the connection is not encrypted, and whoever sees the agent token can use it",
            "Listen on 127.0.0.1, or say --allow-remote if the network is yours alone.",
        )
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # Named as TCP, or asyncio leaves Nagle on, which holds back the second half of each answer for some 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address.host, address.port))
        listener.listen(1024)
    except (OSError, OverflowError) as error:
        listener.close()
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        detail = "another program uses this port" if taken else str(getattr(error, "strerror", None) or error)
        hint = "Is a gate running already? Else choose another port with --port." if taken else "Choose another."
        raise GateStartError(f"cannot listen on {authority(address.host, address.port)}", detail, hint) from None
    listener.setblocking(False)
    return listener


def new_token() -> str:
    """A token for agents, good for as long as the gate runs."""
    return secrets.token_hex(32)


@asynccontextmanager
async def serving(  # noqa: PLR0913  # the last two are for tests and for processes that keep a journal
    gate: "Gate",
    host: str = DEFAULT_HOST,
    port: int = 0,
    *,
    agent_token: str,
    limits: HttpLimits | None = None,
    journal: GateLog | None = None,
) -> AsyncIterator[str]:
    """Serves a gate that was started, on this machine only, for as long as the block lasts; gives the URL."""
    listener = bind(ListenAddress(host, port))
    border = OriginCheck(host, int(listener.getsockname()[1]))
    async with _listening(GateApp(gate, border, agent_token, limits=limits, journal=journal), listener):
        yield border.url


@asynccontextmanager
async def _listening(doors: GateApp, listener: socket.socket) -> AsyncIterator[None]:
    config = uvicorn.Config(
        doors,
        http=_Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_STOP_SECONDS,
        limit_concurrency=_CONNECTIONS,
        h11_max_incomplete_event_size=_LONGEST_HEADERS,
    )
    server = _GateServer(config)
    task = asyncio.create_task(server.serve(sockets=[listener]), name="server")
    try:
        while not server.started and not task.done():
            await asyncio.sleep(0.001)
        yield
    finally:
        doors.close()
        server.should_exit = True
        await task
        listener.close()


async def run(gate: "Gate", data: Path, address: ListenAddress, *, ready: TextIO, journal: GateLog) -> None:
    """A whole gate process: starts it, says where it is, and stops it on SIGINT or SIGTERM."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def asked() -> None:
        if stop.is_set():
            os._exit(128 + signal.SIGTERM)  # the second time: at once; the ledger is made for that
        journal.note("stopping")
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, asked)
    try:
        async with opened(gate, data, address, journal) as place:
            ready.write(json.dumps(place) + "\n")
            ready.flush()
            journal.note("ready", f"{gate.instance} at {place['url']}", url=place["url"], instance=gate.instance)
            await stop.wait()
        journal.note("stopped")
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


@asynccontextmanager
async def opened(gate: "Gate", data: Path, address: ListenAddress, journal: GateLog) -> AsyncIterator[dict[str, str]]:
    """A gate that is started, listens and can be found, for as long as the block lasts; gives where it is."""
    # Before the gate starts: a port that is taken must not leave traces in the ledger.
    listener = bind(address)
    try:
        with _logging(journal):
            await gate.start()
            try:
                token = new_token()
                border = OriginCheck(address.host, int(listener.getsockname()[1]))
                async with _listening(GateApp(gate, border, token, journal=journal), listener):
                    with _announced(gate.instance, border.url, token, data) as place:
                        yield place
            finally:
                await gate.stop()
    finally:
        listener.close()


@contextmanager
def _announced(instance: str, url: str, token: str, data: Path) -> Iterator[dict[str, str]]:
    """Writes the agents' token, and where this gate is for whoever looks; takes both away at the end."""
    token_file, discovery = data / TOKEN_FILE, data / DISCOVERY_FILE
    place = {"url": url, "instance": instance, "agent_token_file": str(token_file)}
    about = {"pid": os.getpid(), "version": __version__, "started_at": timestamp(datetime.now(UTC))}
    write_private(token_file, f"{token}\n".encode(), replace=True)
    try:
        write_private(discovery, json.dumps(place | about, indent=2).encode() + b"\n", replace=True)
        yield place
    finally:
        discovery.unlink(missing_ok=True)
        token_file.unlink(missing_ok=True)


@contextmanager
def _logging(journal: GateLog) -> Iterator[None]:
    handler = GateLogHandler(journal)
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [(logger.level, logger.propagate) for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO if logger.name.startswith("aileron") else logging.ERROR)
        logger.propagate = False
    try:
        yield
    finally:
        for logger, (level, propagate) in zip(loggers, before, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)
            logger.propagate = propagate


class _GateServer(uvicorn.Server):
    """A server that leaves signals to the process it is part of."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing is captured."""
        yield


class _Connection(H11Protocol):
    """A connection that must send the head of each request within a few seconds, and that can be cut."""

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as its parent does
        """Begins to wait for the first request."""
        super().connection_made(transport)
        self.app = _with_abort(self.app, transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Takes what came and goes on waiting if it was not a whole head."""
        super().data_received(data)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops waiting."""
        if self._patience is not None:
            self._patience.cancel()
        super().connection_lost(exc)

    def _expect(self) -> None:
        cycle: RequestResponseCycle | None = self.cycle
        idle = cycle is None or cycle.response_complete
        if not idle and self._patience is not None:
            self._patience.cancel()
            self._patience = None
        elif idle and self._patience is None:
            self._patience = self.loop.call_later(_HEADER_SECONDS, self.transport.abort)


def _with_abort(app: Any, transport: asyncio.Transport) -> "ASGIApp":
    async def call(scope: "Scope", receive: "Receive", send: "Send") -> None:
        scope[ABORT] = transport.abort
        await app(scope, receive, send)

    return call

"""Serves a gate on a port: binds, publishes its address, and stops cleanly."""

import asyncio
import errno
import gc
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

import uvicorn

from aileron_tui import __version__
from aileron_tui.core.call_hint import CallHint
from aileron_tui.core.errors import AileronError
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.core.values import dataclass
from aileron_tui.files.freed_memory import keep_little_freed_memory
from aileron_tui.files.private_files import write_private
from aileron_tui.gate import approver_socket
from aileron_tui.gate.gate_connection import GateConnection, GateServer
from aileron_tui.gate.gate_log import MAX_LINE_LENGTH, GateLog, GateLogHandler
from aileron_tui.gate.http_app import Doors, GateApp
from aileron_tui.gate.http_limits import HttpLimits
from aileron_tui.gate.origin_check import OriginCheck, authority, is_loopback
from aileron_tui.gate.page_port import MakePage, PageOffer
from aileron_tui.gate.service_manager import READY, STOPPING, ServiceManager
from aileron_tui.ledger.file_names import FILE as LEDGER_NAME

if TYPE_CHECKING:
    from aileron_tui.gate.gate import Gate

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8722
DISCOVERY_FILE: Final = "gate.json"

_KEEP_ALIVE_SECONDS: Final = 65
_SHUTDOWN_SECONDS: Final = 3
_STOP_LIMIT_SECONDS: Final = 60
"""Ops get 35 s, and connections, the ledger and threads the rest."""

_MAX_HEADERS_SIZE: Final = 32 * 1024
_LOGGERS: Final = ("aileron_tui", "uvicorn.error")
_BOTH_LOOPBACKS: Final = {"127.0.0.1": "::1", "localhost": "::1", "::1": "127.0.0.1"}
_ATTEMPTS: Final = 8

_SWITCH_SECONDS: Final = 0.0005
_GARBAGE_THRESHOLDS: Final = (2000, 10, 25)


class GateStartError(AileronError):
    """The gate cannot listen on the requested address."""


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Where to listen. Port 0 lets the system choose; `remote` must be set to allow other machines."""

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    remote: bool = False


def bind(address: ListenAddress) -> socket.socket:
    """Opens a listening socket."""
    if not address.remote and not is_loopback(address.host):
        raise GateStartError(
            f"a gate on {address.host} can be reached from other machines",
            "connections are not encrypted, and anyone who sees the agent token can use it",
            "Listen on 127.0.0.1, or pass --allow-remote if you trust the network.",
        )
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # With an explicit TCP protocol asyncio turns off Nagle, which would delay part of each response by about 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6 and is_loopback(address.host):
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((address.host, address.port))
        listener.listen(4096)
    except (OSError, OverflowError) as error:
        listener.close()
        in_use = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        detail = "another program is using this port" if in_use else str(getattr(error, "strerror", None) or error)
        hint = (
            "If no gate is running already, choose another port with --port."
            if in_use
            else "Choose another address or port."
        )
        raise GateStartError(f"cannot listen on {authority(address.host, address.port)}", detail, hint) from None
    listener.setblocking(False)
    return listener


def bind_with_page(address: ListenAddress, page: MakePage | None) -> tuple[list[socket.socket], PageOffer]:
    """Opens the listening sockets of a gate with a page, and tells whether the page can be offered.

    Browsers connect to `localhost` at either loopback address. So the page is served at both or not at all: otherwise
    another program could listen at the other one, and be taken for the gate. A machine may have only one of them.
    """
    if page is None:
        return [bind(address)], PageOffer()
    other = _BOTH_LOOPBACKS.get(address.host.lower(), "")
    if address.remote or not other:
        started = "with --allow-remote" if address.remote else f"on {address.host}"
        return [bind(address)], PageOffer(why_not=f"the gate was started {started}, and the page is only for localhost")
    if not _has_address(other):
        return [bind(address)], PageOffer(page)
    for attempts_left in range(_ATTEMPTS - 1 if address.port == 0 else 0, -1, -1):
        listener = bind(address)
        port = int(listener.getsockname()[1])
        try:
            return [listener, bind(ListenAddress(other, port))], PageOffer(page)
        except GateStartError as error:
            if attempts_left:  # another program has this port at the other address; the next one may be free
                listener.close()
                continue
            what_to_do = "start the gate with another --port, or free this one, to get the page"
            why_not = f"{error.title}, and a browser may look for it there: {error.detail}; {what_to_do}"
            return [listener], PageOffer(why_not=why_not)
    raise AssertionError("the last attempt returns")


def _has_address(host: str) -> bool:
    """Whether a program can listen at this address of this machine; without IPv6, none can at `::1`."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.bind((host, 0))
    except OSError as error:
        return error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
    return True


@asynccontextmanager
async def serving(  # noqa: PLR0913  # the last five are optional
    gate: "Gate",
    host: str = DEFAULT_HOST,
    port: int = 0,
    *,
    limits: HttpLimits | None = None,
    gate_log: GateLog | None = None,
    socket_folder: Path | None = None,
    doors: Doors | None = None,
    page: MakePage | None = None,
) -> AsyncIterator[str]:
    """Serves an already started gate on this machine during the block; yields its URL."""
    with ExitStack() as stack:
        listeners, offer = bind_with_page(ListenAddress(host, port), page)
        origin_check = OriginCheck(host, int(listeners[0].getsockname()[1]))
        if socket_folder is not None:
            listeners.append(stack.enter_context(approver_socket.bound(socket_folder)))
        app = GateApp(gate, origin_check, limits=limits, gate_log=gate_log, doors=doors, page=offer)
        async with _serve(app, listeners):
            yield origin_check.url


@asynccontextmanager
async def _serve(app: GateApp, listeners: Sequence[socket.socket]) -> AsyncIterator[None]:
    config = uvicorn.Config(
        app,
        http=GateConnection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        h11_max_incomplete_event_size=_MAX_HEADERS_SIZE,
    )
    server = GateServer(config, app)
    task = asyncio.create_task(server.serve(sockets=list(listeners)), name="server")
    try:
        while not server.started and not task.done():
            await asyncio.sleep(0.001)
        yield
    finally:
        app.close()
        server.should_exit = True
        await task
        for listener in listeners:
            listener.close()


async def run(  # noqa: PLR0913  # the last four are optional
    gate: "Gate",
    data: Path,
    address: ListenAddress,
    *,
    output: TextIO,
    gate_log: GateLog,
    own_process: bool = False,
    manager: ServiceManager | None = None,
    doors: Doors | None = None,
    page: MakePage | None = None,
) -> None:
    """Runs a complete gate: starts it, prints its address, and stops it on SIGINT or SIGTERM.

    With `own_process`, the process ends at most a minute after the signal, whatever hangs. `manager` is told when the
    gate is ready and when it stops.
    """
    manager = manager or ServiceManager()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if stop.is_set():
            os._exit(128 + signal.SIGTERM)  # on a second signal: exit at once; the ledger survives that
        gate_log.note("stopping")
        manager.tell(STOPPING)
        if own_process:
            # If something does not return, such as a write to a disk that hangs, the system ends the process.
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(_STOP_LIMIT_SECONDS)
        stop.set()

    for signal_number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signal_number, on_signal)
    try:
        async with started_gate(gate, data, address, gate_log, doors, page) as discovery_info:
            output.write(json.dumps(discovery_info) + "\n")
            output.flush()
            gate_log.note(
                "ready",
                f"{gate.instance} at {discovery_info['url']}",
                url=discovery_info["url"],
                instance=gate.instance,
            )
            _note_how_to_call(gate_log, CallHint(discovery_info["url"], discovery_info["agent_token_file"]))
            manager.tell(READY, f"STATUS=at {discovery_info['url']}")
            alive = asyncio.create_task(manager.report_alive(), name="watchdog")
            try:
                await stop.wait()
            finally:
                alive.cancel()
        gate_log.note("stopped")
    finally:
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(signal_number)


def _note_how_to_call(gate_log: GateLog, hint: CallHint) -> None:
    """Says how an agent reaches the gate. A command that would be cut is left out."""
    gate_log.note("agents", hint.words)
    if 0 < len(hint.command) <= MAX_LINE_LENGTH:
        gate_log.note("try", hint.command)


@asynccontextmanager
async def started_gate(  # noqa: PLR0913, PLR0917  # the last two are optional
    gate: "Gate",
    data: Path,
    address: ListenAddress,
    gate_log: GateLog,
    doors: Doors | None = None,
    page: MakePage | None = None,
) -> AsyncIterator[dict[str, str]]:
    """Starts, serves and announces a gate during the block; yields its address."""
    # Bind before the gate starts, so that a port in use leaves no entries in the ledger.
    tcp_listeners, offer = bind_with_page(address, page)
    try:
        keep_little_freed_memory()
        with _log_to(gate_log), _short_turns_for_threads(), ExitStack() as after_start:
            await gate.start()
            try:
                after_start.enter_context(_little_garbage_collection())
                origin_check = OriginCheck(address.host, int(tcp_listeners[0].getsockname()[1]))
                if page is not None and offer.make is None:
                    gate_log.note("no page", offer.why_not)
                with ExitStack() as stack:
                    approver_listener = _bind_socket(stack, data, gate_log)
                    listeners = [*tcp_listeners, *([approver_listener] if approver_listener else [])]
                    app = GateApp(gate, origin_check, gate_log=gate_log, doors=doors, page=offer)
                    async with _serve(app, listeners):
                        token_file = gate.default_token_file()
                        path = data / approver_socket.SOCKET_FILE if approver_listener else None
                        with _announce(gate.instance, origin_check.url, token_file, data, path) as discovery_info:
                            yield discovery_info
            finally:
                await gate.stop()
    finally:
        for listener in tcp_listeners:
            listener.close()


def _bind_socket(stack: ExitStack, data: Path, gate_log: GateLog) -> socket.socket | None:
    """Opens the socket for approvers on this machine; without it they use the port."""
    try:
        return stack.enter_context(approver_socket.bound(data))
    except approver_socket.NoSocket as error:
        gate_log.note("no socket", str(error))
        return None


@contextmanager
def _announce(
    instance: str, url: str, token_file: Path | None, data: Path, socket_path: Path | None
) -> Iterator[dict[str, str]]:
    """Writes the discovery file and removes it at the end. It names no token file if there is no default agent."""
    discovery_file = data / DISCOVERY_FILE
    discovery_info = {"url": url, "instance": instance, "agent_token_file": str(token_file or "")}
    details = {"pid": os.getpid(), "version": __version__, "started_at": timestamp(utc_now())}
    ledger = (data / LEDGER_NAME).stat()
    details["ledger"] = f"{ledger.st_dev}:{ledger.st_ino}"
    if socket_path is not None:
        details["socket"] = str(socket_path)
    try:
        write_private(discovery_file, json.dumps(discovery_info | details, indent=2).encode() + b"\n", replace=True)
        yield discovery_info
    finally:
        discovery_file.unlink(missing_ok=True)


@contextmanager
def _short_turns_for_threads() -> Iterator[None]:
    """Lets the threads that run connectors keep the event loop waiting for less time than Python's default of 5 ms."""
    previous = sys.getswitchinterval()
    sys.setswitchinterval(min(previous, _SWITCH_SECONDS))
    try:
        yield
    finally:
        sys.setswitchinterval(previous)


@contextmanager
def _little_garbage_collection() -> Iterator[None]:
    """Looks for garbage less often, and not in what is loaded by now: with many requests that takes 100 ms and more."""
    previous = gc.get_threshold()
    gc.set_threshold(*_GARBAGE_THRESHOLDS)
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*previous)


@contextmanager
def _log_to(gate_log: GateLog) -> Iterator[None]:
    handler = GateLogHandler(gate_log)
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    previous = [(logger.level, logger.propagate) for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO if logger.name.startswith("aileron") else logging.ERROR)
        logger.propagate = False
    try:
        yield
    finally:
        for logger, (level, propagate) in zip(loggers, previous, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)
            logger.propagate = propagate

"""Carries exchanges with the gate: for threads over connections that are kept, for an event loop over one each.

Both check who listens before they send the token, as `doors/gate_link.py` does.
"""

import threading
import time
import weakref
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeVar

from aileron_tui.core.address import read_address
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.doors.gate_link import (
    LARGEST_HEAD,
    START,
    GateLink,
    agent_fields,
    check_health,
    check_listener,
    lost,
    read_body,
    read_head,
    request_bytes,
    timed_out,
)
from aileron_tui.files.agent_tokens import read_token, token_path
from aileron_tui.files.paths import paths
from aileron_tui.files.private_files import PrivateFileError
from aileron_tui.gated.exchanges import Exchange, Exchanges, HttpReply, Pause
from aileron_tui.gated.program import ProgramSettings
from aileron_tui.runtime.errors import NoGate, RuntimeFault
from aileron_tui.runtime.gate_discovery import FoundGate, discover

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

_MOST_KEPT: Final = 8
_CONNECT_SECONDS: Final = 5.0


def gate_of(settings: ProgramSettings) -> tuple[FoundGate, str]:
    """The gate of a program and the token of its agent. Raises NoGate, which says what to do."""
    data = settings.data or paths().data
    hint = f"Run `aileron-tui agent add {settings.agent}`."
    try:
        token = read_token(settings.token_file or token_path(data, settings.agent))
    except PrivateFileError as error:
        raise NoGate(f"the token of agent {settings.agent} cannot be read", str(error), hint) from None
    return discover(settings.url, data), token


class GateLinks:
    """Connections to the gate that threads take turns to use."""

    def __init__(self, settings: ProgramSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._kept: list[GateLink] = []
        weakref.finalize(self, _close_all, self._kept).atexit = False

    def carry(self, exchanges: Exchanges[T], sleep: Callable[[float], object] = time.sleep) -> T:
        """Carries exchanges to their end."""
        try:
            step = next(exchanges)
            while True:
                if isinstance(step, Pause):
                    sleep(step.seconds)
                    step = next(exchanges)
                    continue
                try:
                    reply = self._exchange(step)
                except RuntimeFault as error:
                    step = exchanges.throw(error)
                else:
                    step = exchanges.send(reply)
        except StopIteration as end:
            value: T = end.value
            return value

    def _exchange(self, step: Exchange) -> HttpReply:
        deadline = time.monotonic() + step.seconds
        link = self._taken() or GateLink(*gate_of(self._settings), deadline)
        try:
            status, reply = link.ask(step.method, step.path, step.body, step.wait, deadline)
        except BaseException:
            link.close()
            raise
        if status == 401:
            link.close()
        else:
            self._keep(link)
        return status, reply

    def _taken(self) -> GateLink | None:
        while True:
            with self._lock:
                link = self._kept.pop() if self._kept else None
            if link is None or link.is_idle:
                return link
            link.close()

    def _keep(self, link: GateLink) -> None:
        with self._lock:
            if len(self._kept) < _MOST_KEPT:
                self._kept.append(link)
                return
        link.close()


def _close_all(links: list[GateLink]) -> None:
    while links:
        links.pop().close()


async def carry_async(settings: ProgramSettings, exchanges: Exchanges[T]) -> T:
    """Carries exchanges to their end in an event loop."""
    import asyncio  # noqa: PLC0415  # not needed for functions that are not async

    link: _LoopLink | None = None
    try:
        step = next(exchanges)
        while True:
            if isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
                step = next(exchanges)
                continue
            try:
                link = link or await _connected(settings)
                reply = await link.exchange(step)
            except RuntimeFault as error:
                _close(link)
                link = None
                step = exchanges.throw(error)
            else:
                if reply[0] == 401:
                    _close(link)
                    link = None
                step = exchanges.send(reply)
    except StopIteration as end:
        value: T = end.value
        return value
    finally:
        if _close(link):
            await asyncio.sleep(0)  # the event loop closes the socket in its next round


class _LoopLink:
    """A connection to the gate in an event loop."""

    def __init__(self, host: str, token: str, reader: "asyncio.StreamReader", writer: "asyncio.StreamWriter") -> None:
        self._host = host
        self._token = token
        self._reader = reader
        self._writer = writer

    async def exchange(self, step: Exchange) -> HttpReply:
        return await _in_time(lambda: self._exchanged(step), step.seconds)

    async def health(self) -> JsonObject:
        return (await _in_time(lambda: self._sent("GET", "/v1/health", "", None), _CONNECT_SECONDS))[1]

    def close(self) -> None:
        self._writer.transport.abort()

    async def _exchanged(self, step: Exchange) -> HttpReply:
        return await self._sent(step.method, step.path, agent_fields(self._token, step.wait), step.body)

    async def _sent(self, method: str, path: str, fields: str, body: JsonObject | None) -> HttpReply:
        import asyncio  # noqa: PLC0415  # not needed for functions that are not async

        try:
            self._writer.write(request_bytes(self._host, method, path, fields, body))
            await self._writer.drain()
            head = await self._reader.readuntil(b"\r\n\r\n")
            status, length = read_head(head[:-4])
            return status, read_body(await self._reader.readexactly(length) if length else b"")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            raise lost("it closed the connection") from None
        except TimeoutError:
            raise
        except OSError as error:
            raise lost(error.strerror or "") from None


async def _connected(settings: ProgramSettings) -> _LoopLink:
    """A connection to the gate that has been checked."""
    import asyncio  # noqa: PLC0415  # not needed for functions that are not async

    found, token = gate_of(settings)
    address = read_address(found.url)
    context = None
    if address.scheme == "https":
        import ssl  # noqa: PLC0415  # only for a gate on another machine

        context = ssl.create_default_context()
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            reader, writer = await asyncio.open_connection(address.host, address.port, limit=LARGEST_HEAD, ssl=context)
    except (OSError, ValueError) as error:
        detail = f"nothing listens at {found.url}" if isinstance(error, ConnectionError) else str(error)
        raise NoGate("no gate is running", detail, START) from None
    link = _LoopLink(found.url.partition("://")[2], token, reader, writer)
    try:
        check_listener(found, writer.get_extra_info("socket"))
        check_health(found, await link.health())
    except BaseException:
        link.close()
        raise
    return link


async def _in_time(work: Callable[[], Awaitable[T]], seconds: float) -> T:
    import asyncio  # noqa: PLC0415  # not needed for functions that are not async

    try:
        async with asyncio.timeout(seconds):
            return await work()
    except TimeoutError:
        raise timed_out() from None


def _close(link: _LoopLink | None) -> bool:
    """Closes a connection, if there is one; returns whether there was."""
    if link is not None:
        link.close()
    return link is not None

"""Carries exchanges with the gate: for threads over connections that are kept, for an event loop over one each."""

import threading
import time
import weakref
from collections.abc import Callable
from typing import Final, TypeVar

from aileron_tui.doors.gate_link import START, GateLink
from aileron_tui.files.agent_tokens import read_token, token_path
from aileron_tui.files.paths import paths
from aileron_tui.files.private_files import PrivateFileError
from aileron_tui.gated.exchanges import Exchange, Exchanges, HttpReply, Pause
from aileron_tui.gated.program import ProgramSettings
from aileron_tui.runtime.errors import NoGate, NoReply, RuntimeFault
from aileron_tui.runtime.gate_discovery import START as NO_GATE
from aileron_tui.runtime.gate_discovery import FoundGate, discover

T = TypeVar("T")

_MOST_KEPT: Final = 8


def gate_of(settings: ProgramSettings) -> tuple[FoundGate, str]:
    """The gate of a program and the token of its agent. Raises NoGate, which says what to do."""
    data = settings.data or paths().data
    hint = f"Run `aileron-tui agent add {settings.agent}`."
    try:
        token = read_token(settings.token_file or token_path(data, settings.agent))
    except PrivateFileError as error:
        raise NoGate(f"the token of agent {settings.agent} cannot be read", str(error), hint) from None
    try:
        return discover(settings.url, data), token
    except NoGate as error:
        raise NoGate(error.title, error.detail, START if error.hint == NO_GATE else error.hint) from None


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

    try:
        step = next(exchanges)
        while True:
            if isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
                step = next(exchanges)
                continue
            try:
                reply = await _exchange_async(settings, step)
            except RuntimeFault as error:
                step = exchanges.throw(error)
            else:
                step = exchanges.send(reply)
    except StopIteration as end:
        value: T = end.value
        return value


async def _exchange_async(settings: ProgramSettings, step: Exchange) -> HttpReply:
    import asyncio  # noqa: PLC0415  # not needed for functions that are not async

    from aileron_tui.doors.gate_exchange import ClosedEarly, GateCall, exchange  # noqa: PLC0415

    found, token = gate_of(settings)
    fields = {"Prefer": f"wait={step.wait}"} if step.wait else {}
    try:
        return await exchange(found, token, GateCall(step.method, step.path, fields, step.body, step.seconds))
    except ClosedEarly as error:
        raise NoReply(error.title, error.detail, error.hint) from None
    finally:
        await asyncio.sleep(0)  # the event loop closes the socket in its next round

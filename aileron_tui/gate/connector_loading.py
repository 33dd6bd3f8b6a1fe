"""Loads connectors when they are first called, on threads of their own: compiling one takes a while.

The calls that need a connector wait for it without a sandbox thread. If it cannot be loaded, they fail with the reason.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from aileron_tui.core.action import Requirement
from aileron_tui.core.resolved_call import ResolvedCall
from aileron_tui.core.resolved_step import short_name
from aileron_tui.core.visible_text import inline
from aileron_tui.sandbox.connector_call import shared_engine
from aileron_tui.sandbox.sandbox import Sandbox

_AT_ONCE: Final = 2
_REPORTED_AFTER: Final = 1.0


class ConnectorLoading:
    """The connectors that are being loaded. Must only be used from one event loop."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="connector-loading")
        self._loading: dict[tuple[Sandbox, Requirement], asyncio.Future[None]] = {}

    async def load(
        self, sandbox: Sandbox, call: ResolvedCall, report: Callable[[float], None] = lambda _: None
    ) -> None:
        """Waits until the connectors of a call are loaded, or cannot be.

        If one is compiled and that takes a while, `report` is called once with how many seconds it has taken.
        """
        missing = sandbox.not_loaded(call)
        waiting = {self._start(sandbox, requirement) for requirement in missing}
        reported = False
        while waiting:
            waiting = (await asyncio.wait(waiting, timeout=None if reported else _REPORTED_AFTER))[1]
            began = [found for found in map(sandbox.compiling_since, missing) if found is not None]
            if waiting and began and not reported:
                reported = True
                report(time.monotonic() - min(began))

    @property
    def words(self) -> str:
        """What is being compiled and for how long, or ""."""
        now, found = time.monotonic(), dict[str, float]()
        for sandbox, requirement in self._loading:
            if (began := sandbox.compiling_since(requirement)) is not None:
                found[short_name(requirement.name)] = now - began
        return ", ".join(f"compiling the connector {inline(name)}, {seconds:.0f} s" for name, seconds in found.items())

    def close(self) -> None:
        """Ends what is being compiled and loads no more."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._loading:
            shared_engine().end_compiling()

    def _start(self, sandbox: Sandbox, requirement: Requirement) -> "asyncio.Future[None]":
        key = (sandbox, requirement)
        if (known := self._loading.get(key)) is not None:
            return known
        loop = asyncio.get_running_loop()
        try:
            loading = asyncio.ensure_future(loop.run_in_executor(self._threads, sandbox.load, requirement))
        except RuntimeError:  # the system has no thread left, or the gate stops: the call itself tries to load it
            loading = loop.create_future()
            loading.set_result(None)
            return loading
        self._loading[key] = loading
        loading.add_done_callback(lambda _: self._loading.pop(key, None))
        return loading

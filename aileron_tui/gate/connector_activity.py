"""Which ops run on each connector, so that a preview is known to be stale once one of them may have changed something.

Previews do not count, because they only read. A connector is identified by its name: a new version of it has other
bytes, but reaches the same account.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager

from aileron_tui.core.resolved_call import ResolvedCall


def connector_names(call: ResolvedCall) -> frozenset[str]:
    """The names of the connectors that the steps of a call use."""
    return frozenset(step.connector.name for step in call.steps)


class ConnectorActivity:
    """The ops in progress on each connector, and how often one has begun or ended."""

    def __init__(self) -> None:
        self._changes: Counter[str] = Counter()
        self._running: Counter[str] = Counter()
        self._locks: dict[str, asyncio.Lock] = {}
        self._idle: dict[str, asyncio.Event] = {}

    def changes(self, name: str) -> int:
        """How often an op has begun or ended on a connector."""
        return self._changes[name]

    def is_running(self, name: str) -> bool:
        """Whether an op is in progress on a connector."""
        return self._running[name] > 0

    @asynccontextmanager
    async def exclusive(self, names: Collection[str], seconds: float | None = None) -> AsyncIterator[None]:
        """Keeps ops from beginning on these connectors, except those that the block itself begins.

        Raises TimeoutError if others keep the connectors longer than `seconds`.
        """
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(seconds):
                for name in sorted(names):  # always in the same order, so that two calls never wait for each other
                    await stack.enter_async_context(self._locks.setdefault(name, asyncio.Lock()))
            yield

    def begin(self, names: Collection[str]) -> None:
        """Counts an op that begins. Must be called inside `exclusive`."""
        self._changes.update(names)
        self._running.update(names)
        for name in names:
            self._idle.pop(name, None)

    def end(self, names: Collection[str]) -> None:
        """Counts an op that has ended."""
        self._changes.update(names)
        self._running.subtract(names)
        for name in names:
            if not self._running[name] and (idle := self._idle.pop(name, None)):
                idle.set()

    async def wait_until_idle(self, name: str, seconds: float) -> bool:
        """Waits until no op is in progress on a connector; returns False if one still is after `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                while self.is_running(name):
                    await self._idle.setdefault(name, asyncio.Event()).wait()
        except TimeoutError:
            return False
        return True

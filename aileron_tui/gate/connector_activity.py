"""Which ops run on each connector, so that a preview is known to be stale once one of them may have changed something.

Previews do not count, because they only read. A connector is identified by its name: a new version of it has other
bytes, but reaches the same account. Approvals go first: while one waits for a connector, no ungated op begins on it.
Otherwise an agent could put off approvals for ever by always keeping a slow op running.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from typing import Final

from aileron_tui.core.resolved_call import ResolvedCall
from aileron_tui.core.tool_call import ResolvedTool

_GRACE_SECONDS: Final = 5.0
"""How much longer than its time limit an op may take to end."""


def connector_names(call: ResolvedCall | ResolvedTool) -> frozenset[str]:
    """The names of the connectors that the steps of a call use; none for a tool call."""
    return frozenset(step.connector.name for step in call.steps)


class ConnectorActivity:
    """The ops in progress on each connector, and how often one has begun or ended.

    `on_release` is called when ops that were kept from beginning may begin.
    """

    def __init__(self, on_release: Callable[[], None]) -> None:
        self._changes: Counter[str] = Counter()
        self._running: Counter[str] = Counter()
        self._reserved: Counter[str] = Counter()
        self._latest_end: dict[str, float] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._idle: dict[str, asyncio.Event] = {}
        self._kept_free: set[str] = set()
        self._on_release = on_release

    def changes(self, name: str) -> int:
        """How often an op has begun or ended on a connector."""
        return self._changes[name]

    def is_running(self, name: str) -> bool:
        """Whether an op is in progress on a connector."""
        return self._running[name] > 0

    def is_reserved(self, names: Collection[str]) -> bool:
        """Whether an approval keeps ops from beginning on one of these connectors."""
        return any(self._reserved[name] for name in names)

    @contextmanager
    def reserved(self, names: Collection[str]) -> Iterator[None]:
        """Keeps ungated ops from beginning on these connectors."""
        self._reserved.update(names)
        try:
            yield
        finally:
            self._reserved.subtract(names)
            if not self.is_reserved(names):
                self._on_release()

    @asynccontextmanager
    async def exclusive(self, names: Collection[str], seconds: float) -> AsyncIterator[None]:
        """Keeps ops from beginning on these connectors, except those that the block itself begins.

        Raises TimeoutError if other approvals keep the connectors longer than `seconds`.
        """
        # always in the same order, so that two calls never wait for each other
        locks = [self._locks.setdefault(name, asyncio.Lock()) for name in sorted(names)]
        # Whoever holds or waits for a lock has reserved its connector. A lock that was released is not locked, although
        # another call may be about to get it.
        must_wait = self.is_reserved(names)
        with self.reserved(names):
            held: list[asyncio.Lock] = []
            try:
                async with asyncio.timeout(seconds) if must_wait else nullcontext():
                    for lock in locks:
                        await lock.acquire()
                        held.append(lock)
                yield
            finally:
                for lock in held:
                    lock.release()

    def begin(self, names: Collection[str], seconds: float) -> None:
        """Counts an op that begins and may take `seconds`."""
        latest = asyncio.get_running_loop().time() + seconds + _GRACE_SECONDS
        self._changes.update(names)
        self._running.update(names)
        for name in names:
            self._latest_end[name] = max(latest, self._latest_end.get(name, 0.0))

    def end(self, names: Collection[str]) -> None:
        """Counts an op that has ended."""
        self._changes.update(names)
        self._running.subtract(names)
        for name in names:
            if not self._running[name]:
                self._latest_end.pop(name, None)
                if idle := self._idle.pop(name, None):
                    idle.set()

    async def wait_until_idle(self, name: str, seconds: float | None = None) -> bool:
        """Waits as long as the ops in progress on a connector may take, and at most `seconds`.

        Returns False if one is in progress after that.
        """
        latest = self._latest_end.get(name)
        if latest is not None and seconds is not None:
            latest = min(latest, asyncio.get_running_loop().time() + seconds)
        try:
            async with asyncio.timeout_at(latest):
                while self.is_running(name):
                    await self._idle.setdefault(name, asyncio.Event()).wait()
        except TimeoutError:
            return False
        return True

    async def keep_free(self, name: str, seconds: float) -> None:
        """Lets no ungated op begin on a connector until those in progress have ended, and for `seconds` after that.

        An approval that could not wait for a long op can so be given again. Otherwise long ungated ops, one after
        another, would put it off for ever.
        """
        if name in self._kept_free:
            return
        self._kept_free.add(name)
        try:
            with self.reserved((name,)):
                await self.wait_until_idle(name)
                await asyncio.sleep(seconds)
        finally:
            self._kept_free.discard(name)


class OpTurn:
    """When one op begins and ends on its connectors. An approved op begins at once, even if it waits for a thread."""

    def __init__(self, activity: ConnectorActivity, names: Collection[str], seconds: float) -> None:
        self._activity = activity
        self._names = names
        self._seconds = seconds
        self._begun = False
        self._ended = False

    @property
    def must_wait(self) -> bool:
        """Whether the op must not begin yet."""
        return not self._begun and self._activity.is_reserved(self._names)

    def begin(self) -> None:
        """The op begins; does nothing the second time."""
        if not self._begun:
            self._begun = True
            self._activity.begin(self._names, self._seconds)

    def end(self) -> None:
        """The op has ended or will not begin; does nothing the second time."""
        if self._begun and not self._ended:
            self._activity.end(self._names)
        self._ended = True

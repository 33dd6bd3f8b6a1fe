"""Which ops run and what they use, so that a preview is known to be stale once one of them may have changed something.

Two connectors can reach the same account, so what counts is not only the connector but also its hosts and accounts
(`Sandbox.used_by`). Names are those of all three: ops that have a name in common can change each other's previews.
Previews do not count, because they only read. Approvals go first: while one waits for a name, no ungated op begins on
it. Otherwise an agent could put off approvals for ever by always keeping a slow op running.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from aileron_tui.gate.ordered_locks import OrderedLocks

_GRACE_SECONDS: Final = 5.0
"""How much longer than its time limit an op may take to end."""

_ANYTHING: Final = ""
"""The name of what nobody knows, such as what a program of an agent uses."""


class ConnectorActivity:
    """The ops in progress by what they use, and how often one has begun or ended.

    `on_release` is called when ops that were kept from beginning may begin.
    """

    def __init__(self, on_release: Callable[[], None]) -> None:
        self._changes: Counter[str] = Counter()
        self._running: Counter[str] = Counter()
        self._reserved: Counter[str] = Counter()
        self._latest_end: dict[str, float] = {}
        self._locks = OrderedLocks()
        self._idle: dict[str, asyncio.Event] = {}
        self._kept_free: set[str] = set()
        self._on_release = on_release

    def changes(self, names: Collection[str]) -> Mapping[str, int]:
        """How often an op has begun or ended on each of these names, or on what nobody knows."""
        return {name: self._changes[name] for name in (*names, _ANYTHING)}

    def is_running(self, names: Collection[str]) -> bool:
        """Whether an op is in progress on one of these names."""
        return any(self._running[name] > 0 for name in names)

    def is_reserved(self, names: Collection[str]) -> bool:
        """Whether an approval keeps ops from beginning on one of these names."""
        return any(self._reserved[name] for name in names)

    @contextmanager
    def reserved(self, names: Collection[str]) -> Iterator[None]:
        """Keeps ungated ops from beginning on these names."""
        self._reserved.update(names)
        try:
            yield
        finally:
            self._reserved.subtract(names)
            if not self.is_reserved(names):
                self._on_release()

    @asynccontextmanager
    async def exclusive(self, names: Collection[str], seconds: float) -> AsyncIterator[None]:
        """Keeps ops from beginning on these names, except those that the block itself begins.

        Raises TimeoutError if other approvals keep the names longer than `seconds`.
        """
        # Whoever holds or waits for a lock has reserved its name. A lock that was released is not locked, although
        # another call may be about to get it.
        must_wait = self.is_reserved(names)
        with self.reserved(names):
            async with self._locks.held(names, seconds if must_wait else None):
                yield

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

    def changed_anything(self) -> None:
        """Counts something outside the gate that may have changed what any preview shows."""
        self._changes[_ANYTHING] += 1

    async def wait_until_idle(self, names: Collection[str], seconds: float | None = None) -> bool:
        """Waits as long as the ops in progress on these names may take, and at most `seconds`.

        Returns False if one is in progress after that.
        """
        latest = max((self._latest_end[name] for name in names if name in self._latest_end), default=None)
        if latest is not None and seconds is not None:
            latest = min(latest, asyncio.get_running_loop().time() + seconds)
        try:
            async with asyncio.timeout_at(latest):
                for name in names:
                    while self.is_running((name,)):
                        await self._idle.setdefault(name, asyncio.Event()).wait()
        except TimeoutError:
            return False
        return not self.is_running(names)

    async def keep_free(self, names: Collection[str], seconds: float) -> None:
        """Lets no ungated op begin on these names until those in progress have ended, and for `seconds` after that.

        An approval that could not wait for a long op can so be given again. Otherwise long ungated ops, one after
        another, would put it off for ever.
        """
        names = frozenset(names) - self._kept_free
        if not names:
            return
        self._kept_free |= names
        try:
            with self.reserved(names):
                await self.wait_until_idle(names)
                await asyncio.sleep(seconds)
        finally:
            self._kept_free -= names


class OpTurn:
    """When one op begins and ends on its names. An approved op begins at once, even if it waits for a thread."""

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

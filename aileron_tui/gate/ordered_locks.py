"""Locks by name, for callers that need several at once."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager


class OrderedLocks:
    """Everybody takes them in the same order, so that no two wait for each other; who came first is next."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}

    @asynccontextmanager
    async def held(self, names: Collection[str], seconds: float | None = None) -> AsyncIterator[None]:
        """Holds these locks. Raises TimeoutError if others keep them longer than `seconds`."""
        held: list[asyncio.Lock] = []
        try:
            async with asyncio.timeout(seconds):
                for name in sorted(names):
                    lock = self._locks.setdefault(name, asyncio.Lock())
                    await lock.acquire()
                    held.append(lock)
            yield
        finally:
            for lock in held:
                lock.release()

"""Writes that failed and are tried again until they succeed: the ends of requests, results and deliveries."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.states import InvalidTransition
from aileron_tui.core.visible_text import inline
from aileron_tui.ledger.errors import EntryRefused, EntryTooLarge

Write = Callable[[], Awaitable[None]]

FIRST_PAUSE: Final = 0.25
LONGEST_PAUSE: Final = 2.0
_PERMANENT: Final = (InvalidTransition, EntryRefused, EntryTooLarge)

_log = logging.getLogger(__name__)


class RetriedWrites:
    """Failed writes in the order in which they failed, one for each key."""

    def __init__(self) -> None:
        self._writes: dict[str, Write] = {}
        self._added = asyncio.Event()

    def __len__(self) -> int:
        return len(self._writes)

    def __contains__(self, key: str) -> bool:
        return key in self._writes

    def keys(self) -> tuple[str, ...]:
        """What is left to write."""
        return tuple(self._writes)

    def add(self, key: str, write: Write) -> None:
        """Takes over a write that failed. It may be called many times and must do no harm if it was done before."""
        self._writes[key] = write
        self._added.set()

    async def retry_until_done(self) -> None:
        """Tries again with growing pauses as long as there is anything to write."""
        await self._added.wait()
        pause = FIRST_PAUSE
        while self._writes:
            await asyncio.sleep(pause)
            waiting = len(self._writes)
            await self.retry()
            pause = FIRST_PAUSE if len(self._writes) < waiting else min(pause * 2, LONGEST_PAUSE)
        self._added.clear()

    async def retry(self) -> None:
        """Tries every write once. The first that fails ends the round, because the others would fail as well."""
        for key, write in tuple(self._writes.items()):
            try:
                await write()
            except _PERMANENT as error:
                _log.error("the ledger refuses what happened to %s: %s", inline(key), inline(str(error)))
            except AileronError as error:
                _log.warning("cannot record what happened to %s yet: %s", inline(key), inline(str(error)))
                return
            del self._writes[key]

"""Writes that failed and are tried again until they succeed: the ends of requests, results and deliveries.

What the ledger refuses is not tried again, but stays a problem until the gate stops.
"""

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
REFUSALS: Final = (EntryRefused, EntryTooLarge)
"""Errors after which it is no use to try again."""

_log = logging.getLogger(__name__)


class RetriedWrites:
    """Failed writes in the order in which they failed, one for each key."""

    def __init__(self) -> None:
        self._writes: dict[str, Write] = {}
        self._failures: dict[str, str] = {}
        self._lost: dict[str, str] = {}
        self._added = asyncio.Event()

    def __len__(self) -> int:
        return len(self._writes)

    def __contains__(self, key: str) -> bool:
        return key in self._writes

    def keys(self) -> tuple[str, ...]:
        """What is left to write."""
        return tuple(self._writes)

    @property
    def problem(self) -> str:
        """What was not written and why, or "" if there is nothing like that."""
        lost = _named(self._lost, "is missing in the history, because the ledger refuses it")
        return "; ".join(filter(None, [lost, _named(self._failures, "cannot be recorded")]))

    def add(self, key: str, write: Write) -> None:
        """Takes over a write that failed. It may be called many times and must do no harm if it was done before.

        A key begins with the id of a request. Writes about the same request are done in order.
        """
        self._writes[key] = write
        self._added.set()

    def give_up(self, key: str, error: Exception) -> None:
        """Keeps for as long as the gate runs that the ledger refuses what happened to a request."""
        why = inline(str(error))
        _log.error("the ledger refuses what happened to %s: %s", inline(key), why)
        self._lost.setdefault(key.partition(" ")[0], why)

    def gave_up(self, request: str) -> bool:
        """Whether the ledger has refused what happened to this request."""
        return request in self._lost

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
        """Tries every write once. One that fails only holds up what comes after it about the same request."""
        failed: set[str] = set()
        for key, write in tuple(self._writes.items()):
            request = key.partition(" ")[0]
            if request in failed:
                continue
            try:
                await write()
            except InvalidTransition as error:  # an earlier attempt may have been recorded after all
                if error.state is None or not error.state.final:
                    self.give_up(key, error)
            except REFUSALS as error:
                self.give_up(key, error)
            except Exception as error:  # noqa: BLE001  # whatever it is, the other writes must be tried
                failed.add(request)
                self._note_failure(key, error)
                continue
            del self._writes[key]
            self._failures.pop(key, None)

    def _note_failure(self, key: str, error: Exception) -> None:
        """Keeps why a write failed, and logs it unless it failed in the same way before."""
        why = inline(str(error)) or type(error).__name__
        if self._failures.get(key) != why:
            unexpected = None if isinstance(error, AileronError) else error
            _log.warning("cannot record what happened to %s yet: %s", inline(key), why, exc_info=unexpected)
        self._failures[key] = why


def _named(failures: dict[str, str], what: str) -> str:
    """Names the first of these failures."""
    key, why = next(iter(failures.items()), ("", ""))
    more = f" (and {len(failures) - 1:,} more)" if len(failures) > 1 else ""
    return f"what happened to {key} {what}{more}: {why}" if key else ""

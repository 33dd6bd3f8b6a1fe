"""Removes what is older than `[ledger] keep` from the ledger of a running gate, in short steps.

What is removed cannot be brought back, so nothing is removed while the clock may be wrong: shortly after the gate has
started, when many machines have yet to ask for the time, and for an hour after the clock was set.
"""

import asyncio
import logging
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.time_spans import read_span
from aileron_tui.core.times import timestamp
from aileron_tui.core.visible_text import inline
from aileron_tui.gate.gate_state import GateState
from aileron_tui.ledger.store import Ledger, ReductionStep

_STEP_PAUSE: Final = 0.05
_PERIOD: Final = 3600.0
_AFTER_START: Final = 600.0
_AFTER_CHANGE: Final = 3600.0
_LARGEST_DRIFT: Final = 60.0
"""The clock was set if it is off by more than this many seconds since the last look, by a clock that nobody can set."""

_ERASE_PERIOD: Final = 86_400.0
"""The search index is rewritten at most this often, because that reads and writes all of it."""

_log: Final = logging.getLogger(__name__)


class LedgerReduction:
    """What `[ledger] keep` says about the ledger of a gate. Without it, nothing is done."""

    def __init__(self, gate_state: GateState) -> None:
        self._gate_state = gate_state
        self._keep = gate_state.setup.config.ledger.keep
        self._due, self._erasing_due = self._now() + _AFTER_START, 0.0
        self._offset = self._offset_at(gate_state.clock())

    @property
    def is_wanted(self) -> bool:
        """Whether anything is to be removed."""
        return bool(self._keep)

    async def reduce_if_due(self) -> None:
        """Removes what is old enough by now, every hour. A failure is logged; nothing else stops."""
        time = self._gate_state.clock()
        before, self._offset = self._offset, self._offset_at(time)
        if abs(self._offset - before) > _LARGEST_DRIFT:
            self._due = self._now() + _AFTER_CHANGE
        if self._now() < self._due:
            return
        self._due = self._now() + _PERIOD
        try:
            await self.reduce(time)
        except AileronError as error:
            _log.error("nothing more can be removed from the ledger now: %s", inline(str(error)))

    async def reduce(self, time: datetime) -> None:
        """Removes everything that is old enough at a time, with a record of it. Erases it from the files once a day."""
        state, keep = self._gate_state, self._keep
        before = timestamp(time - (read_span(keep) or timedelta.max))
        requests = entries = after = 0
        while True:
            step = await state.recorder.run(partial(_step, before=before, keep=keep, after=after))
            requests, entries, after = requests + step.requests, entries + step.entries, step.next
            if not after:
                break
            await asyncio.sleep(_STEP_PAUSE)
        if entries:
            _log.info("%s: reduced %d entries of %d requests to their digests", _WHY, entries, requests)
            state.metrics.reduced(entries)
        if self._now() >= self._erasing_due and await state.recorder.run(lambda ledger: ledger.unerased):
            self._erasing_due = self._now() + _ERASE_PERIOD
            await self._erase()

    async def _erase(self) -> None:
        recorder = self._gate_state.recorder
        more = await recorder.run(lambda ledger: ledger.erase())
        while more:
            await asyncio.sleep(_STEP_PAUSE)
            more = await recorder.run(lambda ledger: ledger.erase(go_on=True))

    def _offset_at(self, time: datetime) -> float:
        return time.timestamp() - self._now()

    def _now(self) -> float:
        return self._gate_state.boot_clock.seconds()


def _step(ledger: Ledger, before: str, keep: str, after: int) -> ReductionStep:
    return ledger.reduce(before, keep, after)


_WHY: Final = "what is older than [ledger] keep was removed from the ledger"

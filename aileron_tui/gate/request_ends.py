"""Records how requests ended and hands over their results. What cannot be written is tried again until it can.

While the end of a request is not recorded, the request stays open, so that a poll finds it and says what is known. If
the ledger refuses the end of an op, its agent gets the result anyway, and health names what the history lacks.
"""

import asyncio
from dataclasses import replace
from functools import partial
from typing import Final

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.errors import AileronError
from aileron_tui.core.states import InvalidTransition, RequestState
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline
from aileron_tui.gate.gate_request import GateRequest
from aileron_tui.gate.gate_state import GateState, log
from aileron_tui.gate.retried_writes import REFUSALS, RetriedWrites
from aileron_tui.ledger.store import EntryDraft, StoredResult

LONGEST_ERROR: Final = 16 * 1024
"""How much of an error the ledger keeps. The agent gets all of it."""

_RETRYING: Final = "this is not recorded yet, and the gate keeps trying"
_REFUSED: Final = "this is not recorded, because the ledger refuses it"
_KNOWN: Final = {
    RequestState.EXECUTED: "the op ran",
    RequestState.FAILED: "the op failed",
    RequestState.UNKNOWN: "the op may have taken effect, but its outcome is unknown",
    RequestState.EXPIRED: "nobody answered in time, so nothing was run",
    RequestState.WITHDRAWN: "the agent disconnected, so nothing was run",
}
_NOT_RUN: Final = frozenset({RequestState.EXPIRED, RequestState.WITHDRAWN})


@dataclass(frozen=True, slots=True)
class RequestEnd:
    """How a request ended: the state, the entry that records it, and the result for the agent."""

    state: RequestState
    entry: EntryDraft
    result: StoredResult


class RequestEnds:
    """Ends requests, and keeps trying if the disk does not let it."""

    def __init__(self, gate_state: GateState) -> None:
        self._gate_state = gate_state
        self.retried = RetriedWrites()

    async def finish(self, request: GateRequest, end: RequestEnd) -> None:
        """Records an end and then announces it. Never fails: what cannot be written is tried again."""
        write = partial(self._write, request, end)
        try:
            await write()
        except Exception as error:  # noqa: BLE001  # whatever it is, the end has happened
            log.error("the end of %s could not be recorded: %s", request.id, inline(str(error) or type(error).__name__))
            self.retried.add(request.id, write)
            self._leave_open(request, end.state, _RETRYING)

    def _leave_open(self, request: GateRequest, state: RequestState, why: str) -> None:
        """Says how a request ended that stays open, because this is not recorded."""
        withdrawn = state is RequestState.WITHDRAWN and request.error
        request.unrecorded = f"{f'{request.error}, so nothing was run' if withdrawn else _KNOWN[state]}; {why}"
        if state in _NOT_RUN:
            request.state = state
        self._gate_state.announce(request)

    async def _write(self, request: GateRequest, end: RequestEnd) -> None:
        """Stores the result and records the end.

        The result of an op comes first: if the gate crashes in between, recovery records the end from it. Without an op
        it comes last, because an end that did not count must not be reported: after a restart the request may wait.
        """
        state = end.state
        if request.rule and request.waiting_clients and not request.polled:
            await self._write_handed_over(request, end)
            return
        if state not in _NOT_RUN:
            await self._gate_state.store_result(end.result, request.fingerprint)
        recorded = await self._record_end(request, state, end.entry)
        if state in _NOT_RUN:
            if not recorded:
                self._leave_open(request, state, _REFUSED)
                return
            await self._gate_state.store_result(end.result, request.fingerprint)
        request.error, request.unrecorded = str(end.entry.body.get("error", "")), ""
        self._gate_state.end(request, state, end.result)

    async def _write_handed_over(self, request: GateRequest, end: RequestEnd) -> None:
        """Records the end of a call that a rule answered and whose agent waits for the result, and that it gets it.

        If the gate crashes before that, the outcome is unknown, as it is for every op without a stored result.
        """
        entry = replace(end.entry, body={**end.entry.body, "delivered": True})
        if not await self._record_end(request, end.state, entry):
            await self._gate_state.store_result(end.result, request.fingerprint)
        request.error, request.unrecorded = str(end.entry.body.get("error", "")), ""
        request.handed_over = True
        self._gate_state.end(request, end.state, end.result)

    async def _record_end(self, request: GateRequest, state: RequestState, entry: EntryDraft) -> bool:
        """Records the end of a request; returns False if the ledger refuses it for ever, which health then says."""
        try:
            await self._gate_state.recorder.record(entry)
        except InvalidTransition as error:
            if error.state is not state:  # an earlier attempt may have been recorded after all
                log.error("%s ended as %s, but its history says %s", request.id, state, error.state)
        except REFUSALS as error:
            self.retried.give_up(request.id, error)
            return False
        return True

    def retry_entry(self, entry: EntryDraft) -> None:
        """Takes over an entry that could not be recorded, about a call that was never a request."""
        self.retried.add(entry.request, partial(self._record, entry))

    async def _record(self, entry: EntryDraft) -> None:
        await self._gate_state.recorder.record(entry)

    async def keep_result(self, result: StoredResult, call: str) -> None:
        """Stores a result, now or as soon as that is possible."""
        write = partial(self._gate_state.store_result, result, call)
        try:
            await write()
        except AileronError as error:
            log.error("the result of %s could not be stored: %s", result.request, inline(str(error)))
            self.retried.add(f"{result.request} result", write)

    def undelivered(self, call: str) -> StoredResult | None:
        """The result of a call that no agent has received yet, or None. Raises LedgerError."""
        result = self._gate_state.outbox.undelivered(call)
        if result is None or _delivery(result) in self.retried or not self._gate_state.is_undelivered(result):
            return None
        return result

    async def mark_delivered(self, result: StoredResult) -> bool:
        """Records that an agent receives its result; returns False if it has received it before.

        A result is handed over even if its delivery cannot be recorded yet; withholding it would be worse.
        """
        if _delivery(result) in self.retried:
            return False
        try:
            if not await self._gate_state.in_outbox(self._gate_state.outbox.deliver, result.request):
                return False
            await self._record_delivery(result)
        except AileronError as error:
            log.error("the delivery of %s could not be recorded: %s", result.request, inline(str(error)))
            self.retried.add(_delivery(result), partial(self._retry_delivery, result))
        return True

    async def _retry_delivery(self, result: StoredResult) -> None:
        await self._gate_state.in_outbox(self._gate_state.outbox.deliver, result.request)
        await self._record_delivery(result)

    async def _record_delivery(self, result: StoredResult) -> None:
        await self._gate_state.recorder.record(EntryDraft(EntryKind.DELIVERED, {}, result.request))

    async def try_once_more(self, seconds: float) -> None:
        """Tries everything that is left once more, before the gate stops."""
        try:
            async with asyncio.timeout(seconds):
                await self.retried.retry()
        except TimeoutError:
            log.error("the ledger did not answer in time")
        if self.retried:
            log.error("the gate stopped before it could record what happened to %s", ", ".join(self.retried.keys()))


def _delivery(result: StoredResult) -> str:
    return f"{result.request} delivery"

"""Denials without a signature, from surfaces where no key is at hand. Nothing can be approved like this."""

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonError, JsonObject
from aileron_tui.core.states import InvalidTransition, RequestState
from aileron_tui.core.times import timestamp
from aileron_tui.core.unsigned_denial import UnsignedDenial, read_unsigned_denial
from aileron_tui.gate import agent_replies, replies
from aileron_tui.gate.decision_handler import DecisionHandler
from aileron_tui.gate.gate_request import GateRequest
from aileron_tui.gate.gate_state import GateState
from aileron_tui.gate.replies import Reply
from aileron_tui.gate.request_handler import RequestHandler
from aileron_tui.ledger.errors import EntryRefused
from aileron_tui.ledger.store import EntryDraft


class UnsignedDenials:
    """Records and applies denials without a signature."""

    def __init__(self, gate_state: GateState, requests: RequestHandler, decisions: DecisionHandler) -> None:
        self._gate_state = gate_state
        self._requests = requests
        self._decisions = decisions

    async def deny(self, id_: str, denial: UnsignedDenial) -> Reply:
        """Denies a waiting request if its prompt still has the digest of the denial."""
        try:
            read_unsigned_denial(denial.body())
        except JsonError as error:
            return replies.error(400, "invalid_body", str(error))
        request = self._gate_state.find(id_)
        if request is None:
            return self._decisions.not_pending(id_)
        async with request.end_lock:
            if request.state is not RequestState.PENDING:
                return self._decisions.not_pending(id_)
            if self._gate_state.is_late(request):
                return self._decisions.too_late(request)
            if denial.digest != request.digest:
                return self._decisions.prompt_changed(request)
            return await self._record(request, denial)

    async def _record(self, request: GateRequest, denial: UnsignedDenial) -> Reply:
        state = self._gate_state
        try:
            await state.recorder.record(EntryDraft(EntryKind.DENIED_UNSIGNED, denial.body(), request.id))
        except InvalidTransition:
            return self._decisions.not_pending(request.id)
        except EntryRefused as error:
            return replies.error(403, "not_admitted", str(error))
        except AileronError as error:
            return replies.not_recorded(error)
        request.reason = denial.reason
        event: JsonObject = {
            "id": request.id,
            "kind": request.kind,
            "approved": False,
            "decided_at": timestamp(state.clock()),
            "surface": denial.surface,
            "by": "",
        }
        state.metrics.decided(denial.surface, state.age(request), approved=False)
        state.feed.publish("resolved", event | {"reason": denial.reason} if denial.reason else event)
        result = agent_replies.denied(request.id, denial.reason)
        await self._requests.ends.keep_result(result, request.fingerprint)
        state.end(request, RequestState.DENIED, result)
        return Reply(200, {"id": request.id, "state": RequestState.DENIED})

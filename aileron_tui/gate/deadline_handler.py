"""Extends deadlines: only before they have passed, only for an approver, and only once for each signature."""

from typing import Final

from aileron_tui.core.deadline_extension import objection
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.states import InvalidTransition, RequestState
from aileron_tui.core.times import moment
from aileron_tui.core.visible_text import clip, inline
from aileron_tui.gate import replies
from aileron_tui.gate.agent_registry import REVOKED, AgentRegistry
from aileron_tui.gate.decision_handler import DecisionHandler
from aileron_tui.gate.gate_request import GateRequest
from aileron_tui.gate.gate_state import GateState, log
from aileron_tui.gate.replies import Reply
from aileron_tui.gate.request_handler import RequestHandler
from aileron_tui.ledger.errors import DeadlinePassed, EntryRefused
from aileron_tui.ledger.store import EntryDraft
from aileron_tui.signing.errors import EnvelopeRefused
from aileron_tui.signing.extensions import verify_extension

_MAX_DETAIL_LENGTH: Final = 300


class DeadlineHandler:
    """Verifies, records and applies extensions."""

    def __init__(
        self, gate_state: GateState, requests: RequestHandler, decisions: DecisionHandler, agents: AgentRegistry
    ) -> None:
        self._gate_state = gate_state
        self._requests = requests
        self._decisions = decisions
        self._agents = agents

    async def extend(self, id_: str, body: JsonObject) -> Reply:
        """Moves the deadline of a waiting request to the one that was signed; returns the request."""
        envelope = body.get("envelope")
        if body.keys() != {"envelope"} or not isinstance(envelope, dict):
            return replies.error(400, "invalid_body", 'expected {"envelope": {…}}')
        request = self._gate_state.find(id_)
        if request is None:
            return self._decisions.not_pending(id_)
        if self._agents.current().is_revoked(request.agent):
            await self._requests.end_unanswered(request, RequestState.WITHDRAWN, REVOKED)
        async with request.end_lock:
            if request.state is not RequestState.PENDING:
                return self._decisions.not_pending(id_)
            return await self._extend(request, envelope)

    async def _extend(self, request: GateRequest, envelope: JsonObject) -> Reply:
        state, deadline = self._gate_state, request.deadline
        if state.is_late(request):
            return self._decisions.too_late(request)
        try:
            extension, approver, said = verify_extension(
                envelope, self._decisions.approvers(), instance=state.instance, request=request.id
            )
            if said:
                self._decisions.check.check_assertion(approver.public.fingerprint, said)
        except EnvelopeRefused as refused:
            detail = clip(inline(refused.detail), _MAX_DETAIL_LENGTH)
            log.warning("an extension of %s was refused: %s: %s", request.id, refused.reason.value, detail)
            return replies.error(403, refused.reason.name.lower(), f"extension refused, {refused.reason}: {detail}")
        if why := objection(extension, request.id, deadline.expires, deadline.latest):
            return self._deadline_changed(request, why)
        try:
            await state.recorder.record(EntryDraft(EntryKind.EXTENDED, {"envelope": envelope}, request.id))
        except InvalidTransition:
            return self._decisions.not_pending(request.id)
        except DeadlinePassed:
            return self._decisions.too_late(request)
        except EntryRefused as error:
            return replies.error(403, "not_admitted", str(error))
        except AileronError as error:
            return replies.not_recorded(error)
        request.extended_by = (*request.extended_by, approver.name)
        self._requests.deadline_moved(request, deadline.moved_to(moment(extension.expires)))
        return Reply(200, {"item": state.request_json(request)})

    def _deadline_changed(self, request: GateRequest, why: str) -> Reply:
        item = self._gate_state.request_json(request)
        return replies.error(409, "DEADLINE_CHANGED", f"the deadline was not extended: {why}", item=item)

"""What an agent does with its own requests: it polls for their results and withdraws them."""

from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.states import RequestState
from aileron_tui.gate import recovery, replies
from aileron_tui.gate.gate_request import GateRequest
from aileron_tui.gate.gate_state import GateState
from aileron_tui.gate.permission_handler import PermissionHandler
from aileron_tui.gate.replies import Reply
from aileron_tui.gate.request_handler import RequestHandler

_WITHDRAWN: Final = "the agent withdrew the request"


class RequestPolls:
    """Answers agents that ask for a request by its id. The requests of other agents do not exist for them."""

    def __init__(self, gate_state: GateState, requests: RequestHandler, permissions: PermissionHandler) -> None:
        self._gate_state = gate_state
        self._requests = requests
        self._permissions = permissions

    async def result(self, id_: str, agent: str, wait: float | None) -> Reply:
        """Returns the state or the result of a request; while it is open, the reply is held for `wait` seconds."""
        request = self._gate_state.open_requests.get(id_)
        if request and request.is_recorded and not request.tool:
            return await self._poll(request, wait) if request.agent == agent else replies.unknown_request(id_)
        try:
            record = self._gate_state.reader.find(id_)
            if record is None or recovery.owner(record) != agent:
                return replies.unknown_request(id_)
            if recovery.is_tool(record):
                return await self._permissions.poll(id_, agent, wait)
            result = self._gate_state.outbox.find(id_) or recovery.result_from_ledger(self._gate_state.reader, record)
            if result:
                return await self._requests.deliver(result)
            is_lost = self._requests.ends.retried.gave_up(id_)
            return replies.no_result(id_, "no longer running" if is_lost else record.outcome)
        except AileronError as error:
            return replies.result_unavailable(error)

    async def _poll(self, request: GateRequest, wait: float | None) -> Reply:
        """Polls for an open request. It keeps waiting if an agent that polls disconnects."""
        request.polled = True
        if wait is None or not await self._requests.wait_for_end(request, wait):
            return Reply(200, request.poll_reply())
        return await self._requests.ended(request)

    async def withdraw(self, id_: str, agent: str, *, is_tool: bool) -> Reply | None:
        """Withdraws a waiting call of an action or a tool; returns the reply that says why it cannot."""
        request = self._gate_state.find(id_)
        if request and bool(request.tool) is is_tool and request.agent == agent:
            return await self._withdraw(request)
        try:
            record = self._gate_state.reader.find(id_)
        except AileronError as error:
            return replies.result_unavailable(error)
        if record is None or recovery.owner(record) != agent or recovery.is_tool(record) is not is_tool:
            return replies.unknown_request(id_)
        return replies.not_waiting(record.outcome)

    async def _withdraw(self, request: GateRequest) -> Reply | None:
        if not request.is_waiting:
            return replies.not_waiting(request.state)
        await self._requests.end_unanswered(request, RequestState.WITHDRAWN, _WITHDRAWN)
        if request.state is not RequestState.WITHDRAWN:  # it was answered at the same moment
            return replies.not_waiting(request.state)
        return replies.error(503, "unavailable", request.unrecorded) if request.unrecorded else None

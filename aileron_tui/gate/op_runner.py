"""Runs approved ops once, with exactly the inputs that were shown, and stores the outcome before reporting it."""

import asyncio
import secrets
from typing import Final

from aileron_tui.core.action import Action
from aileron_tui.core.call_kinds import UNGATED
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import Asker
from aileron_tui.core.states import RequestState
from aileron_tui.core.visible_text import inline
from aileron_tui.gate import agent_replies, replies
from aileron_tui.gate.agent_turns import end_turn
from aileron_tui.gate.gate_request import GateRequest
from aileron_tui.gate.gate_state import ENTRY_BYTES, GateState, log
from aileron_tui.gate.replies import Reply
from aileron_tui.gate.request_ends import LONGEST_ERROR, RequestEnd
from aileron_tui.gate.request_entries import request_entry
from aileron_tui.gate.request_handler import RequestHandler
from aileron_tui.gate.sandbox_threads import ThreadsBusy, ThreadUse
from aileron_tui.ledger.recorded_args import recorded_args
from aileron_tui.ledger.store import EntryDraft
from aileron_tui.sandbox.execution import Execution, broken_off, not_started
from aileron_tui.sandbox.failure import Failure, FailureKind

_STATUS: Final = {
    FailureKind.BINDING_REQUIRED: 412,
    FailureKind.CAPABILITY_DENIED: 403,
    FailureKind.NETWORK_ERROR: 502,
    FailureKind.EXTERNAL_API_ERROR: 502,
    FailureKind.OUTCOME_UNKNOWN: 502,
}


_STATES: Final = {
    EntryKind.EXECUTED: RequestState.EXECUTED,
    EntryKind.FAILED: RequestState.FAILED,
    EntryKind.UNKNOWN: RequestState.UNKNOWN,
}


class OpRunner:
    """Runs ops and tracks those in progress."""

    def __init__(self, gate_state: GateState, requests: RequestHandler) -> None:
        self._gate_state = gate_state
        self._requests = requests
        self.tasks: set[asyncio.Task[None]] = set()

    async def run_ungated(self, action: Action, args: JsonObject, asker: Asker, agent: str) -> Reply:
        """Runs an action that needs no approval. The ledger has the digest of large inputs instead of the inputs.

        A call that lacks an account becomes a request, so that somebody can sign in or deny it.
        """
        id_ = f"{UNGATED}{secrets.token_hex(8)}"
        if self._gate_state.threads.is_full(ThreadUse.UNGATED, agent):
            waiting = self._gate_state.setup.limits.ungated_queue
            message = f"{waiting:,} other calls of this agent are waiting to run; try again later"
            return replies.error(429, "too_many_calls", message)
        installed = self._gate_state.installed
        call = installed.resolve(action, args)
        if call.needs:
            return await self._requests.call(action, args, asker, agent, None)
        recorded, size = recorded_args(call.args)
        if seconds := self._gate_state.ledger_rates.of(agent).take(size + ENTRY_BYTES):
            message = f"this agent writes too much to the ledger; try again in {seconds} s"
            return replies.error(429, "too_many_calls", message)
        who: JsonObject = {"agent": asker.agent, "says": asker.says}
        start: JsonObject = {"gated": False, "action": action.name, **who, **recorded}
        record = self._gate_state.recorder.record
        try:
            await record(EntryDraft(EntryKind.RUNNING, start, id_))
        except AileronError as error:
            return replies.not_recorded(error)
        end_turn()
        try:
            await self._gate_state.loading.load(installed.sandbox, call)
            execution_future = self._gate_state.start_op(ThreadUse.UNGATED, agent, installed.sandbox, call)
        except Exception as error:  # noqa: BLE001  # whatever it is, the call must get an end
            execution = Execution(action.name, failure=_not_started(error))
        else:
            execution = await _executed(action, execution_future)
        kind = _end_kind(execution.failure)
        self._gate_state.metrics.ran(call.connector.name, execution.seconds, _STATES[kind])
        body: JsonObject = {"gated": False, **_error_body(execution.failure), **_retried_body(execution.retried)}
        end = EntryDraft(kind, body, id_)
        try:
            await record(end)
        except AileronError as error:
            log.error("the outcome of %s could not be recorded: %s", id_, inline(str(error)))
            self._requests.ends.retry_entry(end)
        if execution.failure:
            return Reply(_STATUS.get(execution.failure.agent_kind, 500), execution.failure.envelope())
        return Reply(200, {"audit_id": f"audit-{id_}", "result": execution.text})

    def start(self, request: GateRequest) -> None:
        """Runs a request whose approval and start have been recorded.

        Must be called while the activity is exclusive for what it uses.
        """
        request.state = RequestState.RUNNING
        try:
            if request.sandbox is None:
                raise AileronError("a tool call does not run in the gate")
            execution_future = self._gate_state.start_op(
                ThreadUse.OP, request.agent, request.sandbox, request.action_call
            )
        except Exception as error:  # noqa: BLE001  # the start is recorded, so the request must get an end
            execution_future = asyncio.get_running_loop().create_future()
            execution_future.set_result(Execution(request.name, failure=_not_started(error)))
        task = self._gate_state.spawn(self._run(request, execution_future))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        self._gate_state.settle(request)
        if not request.rule:
            self._gate_state.announce(request)

    async def _run(self, request: GateRequest, execution_future: "asyncio.Future[Execution]") -> None:
        execution = await _executed(request.action, execution_future)
        failure = execution.failure
        if failure:
            result = agent_replies.failed(request.id, failure.envelope())
        else:
            result = agent_replies.completed(request.id, execution.text)
        kind = _end_kind(failure)
        self._gate_state.metrics.ran(request.connector.name, execution.seconds, _STATES[kind])
        entry = EntryDraft(kind, _error_body(failure) | _retried_body(execution.retried), request.id)
        await self._requests.ends.finish(request, RequestEnd(_STATES[kind], entry, result))

    async def interrupt(self, request: GateRequest) -> GateRequest:
        """Marks a running request as interrupted, because its outcome is unknown, and creates a new request for it.

        The op is never run again without approval. The end and the new request are one commit, so that a crash cannot
        lose the new request. Returns the new request, which is recorded but not yet shown.
        """
        new_request = self._requests.new_request(request.action, request.args, request.asker, request.agent)
        new_request.repeats, new_request.polled, new_request.edited_from = request.id, True, request.edited_from
        body: JsonObject = {"error": "outcome unknown", "asked_again": new_request.id}
        await self._gate_state.recorder.record(
            EntryDraft(EntryKind.INTERRUPTED, body, request.id), request_entry(new_request)
        )
        result = agent_replies.ended(request.id, RequestState.INTERRUPTED, asked_again=new_request.id)
        await self._gate_state.store_result(result, "")
        self._gate_state.end(request, RequestState.INTERRUPTED, result)
        return new_request


async def _executed(action: Action, execution_future: "asyncio.Future[Execution]") -> Execution:
    """Waits for an execution. One that got no thread has failed, and nothing was run.

    After any other exception nobody knows how far it got: what went wrong before a step began is a failure of the step.
    """
    try:
        return await execution_future
    except ThreadsBusy as busy:
        return Execution(action.name, failure=_not_started(busy))
    except Exception as error:  # noqa: BLE001  # whatever it is, the call must get an end
        return Execution(action.name, failure=broken_off(error))


def _end_kind(failure: Failure | None) -> EntryKind:
    if failure is None:
        return EntryKind.EXECUTED
    return EntryKind.UNKNOWN if failure.outcome_unknown else EntryKind.FAILED


def _error_body(failure: Failure | None) -> JsonObject:
    text = failure.ledger_text if failure else ""
    if len(text) > LONGEST_ERROR:
        text = f"{text[:LONGEST_ERROR]}… ({len(text) - LONGEST_ERROR:,} more characters)"
    return {"error": text} if failure else {}


def _retried_body(retried: tuple[str, ...]) -> JsonObject:
    return {"retried": "; ".join(retried)} if retried else {}


def _not_started(error: Exception) -> Failure:
    """The failure of a call of which no step has begun."""
    title = error.title if isinstance(error, AileronError) else "the op was not started"
    if not isinstance(error, AileronError):
        log.error("an op could not be started", exc_info=error)
    return not_started(title)

"""Running what was approved: once, with exactly what was shown, and the outcome kept before it is told."""

import asyncio
import secrets
from typing import Final

from aileron_tui.core.action import Action
from aileron_tui.core.entry_chain import EntryKind
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import Asker
from aileron_tui.core.states import RequestState
from aileron_tui.core.visible_text import inline
from aileron_tui.gate import agent_replies, replies
from aileron_tui.gate.gate_request import GateRequest
from aileron_tui.gate.gate_state import GateState, log
from aileron_tui.gate.replies import Reply
from aileron_tui.gate.request_handler import RequestHandler
from aileron_tui.ledger.store import EntryDraft, StoredResult
from aileron_tui.sandbox.execution import Execution
from aileron_tui.sandbox.failure import Failure
from aileron_tui.sandbox.failure import FailureKind as Failing

_STATUS: Final = {
    Failing.BINDING_REQUIRED: 412,
    Failing.CAPABILITY_DENIED: 403,
    Failing.NETWORK_ERROR: 502,
    Failing.EXTERNAL_API_ERROR: 502,
}


class OpRunner:
    """The ops in flight."""

    def __init__(self, context: GateState, asking: RequestHandler) -> None:
        self._context = context
        self._asking = asking
        self.tasks: set[asyncio.Task[None]] = set()

    async def ungated(self, action: Action, args: JsonObject, asker: Asker) -> Reply:
        """Runs an action that needs no approval."""
        id_ = f"run-{secrets.token_hex(8)}"
        about: JsonObject = {"gated": False, "action": action.name, "agent": asker.agent, "args": args}
        record = self._context.recorder.record
        try:
            await record(EntryDraft(EntryKind.RUNNING, about, id_))
        except AileronError as error:
            return replies.unrecorded(error)
        done = await self._context.in_sandbox(self._context.installed.sandbox.execute, action, args)
        end: JsonObject = {"gated": False, **_error(done.failure)}
        try:
            await record(EntryDraft(EntryKind.FAILED if done.failure else EntryKind.EXECUTED, end, id_))
        except AileronError as error:
            log.error("%s ran, but its outcome cannot be recorded: %s", id_, inline(str(error)))
            return replies.outcome_unrecorded()
        if done.failure:
            return Reply(_STATUS.get(done.failure.agent_kind, 500), done.failure.envelope())
        return Reply(200, {"audit_id": f"audit-{id_}", "result": done.text})

    def start(self, live: GateRequest) -> None:
        """Runs a request whose approval and start are on record."""
        live.state = RequestState.RUNNING
        work = self._context.in_sandbox(live.sandbox.execute, live.action, live.args)
        task = self._context.spawn(self._run(live, work))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        self._context.still(live)
        self._context.feed.publish("updated", self._context.item(live))

    async def _run(self, live: GateRequest, work: "asyncio.Future[Execution]") -> None:
        done = await work
        if done.failure:
            answer = agent_replies.failed(live.id, done.failure.envelope())
        else:
            answer = agent_replies.completed(live.id, done.text)
        try:
            await self.close(live, answer, _error(done.failure))
        except AileronError as error:
            log.error("%s ran, but its outcome cannot be recorded: %s", live.id, inline(str(error)))
            self._context.end(live, RequestState.FAILED if done.failure else RequestState.EXECUTED, None)

    async def close(self, live: GateRequest, answer: StoredResult, error: JsonObject) -> None:
        """Keeps the outcome, then records the end: in this order a crash in between can be made good."""
        await self._context.file(answer, live.call)
        await self._context.recorder.record(
            EntryDraft(EntryKind.FAILED if error else EntryKind.EXECUTED, error, live.id)
        )
        live.error = str(error.get("error", ""))
        self._context.end(live, RequestState.FAILED if error else RequestState.EXECUTED, answer)

    async def interrupt(self, live: GateRequest) -> GateRequest:
        """The op began and its end is not known. It is never run again by itself; a person is asked.

        One commit for the end and the new question, so that a crash in between cannot drop the question. Returns the
        new request, which is recorded and not yet shown.
        """
        fresh = self._asking.made(live.action, live.args, live.asker, live.agent)
        fresh.after, fresh.polled, fresh.edited_from = live.id, True, live.edited_from
        body: JsonObject = {"error": "outcome unknown", "asked_again": fresh.id}
        await self._context.recorder.record(
            EntryDraft(EntryKind.INTERRUPTED, body, live.id), self._asking.request(fresh)
        )
        answer = agent_replies.ended(live.id, RequestState.INTERRUPTED, asked_again=fresh.id)
        await self._context.file(answer, "")
        self._context.end(live, RequestState.INTERRUPTED, answer)
        return fresh


def _error(failure: Failure | None) -> JsonObject:
    return {} if failure is None else {"error": f"{failure.agent_kind}: {failure.message}"}

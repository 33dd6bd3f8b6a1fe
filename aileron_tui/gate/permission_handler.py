"""Answers agents that ask whether their own program may execute a tool call. Nothing is executed here.

An approved call is handed over to the agent once, and that is recorded before the agent is told. Nobody but the program
knows what became of it then; it may report that.
"""

import asyncio
from dataclasses import replace
from functools import lru_cache
from typing import Final

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonObject, canonical
from aileron_tui.core.prompt import Asker, PreviewResult
from aileron_tui.core.states import InvalidTransition, RequestState
from aileron_tui.core.times import timestamp
from aileron_tui.core.tool_call import DoorClaims, ResolvedTool, ToolCall
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline
from aileron_tui.gate import agent_replies, recovery, replies
from aileron_tui.gate.call_inputs import tool_fingerprint
from aileron_tui.gate.door_sessions import DoorSessions
from aileron_tui.gate.gate_request import GateRequest, PreviewState, ToolDoor, new_id
from aileron_tui.gate.gate_state import ENTRY_BYTES, GateState, log
from aileron_tui.gate.replies import Reply
from aileron_tui.gate.request_ends import LONGEST_ERROR, RequestEnd
from aileron_tui.gate.request_handler import CallNotAccepted, RequestHandler
from aileron_tui.gate.tool_resolver import ToolResolver
from aileron_tui.ledger.history_filter import HistoryFilter
from aileron_tui.ledger.recorded_args import recorded_args
from aileron_tui.ledger.recorded_decision import approved_args
from aileron_tui.ledger.store import EntryDraft

DIFFERS: Final = "what was executed is not what was approved"
"""What is recorded and shown if a program reports that it executed something else."""

_COLLECTION_SECONDS: Final = 60.0
"""How long an approval waits for an agent that does not wait for it."""

_RESUMING_SECONDS: Final = 900.0
"""How long it waits for a program that may come back after a crash: as long as a decision can be valid."""

_NOT_FETCHED: Final = "the call was edited after it was fetched"
_NOT_COLLECTED: Final = "the agent did not come back for the answer"
_NOTICE_SECONDS: Final = 600
_ROW_BYTES: Final = 64
"""What a row of a preview needs besides its label and its value."""

_MOST_REMEMBERED: Final = 10_000
_OUTCOMES: Final = {
    "executed": (EntryKind.EXECUTED, RequestState.EXECUTED),
    "failed": (EntryKind.FAILED, RequestState.FAILED),
    "unknown": (EntryKind.UNKNOWN, RequestState.UNKNOWN),
}


@dataclass(frozen=True, slots=True)
class ToolQuestion:
    """A tool call that an agent asks about. `fingerprint` is equal only for the same call, asked about again."""

    call: ToolCall
    asker: Asker
    door: ToolDoor
    fingerprint: str
    claims: DoorClaims = DoorClaims()


class PermissionHandler:
    """Asks about tool calls and hands over the approved ones. Must only be used from the gate's event loop."""

    def __init__(
        self, gate_state: GateState, requests: RequestHandler, resolver: ToolResolver, doors: DoorSessions
    ) -> None:
        self._gate_state = gate_state
        self._requests = requests
        self._resolver = resolver
        self._doors = doors
        self._handed_over: dict[str, str] = {}
        self._about = lru_cache(_MOST_REMEMBERED)(self._read_about)

    async def ask(self, asked: ToolQuestion, agent: str, wait: float | None) -> Reply:
        """Joins an open request with the same call id, or makes a new one; the reply is held for `wait` seconds."""
        state = self._gate_state
        self._doors.heard(agent, asked.door.name, asked.asker.session)
        try:
            request = state.open_by_call.get(asked.fingerprint)
            if request is None:
                tool = await self._resolver.resolve(agent, asked.call, asked.claims)
                request = state.open_by_call.get(asked.fingerprint)  # it may have been asked twice at the same time
                if request is None:
                    request = self._new_request(asked, tool, agent)
                    self._requests.admit(request)
            if not _is_same(request, asked.call):
                message = "another call with this call_id is waiting; each call needs an id of its own"
                return replies.error(409, "call_id_reused", message)
            if not await self._requests.wait_for_end(request, wait):
                request.polled = True
                return Reply(202, _pending(request))
            return await self._answer(request)
        except CallNotAccepted as refused:
            return refused.reply
        except AileronError as error:
            return replies.not_recorded(error)

    async def poll(self, id_: str, agent: str, wait: float | None = None) -> Reply:
        """Returns the answer to a call of this agent, or its state while it waits. An approval is handed over once."""
        request = self._gate_state.open_requests.get(id_)
        if request is None or not request.is_recorded:
            return await self._ended(id_, agent)
        if request.agent != agent or request.tool is None:
            return replies.unknown_request(id_)
        request.polled = True
        if not request.ended.is_set() and not await self._requests.wait_for_end(request, wait):
            return Reply(202, _pending(request))
        return await self._answer(request)

    async def _ended(self, id_: str, agent: str) -> Reply:
        state = self._gate_state
        try:
            record = state.reader.find(id_)
            if record is None or recovery.owner(record) != agent or not recovery.is_tool(record):
                return replies.unknown_request(id_)
            result = state.outbox.find(id_) or recovery.result_from_ledger(state.reader, record)
        except AileronError as error:
            return replies.result_unavailable(error)
        if result is None:
            return Reply(200, agent_replies.already_handed_over(id_))
        reply = await self._requests.deliver(result)
        return Reply(reply.status, reply.body | {"approval_id": id_})

    def approved(self, request: GateRequest) -> None:
        """A tool call was approved, which is recorded: the agent may have the answer now."""
        state = self._gate_state
        request.state = RequestState.APPROVED
        state.settle(request)
        resumable = request.door is not None and request.door.resumable
        seconds = _RESUMING_SECONDS if resumable else _COLLECTION_SECONDS
        state.schedule(request, seconds, lambda: state.spawn(self._withdraw_uncollected(request)))
        request.ended.set()
        state.announce(request)

    def allowed_by_rule(self, request: GateRequest) -> None:
        """A rule has allowed a tool call, and that it is handed over is recorded too."""
        self._hand_over_now(request)

    async def look_again(self, request: GateRequest, tool: ResolvedTool) -> bool:
        """Resolves a waiting tool call again; returns whether what is shown has changed, which is a new prompt."""
        now = await self._resolver.resolve(request.agent, tool.call, tool.claims)
        if now == tool:
            return False
        await self._requests.replace_tool(request, now)
        return True

    async def resolve_edited(self, request: GateRequest, args: JsonObject) -> ResolvedTool:
        """A tool call with other args."""
        tool = request.tool
        if tool is None:
            raise TypeError(f"{request.id} is not a tool call")
        claims = tool.claims
        if claims.preview and canonical(args) != canonical(tool.args):
            told = claims.preview
            unknown = PreviewResult((), _NOT_FETCHED, told_by=told.told_by, source=told.source)
            claims = replace(claims, preview=unknown)
        return await self._resolver.resolve(request.agent, replace(tool.call, args=args), claims)

    async def _answer(self, request: GateRequest) -> Reply:
        """The answer for an agent that waited for it."""
        if request.state is RequestState.APPROVED:
            # A program that disconnects now must not end this between the record and the new state.
            await asyncio.shield(self._gate_state.spawn(self._hand_over(request)))
        if request.state is RequestState.HANDED_OVER:
            return Reply(200, agent_replies.allowed(request))
        if request.result is None:
            return Reply(200, request.poll_reply() | {"approval_id": request.id})
        await self._requests.deliver(request.result)
        return Reply(200, request.result.body | {"approval_id": request.id})

    async def _hand_over(self, request: GateRequest) -> None:
        async with request.end_lock:
            if request.state is RequestState.APPROVED:
                entry = EntryDraft(EntryKind.HANDED_OVER, {"digest": request.digest}, request.id)
                await self._gate_state.recorder.record(entry)
                self._hand_over_now(request)

    def _hand_over_now(self, request: GateRequest) -> None:
        self._handed_over[request.fingerprint] = request.id
        while len(self._handed_over) > _MOST_REMEMBERED:
            del self._handed_over[next(iter(self._handed_over))]
        self._gate_state.activity.changed_anything()
        self._gate_state.end(request, RequestState.HANDED_OVER, None)

    async def _withdraw_uncollected(self, request: GateRequest) -> None:
        """Ends an approval that nobody came for. What is fetched much later is not what was approved."""
        async with request.end_lock:
            if request.state is RequestState.APPROVED and not request.waiting_clients:
                request.error = _NOT_COLLECTED
                message = f"nothing was executed: {_NOT_COLLECTED}"
                result = agent_replies.ended(request.id, RequestState.WITHDRAWN, message)
                entry = EntryDraft(EntryKind.WITHDRAWN, {"error": _NOT_COLLECTED}, request.id)
                await self._requests.ends.finish(request, RequestEnd(RequestState.WITHDRAWN, entry, result))

    def own_calls(self, agent: str) -> JsonObject:
        """The tool calls of an agent that it may fetch, and those that it fetched and never reported on."""
        approved: list[Json] = [
            known_call(request) | {"expires_at": timestamp(request.expires_at)}
            for request in tuple(self._gate_state.open_requests.values())
            if request.agent == agent and request.tool and request.state is RequestState.APPROVED
        ]
        reader, wanted = self._gate_state.reader, HistoryFilter(agents=(agent,), outcomes=(RequestState.HANDED_OVER,))
        handed_over: list[Json] = []
        for record in reader.page(wanted):
            if recovery.is_tool(record) and recovery.owner(record) == agent and not record.reduced:
                about = self._about(record.id)
                handed_over.append({"id": record.id, "tool": record.action, **about, "at": record.decided})
        return {"approved": approved, "handed_over": handed_over}

    def _read_about(self, id_: str) -> JsonObject:
        """How the program of a call identifies it. The entry also has the args, which can be large, so it is cached."""
        made = self._gate_state.reader.of_request(id_)[0].body
        connector = made.get("connector")
        about: JsonObject = {name: made.get(name, "") for name in ("call_id", "session", "batch")}
        return about | {"server": connector.get("name", "") if isinstance(connector, dict) else ""}

    # outcomes

    async def outcome_of_call(self, agent: str, session: str, call_id: str, body: JsonObject) -> Reply:
        """Accepts the report about a call, as its program identifies it."""
        id_ = self._handed_over.get(tool_fingerprint(agent, session, call_id))
        if id_ is not None:
            return await self.outcome(id_, agent, body)
        if self._doors.knows(agent, session):
            await self._report_unasked(agent, session, call_id)
        return replies.error(404, "not_found", "no call with this call_id was handed over")

    async def _report_unasked(self, agent: str, session: str, call_id: str) -> None:
        """A program executed something that it did not ask about, although it asks about other calls."""
        state = self._gate_state
        if state.ledger_rates.of(agent).take(ENTRY_BYTES):
            return
        log.warning("%s reported a tool call that it did not ask about", agent)
        state.feed.publish("unasked", {"agent": agent, "session": session, "seconds": _NOTICE_SECONDS})
        body: JsonObject = {"agent": agent, "session": session, "call_id": call_id}
        try:
            await state.recorder.record(EntryDraft(EntryKind.UNASKED, body))
        except AileronError as error:
            log.error("it could not be recorded that %s did not ask: %s", agent, inline(str(error)))

    async def check_doors(self) -> None:
        """Reports sessions that go on although their door is not heard any more."""
        for known in await self._doors.silent(self._resolver.files.modified):
            log.warning("the hooks of %s are not heard, but its session goes on", known.agent)
            data: JsonObject = {"agent": known.agent, "session": known.session, "seconds": _NOTICE_SECONDS}
            self._gate_state.feed.publish("silent", data)

    async def outcome(self, id_: str, agent: str, body: JsonObject) -> Reply:
        """Accepts the report of a program about a call that was handed over to it, and compares what it executed."""
        state = self._gate_state
        kind, after = _OUTCOMES[str(body["status"])]
        try:
            record = state.reader.find(id_)
            if record is None or recovery.owner(record) != agent or not recovery.is_tool(record):
                return replies.unknown_request(id_)
            if record.reduced:  # what was approved is gone, so it cannot be compared with what was executed
                return replies.unknown_request(id_)
            if record.outcome != RequestState.HANDED_OVER:
                return _not_handed_over(record.outcome)
            rate = state.ledger_rates.of(agent)
            if seconds := rate.take(ENTRY_BYTES):
                message = f"this agent writes too much to the ledger; try again in {seconds} s"
                return replies.error(429, "too_many_calls", message)
            executed = body.get("input")  # what follows reads the args from the ledger, and they can be large
            approved = approved_args(state.reader.of_request(id_))
            differs = isinstance(executed, dict) and canonical(executed) != canonical(approved)
            fields: JsonObject = {"reported": True}
            if differs and isinstance(executed, dict):
                recorded, size = recorded_args(executed)
                rate.charge(size)
                fields |= {"differs": True, "executed": recorded}
            said = f"{agent} says: {error}" if (error := body.get("error")) else ""
            problem = "; ".join(text for text in (DIFFERS if differs else "", said) if text)
            if problem:
                fields["error"] = problem[:LONGEST_ERROR]
                rate.charge(len(problem))
            await state.recorder.record(EntryDraft(kind, fields, id_))
        except InvalidTransition as error:
            return _not_handed_over(error.state or "")
        except AileronError as error:
            return replies.not_recorded(error)
        if differs:
            log.warning("%s: %s", inline(id_), DIFFERS)
        self._reported(id_, after, problem)
        return Reply(200, {"state": after, "differs": differs})

    def _reported(self, id_: str, after: RequestState, error: str) -> None:
        self._gate_state.activity.changed_anything()
        request = self._gate_state.find(id_)
        if request is not None:
            request.state, request.error = after, error
            self._gate_state.announce(request)
            request.forget_rendered()

    def _new_request(self, asked: ToolQuestion, tool: ResolvedTool, agent: str) -> GateRequest:
        state = self._gate_state
        now = state.clock()
        recorded = len(canonical(tool.args)) + len(tool.call.folder) + sum(map(len, tool.leads_to))
        preview_size = _preview_size(tool.shown.preview)
        return GateRequest(
            id=new_id(now),
            fingerprint=asked.fingerprint,
            agent=agent,
            call=tool,
            asker=asked.asker,
            risk=tool.shown.risk,
            sandbox=None,
            asked_at=now,
            deadline=state.deadline(most=asked.door.seconds),
            preview_state=PreviewState.NONE,
            size=recorded + preview_size,
            preview_size=preview_size,
            door=asked.door,
        )


def known_call(request: GateRequest) -> JsonObject:
    """What the program that asked about a tool call knows it by."""
    door = request.door or ToolDoor()
    about: JsonObject = {"call_id": door.call_id, "session": request.asker.session, "batch": door.batch}
    server = request.tool.call.server if request.tool else ""
    return {"id": request.id, "tool": request.name, "server": server, **about}


def _pending(request: GateRequest) -> JsonObject:
    return request.pending_reply() | {"result_url": f"/v1/permissions/{request.id}"}


def _not_handed_over(now: str) -> Reply:
    """The reply to a report about a call that was not handed over, or was reported before."""
    message = f"the request is {now}" if now else "there is no such request"
    return replies.error(409, "INVALID_STATE", message, state=now)


def _preview_size(preview: PreviewResult | None) -> int:
    """How much a preview takes. Some calls are tiny, but name files whose whole content is shown."""
    rows = preview.rows if preview else ()
    return sum(_ROW_BYTES + len(row.label) + len(row.value) for row in rows)


def _is_same(request: GateRequest, call: ToolCall) -> bool:
    """Whether a request is about this call, as the agent asked."""
    tool = request.tool
    if tool is None:
        return False
    args = request.edited_from.args if request.edited_from else tool.args
    return replace(tool.call, args={}) == replace(call, args={}) and canonical(args) == canonical(call.args)

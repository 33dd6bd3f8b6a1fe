"""From a call to a prompt: a request is recorded, its preview fetched, and it waits until somebody or time ends it."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from aileron_tui.core.action import Action
from aileron_tui.core.entry_chain import EntryKind
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject, canonical
from aileron_tui.core.prompt import Asker, PreviewResult
from aileron_tui.core.risk import assess
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import timestamp
from aileron_tui.core.visible_text import inline
from aileron_tui.gate import agent_replies, replies
from aileron_tui.gate.call_inputs import fingerprint
from aileron_tui.gate.gate_request import GateRequest, PreviewState, new_id
from aileron_tui.gate.gate_state import GateState, log
from aileron_tui.gate.replies import Reply
from aileron_tui.ledger.preview_entry import preview_body
from aileron_tui.ledger.store import EntryDraft, StoredResult

_REMIND_ABOVE: Final = timedelta(seconds=1)


class RequestHandler:
    """The agent's side of a request."""

    def __init__(self, context: GateState) -> None:
        self._context = context

    async def call(self, action: Action, args: JsonObject, asker: Asker, agent: str, wait: float | None) -> Reply:
        """Joins the same call if it waits, collects its answer if that was never fetched, else asks a person."""
        context = self._context
        call = fingerprint(agent, action.name, args)
        try:
            if call not in context.calls:
                answer = context.outbox.undelivered(call)
                if answer and await self._deliver(answer):
                    return Reply(200, answer.body)
            live = context.calls.get(call)
            if live is None:
                if full := self._full(agent):
                    return full
                live = self.made(action, args, asker, agent)
                context.enter(live)
                context.spawn(self._ask(live))
            return await self._attend(live, wait)
        except AileronError as error:
            return replies.unrecorded(error)

    async def delivered(self, answer: StoredResult) -> Reply:
        """An answer, noted as given."""
        await self._deliver(answer)
        return Reply(200, answer.body)

    async def _deliver(self, answer: StoredResult) -> bool:
        return await self._context.deliver(answer, EntryDraft(EntryKind.DELIVERED, {}, answer.request))

    async def _attend(self, live: GateRequest, wait: float | None) -> Reply:
        """Waits until the request is recorded and, if the agent wants to, until it ends.

        An agent that goes away while it waits takes its request with it, unless others wait for it.
        """
        live.holders += 1
        try:
            await asyncio.shield(live.recorded)
            if wait is not None:
                await asyncio.wait_for(live.ended.wait(), wait)
        except TimeoutError:
            wait = None
        except asyncio.CancelledError:
            if wait is not None and live.holders == 1 and not live.polled:
                self._context.spawn(self.finish(live, RequestState.WITHDRAWN))
            raise
        finally:
            live.holders -= 1
        if wait is None:
            live.polled = True
            return Reply(202, live.pending())
        if live.answer is None:
            return replies.outcome_unrecorded()
        return await self.delivered(live.answer)

    def _full(self, agent: str) -> Reply | None:
        limits = self._context.setup.limits
        if len(self._context.live) >= limits.waiting:
            message = f"{limits.waiting:,} requests wait already; try again when some are answered"
        elif self._context.count(agent) >= limits.waiting_per_agent:
            message = f"{limits.waiting_per_agent:,} requests of this agent wait already; let some be answered first"
        elif self._context.bytes_waiting >= limits.waiting_bytes:
            message = "the requests that wait already are too large together; try again when some are answered"
        else:
            return None
        return replies.error(429, "too_many_waiting", message)

    def made(self, action: Action, args: JsonObject, asker: Asker, agent: str, id_: str = "") -> GateRequest:
        """A request for a call, not yet recorded."""
        now, installed = self._context.clock(), self._context.installed
        return GateRequest(
            id=id_ or new_id(now),
            call=fingerprint(agent, action.name, args),
            agent=agent,
            action=action,
            args=args,
            asker=asker,
            risk=assess(action, self._context.setup.config.risk),
            connector=installed.ref(action),
            sandbox=installed.sandbox,
            asked=now,
            expires=self._context.default_expiry(action, now),
            fetching=PreviewState.FETCHING if action.approval.preview else PreviewState.NONE,
            size=len(canonical(args)),
        )

    async def _ask(self, live: GateRequest) -> None:
        """Records a request, then shows it. Whoever makes the same call meanwhile waits for the same record."""
        writing = self._context.recorder.record(self.request(live))
        await asyncio.sleep(0)
        self._context.item(live)  # made while the disk is busy, and kept for those who watch
        try:
            await writing
        except AileronError as error:
            self._context.leave(live)
            live.recorded.set_exception(error)
            live.recorded.exception()  # nobody may be waiting for it
        else:
            self.open(live)

    def request(self, live: GateRequest) -> EntryDraft:
        """The fact that something is asked."""
        connector = live.connector
        body: JsonObject = {
            "action": live.action.name,
            "version": live.action.version,
            "connector": {"name": connector.name, "version": connector.version, "hash": connector.hash},
            "agent": live.asker.agent,
            "session": live.asker.session,
            "folder": live.asker.folder,
            "caller": live.agent,
            "risk": live.risk.level,
            "args": live.args,
            "expires": timestamp(live.expires),
        }
        if live.after:
            body["after"] = live.after
        return EntryDraft(EntryKind.REQUESTED, body, live.id)

    def open(self, live: GateRequest) -> None:
        """A recorded request begins to wait. Those who watch come first, then the agent, then the preview."""
        context = self._context
        context.feed.publish("pending", context.item(live))
        live.recorded.set_result(None)
        context.at(live, live.expires, lambda: context.spawn(self.finish(live, RequestState.EXPIRED)))
        if live.expires - live.asked > _REMIND_ABOVE:
            context.at(live, live.asked + (live.expires - live.asked) / 2, lambda: self._remind(live))
        context.spawn(self.prepare(live))

    def _remind(self, live: GateRequest) -> None:
        if live.state is RequestState.PENDING:
            self._context.feed.publish("updated", self._context.item(live) | {"reminder": True})

    async def prepare(self, live: GateRequest) -> None:
        """Fetches the preview, anew each time, and shows what came of it."""
        if live.fetching is not PreviewState.NONE:
            live.fetching = PreviewState.FETCHING
            try:
                preview = await self.preview(live, live.args)
            except AileronError as error:
                preview = PreviewResult(unavailable=f"it could not be recorded: {error}")
            if live.state is not RequestState.PENDING:
                return
            live.preview, live.fetching, live.edit = preview, PreviewState.READY, None
            live.previewed = self._context.clock()
            live.revision += 1
        await self.note_shown([live])
        if live.fetching is not PreviewState.NONE and live.state is RequestState.PENDING:
            self._context.feed.publish("updated", self._context.item(live))

    async def preview(self, live: GateRequest, args: JsonObject) -> PreviewResult | None:
        """What the operator is shown besides these arguments; that it was fetched is recorded."""
        outcome = await self._context.in_sandbox(live.sandbox.preview, live.action, args)
        if outcome is None:
            return None
        shown = outcome.result
        body = preview_body(shown.fields(), keep=self._context.setup.config.policy.keep_previews)
        if shown.unavailable:
            body["unavailable"] = shown.unavailable
        await self._context.recorder.record(EntryDraft(EntryKind.PREVIEWED, body, live.id))
        return shown

    async def note_shown(self, requests: Sequence[GateRequest], surface: str = "") -> None:
        """Records what watching surfaces were given; with nobody watching nothing was shown."""
        if not surface and not self._context.feed.watched:
            return
        drafts: list[EntryDraft] = []
        for live in requests:
            if live.state is RequestState.PENDING:
                body: JsonObject = {"digest": live.digest}
                drafts.append(EntryDraft(EntryKind.SHOWN, body | {"surface": surface} if surface else body, live.id))
        if drafts:
            await self._context.recorder.record(*drafts)

    async def finish(self, live: GateRequest, state: RequestState) -> None:
        """Ends a request that nobody answered or that nobody wants any more, unless it was just answered."""
        async with live.ending:
            if live.state is not RequestState.PENDING:
                return
            kind = EntryKind.EXPIRED if state is RequestState.EXPIRED else EntryKind.WITHDRAWN
            answer = agent_replies.ended(live.id, state)
            try:
                await asyncio.shield(live.recorded)
                await self._context.recorder.record(EntryDraft(kind, {}, live.id))
                await self._context.file(answer, live.call)
            except AileronError as error:
                log.error("%s cannot be ended: %s", live.id, inline(str(error)))
                return
            self._context.end(live, state, answer)

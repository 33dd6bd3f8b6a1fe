"""Turns gated calls into requests: records them, fetches previews, and waits until they are answered or expire."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, Final

from aileron_tui.core.action import Action
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonObject, canonical
from aileron_tui.core.prompt import Asker, PreviewResult
from aileron_tui.core.resolved_call import ResolvedCall
from aileron_tui.core.risk import assess
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import timestamp
from aileron_tui.core.tool_call import ResolvedTool
from aileron_tui.core.visible_text import inline
from aileron_tui.gate import agent_replies, replies
from aileron_tui.gate.agent_turns import end_turn
from aileron_tui.gate.call_inputs import effect_of, fingerprint, no_longer_possible
from aileron_tui.gate.gate_request import FetchedPreview, GateRequest, PreviewState, new_id
from aileron_tui.gate.gate_state import ENTRY_BYTES, GateState, log
from aileron_tui.gate.large_values import work_on
from aileron_tui.gate.replies import Reply
from aileron_tui.gate.request_ends import RequestEnd, RequestEnds
from aileron_tui.gate.request_entries import request_entries, tool_preview_entry
from aileron_tui.gate.sandbox_threads import ThreadsBusy, ThreadUse
from aileron_tui.ledger.preview_entry import preview_body
from aileron_tui.ledger.request_deadline import RequestDeadline
from aileron_tui.ledger.store import EntryDraft, StoredResult

_MIN_WAIT_FOR_REMINDER: Final = 1.0
_SHORTEST_TIMER: Final = 0.01
_PREVIEWS_AT_ONCE: Final = 4
"""How many previews of one agent are fetched at the same time after a crash."""

_RULED_SECONDS: Final = 20.0
"""How long the reply to a call that a rule answered is held for its result, even if the agent did not ask for that."""


class CallNotAccepted(AileronError):
    """A call is refused with this reply, although its request was already made."""

    def __init__(self, reply: Reply) -> None:
        super().__init__("the call was refused")
        self.reply = reply


class RequestHandler:
    """Creates requests and delivers their results to agents."""

    def __init__(self, gate_state: GateState, ends: RequestEnds) -> None:
        self._gate_state = gate_state
        self.ends = ends
        self.answering: Callable[[GateRequest], Coroutine[Any, Any, None] | None] = lambda _: None
        """Returns what records and answers a new request by a rule, or None if no rule may answer it."""

    async def call(self, action: Action, args: JsonObject, asker: Asker, agent: str, wait: float | None) -> Reply:
        """Joins an identical open request, delivers a result that was never fetched, or creates a new request."""
        gate_state = self._gate_state
        call = fingerprint(agent, asker, action.name, canonical(args))
        try:
            if call not in gate_state.open_by_call:
                result = self.ends.undelivered(call)
                # A call that was withdrawn is over: the agent that makes it again wants to be asked about.
                if result and await self.ends.mark_delivered(result) and not agent_replies.is_withdrawal(result):
                    return Reply(200, result.body)
            request = gate_state.open_by_call.get(call)
            if request is None:
                request = self.new_request(action, args, asker, agent)
                if gate_state.unknown_calls:
                    request.repeats = gate_state.unknown_calls.get(effect_of(agent, action.name, args), "")
                self.admit(request)
            return await self._wait(request, wait)
        except CallNotAccepted as refused:
            return refused.reply
        except AileronError as error:
            return replies.not_recorded(error)

    def admit(self, request: GateRequest) -> None:
        """Lets a new request be answered by a rule, or else asks about it. Raises CallNotAccepted past the limits."""
        if refused := self._limit_reply(request):
            raise CallNotAccepted(refused)
        by_rule = self.answering(request)
        if by_rule is None and (refused := self._asking_limit_reply(request.agent)):
            raise CallNotAccepted(refused)
        self._gate_state.add(request)
        self._gate_state.spawn(by_rule or self.record_and_open(request))

    async def deliver(self, result: StoredResult) -> Reply:
        """Returns a result and records that it was delivered."""
        await self.ends.mark_delivered(result)
        return Reply(200, result.body)

    async def _wait(self, request: GateRequest, wait: float | None) -> Reply:
        """Waits until the request is recorded and, if `wait` is given, until it ends."""
        if not await self.wait_for_end(request, wait):
            request.polled = True
            return Reply(202, request.pending_reply() | {"result_url": f"/v1/action-approvals/{request.id}/result"})
        return await self.ended(request)

    async def ended(self, request: GateRequest) -> Reply:
        """Returns the result of a request that has ended, to an agent that waited for it."""
        if request.result and not request.handed_over:
            return await self.deliver(request.result)
        return Reply(200, request.result.body if request.result else request.poll_reply())

    async def wait_for_end(self, request: GateRequest, wait: float | None) -> bool:
        """Waits until the request is recorded and, if `wait` is given, until there is something to tell the agent.

        Returns whether there is. If the agent disconnects while waiting, the request is withdrawn, unless other
        connections are waiting for it.
        """
        request.waiting_clients += 1
        try:
            await asyncio.shield(request.recorded)
            end_turn()
            if wait is None and request.rule:
                wait = _RULED_SECONDS
            if wait is not None:
                async with asyncio.timeout(wait):
                    await request.ended.wait()
        except TimeoutError:
            wait = None
        except asyncio.CancelledError:
            if wait is not None and request.waiting_clients == 1 and not request.polled:
                self._gate_state.spawn(self.end_unanswered(request, RequestState.WITHDRAWN))
            raise
        finally:
            request.waiting_clients -= 1
        return wait is not None

    def _limit_reply(self, request: GateRequest) -> Reply | None:
        state, agent = self._gate_state, request.agent
        limits, later = state.setup.limits, "try again when some are answered"
        if not state.waiting_shares.fits(agent):
            own = state.waiting_shares.exceeds_own(agent)
            message = (
                f"this agent has {limits.waiting_per_agent:,} waiting requests; {later}"
                if own
                else f"{limits.waiting:,} requests are already waiting; {later}"
            )
        elif not state.byte_shares.fits(agent, request.size):
            own = state.byte_shares.exceeds_own(agent, request.size)
            message = f"the waiting requests of {'this agent' if own else 'all agents'} are too large in total; {later}"
        elif seconds := state.ledger_rates.of(agent).take(request.size - request.preview_size + ENTRY_BYTES):
            message = f"this agent writes too much to the ledger; try again in {seconds} s"
        else:
            return None
        return replies.error(429, "too_many_waiting", message)

    def _asking_limit_reply(self, agent: str) -> Reply | None:
        """Refuses a call of an agent that has asked too often; records the first one and tells the operator."""
        state = self._gate_state
        refused = state.asking_limit.ask(agent)
        if refused is None:
            return None
        most = state.asking_limit.most
        if refused.first:
            log.warning("%s has made %s requests in 10 minutes; more are refused", agent, most)
            state.feed.publish("limited", {"agent": agent, "most": most, "seconds": refused.seconds})
            state.spawn(self._record_limited(agent, most))
        message = (
            f"asked too often: this agent has made {most:,} requests in 10 minutes that a person must answer; "
            f"try again in {refused.seconds} s"
        )
        return replace(replies.error(429, "asked_too_often", message), retry_after=refused.seconds)

    async def _record_limited(self, agent: str, most: int) -> None:
        """Records that an agent asked too often. If that fails, the refusal still counts."""
        try:
            await self._gate_state.recorder.record(EntryDraft(EntryKind.LIMITED, {"agent": agent, "most": most}))
        except AileronError as error:
            log.error("it could not be recorded that %s asked too often: %s", agent, error)

    def new_request(self, action: Action, args: JsonObject, asker: Asker, agent: str, id_: str = "") -> GateRequest:
        """Creates a request for a call; does not record it yet."""
        now, installed = self._gate_state.clock(), self._gate_state.installed
        call = installed.resolve(action, args)
        canonical_args = canonical(call.args)
        return GateRequest(
            id=id_ or new_id(now),
            fingerprint=fingerprint(agent, asker, action.name, canonical_args),
            agent=agent,
            call=call,
            asker=asker,
            risk=assess(action, self._gate_state.setup.config.risk),
            sandbox=installed.sandbox,
            asked_at=now,
            deadline=self._gate_state.deadline(action.approval.timeout),
            preview_state=PreviewState.FETCHING if action.approval.preview else PreviewState.NONE,
            size=len(canonical_args),
        )

    async def record_and_open(self, request: GateRequest) -> None:
        """Records a request, then opens it. Identical calls made in the meantime join this request."""
        try:
            recording = self._gate_state.recorder.record(*request_entries(request))
            unshowable = await self._render(request)
            await recording
        except BaseException as error:
            self.drop(request, error)
            if not isinstance(error, Exception):
                raise
            return
        await self._open_or_withdraw(request, unshowable)

    async def open_unruled(self, request: GateRequest, *, recorded: bool) -> None:
        """Opens a request that no rule answered, unless its agent has asked too often."""
        if refused := self._asking_limit_reply(request.agent):
            try:
                if recorded:
                    await self._record_withdrawn(request, "the agent asked too often")
            finally:
                self.drop(request, CallNotAccepted(refused))
        elif recorded:
            await self._open_or_withdraw(request, await self._render(request))
        else:
            await self.record_and_open(request)

    async def _open_or_withdraw(self, request: GateRequest, unshowable: Exception | None) -> None:
        if unshowable:
            self.drop(request, unshowable)
            await self._record_withdrawn(request, "the request could not be shown")
        else:
            self.open(request)

    async def _record_withdrawn(self, request: GateRequest, why: str) -> None:
        body: JsonObject = {"error": f"nothing was run: {why}"}
        await self._gate_state.recorder.record(EntryDraft(EntryKind.WITHDRAWN, body, request.id))

    async def _render(self, request: GateRequest) -> Exception | None:
        """Builds what approvers are shown while the disk is busy; it is cached. Returns why that is not possible."""
        await asyncio.sleep(0)
        try:
            await work_on(request.size, lambda: self._gate_state.encoded_request(request))
        except Exception as error:  # noqa: BLE001  # the request is being recorded and must be ended
            return error
        return None

    def drop(self, request: GateRequest, error: BaseException) -> None:
        """Forgets a request that could not be recorded or shown, and tells those who wait for it."""
        if not isinstance(error, AileronError):
            log.error("%s could not be recorded", request.id, exc_info=error)
            error = AileronError("the request could not be recorded", type(error).__name__)
        self._gate_state.remove(request)
        request.recorded.set_exception(error)
        request.recorded.exception()  # marks it as retrieved, in case nobody is waiting for it

    def open(self, request: GateRequest) -> None:
        """Opens a recorded request: notifies the watchers, then the agent, then fetches the preview."""
        gate_state = self._gate_state
        request.recorded.set_result(None)
        gate_state.feed.publish("pending", gate_state.encoded_request(request))
        self._start_waiting(request)
        if request.sandbox and request.preview_state is PreviewState.NONE:
            gate_state.spawn(gate_state.loading.load(request.sandbox, request.action_call))
        if request.fetched is None and request.tool is None:
            gate_state.spawn(self.refresh_preview(request, ThreadUse.PREVIEW))
        else:  # what the gate read for a tool call, or what was fetched for a rule that did not answer the request
            gate_state.spawn(self.record_shown([request]))

    def open_recovered(self, requests: Sequence[GateRequest]) -> None:
        """Opens requests that waited before the gate started. Nobody watches yet, so nobody is notified.

        Their previews are fetched a few at a time for each agent: there may be thousands.
        """
        by_agent: dict[str, deque[GateRequest]] = {}
        for request in requests:
            request.recorded.set_result(None)
            self._start_waiting(request)
            by_agent.setdefault(request.agent, deque()).append(request)
        for waiting in by_agent.values():
            for _ in range(_PREVIEWS_AT_ONCE):
                self._gate_state.spawn(self._refresh_in_turn(waiting))

    async def _refresh_in_turn(self, waiting: deque[GateRequest]) -> None:
        while waiting:
            request = waiting.popleft()
            if request.state is not RequestState.PENDING:
                continue
            try:
                await self.refresh_preview(request, ThreadUse.PREVIEW)
            except Exception as error:  # noqa: BLE001  # the others must get their previews
                log.error("the preview of %s failed", request.id, exc_info=error)

    def _start_waiting(self, request: GateRequest) -> None:
        self._gate_state.alerts.opened(request)
        left = self._gate_state.seconds_left(request)
        half = (request.expires_at - request.asked_at).total_seconds() / 2
        self._start_timers(request, left, left - half)

    def _start_timers(self, request: GateRequest, left: float, reminder: float) -> None:
        """Schedules the end of a request and a reminder, both in seconds from now."""
        self._gate_state.schedule(request, left, lambda: self.expire_if_late(request))
        if reminder > 0 and left > _MIN_WAIT_FOR_REMINDER:
            self._gate_state.schedule(request, reminder, lambda: self._remind(request))

    def deadline_moved(self, request: GateRequest, deadline: RequestDeadline) -> None:
        """Lets a request wait until a deadline that is already recorded, and reports it."""
        request.deadline = deadline
        self._gate_state.cancel_timers(request)
        left = self._gate_state.seconds_left(request)
        self._start_timers(request, left, left / 2)
        self._gate_state.alerts.extended(request.id)
        self._gate_state.announce(request)

    def expire_if_late(self, request: GateRequest) -> None:
        """Ends a request whose deadline has passed. A timer can be early, because clocks are adjusted."""
        if request.is_waiting:
            if self._gate_state.is_late(request):
                self.expire(request)
            else:
                left = max(_SHORTEST_TIMER, self._gate_state.seconds_left(request))
                self._gate_state.schedule(request, left, lambda: self.expire_if_late(request))

    def expire_late_requests(self) -> None:
        """Ends every request whose deadline has passed; the timers do not run while the machine sleeps."""
        for request in self._gate_state.pending():
            if self._gate_state.is_late(request):
                self.expire(request)

    def expire(self, request: GateRequest) -> None:
        """Ends a request because nobody answered before its deadline."""
        self._gate_state.spawn(self.end_unanswered(request, RequestState.EXPIRED, missed=request.deadline))

    def _remind(self, request: GateRequest) -> None:
        if request.state is RequestState.PENDING:
            self._gate_state.feed.publish("updated", self._gate_state.encoded_request(request, reminder=True))

    async def refresh_preview(self, request: GateRequest, use: ThreadUse = ThreadUse.REFRESH) -> None:
        """Fetches the preview and publishes the updated request."""
        if request.preview_state is not PreviewState.NONE:
            request.preview_state, call = PreviewState.FETCHING, request.action_call
            fetched_now = self._fetching_now(request)
            try:
                fetched = await self.fetch_preview(request, call, use)
            except AileronError as error:
                unavailable = PreviewResult(unavailable=f"it could not be recorded: {error}")
                fetched = fetched_now(unavailable)
            except Exception as error:  # noqa: BLE001  # without a result it would be fetched forever
                log.error("the preview of %s failed", request.id, exc_info=error)
                unavailable = PreviewResult(unavailable=f"the gate failed: {type(error).__name__}")
                fetched = fetched_now(unavailable)
            if request.state is not RequestState.PENDING or request.call is not call:
                return  # if the call was resolved again meanwhile, its own preview is on its way
            request.fetched, request.preview_state, request.edit = fetched, PreviewState.READY, None
            request.revision += 1
            await work_on(request.size, request.render)
        try:
            await self.record_shown([request])
        except AileronError as error:
            log.error("it could not be recorded that %s was shown: %s", request.id, inline(str(error)))
        if request.preview_state is not PreviewState.NONE and request.state is RequestState.PENDING:
            self._gate_state.announce(request)

    def fetch_failed_previews(self) -> None:
        """Fetches again every preview that is not available."""
        for request in self._gate_state.pending():
            if request.sandbox and request.preview and request.preview.unavailable:
                self._gate_state.spawn(self.refresh_preview(request))

    async def fetch_preview(
        self, request: GateRequest, call: ResolvedCall, use: ThreadUse = ThreadUse.REFRESH
    ) -> FetchedPreview | None:
        """Fetches and records the preview of a call; returns None if the action has no preview."""
        return (await self.fetch_everything(request, call, use))[0]

    async def fetch_everything(
        self, request: GateRequest, call: ResolvedCall, use: ThreadUse = ThreadUse.REFRESH
    ) -> tuple[FetchedPreview | None, Json]:
        """Fetches and records the preview of a call; also returns the connector's whole answer, which is not kept."""
        answer: Json = None
        if request.sandbox is None:
            return None, None
        await self._gate_state.loading.load(request.sandbox, call, partial(self._compiling, request))
        request.compiling_since = ""
        fetched_now = self._fetching_now(request)
        retried = ""
        try:
            outcome = await self._gate_state.in_sandbox(use, request.agent, request.sandbox.preview, call)
        except ThreadsBusy as busy:
            shown = PreviewResult(unavailable=busy.title)
        else:
            if outcome is None:
                return None, None
            shown, answer, retried = outcome.result, outcome.output, outcome.retried
            failed = bool(shown.unavailable)
            self._gate_state.metrics.previewed(call.connector.name, outcome.seconds, failed=failed)
        body = preview_body(shown, keep=self._gate_state.setup.config.policy.keep_previews)
        if shown.unavailable:
            body["unavailable"] = shown.unavailable
        if retried:
            body["retried"] = retried
        await self._gate_state.recorder.record(EntryDraft(EntryKind.PREVIEWED, body, request.id))
        return fetched_now(shown), answer

    def _compiling(self, request: GateRequest, seconds: float) -> None:
        """Reports that the preview of a request waits for a connector that is being compiled."""
        if request.is_waiting:
            request.compiling_since = timestamp(self._gate_state.clock() - timedelta(seconds=seconds))
            self._gate_state.announce(request)

    def _fetching_now(self, request: GateRequest) -> Callable[[PreviewResult], FetchedPreview]:
        """Returns a function that makes the preview of a fetch that begins now."""
        state = self._gate_state
        began_at, uptime, changes = state.clock(), state.boot_clock.seconds(), state.activity.changes(request.used)
        return lambda result: FetchedPreview(result, began_at, uptime, changes)

    async def resolve_again(self) -> None:
        """Resolves every waiting call that was resolved with another bundle or other accounts than the present ones.

        What differs is a new prompt, and a request that the bundle no longer allows is withdrawn. A request for which
        that fails cannot be approved (`is_outdated`); this must be called again until there is none.
        """
        outdated = [request for request in self._gate_state.pending() if self._has_other_bundle(request)]
        results = await asyncio.gather(*map(self._resolve_again, outdated), return_exceptions=True)
        failures = [result for result in results if result is not None]
        for failure in failures:
            if not isinstance(failure, AileronError):
                raise failure
        if failures:
            log.error("%d prompts could not be made again yet: %s", len(failures), inline(str(failures[0])))

    def is_outdated(self, request: GateRequest) -> bool:
        """Whether a request was resolved otherwise than it would be now, or the bundle is about to change."""
        if request.sandbox is None:
            return False
        return self._has_other_bundle(request) or not self._gate_state.bundle_is_current()

    def _has_other_bundle(self, request: GateRequest) -> bool:
        """Whether a request was resolved with another bundle, or with other accounts than would be used now."""
        installed = self._gate_state.installed
        if request.sandbox is None or request.sandbox is not installed.sandbox:
            return request.sandbox is not None
        steps, now = request.action_call.steps, installed.connectors(request.action)
        return any(step.connector != now.get(step.connector.name, step.connector) for step in steps)

    async def _resolve_again(self, request: GateRequest) -> None:
        """Resolves one waiting call again. A new prompt is recorded before it takes effect."""
        gate_state, installed = self._gate_state, self._gate_state.installed
        action = installed.actions.get(request.action.name)
        if why := no_longer_possible(action, request.args, was_gated=request.action.gated):
            await self.end_unanswered(request, RequestState.WITHDRAWN, why)
        if action is None or why:
            return
        async with request.end_lock:
            if request.state is not RequestState.PENDING:
                return
            call, risk = installed.resolve(action, request.args), assess(action, gate_state.setup.config.risk)
            if (call, risk) == (request.call, request.risk):
                request.sandbox = installed.sandbox
                return
            prompt = replace(request.prompt_for(call, None), risk=risk)
            what = "the manifests were reloaded" if request.sandbox is not installed.sandbox else "the accounts changed"
            body: JsonObject = {"change": f"{what}, so the prompt was made again"}
            entry = EntryDraft(EntryKind.CONFIG_CHANGED, body | {"digest": prompt.digest}, request.id)
            await gate_state.recorder.record(entry)
            if request.edited_from:
                original = installed.resolve(action, request.edited_from.args)
                request.edited_from = request.prompt_for(original, None)
            request.sandbox = installed.sandbox
            request.call, request.risk, request.fetched, request.edit = call, risk, None, None
            request.preview_state = PreviewState.FETCHING if action.approval.preview else PreviewState.NONE
            request.revision += 1
        gate_state.feed.publish("updated", gate_state.encoded_request(request))
        gate_state.spawn(self.refresh_preview(request))

    async def record_shown(self, requests: Sequence[GateRequest], surface: str = "") -> None:
        """Records that requests were shown, and who was alerted first; not that they were if there are no watchers."""
        alerts = self._gate_state.alerts
        if not surface and not self._gate_state.feed.watched:
            alerts.not_shown(requests)
            return
        drafts: list[EntryDraft] = []
        for request in requests:
            if request.state is RequestState.PENDING:
                body: JsonObject = {"digest": request.digest, **alerts.shown(request)}
                drafts.append(EntryDraft(EntryKind.SHOWN, body | {"surface": surface} if surface else body, request.id))
        if drafts:
            await self._gate_state.recorder.record(*drafts)

    async def replace_tool(self, request: GateRequest, tool: ResolvedTool) -> None:
        """Shows a tool call as the gate sees it now, because what it read has changed. That is a new prompt."""
        if tool.shown.preview:
            await self._gate_state.recorder.record(tool_preview_entry(request, tool.shown.preview))
        request.call, request.risk, request.edit = tool, tool.shown.risk, None
        request.revision += 1
        self._gate_state.announce(request)

    async def withdraw_all(self, agent: str, why: str) -> None:
        """Withdraws all waiting requests of an agent."""
        waiting = [request for request in self._gate_state.pending() if request.agent == agent]
        await asyncio.gather(*(self.end_unanswered(request, RequestState.WITHDRAWN, why) for request in waiting))

    async def end_unanswered(
        self, request: GateRequest, state: RequestState, why: str = "", missed: RequestDeadline | None = None
    ) -> None:
        """Ends a request that expired or was withdrawn, unless it was just answered.

        `why` says why the gate withdrew it; by default the agent did. `missed` is the deadline of one that expired; if
        another deadline was recorded meanwhile, the request waits on.
        """
        async with request.end_lock:
            if request.state is not RequestState.PENDING or missed not in (None, request.deadline):
                return
            kind = EntryKind.EXPIRED if state is RequestState.EXPIRED else EntryKind.WITHDRAWN
            with contextlib.suppress(AileronError):
                await asyncio.shield(request.recorded)
            if state is RequestState.WITHDRAWN and not why and (request.polled or request.waiting_clients):
                return  # an identical call has joined the request meanwhile
            if request.is_waiting:  # a rule may have answered it meanwhile
                request.error = why
                result = agent_replies.ended(request.id, state, f"nothing was run: {why}" if why else "")
                entry = EntryDraft(kind, {"error": why} if why else {}, request.id)
                await self.ends.finish(request, RequestEnd(state, entry, result))

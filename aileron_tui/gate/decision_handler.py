"""Handles decisions: only the first valid one counts, and only for exactly what was shown."""

import asyncio
import contextlib
from collections import Counter
from typing import Final

from aileron_tui.core.connector_groups import grouped
from aileron_tui.core.decision import read_statement
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, compact
from aileron_tui.core.prompt import Prompt
from aileron_tui.core.resolved_call import ResolvedCall
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.states import InvalidTransition, RequestState
from aileron_tui.core.times import timestamp
from aileron_tui.core.tool_call import ResolvedTool
from aileron_tui.core.visible_text import clip, inline
from aileron_tui.gate import agent_replies, replies
from aileron_tui.gate.agent_registry import REVOKED, AgentRegistry
from aileron_tui.gate.call_inputs import input_errors
from aileron_tui.gate.decision_body import SubmittedDecision, read_decision
from aileron_tui.gate.decision_check import DecisionCheck
from aileron_tui.gate.gate_request import Edit, FetchedPreview, GateRequest, PreviewState
from aileron_tui.gate.gate_state import GateState, log
from aileron_tui.gate.op_runner import OpRunner
from aileron_tui.gate.permission_handler import PermissionHandler
from aileron_tui.gate.replies import Reply
from aileron_tui.gate.request_handler import RequestHandler
from aileron_tui.ledger.errors import DeadlinePassed, EntryRefused
from aileron_tui.ledger.store import EntryDraft
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.envelope import read_envelope
from aileron_tui.signing.errors import EnvelopeRefused, RefusalReason

_MAX_DETAIL_LENGTH: Final = 300
_MAX_FETCHED_SIZE: Final = 2 * 1024 * 1024


PREVIEW_MAX_AGE: Final = 10.0
"""How many seconds old a preview may be at approval; an older one is fetched again and compared."""

_LONGEST_WAIT_FOR_APPROVALS: Final = 90.0
_LONGEST_WAIT_FOR_OPS: Final = 35.0
_LONGEST_WAIT_FOR_PREVIEW: Final = 10.0
_SECONDS_TO_APPROVE_AGAIN: Final = 60.0


class DecisionHandler:
    """Verifies, records and applies decisions."""

    def __init__(
        self,
        gate_state: GateState,
        requests: RequestHandler,
        op_runner: OpRunner,
        permissions: PermissionHandler,
        agents: AgentRegistry,
    ) -> None:
        self._gate_state = gate_state
        self._requests = requests
        self._op_runner = op_runner
        self._permissions = permissions
        self._agents = agents
        self.check = DecisionCheck(gate_state)

    def approvers(self) -> Approvers:
        """Returns the current approvers; another process may have just enrolled or revoked a key."""
        return self.check.approvers()

    async def refresh(self, id_: str, body: JsonObject) -> Reply:
        """Fetches the preview again, or builds the prompt for an edited call."""
        request = self._gate_state.open_requests.get(id_)
        if request is None or request.state is not RequestState.PENDING:
            return self.not_pending(id_)
        edits = body.get("edited_payload")
        if body.keys() - {"edited_payload"} or not isinstance(edits, dict | None):
            return replies.error(400, "invalid_body", 'expected {} or {"edited_payload": {…}}')
        if edits is not None:
            return await self._edit(request, edits)
        if request.tool:
            async with request.end_lock:
                if request.state is RequestState.PENDING:
                    await self._permissions.look_again(request, request.tool)
        elif request.preview_state is PreviewState.READY:
            await self._requests.refresh_preview(request)
        return Reply(200, {"item": self._gate_state.request_json(request)})

    async def fetched(self, id_: str) -> Reply:
        """Fetches the preview again and returns the connector's whole answer. A changed preview is a new prompt."""
        request = self._gate_state.open_requests.get(id_)
        if request is None or request.state is not RequestState.PENDING:
            return self.not_pending(id_)
        if request.preview_state is not PreviewState.READY:
            return replies.error(409, "NO_PREVIEW", "the request has no preview, or it is still being fetched")
        shown_before = request.fetched
        try:
            fetched, answer = await self._requests.fetch_everything(request, request.action_call)
        except AileronError as error:
            return replies.not_recorded(error)
        if fetched is None or fetched.result.unavailable:
            return replies.error(502, "preview_unavailable", fetched.result.unavailable if fetched else "no preview")
        size = len(compact(answer))
        if size > _MAX_FETCHED_SIZE:
            return replies.error(413, "too_large", f"what was fetched is too large to be shown: {size:,} characters")
        if shown_before is None or fetched.result != shown_before.result:
            self._gate_state.spawn(self._requests.refresh_preview(request))
        return Reply(200, {"fetched": answer})

    async def _edit(self, request: GateRequest, edits: JsonObject) -> Reply:
        args = request.args | edits
        if request.door and not request.door.can_edit:
            return replies.error(409, "NOT_EDITABLE", "what asks for this call cannot pass on an edit")
        if errors := input_errors(request.inputs, args):
            return replies.invalid_inputs(errors)
        before = request.call
        try:
            call, fetched = await self._edited(request, args)
        except AileronError as error:
            return replies.not_recorded(error)
        if request.state is not RequestState.PENDING:
            return self.not_pending(request.id)
        if request.call is not before:
            return self.prompt_changed(request)
        prompt = request.prompt_for(call, fetched.result if fetched else None)
        request.edit = Edit(edits, call, prompt, fetched)
        return Reply(200, {"item": self._edited_request_json(request, prompt)})

    async def _edited(
        self, request: GateRequest, args: JsonObject
    ) -> tuple[ResolvedCall | ResolvedTool, FetchedPreview | None]:
        """The call with other inputs, and its preview."""
        if request.tool or request.sandbox is None:
            return await self._permissions.resolve_edited(request, args), None
        call = request.sandbox.resolve(request.action, args)
        return call, await self._requests.fetch_preview(request, call)

    def _edited_request_json(self, request: GateRequest, prompt: Prompt) -> JsonObject:
        return request.to_json(self._gate_state.instance, self._gate_state.recorder.head.hash, prompt)

    async def decide(self, id_: str, body: JsonObject) -> Reply:
        """Accepts a signed decision; sending the same decision again returns the same reply."""
        try:
            decision = read_decision(body)
        except JsonError as error:
            return replies.error(400, "invalid_body", str(error))
        request = self._gate_state.find(id_)
        if request is None:
            return self.not_pending(id_)
        if self._agents.current().is_revoked(request.agent):
            await self._requests.end_unanswered(request, RequestState.WITHDRAWN, REVOKED)
        if decision.edits is not None and (request.edit is None or request.edit.edits != decision.edits):
            if request.state is not RequestState.PENDING:
                return self._repeated(request, decision)
            reply = await self._edit(request, decision.edits)
            return self._prompt_changed(request, reply.body["item"]) if reply.status == 200 else reply
        async with request.end_lock:
            if request.state is not RequestState.PENDING:
                return self._repeated(request, decision)
            if decision.edits is not None and (request.edit is None or request.edit.edits != decision.edits):
                return self.prompt_changed(request)
            return await self._apply(request, decision)

    async def decide_batch(self, body: JsonObject) -> Reply:
        """Accepts several decisions independently of each other. Requests that are not listed keep waiting.

        Decisions on calls that use nothing in common are applied at the same time. Each other one waits for the ops of
        those before it, because they may change what its preview shows.
        """
        items = body.get("items")
        if not isinstance(items, list) or body.keys() != {"items"}:
            return replies.error(400, "invalid_body", 'expected {"items": […]}')
        decisions: list[tuple[str, JsonObject]] = []
        for item in items:
            if not isinstance(item, dict) or not isinstance(item.get("id"), str):
                return replies.error(400, "invalid_body", 'each item needs an "id"')
            decisions.append((str(item["id"]), {key: value for key, value in item.items() if key != "id"}))
        names = {id_: self._used(id_) for id_, _ in decisions}
        groups = grouped(range(len(decisions)), lambda number: names[decisions[number][0]])
        outcomes: dict[int, JsonObject] = {}

        async def apply(numbers: list[int]) -> None:
            for number in numbers:
                id_, decision_body = decisions[number]
                reply = await self.decide(id_, decision_body)
                accepted = reply.status == 200
                outcome = ("approved" if decision_body.get("approved") is True else "denied") if accepted else "skipped"
                result: JsonObject = {"id": id_, "outcome": outcome, "status": reply.status}
                outcomes[number] = result if accepted else result | reply.body

        with self._gate_state.activity.reserved(frozenset().union(*names.values())):
            ended = await asyncio.gather(*map(apply, groups), return_exceptions=True)
        for error in filter(None, ended):
            raise error
        counts = Counter(str(result["outcome"]) for result in outcomes.values())
        listed: list[Json] = [outcomes[number] for number in range(len(decisions))]
        return Reply(200, {**{name: counts[name] for name in ("approved", "denied", "skipped")}, "items": listed})

    def _used(self, id_: str) -> frozenset[str]:
        """What a request uses; nothing if there is no such request."""
        request = self._gate_state.find(id_)
        return request.used if request else frozenset()

    async def _apply(self, request: GateRequest, decision: SubmittedDecision) -> Reply:
        """Verifies a decision, records it, and only then applies it."""
        if self._gate_state.is_late(request):
            return self.too_late(request)
        if decision.approved and (why := self._gate_state.outbox_problem):
            return replies.error(503, "not_recorded", f"nothing was run, because its result could not be stored: {why}")
        edit = request.edit if decision.edits is not None else None
        digest = edit.prompt.digest if edit else request.digest
        if refused := await self._refused(request, decision, digest):
            return refused
        if not decision.approved:
            return await self._record(request, decision, digest, edit)
        if self._requests.is_outdated(request):
            return _outdated(request)
        call = edit.call if edit else request.call
        if needs := call.needs if isinstance(call, ResolvedCall) else ():
            return replies.error(409, "ACCOUNT_NEEDED", f"it cannot run yet: {needs[0]}", state=request.state)
        if edit is None and request.preview_state is PreviewState.FETCHING:
            message = "the preview is still being fetched; review it, then approve"
            return replies.error(409, "PREVIEW_PENDING", message, state=request.state)
        # Nothing else may begin on what it uses between the last check of the preview and the start of the op.
        try:
            async with self._gate_state.activity.exclusive(request.used, _LONGEST_WAIT_FOR_APPROVALS):
                if changed := await self._preview_changed(request, edit):
                    return changed
                # Meanwhile the preview may have been fetched again, the manifests reloaded, or the key or the agent
                # revoked.
                if refused := await self._refused(request, decision, edit.prompt.digest if edit else request.digest):
                    return refused
                if self._agents.current().is_revoked(request.agent):
                    return self._withdrawn(request)
                if self._requests.is_outdated(request):
                    return _outdated(request)
                return await self._record(request, decision, digest, edit)
        except TimeoutError:
            return _busy(request)

    async def _refused(self, request: GateRequest, decision: SubmittedDecision, digest: str) -> Reply | None:
        """Verifies a decision; returns the reply that refuses it, or None if it is valid now for this digest."""
        try:
            self.check.check(request, decision, digest)
        except EnvelopeRefused as refused:
            return await self._refuse(request, refused)
        return None

    async def _record(self, request: GateRequest, decision: SubmittedDecision, digest: str, edit: Edit | None) -> Reply:
        """Records a verified decision and applies it."""
        drafts = [EntryDraft(EntryKind.DECIDED, {"envelope": decision.envelope}, request.id)]
        if decision.approved and not request.tool:
            # The approval and the start of the op are one commit: after a crash between the two, it would be unknown
            # whether the approved request had been started.
            drafts.append(EntryDraft(EntryKind.RUNNING, {"digest": digest}, request.id))
        try:
            await self._gate_state.recorder.record(*drafts)
        except InvalidTransition:
            return self.not_pending(request.id)
        except DeadlinePassed:
            return self.too_late(request)
        except EntryRefused as error:
            return replies.error(403, "not_admitted", str(error))
        except AileronError as error:
            return replies.not_recorded(error)
        self.check.used(decision)
        request.decision, request.reason = decision.envelope, decision.reason
        event = self._resolved_event(request, decision)
        self._gate_state.feed.publish("resolved", event)
        self._gate_state.metrics.decided(
            str(event["surface"]), self._gate_state.age(request), approved=decision.approved
        )
        if decision.approved:
            if edit:
                request.edited_from = request.prompt
                request.call, request.fetched = edit.call, edit.fetched
                request.revision += 1
            if request.tool:
                self._permissions.approved(request)
            else:
                self._op_runner.start(request)
        else:
            result = agent_replies.denied(request.id, decision.reason)
            await self._requests.ends.keep_result(result, request.fingerprint)
            self._gate_state.end(request, RequestState.DENIED, result)
        return _decided(request, decision.approved)

    async def _preview_changed(self, request: GateRequest, edit: Edit | None) -> Reply | None:
        """Fetches the preview again if it may be stale; returns a reply if what it shows has changed.

        For example, an approved op may have changed the recipient of a draft since it was shown. A changed preview is a
        new prompt, which has not been approved. Ops that are still running on what it uses are waited for, because
        their effect may not be visible yet.
        """
        if request.tool:
            return await self._tool_changed(request, request.tool, edit)
        shown = edit.fetched if edit else request.fetched
        if shown is None or not self._is_stale(request, shown):
            return None
        call = edit.call if edit else request.call
        if not isinstance(call, ResolvedCall):
            return None
        activity = self._gate_state.activity
        if not await activity.wait_until_idle(request.used, _LONGEST_WAIT_FOR_OPS):
            self._gate_state.spawn(activity.keep_free(request.used, _SECONDS_TO_APPROVE_AGAIN))
            return _busy(request)
        try:
            # Nothing can begin on what it uses meanwhile, so this must not wait long for a thread.
            async with asyncio.timeout(_LONGEST_WAIT_FOR_PREVIEW):
                fetched = await self._requests.fetch_preview(request, call)
        except TimeoutError:
            message = "the preview could not be fetched again in time; approve again later"
            return replies.error(409, "CONNECTOR_BUSY", message, state=request.state)
        except AileronError as error:
            return replies.not_recorded(error)
        if fetched is None or fetched.result == shown.result:
            return None
        if edit:
            request.edit = Edit(edit.edits, edit.call, request.prompt_for(edit.call, fetched.result), fetched)
            return self._prompt_changed(request, self._edited_request_json(request, request.edit.prompt))
        request.fetched, request.revision = fetched, request.revision + 1
        self._gate_state.feed.publish("updated", self._gate_state.encoded_request(request))
        return self.prompt_changed(request)

    async def _tool_changed(self, request: GateRequest, tool: ResolvedTool, edit: Edit | None) -> Reply | None:
        """Looks again at the files that a tool call names; returns a reply if what is shown has changed."""
        try:
            if edit is None:
                changed = await self._permissions.look_again(request, tool)
                return self.prompt_changed(request) if changed else None
            call = await self._permissions.resolve_edited(request, edit.call.args)
        except AileronError as error:
            return replies.not_recorded(error)
        if call == edit.call:
            return None
        request.edit = Edit(edit.edits, call, request.prompt_for(call, None), None)
        return self._prompt_changed(request, self._edited_request_json(request, request.edit.prompt))

    def _is_stale(self, request: GateRequest, shown: FetchedPreview) -> bool:
        """Whether what a preview shows may have changed since it was fetched."""
        age, activity = self._gate_state.boot_clock.seconds() - shown.uptime, self._gate_state.activity
        return (
            request.risk.level is RiskLevel.HIGH
            or not 0 <= age < PREVIEW_MAX_AGE
            or activity.is_running(request.used)
            or activity.changes(request.used) != shown.changes
        )

    async def _refuse(self, request: GateRequest, refused: EnvelopeRefused) -> Reply:
        # The detail quotes what the client sent, which may be as long as a request body.
        detail = clip(inline(refused.detail), _MAX_DETAIL_LENGTH)
        log.warning("a decision on %s was refused: %s: %s", request.id, refused.reason.value, detail)
        body: JsonObject = {"reason": refused.reason.value, "detail": detail}
        with contextlib.suppress(AileronError):  # the decision is refused even if the refusal cannot be recorded
            await self._gate_state.recorder.record(EntryDraft(EntryKind.REFUSED, body, request.id))
        if refused.reason is RefusalReason.DIGEST_DIFFERS:
            return self.prompt_changed(request)
        return replies.error(403, refused.reason.name.lower(), str(refused))

    def too_late(self, request: GateRequest) -> Reply:
        """The reply to what comes after the deadline. The request ends now if its timer has not ended it yet."""
        self._requests.expire(request)
        message = "the request has expired; nobody answered in time"
        return replies.error(409, "INVALID_STATE", message, state=RequestState.EXPIRED)

    def _withdrawn(self, request: GateRequest) -> Reply:
        """The reply to a decision on a request whose agent was revoked in the meantime. The request ends now."""
        self._gate_state.spawn(self._requests.end_unanswered(request, RequestState.WITHDRAWN, REVOKED))
        message = f"the request is withdrawn: {REVOKED}"
        return replies.error(409, "INVALID_STATE", message, state=RequestState.WITHDRAWN)

    def prompt_changed(self, request: GateRequest) -> Reply:
        """The reply to an answer to another prompt than the current one."""
        return self._prompt_changed(request, self._gate_state.request_json(request))

    def _prompt_changed(self, request: GateRequest, item: Json) -> Reply:
        message = "the prompt is not the one that was signed; review it, then decide"
        return replies.error(409, "PROMPT_CHANGED", message, state=request.state, item=item)

    def _repeated(self, request: GateRequest, decision: SubmittedDecision) -> Reply:
        if request.decision is not None and request.decision == decision.envelope:
            return _decided(
                request, request.state is not RequestState.DENIED
            )  # the signed verdict counts, not the fields around it
        return self.not_pending(request.id)

    def not_pending(self, id_: str) -> Reply:
        """Returns the reply for a request that is not pending or does not exist."""
        request = self._gate_state.find(id_)
        state = request.state if request else None
        if state is None and (found := self._gate_state.reader.find(id_)):
            state = RequestState(found.outcome)
        if state is None:
            return replies.unknown_request(id_)
        return replies.error(409, "INVALID_STATE", f"the request is {state}", state=state)

    def _resolved_event(self, request: GateRequest, decision: SubmittedDecision) -> JsonObject:
        event: JsonObject = {
            "id": request.id,
            "kind": request.kind,
            "approved": decision.approved,
            "decided_at": timestamp(self._gate_state.clock()),
            **self._answered_by(decision.envelope),
        }
        return event | {"reason": decision.reason} if decision.reason else event

    def _answered_by(self, envelope: Json) -> JsonObject:
        """Where a recorded decision was made, and the name of the key that signed it."""
        read = read_envelope(envelope)
        statement = read_statement(read.payload)
        approver = self.approvers().get(read.keyid)
        return {"surface": statement.surface, "by": approver.name if approver else ""}


def _outdated(request: GateRequest) -> Reply:
    message = "the manifests or accounts changed, and the prompt is being made again; review it, then approve"
    return replies.error(409, "PROMPT_PENDING", message, state=request.state)


def _busy(request: GateRequest) -> Reply:
    message = f"another op is still running on {request.connector.name} or its account; approve again when it has ended"
    return replies.error(409, "CONNECTOR_BUSY", message, state=request.state)


def _decided(request: GateRequest, approved: bool) -> Reply:
    return Reply(200, {"id": request.id, "state": RequestState.APPROVED if approved else RequestState.DENIED})

"""The approver's side of a request: only the first signed answer counts, and only for exactly what was shown."""

import contextlib
from datetime import timedelta
from typing import Final

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_chain import EntryKind
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonError, JsonObject
from aileron_tui.core.prompt import Prompt
from aileron_tui.core.states import InvalidTransition, RequestState
from aileron_tui.core.times import timestamp
from aileron_tui.core.visible_text import clip, inline
from aileron_tui.gate import agent_replies, replies
from aileron_tui.gate.call_inputs import faults
from aileron_tui.gate.decision_body import SubmittedDecision, read_decision
from aileron_tui.gate.gate_request import Edit, GateRequest, PreviewState
from aileron_tui.gate.gate_state import GateState, log
from aileron_tui.gate.op_runner import OpRunner
from aileron_tui.gate.replies import Reply
from aileron_tui.gate.request_handler import RequestHandler
from aileron_tui.ledger.errors import EntryRefused
from aileron_tui.ledger.store import EntryDraft
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.envelope import verify
from aileron_tui.signing.errors import EnvelopeRefused, RefusalReason

_LONGEST_DETAIL: Final = 300


FRESH: Final = timedelta(seconds=10)
"""How old a preview may be when its approval comes, before it is fetched once more to compare."""


class DecisionHandler:
    """Takes answers."""

    def __init__(self, context: GateState, asking: RequestHandler, running: OpRunner) -> None:
        self._context = context
        self._asking = asking
        self._running = running
        self._known = (-1, Approvers())

    def approvers(self) -> Approvers:
        """Who may approve now; another process may have enrolled or revoked a key a moment ago."""
        changed = self._context.reader.last_key_change()
        if changed != self._known[0]:
            self._known = changed, Approvers.of(self._context.reader.key_changes())
        return self._known[1]

    async def refresh(self, id_: str, body: JsonObject) -> Reply:
        """Fetches the preview again, or makes the prompt for an edited call."""
        live = self._context.live.get(id_)
        if live is None or live.state is not RequestState.PENDING:
            return self.not_waiting(id_)
        edits = body.get("edited_payload")
        if body.keys() - {"edited_payload"} or not isinstance(edits, dict | None):
            return replies.error(400, "invalid_body", 'only "edited_payload", an object, is known here')
        if edits is not None:
            return await self._edit(live, edits)
        if live.fetching is PreviewState.READY:
            await self._asking.prepare(live)
        return Reply(200, {"item": self._context.item(live)})

    async def _edit(self, live: GateRequest, edits: JsonObject) -> Reply:
        args = live.args | edits
        if wrong := faults(live.action.inputs, args):
            return replies.wrong_inputs(wrong)
        try:
            prompt = live.prompted(args, await self._asking.preview(live, args))
        except AileronError as error:
            return replies.unrecorded(error)
        if live.state is not RequestState.PENDING:
            return self.not_waiting(live.id)
        live.edit = Edit(edits, args, prompt, self._context.clock())
        return Reply(200, {"item": self._edited_item(live, prompt)})

    def _edited_item(self, live: GateRequest, prompt: Prompt) -> JsonObject:
        return live.item(self._context.instance, self._context.recorder.head.hash, prompt)

    async def decide(self, id_: str, body: JsonObject) -> Reply:
        """Takes a signed answer; the same one sent again gets the same reply."""
        try:
            decision = read_decision(body)
        except JsonError as error:
            return replies.error(400, "invalid_body", str(error))
        live = self._context.find(id_)
        if live is None:
            return self.not_waiting(id_)
        if decision.edits is not None and (live.edit is None or live.edit.edits != decision.edits):
            if live.state is not RequestState.PENDING:
                return self._again(live, decision)
            reply = await self._edit(live, decision.edits)
            return self._changed(live, reply.body["item"]) if reply.status == 200 else reply
        async with live.ending:
            if live.state is not RequestState.PENDING:
                return self._again(live, decision)
            if decision.approved and decision.edits is None and live.fetching is PreviewState.FETCHING:
                message = "the preview is still being fetched; look at it, then approve"
                return replies.error(409, "PREVIEW_PENDING", message, state=live.state)
            return await self._settle(live, decision)

    async def batch(self, body: JsonObject) -> Reply:
        """Takes several answers, each for itself. What is not listed stays waiting."""
        items = body.get("items")
        if not isinstance(items, list) or body.keys() != {"items"}:
            return replies.error(400, "invalid_body", 'expected {"items": […]}')
        answered: list[tuple[str, JsonObject]] = []
        for item in items:
            if not isinstance(item, dict) or not isinstance(item.get("id"), str):
                return replies.error(400, "invalid_body", 'each item needs an "id"')
            answered.append((str(item["id"]), {key: value for key, value in item.items() if key != "id"}))
        counts = {"approved": 0, "denied": 0, "skipped": 0}
        outcomes: list[Json] = []
        for id_, answer in answered:
            reply = await self.decide(id_, answer)
            good = reply.status == 200
            outcome = ("approved" if answer.get("approved") is True else "denied") if good else "skipped"
            counts[outcome] += 1
            told: JsonObject = {"id": id_, "outcome": outcome, "status": reply.status}
            outcomes.append(told if good else told | reply.body)
        return Reply(200, {**counts, "items": outcomes})

    async def _settle(self, live: GateRequest, decision: SubmittedDecision) -> Reply:
        """Verifies an answer, records it, and only then lets it take effect."""
        edit = live.edit if decision.edits is not None else None
        digest = edit.prompt.digest if edit else live.digest
        try:
            self._verify(live, decision, digest)
        except EnvelopeRefused as refused:
            return await self._refuse(live, refused)
        if decision.approved and (changed := await self._changed_meanwhile(live, edit)):
            return changed
        drafts = [EntryDraft(EntryKind.DECIDED, {"envelope": decision.envelope}, live.id)]
        if decision.approved:
            # One commit for an approval and the start of what it approves: an approval never stands alone, so after
            # a crash no request is found of which one would not know whether it may still be run.
            drafts.append(EntryDraft(EntryKind.RUNNING, {"digest": digest}, live.id))
        try:
            await self._context.recorder.record(*drafts)
        except InvalidTransition:
            return self.not_waiting(live.id)
        except EntryRefused as error:
            return replies.error(403, "not_admitted", str(error))
        except AileronError as error:
            return replies.unrecorded(error)
        live.decision, live.reason = decision.envelope, decision.reason
        self._context.feed.publish("resolved", self._resolved(live, decision))
        if decision.approved:
            if edit:
                live.edited_from = live.prompt
                live.args, live.preview = edit.prompt.args, edit.prompt.preview
                live.revision += 1
            self._running.start(live)
        else:
            answer = agent_replies.denied(live.id, decision.reason)
            with contextlib.suppress(AileronError):  # the ledger has it; the answer can be made from there
                await self._context.file(answer, live.call)
            self._context.end(live, RequestState.DENIED, answer)
        return _decided(live, decision.approved)

    async def _changed_meanwhile(self, live: GateRequest, edit: Edit | None) -> Reply | None:
        """Looks once more at what an approval is about if that was fetched a while ago.

        The draft may have been rewritten since it was shown. What differs is a new prompt, not an approved one.
        """
        prompt, fetched = (edit.prompt, edit.made) if edit else (live.prompt, live.previewed)
        now = self._context.clock()
        if prompt.preview is None or fetched is None or now - fetched < FRESH:
            return None
        try:
            preview = await self._asking.preview(live, prompt.args)
        except AileronError as error:
            return replies.unrecorded(error)
        if preview == prompt.preview:
            return None
        if edit:
            live.edit = Edit(edit.edits, edit.args, live.prompted(edit.args, preview), now)
            return self._changed(live, self._edited_item(live, live.edit.prompt))
        live.preview, live.previewed, live.revision = preview, now, live.revision + 1
        self._context.feed.publish("updated", self._context.item(live))
        return self._changed(live, self._context.item(live))

    def _verify(self, live: GateRequest, decision: SubmittedDecision, digest: str) -> None:
        """The envelope must hold, and say the same as the fields around it, which other readers may look at."""
        statement = verify(
            decision.envelope,
            self.approvers(),
            now=self._context.clock(),
            instance=self._context.instance,
            request=live.id,
            digest=digest,
            seen_nonce=self._context.reader.nonce_used,
        )
        signed = (statement.verdict is Verdict.APPROVE, statement.reason, statement.edits)
        if signed != (decision.approved, decision.reason, decision.edits):
            raise EnvelopeRefused(
                RefusalReason.MALFORMED, "the signed statement says something else than the fields around it"
            )
        if (statement.action, statement.connector) != (live.action.name, live.connector.hash):
            raise EnvelopeRefused(RefusalReason.MALFORMED, "it names another action or connector")

    async def _refuse(self, live: GateRequest, refused: EnvelopeRefused) -> Reply:
        # What is quoted here was sent by whoever holds a session, and may be as long as a body.
        detail = clip(inline(refused.detail), _LONGEST_DETAIL)
        log.warning("a decision on %s was refused: %s: %s", live.id, refused.reason.value, detail)
        body: JsonObject = {"reason": refused.reason.value, "detail": detail}
        with contextlib.suppress(AileronError):  # it is refused whether or not that can be recorded
            await self._context.recorder.record(EntryDraft(EntryKind.REFUSED, body, live.id))
        if refused.reason is RefusalReason.DIGEST_DIFFERS:
            return self._changed(live, self._context.item(live))
        return replies.error(403, refused.reason.name.lower(), str(refused))

    def _changed(self, live: GateRequest, item: Json) -> Reply:
        message = "what is to be approved is not what was signed; look at it, then decide"
        return replies.error(409, "PROMPT_CHANGED", message, state=live.state, item=item)

    def _again(self, live: GateRequest, decision: SubmittedDecision) -> Reply:
        if live.decision is not None and live.decision == decision.envelope:
            return _decided(
                live, live.state is not RequestState.DENIED
            )  # as it was signed, whatever the fields around it say
        return self.not_waiting(live.id)

    def not_waiting(self, id_: str) -> Reply:
        """Why a request cannot be answered: it is in another state, or there is none."""
        live = self._context.find(id_)
        state = live.state if live else None
        if state is None and (found := self._context.reader.find(id_)):
            state = RequestState(found.outcome)
        if state is None:
            return replies.unknown(id_)
        return replies.error(409, "INVALID_STATE", f"the request is {state}", state=state)

    def _resolved(self, live: GateRequest, decision: SubmittedDecision) -> JsonObject:
        event: JsonObject = {
            "id": live.id,
            "kind": "action",
            "approved": decision.approved,
            "decided_at": timestamp(self._context.clock()),
        }
        return event | {"reason": decision.reason} if decision.reason else event


def _decided(live: GateRequest, approved: bool) -> Reply:
    return Reply(200, {"id": live.id, "state": RequestState.APPROVED if approved else RequestState.DENIED})

"""What approvers do with rules: list them, make one from a request, and end one."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Final

from aileron_tui.core.base64_text import from_base64
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonError, JsonObject
from aileron_tui.core.rule import Rule, RuleReach, RuleVerdict, allows_high_risk, new_rule_id, rule_problem
from aileron_tui.core.rule_change import LARGEST, RuleChange, made, read_signed_change
from aileron_tui.core.rule_match import difference, obstacle
from aileron_tui.core.times import timestamp
from aileron_tui.gate import replies
from aileron_tui.gate.decision_handler import DecisionHandler
from aileron_tui.gate.gate_request import GateRequest, PreviewState
from aileron_tui.gate.gate_state import GateState
from aileron_tui.gate.replies import Reply
from aileron_tui.gate.rule_handler import RuleHandler
from aileron_tui.gate.rule_registry import RuleRegistry
from aileron_tui.ledger.errors import EntryRefused
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.ledger.rule_calls import RuleUse
from aileron_tui.ledger.rule_replay import replay
from aileron_tui.ledger.store import EntryDraft
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.errors import EnvelopeRefused, RuleFault
from aileron_tui.signing.rules import KnownRule, change_body, opened_rule_signature

_OFFERED: Final = (RuleReach.CALL, RuleReach.ANY)
_OFFERED_FOR_TOOL: Final = (RuleReach.CALL, RuleReach.FOLDER)
_OFFERED_FOR_COMMAND: Final = (RuleReach.COMMAND,)
_OFFERED_LENGTH: Final = timedelta(hours=1)
_PAST_DAYS: Final = 7
_MOST_LISTED: Final = 500
_NEEDS_SECURITY_KEY: Final = "at high risk, only a security key or passkey can make a rule here"


class RuleChanges:
    """Lists, offers and changes rules. Must only be used from the gate's event loop."""

    def __init__(
        self,
        gate_state: GateState,
        rules: RuleRegistry,
        ruling: RuleHandler,
        decisions: DecisionHandler,
        ledger_path: Path,
    ) -> None:
        self._gate_state = gate_state
        self._rules = rules
        self._ruling = ruling
        self._decisions = decisions
        self._ledger_path = ledger_path

    async def listing(self) -> JsonObject:
        """All rules, newest first, and the head over which a change must be signed."""
        uses = await asyncio.to_thread(_uses, self._ledger_path)
        rules = self._rules.current()
        newest = sorted(rules.values(), key=lambda known: -known.seq)[:_MOST_LISTED]
        items: list[Json] = [self._described(known, uses.get(known.rule.id, RuleUse(0, ""))) for known in newest]
        return {"rules": items, "invalid": [*rules.invalid], "head": self._gate_state.recorder.head.hash}

    def _described(self, known: KnownRule, use: RuleUse) -> JsonObject:
        state = self._gate_state
        return known.listed(
            use.times, use.last, in_force=known.in_force(state.latest_time(), state.boot_clock)
        ).fields()

    async def change(self, body: JsonObject) -> Reply:
        """Verifies and records a signed change."""
        envelope = body.get("envelope")
        try:
            change = _read(envelope)
            approvers = self._decisions.approvers()
            signer, said = opened_rule_signature(envelope, approvers)
            if said:
                self._decisions.check.check_assertion(signer.public.fingerprint, said)
            elif self._decisions.check.needs_security_key and change.rule and allows_high_risk(change.rule):
                return replies.error(403, "needs_security_key", _NEEDS_SECURITY_KEY)
        except JsonError as error:
            return replies.error(400, "invalid_rule", str(error))
        except RuleFault as error:
            return replies.error(403, "not_admitted", str(error))
        except EnvelopeRefused as error:
            return replies.error(403, error.reason.name.lower(), f"rule refused, {error.reason}: {error.detail}")
        return await self._record(change, envelope if isinstance(envelope, dict) else {}, approvers)

    async def _record(self, change: RuleChange, envelope: JsonObject, approvers: Approvers) -> Reply:
        state = self._gate_state
        if change.rule and len(self._rules.current().in_force(state.latest_time(), state.boot_clock)) >= _MOST_LISTED:
            return replies.error(409, "too_many_rules", f"{_MOST_LISTED} rules are in force; end one first")
        draft = EntryDraft(change.change, change_body(change, envelope, state.latest_time(), state.boot_clock))
        try:
            await state.recorder.record(draft)
        except EntryRefused as error:
            return replies.error(409, "rule_refused", str(error))
        except AileronError as error:
            return replies.not_recorded(error)
        # The key may have been revoked while the entry was written. Then the entry counts for nothing.
        known = self._rules.current().get(change.id)
        if known is None or known.signer not in approvers:
            return replies.error(403, "not_admitted", "the key that signed the rule was revoked")
        return Reply(200, {"id": change.id, "state": "in force" if change.rule and not known.ended else "ended"})

    async def offers(self, id_: str) -> Reply:
        """The rules that can be made from a request, narrowest first, and why others cannot."""
        request = self._gate_state.find(id_)
        if request is None:
            return self._decisions.not_pending(id_)
        if request.preview_state is PreviewState.FETCHING:
            message = "the preview is still being fetched; review it, then make a rule"
            return replies.error(409, "PREVIEW_PENDING", message, state=request.state)
        offered: list[Json] = []
        refused: list[Json] = []
        for reach in self._reaches(request):
            rule = self._offer(request, reach)
            if why := self._refusal(request, rule):
                refused.append({"reach": reach, "why": why})
                continue
            try:
                offered.append({"rule": rule.fields(), "past": await self._past(rule)})
            except AileronError as error:
                return replies.result_unavailable(error)
        head = self._gate_state.recorder.head.hash
        return Reply(200, {"offers": offered, "refused": refused, "days": _PAST_DAYS, "head": head})

    def _reaches(self, request: GateRequest) -> tuple[RuleReach, ...]:
        """How far a rule for this request can go, narrowest first."""
        if not request.tool:
            return _OFFERED
        if request.tool.call.definition and not request.tool.call.folder:
            return _OFFERED
        return _OFFERED_FOR_COMMAND if self._ruling.rule_call(request).is_shell else _OFFERED_FOR_TOOL

    def _offer(self, request: GateRequest, reach: RuleReach) -> Rule:
        call = self._ruling.rule_call(request)
        exact = reach is RuleReach.CALL
        return Rule(
            id=new_rule_id(),
            verdict=RuleVerdict.ALLOW,
            agent=call.agent,
            action=call.action,
            reach=reach,
            ends=timestamp(self._gate_state.latest_time() + _OFFERED_LENGTH),
            args=call.args if exact else None,
            kind=call.kind,
            command=call.command if reach is RuleReach.COMMAND else "",
            folder=call.folder,
            connector=call.connector,
            runs=call.runs,
            shown=(call.shown or "") if exact else "",
            risk=call.risk,
            match=({},) if exact else ({"args": call.args},),
        )

    def _refusal(self, request: GateRequest, rule: Rule) -> str:
        """Why a rule cannot be made, or would not answer the request that it is made from; "" if it can."""
        if not request.tool and self._gate_state.installed.actions.get(request.name) is not request.action:
            return "its action has changed since it was asked"
        call = self._ruling.rule_call(request)
        if why := rule_problem(rule) or difference(rule, call) or obstacle(rule, call):
            return why
        change = made(rule, self._gate_state.recorder.head.hash, timestamp(self._gate_state.latest_time()))
        size = len(change.payload())
        return f"its inputs are too large: {size:,} bytes, but a rule can have {LARGEST:,}" if size > LARGEST else ""

    async def _past(self, rule: Rule) -> JsonObject:
        since = timestamp(self._gate_state.latest_time() - timedelta(days=_PAST_DAYS))
        return await asyncio.to_thread(_replayed, self._ledger_path, rule, since)


def _read(envelope: Json) -> RuleChange:
    match envelope:
        case {"payload": str() as payload}:
            try:
                return read_signed_change(from_base64(payload))
            except ValueError:
                raise JsonError("damaged base64", "$.envelope.payload") from None
    raise JsonError("not a signed envelope", "$.envelope")


def _uses(ledger: Path) -> Mapping[str, RuleUse]:
    with open_reader(ledger) as reader:
        return reader.rule_uses()


def _replayed(ledger: Path, rule: Rule, since: str) -> JsonObject:
    with open_reader(ledger) as reader:
        return replay(reader, rule, since).fields()

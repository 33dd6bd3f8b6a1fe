"""Applies rules to calls before anybody is asked. What is not clearly answered by a rule is asked.

A rule that depends on a preview, and every allow rule for an action with a preview, is applied while nothing else may
begin on the connectors of the call, so what the rule saw is what runs. Only one call at a time waits for that, so ops
that need no approval get their turn in between.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

from aileron_tui.core.action import Action
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.errors import AileronError
from aileron_tui.core.prompt import count_warnings
from aileron_tui.core.resolved_step import ConnectorRef
from aileron_tui.core.rule import Rule, RuleVerdict
from aileron_tui.core.rule_answer import RuleAnswer
from aileron_tui.core.rule_match import (
    RuleCall,
    answer,
    may_depend_on_preview,
    protected_in,
    protected_in_tool,
    what_runs,
)
from aileron_tui.core.rule_words import denial_reason
from aileron_tui.core.states import RequestState
from aileron_tui.core.tool_call import ResolvedTool
from aileron_tui.core.visible_text import inline
from aileron_tui.gate import agent_replies
from aileron_tui.gate.agent_registry import AgentRegistry
from aileron_tui.gate.gate_request import GateRequest, PreviewState
from aileron_tui.gate.gate_state import GateState, log
from aileron_tui.gate.large_values import LARGE_BYTES, work_on
from aileron_tui.gate.op_runner import OpRunner
from aileron_tui.gate.ordered_locks import OrderedLocks
from aileron_tui.gate.request_entries import request_entries, request_entry
from aileron_tui.gate.request_handler import RequestHandler
from aileron_tui.gate.rule_registry import RuleRegistry
from aileron_tui.gate.sandbox_threads import ThreadUse
from aileron_tui.gate.tool_resolver import own_folders, spellings
from aileron_tui.ledger.errors import EntryRefused
from aileron_tui.ledger.store import EntryDraft
from aileron_tui.sandbox.sandbox import Sandbox
from aileron_tui.signing.rules import KnownRule

_LONGEST_WAIT: Final = 20.0
"""How long a call waits for its connectors before a person is asked instead."""

_LARGE: Final = "it is too large to be checked"


class RuleHandler:
    """Answers calls by rules. Must only be used from the gate's event loop."""

    def __init__(
        self,
        gate_state: GateState,
        requests: RequestHandler,
        op_runner: OpRunner,
        agents: AgentRegistry,
        rules: RuleRegistry,
    ) -> None:
        self._gate_state = gate_state
        self._requests = requests
        self._op_runner = op_runner
        self._agents = agents
        self._rules = rules
        self._turns = OrderedLocks()
        self._own = tuple(spellings(own_folders(gate_state.setup)))
        self.hand_over: Callable[[GateRequest], None] = lambda _: None
        """Hands over a tool call that a rule allowed, once that is recorded."""
        self._runs: dict[str, tuple[Sandbox | None, Action, tuple[ConnectorRef, ...], str]] = {}

    def answering(self, request: GateRequest) -> Coroutine[Any, Any, None] | None:
        """Returns what records and answers a new request by a rule, or None if no rule may answer it."""
        known = self._rules.in_force(request.agent, request.name)
        if not known:
            return None
        call = self.rule_call(request)
        rules = [item.rule for item in known]
        if request.tool is None and may_depend_on_preview(rules, call):
            return self._answer_with_preview(request)
        found = answer(rules, call)
        if found is None or self._asks(found):
            return None
        return self._answer(request, call, denied=found.verdict is RuleVerdict.DENY)

    def rule_call(self, request: GateRequest) -> RuleCall:
        """A request as rules see it, with its preview if that was fetched."""
        if request.tool:
            return self._tool_call(request, request.tool)
        preview = request.preview
        shown = preview.digest if preview else None if request.preview_state is not PreviewState.NONE else ""
        large = request.size > LARGE_BYTES
        return RuleCall(
            agent=request.agent,
            action=request.name,
            args=request.args,
            connector=request.connector.hash,
            runs=self._what_runs(request),
            shown=shown,
            risk=request.risk.level,
            warning=_LARGE if large else _warning(request),
            protected="" if large else protected_in(request.action_call, request.asker.folder, self._own),
        )

    def _tool_call(self, request: GateRequest, tool: ResolvedTool) -> RuleCall:
        """A tool call as rules see it. What the gate read was read before, so no rule has to wait for it."""
        from aileron_tui.core.tool_prompts import is_shell, shell_command  # noqa: PLC0415  # most gates run only actions

        call, preview = tool.call, tool.shown.preview
        large, command = request.size > LARGE_BYTES, shell_command(call)
        return RuleCall(
            agent=request.agent,
            action=call.tool,
            args=call.args,
            kind=request.kind,
            command=command,
            folder=call.folder,
            connector=call.server,
            runs=call.definition,
            shown=preview.digest if preview else "",
            risk=request.risk.level,
            warning=_LARGE if large else _warning(request),
            protected="" if large else protected_in_tool(call.args, command, (call.folder, *tool.leads_to), self._own),
            is_shell=is_shell(call),
        )

    def _what_runs(self, request: GateRequest) -> str:
        """The digest of what would run, which is the same for all calls of an action with the same manifests."""
        call, known = request.action_call, self._runs.get(request.name)
        connectors = tuple(step.connector for step in call.steps)
        if known is None or known[0] is not request.sandbox or known[1:3] != (request.action, connectors):
            known = self._runs[request.name] = (request.sandbox, request.action, connectors, what_runs(call))
        return known[3]

    async def _answer(self, request: GateRequest, call: RuleCall, *, denied: bool) -> None:
        """Records and answers a request whose answer does not depend on a preview."""
        try:
            if request.tool:
                answered = await self._try_now(request, call)
            elif denied:
                answered = await self._try_now(request, call, may_start=False)
            else:
                answered = await self._try(request, call)
        except BaseException as error:
            self._requests.drop(request, error)
            if not isinstance(error, Exception):
                raise
            return
        if not answered:
            await self._requests.open_unruled(request, recorded=False)

    async def _answer_with_preview(self, request: GateRequest) -> None:
        """Records a request, fetches its preview, and answers it if a rule covers what the preview shows."""
        try:
            await self._gate_state.recorder.record(request_entry(request))
        except BaseException as error:
            self._requests.drop(request, error)
            if not isinstance(error, Exception):
                raise
            return
        try:
            answered = await self._try(request)
        except Exception as error:  # noqa: BLE001  # whatever it is, somebody must be asked
            answered = False
            if not isinstance(error, AileronError):
                log.error("the rules for %s could not be applied", request.id, exc_info=error)
            else:
                log.warning("the rules for %s could not be applied: %s", request.id, inline(str(error)))
        if not answered and request.state is RequestState.PENDING:
            await self._requests.open_unruled(request, recorded=True)

    async def _try(self, request: GateRequest, call: RuleCall | None = None) -> bool:
        """Answers a request by a rule that is in force now; returns False if it must be asked about.

        Without `call`, the request is recorded and its preview is fetched first.
        """
        try:
            if request.sandbox and request.sandbox.not_loaded(request.action_call):
                async with asyncio.timeout(_LONGEST_WAIT):
                    await self._gate_state.loading.load(request.sandbox, request.action_call)
            async with (
                self._turns.held(request.used, _LONGEST_WAIT),
                self._gate_state.activity.exclusive(request.used, _LONGEST_WAIT),
            ):
                return await self._try_now(request, call)
        except TimeoutError:
            return False

    async def _try_now(self, request: GateRequest, call: RuleCall | None, *, may_start: bool = True) -> bool:
        """Answers a request now. `may_start` says that nothing else may begin on its connectors."""
        state, recorded = self._gate_state, call is None
        if call is None:
            if not await self._fetch(request):
                return False
            rows = request.preview.rows if request.preview else ()
            size = request.size + sum(len(row.value) for row in rows)
            call = await work_on(size, lambda: self.rule_call(request))
        in_force = {known.rule.id: known for known in self._rules.in_force(request.agent, request.name)}
        found = answer([known.rule for known in in_force.values()], call)
        if found is None or self._asks(found):
            return False
        allowed = found.verdict is RuleVerdict.ALLOW
        if allowed and (
            not may_start
            or self._requests.is_outdated(request)
            or state.is_late(request)
            or state.outbox_problem
            or self._agents.current().is_revoked(request.agent)
        ):
            return False
        return await self._record(request, in_force[found.id], call, recorded=recorded)

    def _asks(self, rule: Rule) -> bool:
        """Whether a rule says that a person must be asked, which is counted here; other answers when recorded."""
        if rule.verdict is not RuleVerdict.ASK:
            return False
        self._gate_state.metrics.ruled(rule.id, rule.verdict)
        return True

    async def _fetch(self, request: GateRequest) -> bool:
        """Fetches the preview while nothing runs on what the call uses; returns False if that is not possible."""
        if not await self._gate_state.activity.wait_until_idle(request.used):
            return False
        async with asyncio.timeout(_LONGEST_WAIT):
            fetched = await self._requests.fetch_preview(request, request.action_call, ThreadUse.PREVIEW)
        if fetched is None:
            return False
        request.fetched, request.preview_state = fetched, PreviewState.READY
        request.revision += 1
        return True

    async def _record(self, request: GateRequest, known: KnownRule, call: RuleCall, *, recorded: bool) -> bool:
        """Records the answer of a rule, with the request if it is not recorded yet, and applies it.

        The answer and the start of the op are one commit. The ledger checks the rule again.
        """
        rule, gate_state = known.rule, self._gate_state
        allowed = rule.verdict is RuleVerdict.ALLOW
        reason = "" if allowed else denial_reason(rule)
        given = RuleAnswer(
            rule.id, known.seq, rule.verdict, known.signer, request.digest, call.runs, call.shown or "", reason
        )
        drafts = [] if recorded else request_entries(request)
        drafts.append(EntryDraft(EntryKind.RULED, given.body(), request.id))
        if allowed:
            begun = EntryKind.HANDED_OVER if request.tool else EntryKind.RUNNING
            drafts.append(EntryDraft(begun, {"digest": request.digest}, request.id))
        try:
            await gate_state.recorder.record(*drafts)
        except EntryRefused as error:
            log.warning("%s was not answered by %s: %s", request.id, rule.id, inline(str(error)))
            return False
        request.rule, request.rule_envelope, request.reason = rule.id, known.envelope, reason
        gate_state.metrics.ruled(rule.id, rule.verdict)
        request.recorded.set_result(None)
        if allowed and request.tool:
            self.hand_over(request)
        elif allowed:
            self._op_runner.start(request)
        else:
            result = agent_replies.denied(request.id, reason)
            await self._requests.ends.keep_result(result, request.fingerprint)
            gate_state.end(request, RequestState.DENIED, result)
        return True


def _warning(request: GateRequest) -> str:
    """What an operator would be warned about, in words, or ""."""
    if request.repeats:
        return "the call may have taken effect already"
    prompt = request.prompt
    count = count_warnings(prompt) + len(prompt.warnings)
    return f"{count} in the prompt" if count else ""

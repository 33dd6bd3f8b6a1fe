"""What a program checks before it executes a call that was allowed: a signed decision or a signed rule.

The program knows who may approve from the file beside its token, so neither the agent nor another program that answers
in the place of the gate can allow anything.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from aileron_tui.core.call_kinds import CallKind
from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, canonical
from aileron_tui.core.prompt import bound_digest
from aileron_tui.core.rule import Rule, RuleVerdict
from aileron_tui.core.rule_change import PAYLOAD_TYPE, read_signed_change
from aileron_tui.core.rule_match import RuleCall, covers, is_over, obstacle, protected_in_tool
from aileron_tui.core.times import moment, utc_now
from aileron_tui.core.tool_call import ToolCall
from aileron_tui.files.agent_tokens import approvers_path
from aileron_tui.files.private_files import PrivateFileError, read_private
from aileron_tui.signing.approvers import Approver, read_approver_lines
from aileron_tui.signing.envelope import check_decision, check_signature, opened, read_envelope
from aileron_tui.signing.errors import EnvelopeRefused, KeyFault

_LARGEST_FILE: Final = 1024 * 1024
_MOST_RULES: Final = 256
_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)


class GrantRefused(AileronError):
    """An answer that does not prove that somebody allowed the call."""


def approvers_of(data: Path, agent: str) -> Mapping[str, Approver]:
    """Those who may approve what an agent asks, by the fingerprints of their keys."""
    hint = f"Run `aileron-tui agent rotate {agent}`, which writes it again."
    try:
        approvers = read_approver_lines(read_private(approvers_path(data, agent), _LARGEST_FILE).decode())
    except (PrivateFileError, KeyFault, UnicodeDecodeError) as error:
        raise GrantRefused(f"the keys of those who may approve for {agent} cannot be read", str(error), hint) from None
    if not approvers:
        raise GrantRefused(f"no key may approve what {agent} asks", hint="Make a key with `aileron-tui key init`.")
    return approvers


class GrantCheck:
    """Checks answers of a gate for one program. Each decision counts once."""

    def __init__(self, agent: str, approvers: Mapping[str, Approver], clock: Callable[[], datetime] = utc_now) -> None:
        self._agent = agent
        self._approvers = approvers
        self._clock = clock
        self._nonces: dict[str, datetime] = {}
        self._rules: dict[bytes, Rule] = {}

    def args(self, reply: JsonObject, approval_id: str, call: ToolCall) -> JsonObject:
        """The args that may be executed. Raises GrantRefused. `call` is what this program asked about."""
        match reply:
            case {"status": "allowed", "approval_id": str(id_), "input": dict(args), "edited": bool(edited), **rest}:
                pass
            case _:
                raise GrantRefused("the answer of the gate does not allow the call")
        if id_ != approval_id:
            raise GrantRefused("the answer of the gate is about another request", id_)
        if not edited and canonical(args) != canonical(call.args):
            raise GrantRefused("the answer of the gate is about other args")
        if "rule" in rest:
            if edited or call.kind is not CallKind.TOOL:
                raise GrantRefused("a rule cannot allow this")
            self._check_rule(rest.get("rule_envelope"), call)
        else:
            self._check_decision(rest, id_, call, args)
        return args

    def _check_decision(self, rest: JsonObject, id_: str, call: ToolCall, args: JsonObject) -> None:
        shown = rest.get("shown")
        if not isinstance(shown, str) or not _HASH.fullmatch(shown):
            raise GrantRefused("the answer of the gate has no digest of what was shown")
        try:
            statement = opened(read_envelope(rest.get("decision")), self._approvers)
            digest = bound_digest(call.kind, call.tool, call.connector, args, shown)
            check_decision(
                statement,
                now=self._clock(),
                instance=statement.instance,  # its request has an id that no other gate gives
                request=id_,
                digest=digest,
                seen_nonce=self._nonces.__contains__,
            )
        except EnvelopeRefused as error:
            raise GrantRefused("the decision is not valid", f"{error.reason}: {error.detail}", error.hint) from None
        except JsonError as error:
            raise GrantRefused("the decision cannot be checked", str(error)) from None
        if statement.verdict is not Verdict.APPROVE:
            raise GrantRefused("the decision is a denial")
        if canonical(call.args | (statement.edits or {})) != canonical(args):
            raise GrantRefused("the args are not those that were approved")
        now = self._clock()
        self._nonces = {nonce: end for nonce, end in self._nonces.items() if end > now}  # others are refused anyway
        self._nonces[statement.nonce] = moment(statement.expires)

    def _check_rule(self, envelope: Json, call: ToolCall) -> None:
        """Checks a rule, and runs the matcher again. What the gate read for the operator is not known here."""
        rule = self._rule(envelope)
        if is_over(rule, self._clock()):
            raise GrantRefused(f"{rule.id} ended at {rule.ends}")
        as_called = _rule_call(self._agent, call, rule)
        if rule.verdict is not RuleVerdict.ALLOW or not covers(rule, as_called) or obstacle(rule, as_called):
            raise GrantRefused(f"{rule.id} does not allow this call")

    def _rule(self, envelope: Json) -> Rule:
        try:
            signed = read_envelope(envelope)
            known = self._rules.get(key := signed.encode())
            if known is not None:
                return known
            if signed.type != PAYLOAD_TYPE:
                raise GrantRefused("the rule was signed as something else", repr(signed.type))
            check_signature(signed, self._approvers)
            change = read_signed_change(signed.payload)
        except EnvelopeRefused as error:
            raise GrantRefused("the rule is not valid", f"{error.reason}: {error.detail}", error.hint) from None
        except JsonError as error:
            raise GrantRefused("the rule cannot be read", str(error)) from None
        if change.change is not EntryKind.RULE_MADE or change.rule is None:
            raise GrantRefused("the rule was ended")
        if len(self._rules) >= _MOST_RULES:
            self._rules.clear()
        self._rules[key] = change.rule
        return change.rule


def _rule_call(agent: str, call: ToolCall, rule: Rule) -> RuleCall:
    """A call as rules see it. Its risk and its preview are what the gate saw: this program cannot know them."""
    from aileron_tui.core.tool_prompts import is_shell, shell_command  # noqa: PLC0415  # only where rules are used

    command = shell_command(call)
    return RuleCall(
        agent=agent,
        action=call.tool,
        args=call.args,
        kind=CallKind.TOOL,
        command=command,
        folder=call.folder,
        connector=call.server,
        runs=call.definition,
        shown=rule.shown,
        risk=rule.risk,
        protected=protected_in_tool(call.args, command, (call.folder,)),
        is_shell=is_shell(call),
    )

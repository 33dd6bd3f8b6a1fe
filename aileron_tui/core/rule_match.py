"""Which rule answers a call. Pure, so that the gate, the history and every executor run the same matcher.

The strictest rule whose reach covers the call counts: deny, then ask, then allow. Inputs are compared in canonical
form, so 1 and "1" and true are different inputs, while 1 and 1.0 are the same number and are sent with the same bytes.
An allow rule has limits beyond its reach (`obstacle`): whatever has a warning or is protected is always asked.
"""

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from aileron_tui.core.call_kinds import CallKind
from aileron_tui.core.frozen_json import frozen_object
from aileron_tui.core.jsontext import JsonError, JsonObject, canonical
from aileron_tui.core.plain_command import plain_commands
from aileron_tui.core.protected_paths import protected_value
from aileron_tui.core.resolved_call import ResolvedCall
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.rule import Rule, RuleReach, RuleVerdict
from aileron_tui.core.times import moment
from aileron_tui.core.tool_names import BESIDE_ARGS
from aileron_tui.core.values import dataclass

STRICTEST_FIRST: Final = (RuleVerdict.DENY, RuleVerdict.ASK, RuleVerdict.ALLOW)


@dataclass(frozen=True, slots=True)
class RuleCall:
    """A call as rules see it.

    `shown` is the digest of its preview, "" if it has none, and None as long as the preview was not fetched. `command`
    is the command line of a shell tool. `connector` is the hash of the connector, or the MCP server of a tool.
    `is_shell` means that the tool runs commands, even if it is not known which. `warning` says what the operator must
    be warned about.
    """

    agent: str
    action: str
    args: JsonObject
    kind: CallKind = CallKind.ACTION
    command: str = ""
    folder: str = ""
    connector: str = ""
    runs: str = ""
    shown: str | None = ""
    risk: RiskLevel = RiskLevel.NORMAL
    warning: str = ""
    protected: str = ""
    is_shell: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "args", frozen_object(self.args))


def what_runs(call: ResolvedCall) -> str:
    """The digest of what the manifest says for any inputs: every step with its connector, and the preview.

    Together with the inputs it decides what each step sends. A changed manifest or connector has another digest.
    """
    preview = call.action.approval.preview
    program: JsonObject = {
        "action": call.action.name,
        "steps": [
            {"id": step.id, "op": step.op, "connector": step.connector.fields(), "inputs": template.inputs}
            for step, template in zip(call.steps, call.action.execute, strict=True)
        ],
        "preview": {
            "op": preview.op,
            "args": preview.args,
            "render": [[label, path] for label, path in preview.render],
            "multiline": [*sorted(preview.multiline)],
        }
        if preview
        else None,
    }
    return f"sha256:{hashlib.sha256(canonical(program)).hexdigest()}"


def protected_in(call: ResolvedCall, folder: str, own: Iterable[str] = ()) -> str:
    """What a call names that no rule may allow a change to, in words, or ""."""
    return protected_value([folder, call.args, *(step.inputs for step in call.steps)], own)


def protected_in_tool(inputs: JsonObject, command: str, paths: Iterable[str], own: Iterable[str] = ()) -> str:
    """What a tool call names that no rule may allow a change to, in words, or "". `paths` are its folder and others.

    The words of a plain command are looked at too, because quotes can split a name: `.g'i't`.
    """
    words = [word for words in plain_commands(command) or () for word in words]
    return protected_value([*paths, inputs, *words], own)


def is_over(rule: Rule, now: datetime) -> bool:
    """Whether a rule has ended by the clock. One whose end cannot be read has ended."""
    try:
        return now >= moment(rule.ends)
    except (ValueError, OverflowError):
        return True


def covers(rule: Rule, call: RuleCall) -> bool:
    """Whether a call is within the reach of a rule. Without its preview, a call is not within reach of a rule on it."""
    return covers_inputs(rule, call) and (not rule.shown or rule.shown == call.shown)


def covers_inputs(rule: Rule, call: RuleCall) -> bool:
    """Whether a call is within the reach of a rule, apart from what its preview shows."""
    return not _difference(rule, call)


def difference(rule: Rule, call: RuleCall) -> str:
    """Why a call is not within the reach of a rule, in words, or "" if it is."""
    if found := _difference(rule, call):
        return found
    return "its preview does not show what it showed when the rule was made" if not covers(rule, call) else ""


def _difference(rule: Rule, call: RuleCall) -> str:
    for name, own, other in (
        ("agent", rule.agent, call.agent),
        ("action or tool", (rule.kind, rule.action), (call.kind, call.action)),
    ):
        if own != other:
            return f"the rule is for another {name}"
    if rule.kind is CallKind.TOOL and rule.connector != call.connector:
        return "the rule is for a tool of another server"
    if rule.runs and (rule.runs, rule.connector) != (call.runs, call.connector):
        return "what would run has changed since the rule was made"
    if rule.folder and rule.folder != call.folder:
        return "the rule is for another folder"
    if rule.reach is RuleReach.CALL and not (rule.args is not None and _same(rule.args, call.args)):
        return "the rule is for other inputs"
    if rule.reach is RuleReach.COMMAND and not (rule.command and rule.command == call.command):
        return "the rule is for another command"
    if rule.reach is RuleReach.COMMAND and not is_plain(call.command):
        return "the command is not plain, so nobody knows what a shell makes of it"
    return ""


def obstacle(rule: Rule, call: RuleCall) -> str:
    """Why a rule does not answer a call that is within its reach, in words, or "" if it does. Only allow has limits."""
    if rule.verdict is not RuleVerdict.ALLOW:
        return ""
    exact = rule.reach in (RuleReach.CALL, RuleReach.COMMAND)
    if call.risk is RiskLevel.HIGH and not exact:
        return "at high risk, a rule can allow only an exact call"
    if call.risk is not rule.risk and call.risk.rank > rule.risk.rank:
        return f"its risk is {call.risk} now, but was {rule.risk} when the rule was made"
    if (call.command or call.is_shell) and rule.reach is not RuleReach.COMMAND:
        return "a rule can allow a shell command only by its exact text"
    if call.kind is CallKind.TOOL and any(name.startswith(BESIDE_ARGS) for name in call.args):
        return "it has members beside its args, which no rule may allow"
    if call.protected:
        return f"it names {call.protected}, which no rule may allow"
    if call.shown is None:
        return "its preview was not fetched"
    if call.shown and rule.reach is RuleReach.CALL and not rule.shown:
        return "the rule was made without its preview"
    return f"it has a warning: {call.warning}" if call.warning else ""


def answer(rules: Iterable[Rule], call: RuleCall) -> Rule | None:
    """The rule that answers a call, or None if it must be asked about without one.

    The rules must be in force. An ask rule is returned too: then the call must be asked about because of it.
    """
    matching = [rule for rule in rules if covers(rule, call) and not obstacle(rule, call)]
    return min(matching, key=lambda rule: (STRICTEST_FIRST.index(rule.verdict), rule.id), default=None)


def may_depend_on_preview(rules: Iterable[Rule], call: RuleCall) -> bool:
    """Whether a rule may answer a call once its preview was fetched, other than it would now."""
    if call.shown is not None:
        return False
    found = answer(rules, call)
    strictness = STRICTEST_FIRST.index(found.verdict) if found else len(STRICTEST_FIRST)
    return any(
        covers_inputs(rule, call) and (rule.shown or rule.verdict is RuleVerdict.ALLOW)
        for rule in rules
        if STRICTEST_FIRST.index(rule.verdict) < strictness
    )


def is_plain(command: str) -> bool:
    """Whether a command line does what it says: every shell runs exactly the words that are written there."""
    return bool(plain_commands(command))


def failed_example(rule: Rule) -> str:
    """Which example of a rule is wrong, in words, or "" if all are right."""
    for examples, wanted in ((rule.match, True), (rule.not_match, False)):
        for number, example in enumerate(examples, start=1):
            try:
                matches = covers(rule, _example_call(rule, example))
            except JsonError as error:
                return f"the example cannot be compared: {error}"
            if matches != wanted:
                name, verb = ("match", "does not match") if wanted else ("not_match", "matches")
                return f"the rule {verb} example {number} of {name}"
    return ""


def _example_call(rule: Rule, example: JsonObject) -> RuleCall:
    texts = {name: str(example.get(name, getattr(rule, name))) for name in ("agent", "action", "command", "folder")}
    args = example.get("args", rule.args)
    return RuleCall(
        args=args if isinstance(args, dict) else {},
        kind=rule.kind,
        connector=rule.connector,
        runs=rule.runs,
        shown=rule.shown,
        risk=rule.risk,
        agent=texts["agent"],
        action=texts["action"],
        command=texts["command"],
        folder=texts["folder"],
    )


def _same(left: JsonObject, right: JsonObject) -> bool:
    return canonical(left) == canonical(right)

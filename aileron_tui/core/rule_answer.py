"""The answer of a rule to a request, as the ledger records it.

The body of a `rule.answered` entry has these fields. The rule itself is in the entry with the number `made`:

    rule, made, verdict, signer    the rule, the number of its entry, what it says, and the key that signed it
    digest                         the digest of the prompt that would have been shown
    runs, shown                    what would run, and the digest of the preview, "" if there is none; as in the rule
    reason                         what the agent is told, "" if the call is allowed
"""

from datetime import datetime
from typing import Final

from aileron_tui.core.call_kinds import NOT_RUN_HERE, CallKind
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, kind
from aileron_tui.core.protected_paths import protected_value
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.rule import Rule, RuleVerdict
from aileron_tui.core.rule_match import RuleCall, covers, is_over, obstacle, protected_in_tool
from aileron_tui.core.tool_call import ToolCall
from aileron_tui.core.values import dataclass

_LEVELS: Final = {str(level): level for level in RiskLevel}
_TEXTS: Final = ("rule", "verdict", "signer", "digest", "runs", "shown", "reason")


@dataclass(frozen=True, slots=True)
class RuleAnswer:
    """What a rule answered. The module's docstring explains the fields."""

    rule: str
    made: int
    verdict: RuleVerdict
    signer: str
    digest: str
    runs: str
    shown: str
    reason: str = ""

    def body(self) -> JsonObject:
        """The body of the entry."""
        return {"made": self.made, **{name: getattr(self, name) for name in _TEXTS}}


def read_answer(body: JsonObject) -> RuleAnswer:
    """Reads the body of an entry. Raises JsonError."""
    if odd := body.keys() ^ {*_TEXTS, "made"}:
        raise JsonError("this field is missing or unknown", f"$.{min(odd)}")
    for name in _TEXTS:
        if not isinstance(body[name], str):
            raise JsonError(f"expected a string, found {kind(body[name])}", f"$.{name}")
    made, verdict = body["made"], str(body["verdict"])
    if type(made) is not int or made < 1:
        raise JsonError("expected the number of an entry", "$.made")
    if verdict not in (RuleVerdict.ALLOW, RuleVerdict.DENY):
        raise JsonError("a rule can answer only with allow or deny", "$.verdict")
    texts = {name: str(body[name]) for name in _TEXTS if name != "verdict"}
    return RuleAnswer(made=made, verdict=RuleVerdict(verdict), **texts)


def request_call(request: JsonObject, runs: str, shown: str | None) -> RuleCall:
    """The call in the body of a `request.made` entry, with what would run and what was shown."""
    connector, args, risk = request.get("connector"), request.get("args"), request.get("risk")
    inputs = args if isinstance(args, dict) else {}
    hash_ = connector.get("hash") if isinstance(connector, dict) else ""
    if (kind_ := request.get("kind")) in NOT_RUN_HERE:
        return _tool_call(request, CallKind(str(kind_)), inputs, shown)
    return RuleCall(
        agent=str(request.get("agent", "")),
        action=str(request.get("action", "")),
        args=inputs,
        connector=str(hash_ or ""),
        runs=runs,
        shown=shown,
        risk=_LEVELS.get(str(risk), RiskLevel.HIGH),
        warning="the call may have taken effect already" if request.get("after") else "",
        protected=protected_value(inputs),
    )


def _tool_call(request: JsonObject, kind_: CallKind, args: JsonObject, shown: str | None) -> RuleCall:
    from aileron_tui.core.tool_prompts import is_shell, shell_command  # noqa: PLC0415  # most ledgers are read for actions

    folder = str(request.get("folder", ""))
    connector = request.get("connector")
    call = ToolCall(str(request.get("action", "")), args, _field(connector, "name"), folder, _field(connector, "hash"))
    leads_to, command = request.get("leads_to"), shell_command(call)
    paths = [path for path in (leads_to if isinstance(leads_to, list) else ()) if isinstance(path, str)]
    return RuleCall(
        agent=str(request.get("agent", "")),
        action=call.tool,
        args=args,
        kind=kind_,
        command=command,
        folder=folder,
        connector=call.server,
        runs=call.definition,
        shown=shown,
        risk=_LEVELS.get(str(request.get("risk")), RiskLevel.HIGH),
        warning=str(request.get("warning", "")),
        protected=protected_in_tool(args, command, (folder, *paths)),
        is_shell=is_shell(call),
    )


def _field(connector: Json, name: str) -> str:
    return str(connector.get(name, "")) if isinstance(connector, dict) else ""


def answer_problem(answer: RuleAnswer, rule: Rule, request: JsonObject | None, now: datetime) -> str:
    """Why a rule cannot have given this answer to a request, in words, or "" if it can.

    Of a request without a body (None), nothing is known that could be within the reach of the rule or not.
    """
    if answer.rule != rule.id or answer.verdict is not rule.verdict:
        return f"{rule.id} says {rule.verdict}, not {answer.verdict}"
    if is_over(rule, now):
        return f"{rule.id} ended at {rule.ends}"
    if request is None:
        return ""
    call = request_call(request, answer.runs, answer.shown)
    if not covers(rule, call):
        return f"the call is not within the reach of {rule.id}"
    return obstacle(rule, call)

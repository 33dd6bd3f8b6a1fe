"""Rules: standing decisions with an exact reach and an end.

A rule is signed like a decision (`core/rule_change.py`), and a matcher that every executor can run again says which
calls it answers (`core/rule_match.py`). These are its fields as JSON, all of them signed:

    id, verdict        its id, and what it answers: deny, ask or allow
    agent, action      the agent that calls, and the action or tool that it calls; `kind` says which of the two
    reach              how far it goes: `call`, `command`, `folder` or `any`
    args               for `call`, exactly these inputs, else null
    command, folder    for `command`, exactly this plain command in this folder; for `folder`, the folder
    connector, runs    the hash of the connector, and the digest of what would run; both empty if it does not matter.
                       For a tool, `connector` is its MCP server and `runs` the hash of its definition
    shown              the digest of the preview that was shown, empty if there was none
    risk               the highest risk that an allow rule covers: that of the call it was made from
    ends               when it ends
    match, not_match   examples: calls that it must match and must not match
"""

import re
import secrets
from enum import StrEnum
from typing import Final

from aileron_tui.core.call_kinds import CallKind
from aileron_tui.core.frozen_json import frozen_object
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.values import dataclass

_ID: Final = re.compile(r"rule-[0-9a-f]{16}", re.ASCII)


class RuleVerdict(StrEnum):
    """What a rule answers. The strictest rule that matches counts: deny, then ask, then allow."""

    DENY = "deny"
    ASK = "ask"
    ALLOW = "allow"


class RuleReach(StrEnum):
    """How far a rule goes, narrowest first."""

    CALL = "call"
    COMMAND = "command"
    FOLDER = "folder"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Rule:
    """One standing decision. The module's docstring explains the fields."""

    id: str
    verdict: RuleVerdict
    agent: str
    action: str
    reach: RuleReach
    ends: str
    args: JsonObject | None = None
    kind: CallKind = CallKind.ACTION
    command: str = ""
    folder: str = ""
    connector: str = ""
    runs: str = ""
    shown: str = ""
    risk: RiskLevel = RiskLevel.NORMAL
    match: tuple[JsonObject, ...] = ()
    not_match: tuple[JsonObject, ...] = ()

    def __post_init__(self) -> None:
        if self.args is not None:
            object.__setattr__(self, "args", frozen_object(self.args))
        object.__setattr__(self, "match", tuple(map(frozen_object, self.match)))
        object.__setattr__(self, "not_match", tuple(map(frozen_object, self.not_match)))

    def fields(self) -> JsonObject:
        """The rule as JSON; `core/rule_reader.py` reads it back."""
        fields: JsonObject = {name: getattr(self, name) for name in TEXTS}
        return fields | {"args": self.args, "match": list(self.match), "not_match": list(self.not_match)}


TEXTS: Final = (
    "id",
    "verdict",
    "agent",
    "action",
    "kind",
    "reach",
    "command",
    "folder",
    "connector",
    "runs",
    "shown",
    "risk",
    "ends",
)
"""The fields that are text."""


def new_rule_id() -> str:
    """An id for a new rule."""
    return f"rule-{secrets.token_hex(8)}"


def is_rule_id(text: str) -> bool:
    """Whether the text has the form of a rule's id."""
    return _ID.fullmatch(text) is not None


def allows_high_risk(rule: Rule) -> bool:
    """Whether a rule can allow a call of high risk."""
    return rule.verdict is RuleVerdict.ALLOW and rule.risk is RiskLevel.HIGH


def rule_problem(rule: Rule) -> str:
    """Why a rule is not valid in itself, in words, or "" if it is."""
    allows, is_tool = rule.verdict is RuleVerdict.ALLOW, rule.kind is CallKind.TOOL
    if rule.kind is CallKind.DEFINITION:
        return "only a person can accept the changed definition of a tool"
    if why := _reach_problem(rule, is_tool):
        return why
    if allows and rule.risk is RiskLevel.HIGH and rule.reach in (RuleReach.ANY, RuleReach.FOLDER):
        return "at high risk, a rule can allow only an exact call"
    if allows and not is_tool and not (rule.runs and rule.connector):
        return "a rule that allows an action must say what would run"
    return ""


def _reach_problem(rule: Rule, is_tool: bool) -> str:
    if (rule.reach is RuleReach.CALL) != (rule.args is not None):
        return "a rule for an exact call needs its inputs, and any other rule has none"
    if (rule.reach is RuleReach.COMMAND) != bool(rule.command):
        return "a rule for a command needs the command, and any other rule has none"
    if rule.reach in (RuleReach.COMMAND, RuleReach.FOLDER) and not (is_tool and rule.folder):
        return "a rule for a command or a folder needs a tool and a folder"
    if rule.folder and not is_tool:
        return "a rule for an action cannot have a folder, because only the agent says where it works"
    if rule.reach is not RuleReach.CALL and rule.shown:
        return "only a rule for an exact call can depend on its preview"
    return ""

"""Rules and calls that tests start from and change."""

from dataclasses import replace

from aileron_tui.core.call_kinds import CallKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.rule import Rule, RuleReach, RuleVerdict
from aileron_tui.core.rule_match import RuleCall

CONNECTOR = "sha256:" + "c0" * 32
RUNS = "sha256:" + "a1" * 32
SHOWN = "sha256:" + "d1" * 32
ENDS = "2026-05-12T18:40:00.000000Z"
ARGS: JsonObject = {"draft_id": "r-12345", "copies": 1}

EXACT = Rule(
    id="rule-0123456789abcdef",
    verdict=RuleVerdict.ALLOW,
    agent="laptop-claude",
    action="send-draft",
    reach=RuleReach.CALL,
    ends=ENDS,
    args=ARGS,
    connector=CONNECTOR,
    runs=RUNS,
    shown=SHOWN,
    risk=RiskLevel.HIGH,
    match=({},),
    not_match=({"args": {"draft_id": "r-2"}}, {"agent": "another"}),
)
ANY = replace(
    EXACT,
    id="rule-00000000000000aa",
    reach=RuleReach.ANY,
    args=None,
    shown="",
    risk=RiskLevel.NORMAL,
    match=({"args": {"draft_id": "r-2"}},),
    not_match=({"action": "delete-draft"},),
)
COMMAND = Rule(
    id="rule-00000000000000cc",
    verdict=RuleVerdict.ALLOW,
    agent="laptop-claude",
    action="Bash",
    reach=RuleReach.COMMAND,
    ends=ENDS,
    kind=CallKind.TOOL,
    command="git status",
    folder="/home/me/project",
)
FOLDER = replace(COMMAND, id="rule-00000000000000ff", action="Edit", reach=RuleReach.FOLDER, command="")

CALL = RuleCall(
    agent="laptop-claude",
    action="send-draft",
    args=ARGS,
    connector=CONNECTOR,
    runs=RUNS,
    shown=SHOWN,
    risk=RiskLevel.HIGH,
)
PLAIN_CALL = replace(CALL, risk=RiskLevel.NORMAL)
SHELL_CALL = RuleCall(
    agent="laptop-claude",
    action="Bash",
    args={"command": "git status"},
    kind=CallKind.TOOL,
    command="git status",
    folder="/home/me/project",
)
EDIT_CALL = RuleCall(
    agent="laptop-claude",
    action="Edit",
    args={"file_path": "/home/me/project/a.py"},
    kind=CallKind.TOOL,
    folder="/home/me/project",
)

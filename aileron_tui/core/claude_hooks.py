"""The hooks of Claude Code: its JSON in and out.

Claude Code runs a tool if a hook exits with 0 and writes no JSON, so every reply to PreToolUse is JSON or exit code 2.
It ignores exit code 2 for PermissionRequest and then asks its user, so that is the reply if nobody decided.
"""

from typing import Final

from aileron_tui.core.hook_event import (
    SILENCE,
    BadHookInput,
    EventKind,
    HookAnswer,
    HookEvent,
    HookReply,
    Verdict,
    bounded,
    mcp_server,
    refusal,
    required_object,
    required_text,
    text_of,
)
from aileron_tui.core.jsontext import JsonObject

_ASKING: Final = ("PreToolUse", "PermissionRequest")
_ENDED: Final = ("PostToolUse", "PostToolUseFailure")
_SESSION: Final = {"SessionStart": EventKind.STARTED, "SessionEnd": EventKind.ENDED}
_QUIET: Final = frozenset(
    [
        "Notification",
        "Stop",
        "StopFailure",
        "SubagentStart",
        "SubagentStop",
        "PreCompact",
        "PostCompact",
        "Setup",
        "InstructionsLoaded",
        "PermissionDenied",
        "TeammateIdle",
        "TaskCreated",
        "TaskCompleted",
        "CwdChanged",
        "FileChanged",
        "ConfigChange",
        "WorktreeRemove",
        "ElicitationResult",
        "UserPromptExpansion",
        "PostToolBatch",
    ]
)
"""Events that the gate has nothing to do with. Blocking some of them would keep the agent from ending its turn."""

_ASKS_ITS_USER: Final = frozenset({"AskUserQuestion", "ExitPlanMode"})
"""Tools with a dialog of their own, which an input from a hook would answer."""


def read_event(fields: JsonObject) -> HookEvent:
    """What Claude Code tells a hook. Raises BadHookInput."""
    name = required_text(fields, "hook_event_name")
    session = text_of(fields, "session_id")
    if name in _ASKING:
        tool = required_text(fields, "tool_name")
        return HookEvent(
            EventKind.ASK,
            name,
            tool,
            required_object(fields, "tool_input"),
            server=mcp_server(tool, fields),
            folder=text_of(fields, "cwd"),
            session=session,
            call_id=text_of(fields, "tool_use_id"),
            can_edit=True,
            says=text_of(fields, "agent_type"),
        )
    if name in _ENDED:
        return HookEvent(
            EventKind.OUTCOME,
            name,
            text_of(fields, "tool_name"),
            required_object(fields, "tool_input"),
            session=session,
            call_id=text_of(fields, "tool_use_id"),
            failed=name == "PostToolUseFailure",
            text=text_of(fields, "error"),
        )
    if name == "UserPromptSubmit":
        return HookEvent(EventKind.PROMPT, name, session=session, text=text_of(fields, "prompt"))
    if kind := _SESSION.get(name):
        return HookEvent(kind, name, session=session, transcript=text_of(fields, "transcript_path"))
    if name in _QUIET:
        return HookEvent(EventKind.OTHER, name)
    raise BadHookInput("an event that this version of aileron-tui does not know", name)


def reply(event: HookEvent, answer: HookAnswer) -> HookReply:
    """The reply to a call that waits."""
    if event.name == "PermissionRequest":
        return _aside(event, answer)
    output: JsonObject = {
        "hookEventName": event.name,
        "permissionDecision": "allow" if answer.verdict is Verdict.ALLOW else "deny",
        "permissionDecisionReason": bounded(answer.reason),
    }
    return HookReply({"hookSpecificOutput": output | _updated(event, answer)})


def message(text: str) -> HookReply:
    """A message to the user about something that has already happened; silence without text."""
    return HookReply({"systemMessage": bounded(text)}) if text else SILENCE


def prompt_reply(text: str) -> HookReply:
    """Answers what the user typed without the model; silence without text, so that the model gets it."""
    return HookReply({"decision": "block", "reason": bounded(text)}) if text else SILENCE


def _aside(event: HookEvent, answer: HookAnswer) -> HookReply:
    decision: JsonObject
    if answer.verdict is Verdict.UNDECIDED:
        return refusal(answer.reason)
    if answer.verdict is Verdict.DENY:
        decision = {"behavior": "deny", "message": bounded(answer.reason)}
    else:
        decision = {"behavior": "allow", **_updated(event, answer)}
    return HookReply({"hookSpecificOutput": {"hookEventName": event.name, "decision": decision}})


def _updated(event: HookEvent, answer: HookAnswer) -> JsonObject:
    """The approved input, also if it is unchanged: what runs is what was approved, whatever other hooks do."""
    if answer.verdict is not Verdict.ALLOW or answer.input is None:
        return {}
    return {} if event.tool in _ASKS_ITS_USER and not answer.edited else {"updatedInput": answer.input}

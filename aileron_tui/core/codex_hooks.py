"""The hooks of OpenAI Codex: its JSON in and out, which is close to that of Claude Code but stricter.

Codex goes on with a call if it does not understand a reply, for example a denial without a reason, or a permission
without the input. Whatever PreToolUse replies, Codex may still ask for permission, and then runs PermissionRequest.
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
    required_object,
    required_text,
    text_of,
)
from aileron_tui.core.jsontext import JsonObject

_ASKING: Final = ("PreToolUse", "PermissionRequest")
_SESSION: Final = {"SessionStart": EventKind.STARTED, "SessionEnd": EventKind.ENDED}
_QUIET: Final = frozenset({"Stop", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact", "Notification"})
_NO_REASON: Final = "The call was not allowed."


def read_event(fields: JsonObject) -> HookEvent:
    """What Codex tells a hook. Raises BadHookInput."""
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
            can_edit=name == "PreToolUse",
            says=text_of(fields, "agent_type"),
        )
    if name == "PostToolUse":
        return HookEvent(
            EventKind.OUTCOME,
            name,
            text_of(fields, "tool_name"),
            required_object(fields, "tool_input"),
            session=session,
            call_id=text_of(fields, "tool_use_id"),
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
    reason = bounded(answer.reason) or _NO_REASON
    output: JsonObject
    if event.name == "PreToolUse":
        if answer.verdict is Verdict.ALLOW:
            output = {"permissionDecision": "allow", "updatedInput": answer.input}
        else:
            output = {"permissionDecision": "deny", "permissionDecisionReason": reason}
    elif answer.verdict is not Verdict.ALLOW:
        output = {"decision": {"behavior": "deny", "message": reason}}
    elif answer.edited:
        unable = "The operator changed the input of this call, but Codex can only run it unchanged, so it was not run."
        output = {"decision": {"behavior": "deny", "message": unable}}
    else:
        output = {"decision": {"behavior": "allow"}}
    return HookReply({"hookSpecificOutput": {"hookEventName": event.name, **output}})


def message(text: str) -> HookReply:
    """A message to the user about something that has already happened; silence without text."""
    return HookReply({"systemMessage": bounded(text)}) if text else SILENCE


def prompt_reply(text: str) -> HookReply:
    """Answers what the user typed without the model; silence without text, so that the model gets it."""
    return HookReply({"decision": "block", "reason": bounded(text)}) if text else SILENCE

"""The hooks of GitHub Copilot CLI: its JSON in and out.

Copilot does not name its events or its calls: the fields tell which event it is, and outcomes cannot be reported.
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
    required_object,
    required_text,
    text_of,
)
from aileron_tui.core.jsontext import JsonObject

_PERMISSION: Final = "permissionRequest"


def read_event(fields: JsonObject) -> HookEvent:
    """What Copilot tells a hook. Raises BadHookInput."""
    session = text_of(fields, "sessionId")
    match fields:
        case {"hookName": str(name)} if name != _PERMISSION:
            raise BadHookInput("an event that this version of aileron-tui does not know", name)
        case {"hookName": _}:
            return _call(fields, _PERMISSION, "toolInput")
        case {"toolName": _, "toolResult": _}:
            return HookEvent(EventKind.OTHER, "postToolUse", session=session)
        case {"toolName": _, "error": _}:
            return HookEvent(EventKind.OTHER, "postToolUseFailure", session=session)
        case {"toolName": _}:
            return _call(fields, "preToolUse", "toolArgs")
        case {"prompt": str(prompt)}:
            return HookEvent(EventKind.PROMPT, "userPromptSubmitted", session=session, text=prompt)
        case {"source": str()}:
            return HookEvent(EventKind.STARTED, "sessionStart", session=session)
        case {"reason": str()}:
            return HookEvent(EventKind.ENDED, "sessionEnd", session=session)
    raise BadHookInput("an event that this version of aileron-tui does not know", ", ".join(sorted(fields)))


def reply(event: HookEvent, answer: HookAnswer) -> HookReply:
    """The reply to a call that waits."""
    allowed = answer.verdict is Verdict.ALLOW and answer.input is not None
    reason = bounded(answer.reason)
    output: JsonObject
    if event.name == _PERMISSION:
        if allowed and answer.edited:
            allowed, reason = False, "The operator changed the input of this call, but Copilot cannot run it changed."
        output = {"behavior": "allow"} if allowed else {"behavior": "deny", "message": reason}
    else:
        output = {"permissionDecision": "allow" if allowed else "deny", "permissionDecisionReason": reason}
        if allowed:
            output["modifiedArgs"] = answer.input
    return HookReply(output)


def message(_: str) -> HookReply:
    """Copilot shows no messages of hooks."""
    return SILENCE


def prompt_reply(text: str) -> HookReply:
    """Answers what the user typed without the model; silence without text, so that the model gets it."""
    return HookReply({"decision": "block", "reason": bounded(text)}) if text else SILENCE


def _call(fields: JsonObject, name: str, args: str) -> HookEvent:
    return HookEvent(
        EventKind.ASK,
        name,
        required_text(fields, "toolName"),
        required_object(fields, args),
        folder=text_of(fields, "cwd"),
        session=text_of(fields, "sessionId"),
        can_edit=name != _PERMISSION,
    )

"""The hooks of Gemini CLI: its JSON in and out.

Gemini CLI does not name its calls, so their outcomes cannot be reported. It merges the input from a hook into its own,
so an edit cannot remove an input; such a call is refused.
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

_SESSION: Final = {"SessionStart": EventKind.STARTED, "SessionEnd": EventKind.ENDED}
_QUIET: Final = frozenset(
    {"AfterTool", "AfterAgent", "BeforeModel", "AfterModel", "BeforeToolSelection", "PreCompress", "Notification"}
)


def read_event(fields: JsonObject) -> HookEvent:
    """What Gemini CLI tells a hook. Raises BadHookInput."""
    name = required_text(fields, "hook_event_name")
    session = text_of(fields, "session_id")
    if name == "BeforeTool":
        return HookEvent(
            EventKind.ASK,
            name,
            required_text(fields, "tool_name"),
            required_object(fields, "tool_input"),
            server=_server(fields),
            folder=text_of(fields, "cwd"),
            session=session,
            can_edit=True,
        )
    if name == "BeforeAgent":
        return HookEvent(EventKind.PROMPT, name, session=session, text=text_of(fields, "prompt"))
    if kind := _SESSION.get(name):
        return HookEvent(kind, name, session=session, transcript=text_of(fields, "transcript_path"))
    if name in _QUIET:
        return HookEvent(EventKind.OTHER, name)
    raise BadHookInput("an event that this version of aileron-tui does not know", name)


def reply(event: HookEvent, answer: HookAnswer) -> HookReply:
    """The reply to a call that waits."""
    if answer.verdict is not Verdict.ALLOW or answer.input is None:
        return _deny(answer.reason)
    if not answer.edited:
        return HookReply({"decision": "allow", "reason": bounded(answer.reason)})
    if removed := sorted(set(event.input or {}) - set(answer.input)):
        return _deny(
            f"The operator removed {', '.join(removed)} from the input of this call, which Gemini CLI cannot do, so it "
            "was not run."
        )
    changed: JsonObject = {"hookEventName": event.name, "tool_input": answer.input}
    return HookReply({"decision": "allow", "reason": bounded(answer.reason), "hookSpecificOutput": changed})


def message(text: str) -> HookReply:
    """A message to the user about something that has already happened; silence without text."""
    return HookReply({"systemMessage": bounded(text)}) if text else SILENCE


def prompt_reply(text: str) -> HookReply:
    """Answers what the user typed without the model; silence without text, so that the model gets it."""
    return _deny(text) if text else SILENCE


def _deny(reason: str) -> HookReply:
    return HookReply({"decision": "deny", "reason": bounded(reason)})


def _server(fields: JsonObject) -> str:
    match fields.get("mcp_context"):
        case {"server_name": str(name)}:
            return name
    return ""

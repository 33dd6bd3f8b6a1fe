"""The reply of a hook to an event of its agent, in the agent's own shape."""

from importlib import import_module
from types import ModuleType

from aileron_tui.core.errors import AileronError
from aileron_tui.core.hook_event import SILENCE, EventKind, HookEvent, HookReply, refusal
from aileron_tui.core.jsontext import read_object
from aileron_tui.doors.hook_calls import Door, announce, ask, not_asked, prompt_answer, report

__all__ = ["Door", "HookReplies"]


class HookReplies:
    """Reads one event and replies to it. After a failure, `failure` is the reply instead."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._shapes: ModuleType = import_module(f"aileron_tui.core.{door.name}_hooks")
        self._event: HookEvent | None = None

    def reply(self, data: bytes) -> HookReply:
        """The reply to an event. Raises AileronError."""
        event = self._event = self._shapes.read_event(read_object(data))
        reply: HookReply
        match event.kind:
            case EventKind.ASK:
                reply = self._shapes.reply(event, ask(self._door, event))
            case EventKind.OUTCOME:
                reply = self._shapes.message(report(self._door, event))
            case EventKind.PROMPT:
                reply = self._shapes.prompt_reply(prompt_answer(self._door, event.text))
            case EventKind.STARTED | EventKind.ENDED:
                announce(self._door, event)
                reply = SILENCE
            case _:
                reply = SILENCE
        return reply

    def failure(self, error: AileronError) -> HookReply:
        """The reply if something went wrong: a refusal, unless the event is known and nothing waits for the reply."""
        event, answer = self._event, not_asked(error)
        if event is None:
            return refusal(answer.reason)
        reply: HookReply = SILENCE
        if event.kind is EventKind.ASK:
            reply = self._shapes.reply(event, answer)
        elif event.kind is EventKind.STARTED:
            text = f"aileron-tui: {error}. Tool calls will be refused. {error.hint}"
            reply = self._shapes.message(text.strip())
        return reply

"""What the hook of a coding agent is told, and what it replies, in the words of the gate.

`core/claude_hooks.py` and the modules of the other agents translate these values from and to the agent's own JSON.
"""

from enum import StrEnum
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.values import dataclass

LONGEST_REASON: Final = 10_000
"""Characters of a reason. Agents cut longer ones, or refuse them."""

_REFUSAL_CODE: Final = 2
"""The exit code that blocks a call. The reason is on standard error."""

_MCP: Final = "mcp__"


class BadHookInput(AileronError):
    """Input of a hook that does not have the shape its agent sends."""


class EventKind(StrEnum):
    """What an event of an agent means for the gate."""

    ASK = "ask"  # a call that must not run unless the gate allows it
    OUTCOME = "outcome"  # a call has ended
    PROMPT = "prompt"  # the user typed something
    STARTED = "started"  # a session began
    ENDED = "ended"  # a session ended
    OTHER = "other"  # nothing that the gate needs to know


@dataclass(frozen=True, slots=True)
class HookEvent:
    """One event. `name` is the agent's name for it; `text` is what the user typed, or the error of a failed call."""

    kind: EventKind
    name: str
    tool: str = ""
    input: JsonObject | None = None
    server: str = ""
    folder: str = ""
    session: str = ""
    call_id: str = ""
    can_edit: bool = False
    says: str = ""
    failed: bool = False
    text: str = ""
    transcript: str = ""


class Verdict(StrEnum):
    """What becomes of a call."""

    ALLOW = "allow"
    DENY = "deny"
    UNDECIDED = "undecided"  # nobody answered, or the gate could not be asked: the call must not run


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """The answer to a call. `input` is exactly what may be executed, None unless it is allowed."""

    verdict: Verdict
    reason: str
    input: JsonObject | None = None
    edited: bool = False


@dataclass(frozen=True, slots=True)
class HookReply:
    """What a hook process writes, and its exit code. Without `output` it writes nothing to standard output."""

    output: JsonObject | None = None
    error: str = ""
    code: int = 0


SILENCE: Final = HookReply()
"""No decision: the agent's program goes on as if there were no hook. Never the reply to a call."""


def refusal(reason: str) -> HookReply:
    """The reply that blocks a call in every agent."""
    return HookReply(error=bounded(reason), code=_REFUSAL_CODE)


def bounded(text: str) -> str:
    """Text for a person or a model: everything in it is visible, and it is not longer than agents accept."""
    from aileron_tui.core.visible_text import visible  # noqa: PLC0415  # most replies have no foreign text

    shown: str = visible(text[:LONGEST_REASON])
    if len(shown) > LONGEST_REASON or len(text) > LONGEST_REASON:
        return f"{shown[: LONGEST_REASON - 1]}…"
    return shown


def text_of(fields: JsonObject, name: str) -> str:
    """A field that is text, "" if it is missing or something else."""
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def required_text(fields: JsonObject, name: str) -> str:
    """A field that must be text. Raises BadHookInput."""
    value = text_of(fields, name)
    if not value:
        raise BadHookInput("unexpected input from the agent", f"{name} is missing or not text")
    return value


def required_object(fields: JsonObject, name: str) -> JsonObject:
    """A field that must be an object. Raises BadHookInput."""
    value: Json = fields.get(name)
    if not isinstance(value, dict):
        raise BadHookInput("unexpected input from the agent", f"{name} is missing or not an object")
    return value


def mcp_server(tool: str, fields: JsonObject) -> str:
    """The MCP server of a tool whose full name is `mcp__server__tool`; "" for a tool of the program itself."""
    if not tool.startswith(_MCP):
        return ""
    match fields.get("mcp_server"):
        case {"name": str(name)} if name:
            return name
    return tool.removeprefix(_MCP).partition("__")[0]

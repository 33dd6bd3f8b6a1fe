"""The actions of a gate as tools of the Model Context Protocol: names, descriptions, input schemas and annotations.

What a manifest says is foreign text. In a description it is one line, made visible and limited, so that it cannot look
like what this program says about approval.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Final

from aileron_tui.core.action import ITEM_TYPES, TYPES
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline

RESULT_TOOL: Final = "aileron_result"
STATUS_TOOL: Final = "aileron_status"
OWN_TOOLS: Final = (RESULT_TOOL, STATUS_TOOL)

INSTRUCTIONS: Final = (
    "These tools are actions behind an approval gate (aileron-tui). Some of them need the approval of a person, who "
    "sees exactly what would be done and answers in a program of their own. Call such a tool directly, and do not ask "
    "for confirmation in chat first: an answer in chat approves nothing.\n"
    "- A call returns once it was answered and has run. Its result has a `status`.\n"
    "- completed: it was done; `output` or `text` is the result. Do not call it again for the same purpose.\n"
    "- denied: a person decided against it. Nothing was run. Respect the reason; do not repeat the call unchanged, and "
    "do not try to reach the same effect in another way.\n"
    "- unanswered: nobody answered in time. Nothing was run. This is not a denial: you may call it again later.\n"
    f"- waiting: nobody has answered yet. Fetch the result with {RESULT_TOOL} and the `approval_id`.\n"
    "- failed: `error` says what went wrong.\n"
    "- outcome_unknown: it may have taken effect. Find out before you call it again.\n"
    f"{STATUS_TOOL} says whether the gate is running and which of your calls are waiting. Nothing here can approve a "
    "call."
)

_GATED: Final = (
    "Needs the approval of a person in aileron-tui. Call it directly: do not ask for confirmation in chat, which "
    "approves nothing. The call returns once it was answered and has run. If it is denied, the result has the reason: "
    "do not repeat the call unchanged. If nobody answered, that is not a denial: you may call it again later. If it is "
    f"still waiting, fetch the result with {RESULT_TOOL} instead of calling it again."
)
_UNGATED: Final = "Needs no approval: it runs at once."

_LONGEST_NAME: Final = 50
"""Clients put the name of the server in front, and some models accept no more than 64 characters."""

_HASH_DIGITS: Final = 8
_LONGEST_INTENT: Final = 500
_LONGEST_INPUT: Final = 500
_PLAIN: Final = re.compile(r"[a-z0-9_-]+", re.ASCII)
_NOT_PLAIN: Final = re.compile(r"[^a-z0-9_-]", re.ASCII)
_RESERVED: Final = re.compile(r"aileron(?![a-z0-9])", re.ASCII)


@dataclass(frozen=True, slots=True)
class ActionTools:
    """The tools for the actions of a gate, and which action each of them calls."""

    definitions: tuple[JsonObject, ...]
    actions: Mapping[str, str]


def action_tools(listing: JsonObject) -> ActionTools:
    """The tools for the reply to `GET /v1/actions`. What is not an action is left out."""
    items = listing.get("items")
    found: dict[str, JsonObject] = {}
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and isinstance(name := item.get("name"), str) and name:
            found.setdefault(name, item)
    names = tool_names(found)
    definitions = tuple(_definition(names[action], action, item) for action, item in found.items())
    return ActionTools(definitions, {tool: action for action, tool in names.items()})


def tool_names(actions: Iterable[str]) -> dict[str, str]:
    """A tool name for each action: its own if every client and model accepts that, otherwise one with a hash.

    No two names are equal, also after a client has replaced the characters that it does not like, and none can be taken
    for a tool of this program.
    """
    known = list(actions)
    names = {action: action for action in known if _is_usable(action)}
    taken = set(names)
    for action in sorted(set(known) - taken):
        digest = hashlib.sha256(action.encode()).hexdigest()
        for digits in range(_HASH_DIGITS, len(digest) + 1):
            end = f"_{digest[:digits]}"
            name = f"action_{_NOT_PLAIN.sub('_', action)}"[: max(0, _LONGEST_NAME - len(end))] + end
            if name not in taken:
                names[action] = name
                taken.add(name)
                break
    return {action: names[action] for action in known if action in names}


def own_tools() -> tuple[JsonObject, ...]:
    """The tools of this program itself. They read only, and only what belongs to the agent."""
    reads: JsonObject = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
    id_: JsonObject = {"type": "string", "description": "The approval_id from the result of the call."}
    return (
        {
            "name": RESULT_TOOL,
            "title": "Result of a waiting call",
            "description": "Returns the result of an earlier call of yours that was still waiting for approval. It "
            "waits for the result, and can be called again if there is none by then. It approves nothing.",
            "inputSchema": _object_schema({"approval_id": id_}, ["approval_id"]),
            "annotations": reads,
        },
        {
            "name": STATUS_TOOL,
            "title": "Status of the approval gate",
            "description": "Says whether the approval gate is running, and lists your calls that wait for approval.",
            "inputSchema": _object_schema({}, []),
            "annotations": reads,
        },
    )


def _is_usable(name: str) -> bool:
    return len(name) <= _LONGEST_NAME and bool(_PLAIN.fullmatch(name)) and not _RESERVED.match(name)


def _definition(tool: str, action: str, item: JsonObject) -> JsonObject:
    match item:
        case {"match": {"intent": str(text)}}:
            intent = _one_line(text, _LONGEST_INTENT)
        case _:
            intent = ""
    gated = is_gated(item)
    return {
        "name": tool,
        "title": _one_line(action, _LONGEST_INTENT),
        "description": "\n\n".join(filter(None, (intent, _GATED if gated else _UNGATED))),
        "inputSchema": _input_schema(item.get("inputs")),
        "annotations": _annotations(item, gated=gated),
    }


def is_gated(item: JsonObject) -> bool:
    """Whether an action needs approval. One that does not clearly say that it needs none counts as gated."""
    match item:
        case {"approval": {"required": False}}:
            return False
    return True


def _annotations(item: JsonObject, *, gated: bool) -> JsonObject:
    """What is known about the effects. What is not known is left out, and clients then assume the worst.

    Not even an action whose name says that it reads is called read-only: nobody has checked what its connector does.
    """
    hints: JsonObject = {}
    if gated:
        hints["readOnlyHint"] = False
    if item.get("risk") == "high":
        hints |= {"readOnlyHint": False, "destructiveHint": True}
    if item.get("idempotent") is True:
        hints["idempotentHint"] = True
    return hints


def _input_schema(inputs: Json) -> JsonObject:
    properties: JsonObject = {}
    required: list[Json] = []
    for field in inputs if isinstance(inputs, list) else ():
        match field:
            case {"name": str(name), "type": str(type_)} if type_ in TYPES and isinstance(field, dict):
                properties[name] = _value_schema(type_, field)
                if field.get("required") is not False:
                    required.append(name)
    return _object_schema(properties, required)


def _value_schema(type_: str, field: JsonObject) -> JsonObject:
    schema: JsonObject = {"type": type_}
    if type_ == "array" and (items := field.get("items_type")) in ITEM_TYPES:
        schema["items"] = {"type": items}
    description = field.get("description")
    if isinstance(description, str) and description:
        schema["description"] = _one_line(description, _LONGEST_INPUT)
    return schema


def _object_schema(properties: JsonObject, required: list[Json]) -> JsonObject:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _one_line(text: str, longest: int) -> str:
    """Foreign text on one line, without characters that a reader cannot see."""
    shown = inline(" ".join(text[: longest + 1].split()))
    return shown if len(text) <= longest else f"{shown[:longest]}…"

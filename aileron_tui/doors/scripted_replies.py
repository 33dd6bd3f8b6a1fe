"""What the scripted model answers, in the form of each model API: one call of a shell, and then that it is done.

The model keeps no state: a conversation that already contains a tool call is at its end.
"""

import json
from collections.abc import Iterator
from typing import Final

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.values import dataclass

DONE: Final = "The check is over."
_USAGE: Final[JsonObject] = {"input_tokens": 1, "output_tokens": 1}
_SHELLS: Final = ("Bash", "bash", "exec_command", "shell_command", "shell", "run_shell_command")


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply. `events` are sent as a stream of (name, data), or the `body` alone if a stream was not asked for.

    `calls` says whether it asks for the tool call.
    """

    body: JsonObject
    events: tuple[tuple[str, JsonObject | str], ...]
    calls: bool


def messages_reply(body: JsonObject, command: str) -> Reply:
    """A reply of the Messages API, which Claude Code uses."""
    tool = _shell(_listed(body, "tools"), "name")
    begun = any(block.get("type") == "tool_use" for turn in _listed(body, "messages") for block in _blocks(turn))
    block: JsonObject = {"type": "text", "text": DONE}
    calls = bool(tool) and not begun
    if calls:
        block = {"type": "tool_use", "id": "toolu_aileron_check", "name": tool, "input": _shell_input(tool, command)}
    stop = "tool_use" if calls else "end_turn"
    message: JsonObject = {
        "id": "msg_aileron_check",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "scripted"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _USAGE,
    }
    delta: JsonObject = {"type": "text_delta", "text": DONE}
    empty: JsonObject = {"type": "text", "text": ""}
    if calls:
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        empty = block | {"input": {}}
    events: list[JsonObject] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    whole = message | {"content": [block], "stop_reason": stop}
    return Reply(whole, tuple((str(event["type"]), event) for event in events), calls)


def responses_reply(body: JsonObject, command: str) -> Reply:
    """A reply of the Responses API, which Codex uses."""
    tool = _shell(_listed(body, "tools"), "name")
    begun = any(str(item.get("type")).endswith("_call") for item in _listed(body, "input"))
    item: JsonObject = {
        "type": "message",
        "id": "msg_aileron_check",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": DONE, "annotations": []}],
    }
    calls = bool(tool) and not begun
    if calls:
        arguments = json.dumps(_shell_input(tool, command))
        item = {"type": "function_call", "id": "fc_aileron_check", "call_id": "call_aileron_check", "name": tool}
        item |= {"arguments": arguments}
    usage: JsonObject = {
        "input_tokens": 1,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 2,
    }
    response: JsonObject = {"id": "resp_aileron_check", "object": "response", "status": "completed", "output": [item]}
    whole = response | {"usage": usage}
    events: list[JsonObject] = [
        {"type": "response.created", "response": {"id": "resp_aileron_check"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    return Reply(whole, tuple((str(event["type"]), event) for event in events), calls)


def chat_reply(body: JsonObject, command: str) -> Reply:
    """A reply of the Chat Completions API, which Copilot and opencode use."""
    tool = _shell([dict(_object(tool.get("function"))) for tool in _listed(body, "tools")], "name")
    begun = any(turn.get("tool_calls") for turn in _listed(body, "messages"))
    calls = bool(tool) and not begun
    function: JsonObject = {"name": tool, "arguments": json.dumps(_shell_input(tool, command))}
    call: JsonObject = {"index": 0, "id": "call_aileron_check", "type": "function", "function": function}
    said: JsonObject = {"role": "assistant", "content": "" if calls else DONE}
    end = "tool_calls" if calls else "stop"
    common: JsonObject = {"id": "chatcmpl-aileron-check", "created": 0, "model": body.get("model", "scripted")}
    usage: JsonObject = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    message = said | {"tool_calls": [call]} if calls else said
    choice: JsonObject = {"index": 0, "message": message, "finish_reason": end}
    whole = common | {"object": "chat.completion", "choices": [choice], "usage": usage}

    def chunk(delta: JsonObject, finish: str | None = None) -> JsonObject:
        part: JsonObject = {"index": 0, "delta": delta, "finish_reason": finish}
        return common | {"object": "chat.completion.chunk", "choices": [part]}

    chunks = [chunk(said), *([chunk({"tool_calls": [call]})] if calls else []), chunk({}, end) | {"usage": usage}]
    return Reply(whole, (*(("", part) for part in chunks), ("", "[DONE]")), calls)


def gemini_reply(body: JsonObject, command: str) -> Reply:
    """A reply of the Gemini API."""
    declared = [tool for group in _listed(body, "tools") for tool in _listed(group, "functionDeclarations")]
    tool = _shell(declared, "name")
    begun = any("functionCall" in part for turn in _listed(body, "contents") for part in _listed(turn, "parts"))
    calls = bool(tool) and not begun
    wants_json = _object(body.get("generationConfig")).get("responseMimeType") == "application/json"
    part: JsonObject = {"text": json.dumps({"model_choice": "flash", "next_speaker": "user"}) if wants_json else DONE}
    if calls:
        part = {"functionCall": {"name": tool, "args": _shell_input(tool, command)}}
    content: JsonObject = {"role": "model", "parts": [part]}
    usage: JsonObject = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    candidate: JsonObject = {"content": content, "finishReason": "STOP", "index": 0}
    whole: JsonObject = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}
    return Reply(whole, (("", whole),), calls)


def _shell(tools: list[JsonObject], key: str) -> str:
    """The name of the shell among the tools that the agent offers, or ""."""
    offered = {str(tool.get(key)) for tool in tools}
    return next((name for name in _SHELLS if name in offered), "")


def _shell_input(tool: str, command: str) -> JsonObject:
    if tool == "exec_command":
        return {"cmd": command}
    if tool == "shell":
        return {"command": ["bash", "-c", command]}
    return {"command": command, "description": "Check that aileron-tui is asked"}


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _listed(value: JsonObject, key: str) -> list[JsonObject]:
    found = value.get(key)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _blocks(turn: JsonObject) -> Iterator[JsonObject]:
    yield from _listed(turn, "content")

"""What the scripted model answers, in the form of each model API: the calls of its script, and then that it is done.

The model keeps no state: the number of tool calls in a conversation tells where in the script it is.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Final

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.values import dataclass

DONE: Final = "The check is over."
_USAGE: Final[JsonObject] = {"input_tokens": 1, "output_tokens": 1}
_SHELLS: Final = ("Bash", "bash", "exec_command", "shell_command", "shell", "run_shell_command")


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A call that the model asks for. Without a `tool` it is this `command` in the agent's shell, whatever its name.

    An `input` that is text is for a tool that takes no JSON, such as `apply_patch` of Codex.
    """

    command: str = ""
    tool: str = ""
    input: JsonObject | str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply. `events` are sent as a stream of (name, data), or the `body` alone if a stream was not asked for.

    `calls` says whether it asks for a tool call.
    """

    body: JsonObject
    events: tuple[tuple[str, JsonObject | str], ...]
    calls: bool


def messages_reply(body: JsonObject, script: Sequence[ScriptedCall]) -> Reply:
    """A reply of the Messages API, which Claude Code uses."""
    made = [block for turn in _listed(body, "messages") for block in _blocks(turn) if block.get("type") == "tool_use"]
    call = _next_call(script, len(made), _listed(body, "tools"))
    block: JsonObject = {"type": "text", "text": DONE}
    if call:
        block = {"type": "tool_use", "id": f"toolu_{_id(made)}", "name": call.tool, "input": call.input}
    stop = "tool_use" if call else "end_turn"
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
    if call:
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call.input)}
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
    return Reply(whole, tuple((str(event["type"]), event) for event in events), call is not None)


def responses_reply(body: JsonObject, script: Sequence[ScriptedCall]) -> Reply:
    """A reply of the Responses API, which Codex uses."""
    made = [item for item in _listed(body, "input") if str(item.get("type")).endswith("_call")]
    call = _next_call(script, len(made), _listed(body, "tools"))
    item: JsonObject = {
        "type": "message",
        "id": "msg_aileron_check",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": DONE, "annotations": []}],
    }
    if call:
        common: JsonObject = {"id": f"fc_{_id(made)}", "call_id": f"call_{_id(made)}", "name": call.tool}
        if isinstance(call.input, str):
            item = {"type": "custom_tool_call", "input": call.input, **common}
        else:
            item = {"type": "function_call", "arguments": json.dumps(call.input), **common, **_codex_name(call.tool)}
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
    return Reply(whole, tuple((str(event["type"]), event) for event in events), call is not None)


def _codex_name(tool: str) -> JsonObject:
    """How a tool is named to Codex. Those of MCP servers, called `mcp__SERVER__TOOL`, are in a namespace."""
    server, _, name = tool.removeprefix("mcp__").partition("__")
    return {"namespace": f"mcp__{server}", "name": name} if tool.startswith("mcp__") else {}


def chat_reply(body: JsonObject, script: Sequence[ScriptedCall]) -> Reply:
    """A reply of the Chat Completions API, which Copilot and opencode use."""
    made = [call for turn in _listed(body, "messages") for call in _listed(turn, "tool_calls")]
    call = _next_call(script, len(made), [_object(tool.get("function")) for tool in _listed(body, "tools")])
    said: JsonObject = {"role": "assistant", "content": "" if call else DONE}
    asked: JsonObject = {}
    if call:
        function: JsonObject = {"name": call.tool, "arguments": json.dumps(call.input)}
        asked = {"tool_calls": [{"index": 0, "id": f"call_{_id(made)}", "type": "function", "function": function}]}
    end = "tool_calls" if call else "stop"
    common: JsonObject = {"id": "chatcmpl-aileron-check", "created": 0, "model": body.get("model", "scripted")}
    usage: JsonObject = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    choice: JsonObject = {"index": 0, "message": said | asked, "finish_reason": end}
    whole = common | {"object": "chat.completion", "choices": [choice], "usage": usage}

    def chunk(delta: JsonObject, finish: str | None = None) -> JsonObject:
        part: JsonObject = {"index": 0, "delta": delta, "finish_reason": finish}
        return common | {"object": "chat.completion.chunk", "choices": [part]}

    chunks = [chunk(said), *([chunk(asked)] if asked else []), chunk({}, end) | {"usage": usage}]
    return Reply(whole, (*(("", part) for part in chunks), ("", "[DONE]")), call is not None)


def gemini_reply(body: JsonObject, script: Sequence[ScriptedCall]) -> Reply:
    """A reply of the Gemini API."""
    declared = [tool for group in _listed(body, "tools") for tool in _listed(group, "functionDeclarations")]
    made = [part for turn in _listed(body, "contents") for part in _listed(turn, "parts") if "functionCall" in part]
    call = _next_call(script, len(made), declared)
    wants_json = _object(body.get("generationConfig")).get("responseMimeType") == "application/json"
    part: JsonObject = {"text": json.dumps({"model_choice": "flash", "next_speaker": "user"}) if wants_json else DONE}
    if call:
        part = {"functionCall": {"name": call.tool, "args": call.input}}
    content: JsonObject = {"role": "model", "parts": [part]}
    usage: JsonObject = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    candidate: JsonObject = {"content": content, "finishReason": "STOP", "index": 0}
    whole: JsonObject = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}
    return Reply(whole, (("", whole),), call is not None)


def _next_call(script: Sequence[ScriptedCall], made: int, tools: list[JsonObject]) -> ScriptedCall | None:
    """The next call, with its tool and input. None at the end, and if no shell is offered, as for titles."""
    offered = {str(tool.get("name")) for tool in tools}
    shell = next((name for name in _SHELLS if name in offered), "")
    if not shell or made >= len(script):
        return None
    call = script[made]
    return call if call.tool else ScriptedCall(tool=shell, input=_shell_input(shell, call.command))


def _id(made: list[JsonObject]) -> str:
    return f"aileron_check_{len(made) + 1}"


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

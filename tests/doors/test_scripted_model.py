"""The scripted model asks for one shell command in every API, and then ends."""

import json
import urllib.error
import urllib.request

import pytest

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.doors.scripted_model import ScriptedModel
from aileron_tui.doors.scripted_replies import ScriptedCall

COMMAND = "touch aileron-check-1"
TOOL: JsonObject = {"name": "Bash"}
APIS: list[tuple[str, JsonObject, JsonObject]] = [
    (
        "/v1/messages?beta=true",
        {"tools": [TOOL], "messages": [{"role": "user", "content": "x"}]},
        {"role": "assistant", "content": [{"type": "tool_use"}]},
    ),
    ("/v1/responses", {"tools": [{"name": "exec_command"}], "input": []}, {"type": "function_call"}),
    ("/v1/chat/completions", {"tools": [{"function": {"name": "bash"}}], "messages": []}, {"tool_calls": [{}]}),
    (
        "/v1beta/models/x:streamGenerateContent?alt=sse",
        {"tools": [{"functionDeclarations": [{"name": "run_shell_command"}]}], "contents": []},
        {"role": "model", "parts": [{"functionCall": {}}]},
    ),
]


def ask(model: ScriptedModel, path: str, body: object) -> str:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(model.url + path, data=data), timeout=10) as reply:
        return str(reply.read().decode())


@pytest.mark.parametrize(("path", "body", "turn"), APIS, ids=["claude", "codex", "chat", "gemini"])
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_one_call_is_asked_for_and_no_more(path: str, body: JsonObject, turn: JsonObject, stream: bool) -> None:
    with ScriptedModel(ScriptedCall(COMMAND)) as model:
        assert COMMAND not in ask(model, path, body | {"tools": [], "stream": stream})
        assert not model.asked.is_set()
        assert COMMAND in ask(model, path, body | {"stream": stream})
        assert model.asked.is_set()
        history = next(key for key in ("messages", "input", "contents") if key in body)
        assert COMMAND not in ask(model, path, body | {history: [turn], "stream": stream})


@pytest.mark.parametrize(("path", "body", "turn"), APIS, ids=["claude", "codex", "chat", "gemini"])
def test_the_calls_of_a_script_follow_each_other(path: str, body: JsonObject, turn: JsonObject) -> None:
    history = next(key for key in ("messages", "input", "contents") if key in body)
    with ScriptedModel(ScriptedCall(COMMAND), ScriptedCall(tool="Write", input={"content": "second"})) as model:
        replies = [ask(model, path, body | {history: [turn] * made}) for made in range(3)]
    assert [("Write" in reply, "second" in reply, COMMAND in reply) for reply in replies] == [
        (False, False, True),
        (True, True, False),
        (False, False, False),
    ]


def test_a_patch_is_text_for_codex() -> None:
    with ScriptedModel(ScriptedCall(tool="apply_patch", input="*** Begin Patch")) as model:
        reply = json.loads(ask(model, "/v1/responses", {"tools": [{"name": "exec_command"}], "input": []}))
    assert reply["output"][0]["type"] == "custom_tool_call"
    assert reply["output"][0]["input"] == "*** Begin Patch"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff"])
def test_garbage_is_refused(body: bytes) -> None:
    with ScriptedModel(ScriptedCall(COMMAND)) as model:
        with pytest.raises(urllib.error.HTTPError) as caught:
            ask(model, "/v1/messages", body)
        caught.value.close()
        assert caught.value.code == 400


def test_odd_values_are_answered() -> None:
    with ScriptedModel(ScriptedCall(COMMAND)) as model:
        assert COMMAND not in ask(model, "/v1/messages", {"messages": 7, "tools": [1, "x", None]})


def test_tools_of_mcp_servers_are_in_a_namespace_for_codex() -> None:
    body: JsonObject = {"tools": [{"name": "exec_command"}], "input": []}
    with ScriptedModel(ScriptedCall(tool="mcp__files__read_file", input={"path": "a"})) as model:
        reply = json.loads(ask(model, "/v1/responses", body))
    (call,) = reply["output"]
    assert (call["namespace"], call["name"]) == ("mcp__files", "read_file")

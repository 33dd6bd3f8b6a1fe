"""What the MCP proxy holds, asks, checks and sends, in both generations of the protocol."""

import json
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.mcp_tools import pinned
from aileron_tui.doors.known_servers import read_server
from tests.doors.proxy_harness import MODERN_META, Harness, definition


@pytest.fixture
def proxy(tmp_path: Path) -> Harness:
    return Harness(tmp_path)


def test_what_is_harmless_is_passed_on_with_its_exact_bytes(proxy: Harness) -> None:
    lines = [
        b'{ "jsonrpc" : "2.0","id":0, "method":"initialize","params":{"protocolVersion":"2025-06-18"}}\r',
        b'{"method":"notifications/initialized","jsonrpc":"2.0"}',
        b'{"jsonrpc":"2.0","id":"a","method":"resources\\/read","params":{"uri":"file:///\xc3\xa9","x":1.50}}',
        b'{"jsonrpc":"2.0","id":7,"result":{"action":"accept"}}',
        b"",
        b" \r",
    ]
    for line in lines:
        proxy.send(line)
    assert proxy.server == [line + b"\n" for line in lines]
    assert not proxy.client
    replies = [
        b'{"id":0,"jsonrpc":"2.0","result":{"x":1e400}}\r',
        b'{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{}}',
        b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"\xe2\x80\xa8"}}',
        b"log line of a careless server",
        b"\xff\xfe",
        b'{"jsonrpc":"2.0","id":"a","result":{"contents":[NaN, "\\ud800"]}}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}',
    ]
    for line in replies:
        proxy.reply(line)
    assert proxy.client == [line + b"\n" for line in replies]


def test_a_call_is_asked_about_with_its_definition_and_sent_once_approved(proxy: Harness) -> None:
    proxy.call(1, path="/a", size=1.0)
    assert not proxy.server
    (asked,) = proxy.gate.asked
    assert asked.question.tool == "write"
    assert asked.question.args == {"path": "/a", "size": 1}
    assert asked.question.server == "files"
    assert asked.question.definition == pinned(proxy.tools[0]).hash
    asked.allow()
    assert proxy.sent() == [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "write", "arguments": {"path": "/a", "size": 1}},
        }
    ]
    proxy.reply(b'{"jsonrpc":"2.0","id":1,"result":{"content":[] }}')
    assert proxy.client == [b'{"jsonrpc":"2.0","id":1,"result":{"content":[] }}\n']
    assert proxy.gate.reports == [("req-1", {"path": "/a", "size": 1}, "")]


def test_an_edited_call_is_sent_as_edited(proxy: Harness) -> None:
    proxy.call(1, path="/a")
    proxy.gate.asked[0].allow({"path": "/b", "text": "\u2028"})
    assert b"\\u2028" in proxy.server[0]
    assert proxy.sent()[0]["params"]["arguments"] == {"path": "/b", "text": "\u2028"}


def test_a_denied_call_never_reaches_the_server(proxy: Harness) -> None:
    proxy.call(1)
    proxy.gate.asked[0].deny("The operator denied this call: no. Nothing was run.")
    assert proxy.error_text() == "The operator denied this call: no. Nothing was run."
    assert not proxy.server
    proxy.request(1, "ping")
    assert proxy.sent()[0]["method"] == "ping"


def test_calls_wait_side_by_side_and_other_messages_pass(proxy: Harness) -> None:
    proxy.list_as_client()
    for id_ in range(3):
        proxy.call(id_, n=id_)
    proxy.request("ping", "ping")
    assert [message["id"] for message in proxy.sent()] == ["ping"]
    proxy.gate.asked[2].allow(id_="req-c")
    proxy.gate.asked[0].allow(id_="req-a")
    assert [message["id"] for message in proxy.sent()] == [2, 0]
    proxy.result(0, {"content": []})
    proxy.result(2, {"content": [{"type": "text", "text": "bad"}], "isError": True})
    assert proxy.gate.reports == [("req-a", {"n": 0}, ""), ("req-c", {"n": 2}, "bad")]


def test_a_modern_call_keeps_what_the_protocol_needs_and_nothing_else(proxy: Harness) -> None:
    hidden = {"vendor/secret": 1, "tracestate": 5, "io.modelcontextprotocol/secret": 1}
    meta = MODERN_META | {"progressToken": "t", "traceparent": "00-1"} | hidden
    proxy.request("x", "tools/call", name="write", arguments={"a": 1}, _meta=meta)
    (listing,) = proxy.sent()
    assert listing["params"] == {"_meta": MODERN_META | {"traceparent": "00-1"}}
    proxy.result(listing["id"], {"tools": proxy.tools, "resultType": "complete"})
    proxy.gate.asked[0].allow()
    params = proxy.sent()[0]["params"]
    assert params["_meta"] == MODERN_META | {"progressToken": "t", "traceparent": "00-1"}
    assert params["arguments"] == {"a": 1}


def test_a_refusal_has_the_shape_of_the_generation(proxy: Harness) -> None:
    proxy.list_as_client()
    proxy.request(1, "tools/call", name="write", _meta=MODERN_META)
    proxy.gate.asked[0].deny()
    assert proxy.answer()["result"]["resultType"] == "complete"
    proxy.request(2, "tools/call", name="write")
    proxy.gate.asked[1].deny()
    assert "resultType" not in proxy.answer()["result"]
    proxy.request(3, "tools/call", name="write", task={"ttl": 5})
    proxy.gate.asked[2].deny()
    assert proxy.answer()["error"]["code"] == -32000


@pytest.mark.parametrize(
    ("member", "value"),
    [("task", {"ttl": 60}), ("inputResponses", {"a": {"action": "accept"}}), ("requestState", "opaque")],
)
def test_members_beside_the_arguments_are_shown_and_sent(proxy: Harness, member: str, value: object) -> None:
    proxy.list_as_client()
    proxy.request(1, "tools/call", name="write", arguments={"a": 1}, **{member: value})
    (asked,) = proxy.gate.asked
    assert asked.question.args == {"a": 1, f"mcp:{member}": value}
    asked.allow()
    assert proxy.sent()[0]["params"] == {"name": "write", "arguments": {"a": 1}, member: value}


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"name": 1},
        {"name": ""},
        {"name": "x" * 201},
        {"name": "write", "Arguments": {}},
        {"name": "write", "arguments": []},
        {"name": "write", "arguments": None},
        {"name": "write", "task": "now"},
        {"name": "write", "arguments": {"mcp:task": {}}},
        {"name": "write", "_meta": []},
        {"name": "write", "arguments": {"n": 2**53 + 1}},
        {"name": "(method) x"},
    ],
    ids=json.dumps,
)
def test_a_call_that_is_not_plain_is_refused(proxy: Harness, params: dict[str, Any]) -> None:
    proxy.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    assert proxy.answer()["error"]["code"] == -32602
    assert not proxy.server
    assert not proxy.gate.asked


def test_a_request_that_the_protocol_does_not_know_is_asked_about(proxy: Harness) -> None:
    proxy.request(1, "admin/reset", level=9)
    (asked,) = proxy.gate.asked
    assert (asked.question.tool, asked.question.args) == ("(method) admin/reset", {"level": 9})
    assert asked.question.definition == ""
    asked.allow({"level": 1})
    assert proxy.sent() == [{"jsonrpc": "2.0", "id": 1, "method": "admin/reset", "params": {"level": 1}}]
    proxy.request(2, "notifications/initialized")
    proxy.gate.asked[1].deny("no")
    assert proxy.answer()["error"] == {"code": -32000, "message": "no"}


def test_a_notification_that_a_server_might_execute_is_dropped(proxy: Harness) -> None:
    proxy.send({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "write", "arguments": {}}})
    proxy.send({"jsonrpc": "2.0", "method": "tools/list"})
    assert not proxy.server
    assert len(proxy.notes) == 2


def test_a_cancelled_call_is_withdrawn_without_an_answer(proxy: Harness) -> None:
    proxy.call(1)
    proxy.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    (asked,) = proxy.gate.asked
    assert asked.is_withdrawn
    asked.allow()
    assert not proxy.server
    assert not proxy.client
    assert proxy.gate.reports[0][2].startswith("nothing was run")


def test_a_cancel_after_the_call_was_sent_is_passed_on(proxy: Harness) -> None:
    proxy.call(1)
    proxy.gate.asked[0].allow()
    proxy.sent()
    cancel = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1 }}'
    proxy.send(cancel)
    assert proxy.server == [cancel + b"\n"]
    proxy.later(1)
    assert not proxy.gate.reports
    proxy.later(6)
    assert "not known whether" in proxy.gate.reports[0][2]


def test_progress_is_sent_while_a_call_waits(proxy: Harness) -> None:
    proxy.list_as_client()
    proxy.request(1, "tools/call", name="write", _meta={"progressToken": 5})
    proxy.later(1)
    assert not proxy.client
    proxy.later(3)
    proxy.later(14)
    first, second = (message["params"] for message in proxy.answers())
    assert first["progressToken"] == 5
    assert 0 < first["progress"] < second["progress"] < 0.001
    proxy.call(2)
    proxy.later(30)
    assert {message["params"]["progressToken"] for message in proxy.answers()} == {5}


def test_a_call_goes_on_waiting_when_it_is_made_again(proxy: Harness) -> None:
    proxy.call(1, path="/a")
    proxy.gate.asked[0].wait_on("req-7")
    text = proxy.error_text()
    assert "again with exactly the same arguments" in text
    assert "nothing has been run" in text
    proxy.call(2, path="/other")
    assert proxy.gate.asked[1].id == ""
    proxy.call(3, path="/a")
    assert proxy.gate.asked[2].id == "req-7"
    proxy.gate.asked[2].allow()
    assert [message["id"] for message in proxy.sent()] == [3]
    proxy.call(4, path="/a")
    assert proxy.gate.asked[3].id == ""


def test_a_client_that_leaves_withdraws_everything(proxy: Harness) -> None:
    proxy.call(1)
    proxy.gate.asked[0].wait_on("req-7")
    proxy.call(2, path="/b")
    proxy.proxy.client_left()
    assert proxy.gate.withdrawn == ["req-7"]
    assert proxy.gate.asked[1].is_withdrawn
    assert not proxy.server


def test_a_server_that_dies_leaves_the_outcome_unknown(proxy: Harness) -> None:
    proxy.call(1)
    proxy.gate.asked[0].allow()
    proxy.call(2)
    proxy.proxy.server_left("the server ended with code 1 before it answered")
    first, second = proxy.answers()
    assert first["result"]["content"][0]["text"].startswith("Outcome unknown: the server ended with code 1")
    assert second["result"]["content"][0]["text"].startswith("Nothing was run")
    assert proxy.gate.reports == [
        ("req-1", {}, "the server ended with code 1 before it answered: it is not known whether the call took effect")
    ]


def test_failures_of_the_server_are_reported_with_its_words(proxy: Harness) -> None:
    proxy.list_as_client()
    replies: list[dict[str, Any]] = [
        {"error": {"code": 1, "message": "no such file"}},
        {"result": {"isError": True, "content": []}},
        {"result": {"resultType": "input_required", "requestState": "s"}},
        {"result": 5},
    ]
    for number, reply in enumerate(replies):
        proxy.call(number)
        proxy.gate.asked[number].allow()
        proxy.reply({"jsonrpc": "2.0", "id": number} | reply)
    errors = [error for _, _, error in proxy.gate.reports]
    assert errors[0] == "the server answered with an error: no such file"
    assert errors[1] == "the server says that the tool failed"
    assert "needs more input" in errors[2]
    assert "invalid" in errors[3]
    assert len(proxy.client) == 4


@pytest.mark.parametrize(
    "result",
    [{"task": {"taskId": "t", "status": "working"}}, {"resultType": "task", "taskId": "t"}],
    ids=["2025-11-25", "2026-07-28"],
)
def test_a_call_that_goes_on_as_a_task_is_not_reported_as_done(proxy: Harness, result: dict[str, Any]) -> None:
    proxy.list_as_client()
    proxy.request(1, "tools/call", name="write", task={"ttl": 60})
    proxy.gate.asked[0].allow()
    proxy.result(1, result)
    assert proxy.answer()["result"] == result
    assert not proxy.gate.reports


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        ({"destructiveHint": True}, "high"),
        ({"destructiveHint": True, "readOnlyHint": True}, "high"),
        ({"readOnlyHint": True}, None),
        ({"destructiveHint": False}, None),
        ({}, None),
    ],
)
def test_annotations_only_raise_the_risk(tmp_path: Path, hints: dict[str, bool], expected: str | None) -> None:
    proxy = Harness(tmp_path, definition("write", **hints))
    proxy.call()
    assert proxy.gate.asked[0].question.more.get("risk") == expected


def test_a_new_tool_is_pinned_once_a_call_of_it_was_allowed(proxy: Harness) -> None:
    proxy.tools.append(definition("new"))
    proxy.call(1, "new")
    (asked,) = proxy.gate.asked
    assert [tool.name for tool in read_server(proxy.data, "files").tools] == ["write"]
    asked.allow()
    assert [tool.name for tool in read_server(proxy.data, "files").tools] == ["new", "write"]

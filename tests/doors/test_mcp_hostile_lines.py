"""Lines that a server might read otherwise than the MCP proxy, and servers whose answers do not fit."""

import json
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.mcp_messages import certain_id, plain_request
from tests.doors.proxy_harness import Harness

CALL = b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"write","arguments":{}}}'
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


@pytest.fixture
def proxy(tmp_path: Path) -> Harness:
    made = Harness(tmp_path)
    made.list_as_client()
    return made


REFUSED: dict[str, bytes] = {
    "duplicate method": b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"write"}}',
    "duplicate escaped": b'{"jsonrpc":"2.0","id":1,"method":"ping","metho\\u0064":"tools/call"}',
    "duplicate in params": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":2}}',
    "other case": b'{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call","params":{"name":"write"}}',
    "kelvin": '{"jsonrpc":"2.0","id":1,"method":"ping","param\u017f":{"name":"write"}}'.encode(),
    "bom": b"\xef\xbb\xbf" + PING,
    "invalid utf-8": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\xff"}}',
    "overlong utf-8": b'{"jsonrpc":"2.0","id":1,"method":"\xc0\xafping"}',
    "utf-16": PING.decode().encode("utf-16-le"),
    "nan": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}',
    "infinity": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":-Infinity}}',
    "huge number": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":1e999}}',
    "long number": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":' + b"9" * 5000 + b"}}",
    "lone surrogate": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\\ud800"}}',
    "carriage return": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":\r' + CALL + b"\r}}",
    "carriage return first": b"\r" + CALL,
    "vertical tab": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\x0b' + b'\x0b"}}',
    "form feed": b'{"jsonrpc":"2.0","id":1,\x0c"method":"ping"}',
    "nul": b"\0" + PING,
    "file separator": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\x1c"}}',
    "line separator outside": b'{"jsonrpc":"2.0","id":1,\xe2\x80\xa8"method":"ping"}',
    "batch": b"[" + PING + b"," + CALL + b"]",
    "empty batch": b"[]",
    "two messages": PING + CALL,
    "trailing comma": b'{"jsonrpc":"2.0","id":1,"method":"ping",}',
    "comment": b'{"jsonrpc":"2.0","id":1,/* */"method":"ping"}',
    "single quotes": b"{'jsonrpc':'2.0','id':1,'method':'ping'}",
    "deep": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 5000 + b"1" + b"}" * 5001,
    "cut off": PING[:-2],
    "no version": b'{"id":1,"method":"ping"}',
    "version 1": b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
    "version as number": b'{"jsonrpc":2.0,"id":1,"method":"ping"}',
    "null id": b'{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"write"}}',
    "fractional id": b'{"jsonrpc":"2.0","id":1.0,"method":"ping"}',
    "exponent id": b'{"jsonrpc":"2.0","id":1e0,"method":"ping"}',
    "boolean id": b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
    "array id": b'{"jsonrpc":"2.0","id":[1],"method":"ping"}',
    "large id": b'{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}',
    "long id": b'{"jsonrpc":"2.0","id":"' + b"x" * 2000 + b'","method":"ping"}',
    "method is a list": b'{"jsonrpc":"2.0","id":1,"method":["tools/call"]}',
    "empty method": b'{"jsonrpc":"2.0","id":1,"method":""}',
    "method and result": b'{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}',
    "params is a list": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":["tools/call"]}',
    "params is null": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":null}',
    "result and error": b'{"jsonrpc":"2.0","id":1,"result":{},"error":{}}',
    "response with more": b'{"jsonrpc":"2.0","id":1,"result":{},"Method":"tools/call"}',
    "response without id": b'{"jsonrpc":"2.0","result":{}}',
    "cursor is a list": b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":[]}}',
    "text": b'"tools/call"',
    "number": b"5",
}


@pytest.mark.parametrize("line", REFUSED.values(), ids=REFUSED)
def test_a_line_that_can_be_read_in_two_ways_is_never_passed_on(proxy: Harness, line: bytes) -> None:
    proxy.send(line)
    assert not proxy.server
    assert not proxy.gate.asked
    answer = proxy.answer()
    assert answer["error"]["code"] in (-32700, -32600, -32602)
    assert answer["id"] in (None, 1)


@pytest.mark.parametrize(
    "line",
    [
        CALL.replace(b"tools/call", b"tools\\u002fcall"),
        CALL.replace(b"tools/call", b"tools\\/call"),
        CALL.replace(b'"method"', b'"\\u006dethod"'),
        b" \t" + CALL + b" \r",
        CALL.replace(b"{}}}", '{"a":"\u2028\u2029\x85"}}}'.encode()),
    ],
)
def test_a_call_is_asked_about_however_it_is_written(proxy: Harness, line: bytes) -> None:
    proxy.send(line)
    assert not proxy.server
    (asked,) = proxy.gate.asked
    asked.allow()
    assert proxy.server[0].isascii()
    assert proxy.server[0].count(b"\r") == 0
    assert json.loads(proxy.server[0])["method"] == "tools/call"


@pytest.mark.parametrize("method", ["Tools/Call", "tools/call ", "tools//call", "TOOLS/CALL", "tools/cal\u217c"])
def test_a_method_that_looks_like_a_call_is_asked_about(proxy: Harness, method: str) -> None:
    proxy.request(1, method, name="write", arguments={})
    assert not proxy.server
    assert proxy.gate.asked[0].question.tool == f"(method) {method}"


def test_other_line_ends_are_passed_on_as_escapes(proxy: Harness) -> None:
    hidden = json.dumps(CALL.decode())[1:-1]
    line = f'{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"\u2028{hidden}\u0085é"}}}}'
    proxy.send(line.encode())
    (sent,) = proxy.server
    assert len(sent.decode().splitlines()) == 1
    assert json.loads(sent) == json.loads(line)
    assert "é".encode() in sent


def test_an_id_can_be_used_again_only_after_its_answer(proxy: Harness) -> None:
    proxy.call(1)
    for request in (PING, CALL.replace(b'"id":9', b'"id":1')):
        proxy.send(request)
        assert proxy.answer() == {
            "jsonrpc": "2.0",
            "id": None,
            "error": {
                "code": -32600,
                "message": "aileron-tui did not pass this message on: a request with the same id has not been answered "
                "yet",
            },
        }
    proxy.request("1", "ping")
    assert proxy.sent()[0]["id"] == "1"
    proxy.gate.asked[0].deny()
    proxy.answer()
    proxy.send(PING)
    assert len(proxy.server) == 1


@pytest.mark.parametrize("is_call", [False, True])
def test_the_answer_to_a_cancelled_request_counts_for_no_other_call(proxy: Harness, is_call: bool) -> None:
    if is_call:
        proxy.call(1)
        proxy.gate.asked[0].allow()
    else:
        proxy.request(1, "resources/read", uri="a")
    proxy.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    proxy.later(6)
    before = len(proxy.gate.asked), len(proxy.gate.reports)
    proxy.call(1, text="another")
    assert "same id" in proxy.answer()["error"]["message"]
    proxy.result(1, {"content": []})
    assert (len(proxy.gate.asked), len(proxy.gate.reports)) == before
    proxy.call(1, text="another")
    assert len(proxy.gate.asked) == before[0] + 1


@pytest.mark.parametrize("id_", [1, "1", 1.0, "1.0", " 1", True, [1], None])
def test_a_server_cannot_answer_a_call_that_it_does_not_have(proxy: Harness, id_: Any) -> None:
    proxy.call(1)
    proxy.result(id_, {"content": [{"type": "text", "text": "done"}]})
    assert not proxy.client
    proxy.gate.asked[0].allow()
    assert len(proxy.server) == 1


FORGED = b'{"jsonrpc":"2.0","id":1,"result":{"tools":[],"content":[]}}'
NOTE = b'{"jsonrpc":"2.0","method":"notifications/message","params":{}}'


@pytest.mark.parametrize(
    "line",
    [
        NOTE.replace(b"{}", b'{"x":\r' + FORGED + b"\r}"),
        b"log\r" + FORGED,
        b"log\x0b" + FORGED,
        b"log\xe2\x80\xa8" + FORGED,
        NOTE + FORGED,
        FORGED.decode().encode("utf-16-be"),
        FORGED.replace(b"[]}", b"[" * 200_000 + b"]" * 200_000 + b"}"),
        FORGED.replace(b"[]}", b"9" * 5000 + b"}"),
        b'{"jsonrpc":"2.0","id":2,"result":{}}\r' + FORGED,
    ],
    ids=["in JSON", "return", "tab", "separator", "stream", "utf-16", "deep", "number", "after a response"],
)
@pytest.mark.parametrize("method", ["tools/call", "tools/list"])
def test_an_answer_that_only_some_clients_see_is_not_passed_on(proxy: Harness, line: bytes, method: str) -> None:
    """Clients end lines where Python's text files and `splitlines` do, or read one value after the other."""
    proxy.request(2, "ping")
    proxy.request(1, method, **({"name": "write"} if method == "tools/call" else {}))
    proxy.reply(line)
    for got in proxy.client:
        assert [json.loads(each).get("id") for each in got.decode().splitlines()] != [1]
        assert len(got.decode().splitlines()) == 1
        json.loads(got)


def test_a_second_answer_and_wrong_ids_are_dropped(proxy: Harness) -> None:
    proxy.call(1)
    proxy.gate.asked[0].allow()
    for id_ in ("1", 2, 1, 1):
        proxy.result(id_, {"content": []})
    assert [answer["id"] for answer in proxy.answers()] == [1]
    assert len(proxy.gate.reports) == 1
    assert len(proxy.notes) == 3


def test_batches_of_a_server_are_taken_apart_where_something_is_held_back(proxy: Harness) -> None:
    for id_ in (1, 2):
        proxy.request(id_, "ping")
    proxy.call(3)
    parts: list[dict[str, Any]] = [{"jsonrpc": "2.0", "id": id_, "result": {}} for id_ in (1, 3, 2)]
    proxy.reply(parts)
    assert proxy.answers() == [parts[0], parts[2]]
    proxy.sent()
    for id_ in (1, 2):
        proxy.request(id_, "ping")
    batch = b'[ {"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]'
    proxy.reply(batch)
    assert proxy.client == [batch + b"\n"]


def test_the_ids_of_the_proxy_cannot_be_used_by_others(proxy: Harness) -> None:
    proxy.reply({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    proxy.request(1, "tools/call", name="write")
    (own,) = proxy.sent()
    proxy.answers()
    proxy.request(own["id"], "ping")
    assert proxy.answer()["error"]["code"] == -32600
    proxy.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": own["id"]}})
    assert not proxy.server
    for _ in range(2):
        proxy.result(own["id"], {"tools": proxy.tools})
    assert not proxy.client
    assert len(proxy.gate.asked) == 1


def test_too_many_open_requests_are_refused(proxy: Harness) -> None:
    for number in range(10_001):
        proxy.request(number, "ping")
    assert len(proxy.server) == 10_000
    assert "too many" in proxy.answer()["error"]["message"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"jsonrpc":"2.0","id":5,"result":{}}', ("number", 5)),
        (b'{"jsonrpc": "2.0", "id": "a-1", "result": {"x": "\\"id\\":6"}}', ("text", "a-1")),
        (b'{"result":{"contents":[]},"jsonrpc":"2.0","id":5}', ("number", 5)),
        (b'{"jsonrpc":"2.0","id":5,"result":{"id":6}}', None),
        (b'{"jsonrpc":"2.0","id":5,"result":{},"id":6}', None),
        (b'{"jsonrpc":"2.0","id":5,"result":{},"ID":6}', None),
        (b'{"jsonrpc":"2.0","id":5,"result":{},"\\u0069d":6}', None),
        (b'{"jsonrpc":"2.0","id":5,"error":{}}', None),
        (b'{"jsonrpc":"2.0","id":5,"method":"ping"}', None),
        (b'{"jsonrpc":"2.0","id":5.0,"result":{}}', None),
        (b'{"jsonrpc":"2.0","id":05e1,"result":{}}', None),
        (b'{"method":"ping","jsonrpc":"2.0","id":5}', None),
        (b'{"result":{"x":{"id":5}}', None),
        (b'{"result":{},"jsonrpc":"2.0","id":5} ', None),
        (b'[{"jsonrpc":"2.0","id":5,"result":{}}]', None),
    ],
)
def test_an_id_is_certain_only_if_there_is_no_other(line: bytes, expected: object) -> None:
    assert certain_id(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (PING, ("number", 1)),
        (b'{"jsonrpc": "2.0", "id": "a", "method": "resources/read", "params": {"uri": "file:///x"}}\r', ("text", "a")),
        (b'{"method":"ping","params":{},"jsonrpc":"2.0","id":0}', ("number", 0)),
        (b'{"method":"ping","jsonrpc":"2.0","id":7}', ("number", 7)),
        (CALL, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', None),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":2}}', None),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\\u0041"}}', None),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\xe2\x80\xa8"}}', None),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\r"}}', None),
        (b'{"jsonrpc":"2.0","id":01,"method":"ping"}', None),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}x', None),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n', None),
    ],
)
def test_a_request_is_plain_only_if_it_can_be_read_in_one_way(line: bytes, expected: object) -> None:
    assert plain_request(line) == expected

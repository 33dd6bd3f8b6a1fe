"""MCP over HTTP: addresses, headers that repeat parts of a message, and events of a stream."""

import base64
from typing import Any

import pytest

from aileron_tui.core.jsontext import Json
from aileron_tui.core.mcp_http import BadUrl, StreamEvent, as_line, events, header_value, message_headers, read_url
from tests.doors.proxy_harness import MODERN_META


@pytest.mark.parametrize(
    ("text", "base", "path"),
    [
        ("https://example.com/mcp", "https://example.com", "/mcp"),
        ("http://127.0.0.1:8000/mcp?key=1", "http://127.0.0.1:8000", "/mcp?key=1"),
        ("http://localhost:8000", "http://localhost:8000", "/"),
        ("http://[::1]:8000/a/b", "http://[::1]:8000", "/a/b"),
    ],
)
def test_addresses(text: str, base: str, path: str) -> None:
    found = read_url(text)
    assert (found.address.url, found.path) == (base, path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ftp://example.com",
        "http://example.com/mcp",
        "https://user@example.com/mcp",
        "https://example.com/mcp#x",
        "https://example.com/a b",
        "https://example.com/\r\nX: y",
        "https://example.com:99999/",
    ],
)
def test_what_is_not_an_address_of_a_server(text: str) -> None:
    with pytest.raises(BadUrl):
        read_url(text)


def call(**arguments: Any) -> dict[str, Any]:
    params = {"name": "write", "arguments": arguments, "_meta": MODERN_META}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def test_modern_messages_are_repeated_in_headers() -> None:
    assert message_headers(call()) == {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "write",
    }
    assert message_headers(call() | {"params": {"name": "write"}}) == {}


def test_arguments_are_repeated_as_the_schema_says() -> None:
    schema: Json = {
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
            "list": {"type": "array", "x-mcp-header": "List"},
            "bad": {"type": "string", "x-mcp-header": "a: b\r\n"},
            "absent": {"type": "string", "x-mcp-header": "Absent"},
        }
    }
    headers = message_headers(call(region="eu", deep={"n": 5}, list=[1], bad="x"), schema)
    assert {name: value for name, value in headers.items() if "Param" in name} == {
        "Mcp-Param-Region": "eu",
        "Mcp-Param-N": "5",
    }


@pytest.mark.parametrize("text", ["a\r\nX: y", " a", "é", "", "=?base64?YQ==?="])
def test_what_a_header_cannot_hold_is_encoded(text: str) -> None:
    value = header_value(text)
    assert value.isascii()
    assert value.isprintable()
    assert base64.b64decode(value.removeprefix("=?base64?").removesuffix("?=")).decode() == text


def test_events_of_a_stream() -> None:
    lines = [
        b": a comment",
        b"id: 7",
        b"retry: 250",
        b"data:",
        b"",
        b"event: message",
        b'data: {"a":',
        b"data: 1}",
        b"",
        b"event: other",
        b"data: x",
        b"",
        b"",
        b"data: cut off",
    ]
    assert list(events(iter(lines))) == [StreamEvent(b"", "7", 0.25), StreamEvent(b'{"a":\n1}')]
    assert as_line(b'{"a":\r\n1}\n') == b'{"a": 1}'

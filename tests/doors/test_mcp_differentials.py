"""Whatever bytes a client sends: no reader finds a call of a tool in what the MCP proxy passes on without asking."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.doors.proxy_harness import Harness

CALL = b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"write","arguments":{}}}'
PARTS = [
    CALL,
    b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"y"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"x":',
    b'{"jsonrpc":"2.0","id":1,"result":',
    b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"x":',
    json.dumps(CALL.decode()).encode(),
    b'"method":"tools/call"',
    b'"METHOD":"tools/call"',
    b'"\\u006dethod":"tools\\u002fcall"',
    b'"params":{"name":"write"}',
    b'"id":5',
    b"}}",
    b"}",
    b"]",
    b"[",
    b",",
    b":",
    b'"',
    b"\\",
    b"\\u0022",
    b"\r",
    b"\x0b",
    b"\x0c",
    b"\x1c",
    b"\xc2\x85",
    b"\xe2\x80\xa8",
    b"\xe2\x80\xa9",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\0",
    b" ",
]
lines = st.lists(st.sampled_from(PARTS), min_size=1, max_size=6).map(b"".join)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A message with parts of others inside it."""
    line = draw(st.sampled_from(PARTS[:3]))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(line)))
        line = line[:at] + draw(st.sampled_from(PARTS)) + line[draw(st.integers(at, min(len(line), at + 3))) :]
    return line


class Seen(dict[str, Any]):
    """An object with all its pairs."""

    pairs: list[tuple[str, Any]]


def gather(pairs: list[tuple[str, Any]]) -> Seen:
    """Keeps what a reader could take from an object."""
    made = Seen(pairs)
    made.pairs = pairs
    return made


def readings(line: bytes) -> Iterator[Any]:
    """What tolerant programs could read in a line: other line ends, other encodings, rest after a message."""
    decoder = json.JSONDecoder(object_pairs_hook=gather, strict=False)
    text = line.decode("utf-8", "replace")
    for part in {text, *text.splitlines(), *text.split("\r"), *text.split("\0")}:
        rest = part.lstrip("\ufeff \t\r\n\x0b\x0c")
        while rest:
            try:
                value, end = decoder.raw_decode(rest)
            except ValueError:
                break
            yield value
            rest = rest[end:].lstrip(" \t\r\n,]")


def is_call(value: Any) -> bool:
    """Whether a message could be taken for a call, by any of its pairs, whatever their case."""
    if isinstance(value, list):
        return any(map(is_call, value))
    if not isinstance(value, Seen):
        return False
    return any(
        key.casefold() == "method" and str(found).casefold().strip() == "tools/call" for key, found in value.pairs
    )


@settings(max_examples=300, deadline=None)
@given(st.one_of(lines, mutated()))
def test_no_reader_finds_a_call_in_what_is_passed_on(line: bytes) -> None:
    proxy = Harness(Path("/nonexistent/home/data"))
    for part in line.split(b"\n"):
        proxy.send(part)
    for sent in proxy.server:
        assert not any(map(is_call, readings(sent))), sent


@pytest.mark.parametrize(
    "line",
    [
        CALL,
        b'{"x":\r' + CALL + b"\r}",
        '{"x":"\u2028'.encode() + CALL + '\u2028"}'.encode(),
        b'{"method":"tools/call","method":"ping"}',
        b'{"method":"ping","Method":"tools/call"}',
        b"[" + CALL + b"]",
        b"{}" + CALL,
        b"\xef\xbb\xbf" + CALL,
        b'{"\\u006dethod":"tools\\u002fcall"}',
    ],
)
def test_the_readers_of_this_test_find_calls(line: bytes) -> None:
    assert any(map(is_call, readings(line)))

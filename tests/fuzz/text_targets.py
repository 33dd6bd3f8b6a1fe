"""Text and messages: visible text, JSON, events of a stream, lines of MCP, and input of hooks."""

import json
from contextlib import suppress
from decimal import Decimal
from typing import Any, Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.hook_event import BadHookInput, EventKind, HookReply
from aileron_tui.core.jsontext import (
    Json,
    JsonError,
    JsonLimits,
    JsonObject,
    canonical,
    compact,
    plain,
    read,
    read_object,
    walk,
    with_canonical_numbers,
)
from aileron_tui.core.mcp_messages import (
    HARMLESS_REQUESTS,
    BadMessage,
    MessageKind,
    certain_id,
    error_line,
    id_key,
    plain_request,
    read_client_line,
    read_server_line,
    request_line,
    without_returns,
)
from aileron_tui.core.visible_text import block, cells, clip, inline, quoted, short, visible, wrap
from aileron_tui.doors.hook_calls import call_body, outcome_body, prompt_hint
from aileron_tui.runtime.errors import InvalidReply
from aileron_tui.runtime.sse import SseFrame, read_frames
from tests.core.test_hook_shapes import ALLOWED, CALLS, DENIED, EDITED, NOBODY, SHAPES
from tests.fuzz.target import Target
from tests.hostile import HOSTILE

_LIMITS: Final = JsonLimits(size=8192, depth=8, count=200)
_LONGEST_EVENT: Final = 300
_NARROW: Final = 20


def visible_text(data: bytes) -> None:
    """No text obeys or hides: nothing but newlines and what is printable, and made visible once is enough."""
    wide = data[: len(data) // 2 * 2].decode("utf-16-le", "surrogatepass")
    for text in (data.decode("utf-8", "surrogateescape"), wide):
        lines = block(text)
        for made in (visible(text), inline(text), quoted(text), short(text, _NARROW), *lines):
            assert not any(byte < 0x20 and byte != 0x0A for byte in made.encode())
            assert not any(0x7F <= ord(character) <= 0x9F for character in made)
        for row in wrap(inline(text), _NARROW, "  "):
            assert cells(row) <= _NARROW
        assert visible(visible(text)) == visible(text)
        assert inline(inline(text)) == inline(text)
        assert block("\n".join(lines)) == lines
        assert "\n" not in inline(text)
        cut = clip(inline(text), _NARROW)
        assert cells(cut) <= _NARROW or cut.startswith("…⟨+")


def json_text(data: bytes) -> None:
    """What is accepted means what the standard library reads, is within the limits, and has one canonical form."""
    try:
        value = read(data, _LIMITS)
    except JsonError:
        return
    assert json.loads(data) == value
    nodes = list(walk(value))
    assert len(nodes) <= _LIMITS.count
    assert max(depth for _, depth, _ in nodes) <= _LIMITS.depth
    plain(value)
    assert isinstance(value, str) or _exact(compact(value)) == _exact(data)
    with suppress(JsonError):
        _check_canonical(value, data)


def _exact(data: bytes | str) -> Any:
    """A value with its numbers as they are written."""
    return json.loads(data, parse_int=Decimal, parse_float=Decimal)


def _check_canonical(value: Json, data: bytes) -> None:
    written = canonical(value)
    assert _exact(written) == _exact(data)
    assert canonical(read(written)) == written
    if isinstance(value, dict):
        assert canonical(with_canonical_numbers(value)) == written


def sse(data: bytes) -> None:
    """Events are the same however the bytes arrive, and never larger than allowed."""
    size = 1 + (data[0] if data else 0)
    body = data[1:]
    chunks = [body[at : at + size] for at in range(0, len(body), size)]
    whole, parts = _frames([body]), _frames(chunks)
    for frames in (whole, parts):
        for frame in frames or ():
            assert frame is None or len(frame.data.encode()) <= _LONGEST_EVENT
    assert whole is None or parts is None or whole == parts


def _frames(chunks: list[bytes]) -> list[SseFrame | None] | None:
    try:
        return list(read_frames(chunks, _LONGEST_EVENT))
    except InvalidReply:
        return None


def mcp_line(data: bytes) -> None:
    """The fast ways to read a line agree with the careful ones; nothing else is raised than a refusal."""
    for line in data.split(b"\n"):
        _check_client_line(line)
        _check_server_line(line)


def _check_client_line(line: bytes) -> None:
    quick = plain_request(line)
    try:
        message = read_client_line(line)
    except BadMessage as error:
        assert quick is None
        json.loads(error_line(error.id, error.code, error.reason))
        return
    assert b"\n" not in message.line
    assert b"\r" not in message.line[:-1]
    assert not any(end in message.line.decode() for end in ("\x85", "\u2028", "\u2029"))
    if quick is not None:
        assert message.kind is MessageKind.REQUEST
        assert message.method in HARMLESS_REQUESTS
        assert id_key(message.id) == quick
    if message.kind is MessageKind.REQUEST and message.id is not None:
        json.loads(request_line(message.id, message.method, message.params or {}))
    assert isinstance(message.meta, dict)


def _check_server_line(line: bytes) -> None:
    certain = certain_id(line)
    for message in read_server_line(line):
        assert isinstance(message.method, str)
        assert message.is_response in (True, False)
        if certain is not None and message.body is not None:
            assert [id_key(id_) for id_ in message.ids] == [certain]
    assert b"\r" not in without_returns(line)[:-1]


def hook(data: bytes) -> None:
    """Input of a hook is an event or a refusal, and the reply to a call that was not allowed stops it."""
    try:
        fields = read_object(data)
    except JsonError:
        return
    for shapes in SHAPES.values():
        try:
            event = shapes.read_event(fields)
        except BadHookInput:
            continue
        prompt_hint(event.text)
        for body in (call_body("claude", event, 5), outcome_body(event)):
            with suppress(JsonError):
                canonical(body)
        if event.kind is EventKind.ASK:
            assert event.tool
            for answer in (DENIED, NOBODY):
                assert _stops(shapes.reply(event, answer)), (shapes.__name__, event)
            for answer in (ALLOWED, EDITED):
                with suppress(AileronError):
                    json.dumps(shapes.reply(event, answer).output)


def _stops(reply: HookReply) -> bool:
    """Whether a reply stops a call: it blocks it or denies it, and does not allow it."""
    written = json.dumps(reply.output)
    return reply.code == 2 or ("deny" in written and '"allow"' not in written)


def _hook_seeds() -> list[bytes]:
    names = ("PermissionRequest", "PostToolUse", "UserPromptSubmit", "SessionStart", "AfterTool", "BeforeAgent")
    more: list[JsonObject] = [{**call, "hook_event_name": name} for call in CALLS.values() for name in names]
    return [json.dumps(fields).encode() for fields in (*CALLS.values(), *more)]


_JSON: Final = (
    b'{"a": [1, 2.50, -0.0, 1e3, "\\u00e9\\ud83d\\ude00", null, true], "b": {"c": {}}}',
    b'{"\xc3\xa9": 9007199254740993, "z": 1e-7, "y": 123456789012345678901234567890}',
    b"[[[[[[[[]]]]]]]]",
    b'"\\u0000\\n\\u2028"',
    b"[1E400]",
)
_MCP: Final = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":1},"_meta":{}}}',
    b'{"jsonrpc": "2.0", "id": "a-1", "method": "ping"}\r',
    b'{"method":"tasks/get","params":{"taskId":"7"},"jsonrpc":"2.0","id":3}',
    b'{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"hi"}]}}\n{"result":{},"jsonrpc":"2.0","id":7}',
    b'{"jsonrpc":"2.0","id":7,"result":{},"id":8}\n{"result":{"id":1},"jsonrpc":"2.0","id":7}',
    b'{"jsonrpc":"2.0","id":7,"id":8,"result":{}}\n[{"jsonrpc":"2.0","method":"ping","ID":1}]',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"\xe2\x80\xa8"}}',
)
_SSE: Final = (
    b"\x03: hello\n\nid: 7\nevent: request\ndata: {}\ndata: x\n\ndata:y\r\n\r\n",
    b"\x10retry: 5\ndata\n\n:\n\ndata: " + b"x" * 290 + b"\n\n",
)

TARGETS: Final = {
    "visible-text": Target(
        visible_text, lambda: [text.encode("utf-8", "surrogatepass")[:2000] for text in HOSTILE.values()]
    ),
    "json": Target(json_text, lambda: _JSON),
    "sse": Target(sse, lambda: _SSE),
    "mcp-line": Target(mcp_line, lambda: _MCP),
    "hook": Target(hook, _hook_seeds),
}

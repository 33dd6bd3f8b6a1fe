"""Bodies that are too large, too deep, too slow or not what they should be: clear answers, and the gate goes on."""

import asyncio
import json
from collections.abc import AsyncIterator

import httpx
import pytest

from aileron_tui.gate import server
from aileron_tui.gate.http_limits import HttpLimits
from tests.gate.conftest import Bench, until
from tests.gate.house import DRAFT, SEND, WAITING, House, error_code, house

JSON = {"Content-Type": "application/json"}


def send(bench: Bench, body: bytes, kind: str = "application/json", where: str = SEND) -> httpx.Response:
    """The answer to one body at the agent's or the approver's door."""

    async def main() -> httpx.Response:
        async with house(bench) as at:
            client = at.agent if where == SEND else at.approver
            answer = await client.post(where, content=body, headers={"Content-Type": kind})
            assert (await client.get("/v1/health")).status_code == 200
            assert at.gate.waiting() == []
            return answer

    return until(main())


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "not JSON"),
        (b"\x00\xff\xfe", "not UTF-8"),
        (b"[]", "expected an object"),
        (b'{"args": []}', "at $.args"),
        (b'{"args": null}', "at $.args"),
        (b'{"args": {"draft_id": NaN}}', "NaN"),
        (b'{"args": {"draft_id": "a", "draft_id": "b"}}', "$.args.draft_id"),
        (b'{"args": {"draft_id": "\\ud800"}}', "surrogate"),
        (b'{"args": {"a": ' + b"[" * 40 + b"]" * 40 + b"}}", "deeper than 32"),
        (b'{"args": {"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}", "deeper"),
        (b'{"args": {"a": [' + b"1," * 30_000 + b"1]}}", "more than 20,000 values"),
        (b'{"arguments": {}}', '"arguments"'),
        (b'{"args": {}, "approve": true, "yes": 1}', '"approve", "yes"'),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_body_that_is_not_a_call(bench: Bench, body: bytes, words: str) -> None:
    answer = send(bench, body)
    assert (answer.status_code, error_code(answer)) == (400, "invalid_body")
    assert words in answer.json()["error"]["message"]


def test_a_call_without_a_body_is_one_without_arguments(bench: Bench) -> None:
    answer = send(bench, b"")
    assert (answer.status_code, error_code(answer)) == (422, "invalid_inputs")


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_only_json_is_taken(bench: Bench, kind: str) -> None:
    """What a web page could send without asking first is not JSON."""
    answer = send(bench, json.dumps(DRAFT).encode(), kind)
    assert (answer.status_code, error_code(answer)) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    ("where", "body"),
    [
        (f"{WAITING}/act-1/decide", {"approved": True, "force": True}),
        (f"{WAITING}/batch/decide", {"items": [], "all": True}),
        (f"{WAITING}/act-1/refresh", {"edits": {}}),
        ("/v1/approver/session", {"challenge": "", "keyid": "", "signature": "", "role": "admin"}),
    ],
)
def test_fields_nobody_knows_are_named(bench: Bench, where: str, body: dict[str, object]) -> None:
    answer = send(bench, json.dumps(body).encode(), where=where)
    assert (answer.status_code, error_code(answer)) == (400, "invalid_body")
    assert "unknown field" in answer.json()["error"]["message"]


def test_unknown_parameters_are_named(bench: Bench) -> None:
    async def main() -> None:
        async with house(bench) as at:
            for client, where in ((at.agent, "/v1/actions"), (at.approver, "/v1/history"), (at.approver, WAITING)):
                answer = await client.get(where, params={"debug": "1"})
                assert (answer.status_code, error_code(answer)) == (400, "invalid_query")
                assert '"debug"' in answer.json()["error"]["message"]

    until(main())


def test_ten_megabytes_are_too_many(bench: Bench) -> None:
    answer = send(bench, b'{"args": {"draft_id": "' + b"x" * 10_000_000 + b'"}}')
    assert (answer.status_code, error_code(answer)) == (413, "body_too_large")
    assert "1,048,576" in answer.json()["error"]["message"]


def test_nor_may_they_come_in_pieces(bench: Bench) -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield b'{"args": {"draft_id": "'
        for _ in range(64):
            yield b"x" * 65_536

    async def main() -> None:
        async with house(bench) as at:
            answer = await at.agent.post(SEND, content=endless(), headers=JSON)
            assert (answer.status_code, error_code(answer)) == (413, "body_too_large")

    until(main())


def head(at: House, length: int) -> bytes:
    return (
        f"POST {SEND} HTTP/1.1\r\nHost: 127.0.0.1:{at.port}\r\nAuthorization: Bearer {at.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


def test_a_body_that_never_ends_is_not_waited_for(bench: Bench) -> None:
    async def main() -> None:
        async with house(bench, HttpLimits(body_seconds=0.2)) as at:
            answer = await at.raw(head(at, 100) + b'{"args"')
            assert answer.startswith(b"HTTP/1.1 408")
            assert b"request_timeout" in answer

    until(main())


def test_nor_a_head(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_HEADER_TIMEOUT_SECONDS", 0.2)

    async def main() -> None:
        async with house(bench) as at:
            reader, writer = await asyncio.open_connection("127.0.0.1", at.port)
            writer.write(b"GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % at.port)
            assert b" 200 " in await reader.readline()
            await asyncio.sleep(0.4)  # between two requests a connection may rest
            writer.write(b"GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % at.port)
            with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
                await asyncio.wait_for(reader.readuntil(b"never"), 3)
            writer.close()
            assert await at.raw(b"GET /v1", seconds=3) == b""

    until(main())


@pytest.mark.parametrize(
    "bad",
    [
        b"Content-Length: -1",
        b"Content-Length: x",
        b"Content-Length: 1\r\nContent-Length: 2",
        b"Transfer-Encoding: gzip",
        b"X-Long: " + b"x" * 100_000,
        b"X Bad: 1",
    ],
    ids=lambda value: repr(value)[:30],
)
def test_broken_heads_are_refused(bench: Bench, bad: bytes) -> None:
    async def main() -> None:
        async with house(bench) as at:
            answer = await at.raw(
                b"POST %b HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n%b\r\n\r\n"
                % (SEND.encode(), at.port, bad)
            )
            assert answer[:10] in (b"HTTP/1.1 4", b"HTTP/1.1 5", b"")
            assert (await at.agent.get("/v1/health")).status_code == 200

    until(main())


def test_a_name_an_agent_gives_itself_is_bounded(bench: Bench) -> None:
    async def main() -> None:
        async with house(bench) as at:
            answer = await at.agent.post(SEND, json=DRAFT, headers={"X-Aileron-Agent": "x" * 201})
            assert (answer.status_code, error_code(answer)) == (400, "invalid_header")
            name = {"X-Aileron-Agent": "zoë 1".encode(), "X-Aileron-Session-Id": b"s-9", "X-Aileron-Folder": b"/src"}
            pairs = [(key.encode(), value) for key, value in name.items()]
            answer = await at.agent.post(SEND, json=DRAFT, headers=pairs)
            item = await at.item(answer.json()["approval_id"])
            assert item["prompt"]["asker"] == {"agent": "zoë 1", "session": "s-9", "folder": "/src"}
            assert item["session_id"] == "s-9"

    until(main())

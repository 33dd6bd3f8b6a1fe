"""Bodies that are too large, too deep, too slow or malformed get a clear error, and the gate keeps working."""

import asyncio
import json
from collections.abc import AsyncIterator

import httpx
import pytest

from aileron_tui.gate.http_limits import HttpLimits
from tests.gate.conftest import GateEnv, run_async
from tests.gate.served_gate import DRAFT, SEND, WAITING, ServedGate, error_code, served_gate

JSON = {"Content-Type": "application/json"}


def send(env: GateEnv, body: bytes, kind: str = "application/json", where: str = SEND) -> httpx.Response:
    """The answer to one body at the agent's or the approver's door."""

    async def main() -> httpx.Response:
        async with served_gate(env) as served:
            client = served.agent if where == SEND else served.approver
            answer = await client.post(where, content=body, headers={"Content-Type": kind})
            assert (await client.get("/v1/health")).status_code == 200
            assert served.gate.waiting() == []
            return answer

    return run_async(main())


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
def test_a_body_that_is_not_a_call(env: GateEnv, body: bytes, words: str) -> None:
    answer = send(env, body)
    assert (answer.status_code, error_code(answer)) == (400, "invalid_body")
    assert words in answer.json()["error"]["message"]


def test_a_call_without_a_body_has_no_arguments(env: GateEnv) -> None:
    answer = send(env, b"")
    assert (answer.status_code, error_code(answer)) == (422, "invalid_inputs")


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_only_json_is_accepted(env: GateEnv, kind: str) -> None:
    """What a web page could send without asking first is not JSON."""
    answer = send(env, json.dumps(DRAFT).encode(), kind)
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
def test_unknown_fields_are_named(env: GateEnv, where: str, body: dict[str, object]) -> None:
    answer = send(env, json.dumps(body).encode(), where=where)
    assert (answer.status_code, error_code(answer)) == (400, "invalid_body")
    assert "unknown field" in answer.json()["error"]["message"]


def test_unknown_parameters_are_named(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            for client, where in (
                (served.agent, "/v1/actions"),
                (served.approver, "/v1/history"),
                (served.approver, WAITING),
            ):
                answer = await client.get(where, params={"debug": "1"})
                assert (answer.status_code, error_code(answer)) == (400, "invalid_query")
                assert '"debug"' in answer.json()["error"]["message"]

    run_async(main())


def test_a_body_of_ten_megabytes_is_refused(env: GateEnv) -> None:
    answer = send(env, b'{"args": {"draft_id": "' + b"x" * 10_000_000 + b'"}}')
    assert (answer.status_code, error_code(answer)) == (413, "body_too_large")
    assert "1,048,576" in answer.json()["error"]["message"]


def test_a_chunked_body_that_is_too_large_is_refused(env: GateEnv) -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield b'{"args": {"draft_id": "'
        for _ in range(64):
            yield b"x" * 65_536

    async def main() -> None:
        async with served_gate(env) as served:
            answer = await served.agent.post(SEND, content=endless(), headers=JSON)
            assert (answer.status_code, error_code(answer)) == (413, "body_too_large")

    run_async(main())


def head(served: ServedGate, length: int) -> bytes:
    return (
        f"POST {SEND} HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nAuthorization: Bearer {served.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


def test_a_body_that_never_ends_times_out(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env, HttpLimits(body_seconds=0.2)) as served:
            answer = await served.raw(head(served, 100) + b'{"args"')
            assert answer.startswith(b"HTTP/1.1 408")
            assert b"request_timeout" in answer

    run_async(main())


def test_headers_that_never_end_time_out(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env, HttpLimits(header_seconds=0.2)) as served:
            reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
            writer.write(b"GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % served.port)
            assert b" 200 " in await reader.readline()
            await asyncio.sleep(0.4)  # between two requests a connection may rest
            writer.write(b"GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % served.port)
            with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
                await asyncio.wait_for(reader.readuntil(b"never"), 3)
            writer.close()
            assert await served.raw(b"GET /v1", seconds=3) == b""

    run_async(main())


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
def test_malformed_headers_are_refused(env: GateEnv, bad: bytes) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            answer = await served.raw(
                b"POST %b HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n%b\r\n\r\n"
                % (SEND.encode(), served.port, bad)
            )
            assert answer[:10] in (b"HTTP/1.1 4", b"HTTP/1.1 5", b"")
            assert (await served.agent.get("/v1/health")).status_code == 200

    run_async(main())


def test_the_length_of_an_agent_name_is_limited(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            answer = await served.agent.post(SEND, json=DRAFT, headers={"X-Aileron-Agent": "x" * 201})
            assert (answer.status_code, error_code(answer)) == (400, "invalid_header")
            name = {"X-Aileron-Agent": "zoë 1".encode(), "X-Aileron-Session-Id": b"s-9", "X-Aileron-Folder": b"/src"}
            pairs = [(key.encode(), value) for key, value in name.items()]
            answer = await served.agent.post(SEND, json=DRAFT, headers=pairs)
            item = await served.previewed_request(answer.json()["approval_id"])
            assert item["prompt"]["asker"] == {"agent": "zoë 1", "session": "s-9", "folder": "/src", "says": ""}
            assert item["session_id"] == "s-9"

    run_async(main())

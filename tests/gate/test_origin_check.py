"""What is refused before the caller is identified: other hosts, web pages, and tricks in paths."""

import pytest

from aileron_tui.gate.http_request import Refusal
from aileron_tui.gate.origin_check import OriginCheck, is_loopback, path_segments
from tests.gate.conftest import GateEnv, run_async
from tests.gate.served_gate import SEND, WAITING, ServedGate, error_code, served_gate


def headers(*pairs: tuple[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in pairs]


@pytest.mark.parametrize("host", ["127.0.0.1:8722", "localhost:8722", "LOCALHOST:8722", "[::1]:8722"])
def test_its_own_host_names_are_accepted(host: str) -> None:
    OriginCheck("127.0.0.1", 8722).check(headers(("host", host), ("origin", f"http://{host}")))


@pytest.mark.parametrize(
    "host",
    [
        "attacker.example:8722",
        "127.0.0.1.attacker.example:8722",
        "localhost.attacker.example:8722",
        "127.0.0.1",
        "127.0.0.1:80",
        "127.0.0.1:8722@attacker.example",
        "attacker.example@127.0.0.1:8722",
        "192.168.0.7:8722",
        "0.0.0.0:8722",
        "",
        "[::1",
        "127.0.0.1:8722, attacker.example",
    ],
)
def test_other_host_names_are_refused(host: str) -> None:
    with pytest.raises(Refusal) as refused:
        OriginCheck("127.0.0.1", 8722).check(headers(("host", host)))
    assert refused.value.reply.status == 403


def test_bound_to_all_addresses_it_accepts_addresses_but_not_names() -> None:
    border = OriginCheck("0.0.0.0", 8722)
    border.check(headers(("host", "192.168.0.7:8722")))
    with pytest.raises(Refusal):
        border.check(headers(("host", "attacker.example:8722")))


@pytest.mark.parametrize(
    "more",
    [
        ("origin", "http://attacker.example"),
        ("origin", "null"),
        ("origin", "https://127.0.0.1:8722"),
        ("origin", "http://127.0.0.1:8723"),
        ("origin", ""),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ],
)
def test_web_pages_are_refused(more: tuple[str, str]) -> None:
    with pytest.raises(Refusal) as refused:
        OriginCheck("127.0.0.1", 8722).check(headers(("host", "127.0.0.1:8722"), more))
    assert refused.value.reply.status == 403


def test_a_header_sent_twice_is_refused() -> None:
    with pytest.raises(Refusal) as refused:
        OriginCheck("127.0.0.1", 8722).check(headers(("host", "127.0.0.1:8722"), ("host", "attacker.example")))
    assert refused.value.reply.status == 400


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "::1"])
def test_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.1", "::", "example.com", "127.attacker.example", ""])
def test_not_loopback(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    "trick",
    [
        b"/v1/actions/../action-approvals",
        b"/v1/actions/..",
        b"/v1/actions/%2e%2e/status",
        b"/v1/actions/send%2Ddraft",
        b"/v1/action-approvals/x%2Fdecide",
        b"/v1//actions",
        b"/v1/actions/",
        b"//v1/actions",
        b"/v1/actions/a\\b",
        b"/v1/actions/a;b",
        b"/v1/actions/" + b"a" * 129,
        b"/v1/actions/\xc3\xa9",
        b"/v1/actions/a%00",
        b"*",
        b"http://127.0.0.1/v1/actions",
        b"",
    ],
)
def test_odd_paths_are_refused(trick: bytes) -> None:
    assert path_segments(trick) is None


def test_the_origin_is_checked_for_every_route(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            for client in (served.agent, served.approver, served.anonymous):
                for where in ("/v1/health", WAITING, "/v1/actions"):
                    rebound = await client.get(where, headers={"Host": f"attacker.example:{served.port}"})
                    assert (rebound.status_code, error_code(rebound)) == (403, "forbidden_host")
                    crossed = await client.get(where, headers={"Origin": "http://attacker.example"})
                    assert (crossed.status_code, error_code(crossed)) == (403, "forbidden_origin")

    run_async(main())


def test_preflight_requests_are_refused(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            ask = {"Origin": served.url, "Access-Control-Request-Method": "POST"}
            for client in (served.agent, served.anonymous):
                answers = [
                    await client.options(SEND, headers=ask),
                    await client.get("/v1/health", headers={"Origin": served.url}),
                ]
                assert [answer.status_code for answer in answers] == [405, 200]
                for answer in answers:
                    assert not [name for name in answer.headers if name.startswith("access-control")]

    run_async(main())


def test_other_methods_are_refused(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            for method, where in (("DELETE", WAITING), ("PUT", "/v1/status"), ("HEAD", "/v1/history")):
                answer = await served.approver.request(method, where)
                assert answer.status_code == 405
                assert answer.headers["allow"] == "GET"
            assert (await served.agent.get(SEND)).status_code == 403

    run_async(main())


TRICKS = [
    b"/v1/actions/../action-approvals",
    b"/v1/actions/%2e%2e/action-approvals",
    b"/v1/actions/x/../../action-approvals",
    b"/v1/actions/..%2faction-approvals",
    b"//v1/action-approvals",
    b"/v1/./action-approvals",
    b"/v1/action-approvals/",
    b"/V1/ACTION-APPROVALS",
]


@pytest.mark.parametrize("trick", TRICKS)
def test_tricks_in_paths_reach_no_route(env: GateEnv, trick: bytes) -> None:
    async def ask(served: ServedGate, authorization: str) -> bytes:
        head = b"GET %b HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: %b\r\nConnection: close\r\n\r\n"
        return (await served.raw(head % (trick, served.port, authorization.encode()))).split(b"\r\n")[0]

    async def main() -> None:
        async with served_gate(env) as served:
            assert b" 403 " in await ask(served, served.agent.headers["Authorization"])
            assert b" 404 " in await ask(served, served.approver.headers["Authorization"])

    run_async(main())


def test_websocket_upgrades_are_refused(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            head = (
                b"GET /v1/action-approvals/watch HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: Upgrade, close\r\n"
                b"Upgrade: websocket\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
                b"Sec-WebSocket-Version: 13\r\n\r\n"
            )
            answer = await served.raw(head % served.port)
            assert answer.startswith(b"HTTP/1.1 401")

    run_async(main())

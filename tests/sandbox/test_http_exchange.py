"""Real HTTP requests: redirects, headers, sizes, slow and broken responses."""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import quote

import pytest

from aileron_tui.sandbox.failure import CRASHED, FailureKind
from tests.sandbox import guests, packages
from tests.sandbox.conftest import Runner
from tests.sandbox.upstream import Upstream

TOKEN = "token-0123456789"


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_TOKEN", TOKEN)


def get(url: str, **more: object) -> bytes:
    return guests.http_guest({"url": url, **more})


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/huge", "the response from {host_port} is larger than 8 MiB"),
        ("/endless", "the response from {host_port} is larger than 8 MiB"),
        ("/gzip", "{host_port} sent a compressed response that is damaged"),
        ("/packed?how=br", "{host_port} used a content encoding that was not requested"),
        ("/packed?how=gzip,+gzip", "{host_port} used a content encoding that was not requested"),
        ("/bomb", "the response from {host_port} is larger than 8 MiB"),
        ("/not/http", "{host_port} did not send a complete response"),
        ("/hang/up", "{host_port} did not send a complete response"),
        ("/cut", "{host_port} did not send a complete response"),
        ("/many/headers", "{host_port} did not send a complete response"),
        ("/loop", "{host_port} redirects too many times"),
        ("/garbage", CRASHED),
        ("/binary", CRASHED),
    ],
)
def test_bad_responses_give_one_clear_line(line: Callable[..., str], service: Upstream, path: str, reason: str) -> None:
    assert line(get(service.url(path)), service.host_port) == reason.format(host_port=service.host_port)
    assert line(get(service.url("/draft")), service.host_port) == ""


def test_the_content_length_of_a_head_response_is_ignored(line: Callable[..., str], service: Upstream) -> None:
    request = json.dumps({"url": service.url("/huge"), "method": "HEAD"}).encode()
    assert line(guests.guest("(drop (call $request {p0} {n0}))", (request,)), service.host_port) == ""


def test_a_closed_port(line: Callable[..., str]) -> None:
    assert line(get("http://127.0.0.1:1/"), "127.0.0.1:1") == "cannot reach 127.0.0.1:1"


@pytest.mark.parametrize("path", ["/slow", "/drip", "/drip/headers"])
def test_the_deadline_covers_the_whole_response(runner: Runner, service: Upstream, path: str) -> None:
    runner.limits = replace(runner.limits, preview_seconds=0.5)
    began = time.monotonic()
    assert runner.preview(get(service.url(path)), service.host_port).result.unavailable == "timeout"
    assert 0.4 < time.monotonic() - began < 1.5
    runner.limits = replace(runner.limits, preview_seconds=3)
    assert not runner.preview(get(service.url("/draft")), service.host_port).result.unavailable


def test_a_guest_that_goes_on_after_the_deadline_is_stopped(runner: Runner, service: Upstream) -> None:
    runner.limits = replace(runner.limits, preview_seconds=0.3)
    request = json.dumps({"url": service.url("/slow")}).encode()
    stubborn = guests.guest("(loop $l (drop (call $request {p0} {n0})) (br $l))", (request,))
    began = time.monotonic()
    assert runner.preview(stubborn, service.host_port).result.unavailable == "timeout"
    assert time.monotonic() - began < 1.5


def test_a_redirect_within_the_grant_is_followed(runner: Runner, service: Upstream, other_service: Upstream) -> None:
    wasm = get(service.url("/redirect?to=" + quote(other_service.url("/draft"), safe="")))
    outcome = runner.preview(wasm, service.host_port, other_service.host_port)
    assert outcome.result.rows[0].value == "team@example.com"


def test_a_redirect_out_of_the_grant_is_refused(
    line: Callable[..., str], service: Upstream, other_service: Upstream
) -> None:
    wasm = get(service.url("/redirect?to=" + quote(other_service.url("/draft"), safe="")))
    assert line(wasm, service.host_port) == f"the connector may not reach {other_service.host_port}"
    assert not other_service.received
    assert line(get(service.url("/redirect?to=https://evil.example/")), service.host_port) == (
        "the connector may not reach evil.example:443"
    )


def test_a_credential_does_not_cross_to_another_origin(
    runner: Runner, service: Upstream, other_service: Upstream
) -> None:
    there = quote(other_service.url("/draft"), safe="")
    same = get(service.url("/redirect?to=/draft"), credential="oauth2")
    across = get(service.url(f"/redirect?to={there}"), credential="oauth2", headers={"Cookie": "a=b", "X-Other": "c"})
    runner.preview(same, service.host_port, credential=packages.OAUTH2)
    runner.preview(across, service.host_port, other_service.host_port, credential=packages.OAUTH2)
    assert [asked.headers.get("Authorization") for asked in service.received] == [f"Bearer {TOKEN}"] * 3
    assert "Authorization" not in other_service.received[0].headers
    assert "Cookie" not in other_service.received[0].headers
    assert other_service.received[0].headers["X-Other"] == "c"


def test_an_api_key_does_not_cross_to_another_origin(
    runner: Runner, service: Upstream, other_service: Upstream
) -> None:
    wasm = get(
        service.url("/redirect?to=" + quote(other_service.url("/draft"), safe="")),
        credential="api_key",
        headers={"x-api-key": "from the guest"},
    )
    runner.preview(wasm, service.host_port, other_service.host_port, credential=packages.API_KEY)
    assert service.received[0].headers["X-Api-Key"] == f"Key {TOKEN}"
    assert "X-Api-Key" not in other_service.received[0].headers
    assert "x-api-key" not in other_service.received[0].headers


@pytest.mark.parametrize(
    ("code", "method", "arrives"),
    [
        (301, "POST", ("GET", b"")),
        (302, "PUT", ("GET", b"")),
        (303, "POST", ("GET", b"")),
        (307, "POST", ("POST", b"text")),
        (308, "PATCH", ("PATCH", b"text")),
        (303, "HEAD", ("HEAD", b"")),
    ],
)
def test_methods_after_a_redirect(
    runner: Runner, service: Upstream, code: int, method: str, arrives: tuple[str, bytes]
) -> None:
    sent = "" if method == "HEAD" else "text"
    request = {"url": service.url(f"/redirect?code={code}&to=/draft"), "method": method, "body": sent}
    runner.execute(guests.http_guest(request), service.host_port)
    assert service.received[0].method == method
    assert (service.received[1].method, service.received[1].body) == arrives


def test_framing_and_routing_headers_are_set_by_the_host(runner: Runner, service: Upstream) -> None:
    headers = {"Host": "evil.example", "Content-Length": "3", "Transfer-Encoding": "chunked", "Accept-Encoding": "br"}
    runner.execute(get(service.url("/echo"), method="POST", body="hello", headers=headers), service.host_port)
    asked = service.received[0]
    assert asked.body == b"hello"
    assert asked.headers["Host"] == service.host_port
    assert asked.headers["Accept-Encoding"] == "gzip"
    assert "Transfer-Encoding" not in asked.headers


@pytest.mark.parametrize(
    "headers",
    [{"A": "b\r\nEvil: yes"}, {"A": "b\0"}, {"A b": "c"}, {"": "c"}, {"A": "é"}, {"A\n": "c"}, {"A": "x" * 40_000}],
)
def test_headers_that_could_smuggle_requests_are_refused(
    line: Callable[..., str], service: Upstream, headers: dict[str, str]
) -> None:
    assert line(get(service.url("/echo"), headers=headers), service.host_port).startswith(
        "the connector's request was refused: the request has"
    )
    assert not service.received


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "G ET", "GET\r\n", ""])
def test_forbidden_methods(line: Callable[..., str], service: Upstream, method: str) -> None:
    expected = "" if not method else "the connector's request was refused: the method is not allowed"
    assert line(get(service.url("/draft"), method=method), service.host_port) == expected


def test_a_large_request_is_refused(runner: Runner, service: Upstream) -> None:
    runner.limits = replace(runner.limits, request=1000)
    outcome = runner.execute(get(service.url("/echo"), method="POST", body="x" * 1001), service.host_port)
    assert outcome.failure is not None
    assert outcome.failure.kind == FailureKind.RESOURCE_LIMIT_EXCEEDED
    assert not service.received


def test_a_preview_only_reads(runner: Runner, service: Upstream) -> None:
    wasm = get(service.url("/draft"), method="POST", body="{}")
    assert (
        runner.preview(wasm, service.host_port).result.unavailable
        == "the preview tried to POST; previews may only read"
    )
    assert not service.received
    runner.limits = replace(runner.limits, preview_methods=frozenset({"GET", "POST"}))
    assert not runner.preview(wasm, service.host_port).result.unavailable


def test_proxy_variables_are_ignored(
    runner: Runner, service: Upstream, other_service: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, other_service.url(""))
    assert not runner.preview(get(service.url("/draft")), service.host_port).result.unavailable
    assert not other_service.received


def test_a_pooled_connection_that_the_peer_closed_is_replaced(runner: Runner, service: Upstream) -> None:
    package = packages.package(get(service.url("/draft")), [service.host_port])
    with runner.sandbox(package) as box:
        for _ in range(3):
            outcome = box.preview(box.resolve(packages.action(package), {"draft_id": "x"}))
            assert outcome is not None
            assert not outcome.result.unavailable
    assert len(service.received) == 3

"""Proxies: https goes through a tunnel to exactly the granted host, and a proxy that lies gets nowhere."""

import base64
import time
from dataclasses import replace
from pathlib import Path

import pytest

from aileron_tui.core.proxy_settings import ProxySettings, read_proxy_settings
from aileron_tui.files.certificate_trust import CertificateTrust
from aileron_tui.sandbox.network import UpstreamClient
from tests.packages.https_server import Authority, lying_proxy, make_authority
from tests.sandbox import guests, packages
from tests.sandbox.conftest import Runner
from tests.sandbox.tunnel_proxy import tunnel_proxy
from tests.sandbox.upstream import upstream

HOST = "mail.example:443"
SECRET = "proxy-password-4711"
TOKEN = "token-0123456789"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return make_authority(tmp_path_factory.mktemp("authority"), "mail.example")


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_TOKEN", TOKEN)


def nowhere(host: str, port: int) -> list[str]:
    raise OSError(f"{host}:{port} must not be resolved here")


def client(authority: Authority, **environment: str) -> UpstreamClient:
    return UpstreamClient(
        nowhere, trust=CertificateTrust(str(authority.ca_file)), proxies=read_proxy_settings(environment)
    )


def get(path: str = "/draft", scheme: str = "https", **more: str) -> bytes:
    return guests.http_guest({"url": f"{scheme}://mail.example{path}", **more})


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"])
def test_https_goes_through_the_proxy(runner: Runner, authority: Authority, variable: str) -> None:
    with upstream(authority.context()) as service, tunnel_proxy(service.port) as proxy:
        runner.client = client(authority, **{variable: f"http://{proxy.name}"})
        outcome = runner.preview(get(credential="oauth2"), HOST, credential=packages.OAUTH2)
        assert outcome.result.rows[0].value == "team@example.com"
    assert proxy.asked == [b"CONNECT mail.example:443 HTTP/1.1\r\nHost: mail.example:443\r\n\r\n"]
    assert service.received[0].headers["Authorization"] == f"Bearer {TOKEN}"


def test_the_proxy_gets_its_own_password_and_the_service_does_not(runner: Runner, authority: Authority) -> None:
    with upstream(authority.context()) as service, tunnel_proxy(service.port) as proxy:
        runner.client = client(authority, HTTPS_PROXY=f"http://us%40er:{SECRET}@{proxy.name}/")
        outcome = runner.preview(get("/echo"), HOST)
        assert not outcome.failure
    login = base64.b64encode(f"us@er:{SECRET}".encode())
    assert b"Proxy-Authorization: Basic " + login + b"\r\n" in proxy.asked[0]
    assert not any(name.lower().startswith("proxy-") for name in service.received[0].headers)


def test_a_host_outside_the_grant_is_refused_before_the_proxy_hears_of_it(runner: Runner, authority: Authority) -> None:
    with upstream(authority.context()) as service, tunnel_proxy(service.port) as proxy:
        runner.client = client(authority, HTTPS_PROXY=f"http://{proxy.name}")
        reason = runner.preview(get(), "other.example:443").result.unavailable
        redirected = runner.preview(get("/redirect?to=https://evil.example/"), HOST).result.unavailable
    assert reason == "the connector may not reach mail.example:443"
    assert redirected == "the connector may not reach evil.example:443"
    assert [b"evil" in asked for asked in proxy.asked] == [False]


def test_this_machine_and_addresses_are_never_reached_through_a_proxy(runner: Runner, authority: Authority) -> None:
    with upstream(authority.context()) as service, tunnel_proxy(service.port) as proxy:
        runner.client = client(authority, HTTPS_PROXY=f"http://{proxy.name}", HTTP_PROXY=f"http://{proxy.name}")
        for host in ("127.0.0.1", "localhost"):
            host_port = f"{host}:{service.port}"
            assert not runner.preview(guests.http_guest({"url": f"https://{host_port}/draft"}), host_port).failure
        runner.limits = replace(runner.limits, preview_seconds=0.5)
        outcome = runner.preview(guests.http_guest({"url": "https://192.0.2.1/"}), "192.0.2.1:443")
    assert outcome.failure
    assert proxy.asked == []


def test_no_proxy_is_honoured(runner: Runner, authority: Authority) -> None:
    with upstream(authority.context()) as service, tunnel_proxy(service.port) as proxy:
        runner.client = client(authority, HTTPS_PROXY=f"http://{proxy.name}", no_proxy="a.example, .example")
        assert runner.preview(get(), HOST).result.unavailable == "cannot reach mail.example:443"
    assert proxy.asked == []


def test_http_is_not_sent_through_a_proxy(runner: Runner, authority: Authority) -> None:
    with upstream() as service, tunnel_proxy(service.port) as proxy:
        runner.client = client(authority, http_proxy=f"http://{proxy.name}")
        reason = runner.preview(get(scheme="http"), "mail.example:80").result.unavailable
    assert reason == (
        "the connector may not use http for mail.example:80: only https is sent through the proxy in http_proxy"
    )
    assert proxy.asked == []
    assert not service.received


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"HTTP/1.1 407 Proxy\x1b[2J Authentication\r\n\r\n", "it did not accept the user name and password"),
        (b"HTTP/1.1 302 Found\r\nLocation: https://evil.example/\r\n\r\n", "it answered 302"),
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\n<html>", "it answered 502"),
        (b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\nfake", "it sent something in the name of the host"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "its answer is not valid"),
        (b"HTTP/1.1 abc\r\n\r\n", "its answer is not valid"),
        (b"HTTP/1.1 200 OK\r\n" + b"X-Long: " + b"x" * 20_000, "its answer is not valid"),
        (b"HTTP/1.1 200 OK\r\n", "it closed the connection"),
        (b"", "it closed the connection"),
    ],
)
def test_a_proxy_that_lies_is_named_and_nothing_is_sent(
    runner: Runner, authority: Authority, answer: bytes, reason: str
) -> None:
    with lying_proxy(answer) as port:
        runner.client = client(authority, HTTPS_PROXY=f"http://user:{SECRET}@127.0.0.1:{port}")
        wasm = get(method="POST", body="x", credential="oauth2")
        failure = runner.execute(wasm, HOST, credential=packages.OAUTH2).failure
    assert failure is not None
    assert failure.reason == f"cannot reach mail.example:443 through the proxy 127.0.0.1:{port}: {reason}"
    assert not failure.outcome_unknown
    assert SECRET not in f"{failure} {failure.envelope()}"


def test_a_proxy_that_asks_for_a_password(runner: Runner, authority: Authority) -> None:
    with lying_proxy(b"HTTP/1.1 407 No\r\n\r\n") as port:
        runner.client = client(authority, HTTPS_PROXY=f"127.0.0.1:{port}")
        reason = runner.preview(get(), HOST).result.unavailable
    assert reason.endswith("it asks for a user name and a password")


def test_a_proxy_cannot_pretend_to_be_the_host(runner: Runner, authority: Authority, tmp_path: Path) -> None:
    tls = make_authority(tmp_path, "mail.example").context()
    with lying_proxy(b"HTTP/1.1 200 OK\r\n\r\n", tls) as port:
        runner.client = client(authority, HTTPS_PROXY=f"http://127.0.0.1:{port}")
        reason = runner.preview(get(), HOST).result.unavailable
    assert reason == (f"cannot reach mail.example:443 through the proxy 127.0.0.1:{port}: its certificate is not valid")


def test_a_proxy_with_the_certificate_of_another_host(runner: Runner, authority: Authority) -> None:
    with upstream(authority.context()) as service, tunnel_proxy(service.port) as proxy:
        runner.client = client(authority, HTTPS_PROXY=f"http://{proxy.name}")
        reason = runner.preview(guests.http_guest({"url": "https://bank.example/"}), "bank.example:443")
    assert reason.result.unavailable == (
        f"cannot reach bank.example:443 through the proxy {proxy.name}: its certificate is not valid"
    )
    assert not service.received


def test_a_proxy_that_is_slow_counts_against_the_one_deadline(runner: Runner, authority: Authority) -> None:
    runner.limits = replace(runner.limits, preview_seconds=0.5)
    with lying_proxy(b"HTTP/1.1 200 OK\r\n", hold=True) as port:
        runner.client = client(authority, HTTPS_PROXY=f"http://127.0.0.1:{port}")
        began = time.monotonic()
        outcome = runner.preview(get(), HOST)
    assert outcome.result.unavailable == "timeout"
    assert time.monotonic() - began < 3


def test_nobody_listens_at_the_proxy(runner: Runner, authority: Authority) -> None:
    runner.client = client(authority, HTTPS_PROXY="http://127.0.0.1:1")
    reason = runner.preview(get(), HOST).result.unavailable
    assert reason == "cannot reach mail.example:443 through the proxy 127.0.0.1:1"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("socks5://proxy.example:1080", "socks5:// proxies are not supported, only http://"),
        ("https://proxy.example", "https:// proxies are not supported, only http://"),
        ("http://", "its address is not valid"),
        ("http://proxy.example:99999", "its address is not valid"),
        (f"http://user:{SECRET}%0d%0a@proxy.example", "its user name or password is not valid"),
    ],
)
def test_a_proxy_that_cannot_be_used(runner: Runner, authority: Authority, value: str, reason: str) -> None:
    runner.client = client(authority, HTTPS_PROXY=value)
    assert runner.preview(get(), HOST).result.unavailable == f"cannot use the proxy in HTTPS_PROXY: {reason}"


def test_a_pooled_tunnel_is_used_again_only_for_its_host(runner: Runner, authority: Authority) -> None:
    with upstream(authority.context()) as service, tunnel_proxy(service.port) as proxy:
        runner.client = client(authority, HTTPS_PROXY=f"http://{proxy.name}")
        for _ in range(3):
            assert not runner.preview(get(), HOST).failure
            runner.preview(guests.http_guest({"url": "https://bank.example/"}), "bank.example:443")
        runner.client.close()
    assert sum(b"CONNECT mail" in asked for asked in proxy.asked) <= 3
    assert len(service.received) == 3


def test_without_settings_no_proxy_is_used() -> None:
    assert ProxySettings().proxy_for("mail.example", 443) is None

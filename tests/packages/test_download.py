"""Downloads: only https, only the host that was named, only so much and so long, and no lies."""

import ssl
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from aileron_tui.packages.download import Download, DownloadError, DownloadRules, download
from tests.packages.https_server import (
    Authority,
    HttpsServer,
    Reply,
    Write,
    https_server,
    lying_proxy,
    make_authority,
)

RULES = DownloadRules(seconds=20, idle_seconds=10, largest=10_000)
PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy", "HTTP_PROXY", "http_proxy")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return make_authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def server(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Iterator[HttpsServer]:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.ca_file))
    with https_server(authority) as running:
        yield running


def refusal(address: str, rules: DownloadRules = RULES) -> DownloadError:
    with pytest.raises(DownloadError) as refused:
        download(address, rules)
    return refused.value


def test_a_file_is_downloaded_with_progress(server: HttpsServer) -> None:
    server.files["/x.tar.gz"] = b"y" * 5000
    told: list[tuple[int, int | None]] = []
    fetched = download(server.url("/x.tar.gz"), RULES, lambda size, expected: told.append((size, expected)))
    assert fetched == Download(b"y" * 5000, server.url("/x.tar.gz"))
    assert told[-1] == (5000, 5000)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("http://127.0.0.1/x", "only https addresses are allowed"),
        ("ftp://127.0.0.1/x", "ftp: is neither http: nor https:"),
        ("https://user:secret@127.0.0.1/x", "it contains a user name"),
        ("https:///x", "it has no host"),
        ("https://exam ple/x", "it contains a space or control character"),
        ("https://127.0.0.1:99999/x", "its port is not a number from 1 to 65535"),
    ],
)
def test_addresses_that_are_not_https_are_refused(address: str, reason: str) -> None:
    assert refusal(address).detail == reason


def test_an_unknown_authority_and_another_name_are_refused(
    server: HttpsServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(make_authority(tmp_path).ca_file))
    assert refusal(server.url("/x")).detail.startswith(f"the certificate of 127.0.0.1:{server.port} is not valid: ")
    assert not server.asked
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
    assert str(refusal(server.url("/x"))) == (
        f"cannot use SSL_CERT_FILE: {tmp_path / 'missing.pem'}: no such file or directory"
    )


def test_another_host_is_only_followed_if_the_user_says_so(server: HttpsServer) -> None:
    server.files["/x"] = Reply(status=302, headers={"Location": server.url("/y", "localhost")})
    server.files["/y"] = b"here"
    refused = refusal(server.url("/x"))
    there = f"localhost:{server.port}"
    assert refused.detail == f"127.0.0.1:{server.port} redirects to another host, {there}"
    assert refused.hint == f"If you trust {there} to deliver it, run this again with --follow-redirects."
    assert server.asked == ["/x"]
    fetched = download(server.url("/x"), replace(RULES, follow_redirects=True))
    assert fetched == Download(b"here", server.url("/y", "localhost"))


def test_redirects_on_the_same_host_are_followed_but_not_for_ever(server: HttpsServer) -> None:
    server.files["/x"] = Reply(status=301, headers={"Location": "/y"})
    server.files["/y"] = b"here"
    server.files["/loop"] = Reply(status=302, headers={"Location": "/loop"})
    assert download(server.url("/x"), RULES).data == b"here"
    assert refusal(server.url("/loop")).detail == "it was redirected more than 5 times"


@pytest.mark.parametrize("follow", [False, True])
@pytest.mark.parametrize("location", ["http://127.0.0.1:1/x", "file:///etc/passwd", "https://a@b/", ""])
def test_a_redirect_to_something_else_is_never_followed(server: HttpsServer, location: str, follow: bool) -> None:
    server.files["/x"] = Reply(status=302, headers={"Location": location})
    detail = refusal(server.url("/x"), replace(RULES, follow_redirects=follow)).detail
    assert "not encrypted" in detail or "not valid" in detail or "redirected more" in detail


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(status=404), "answered 404"),
        (Reply(status=500), "answered 500"),
        (Reply(status=206, body=b"part"), "answered 206"),
        (Reply(b"<html>", headers={"Content-Type": "Text/HTML; charset=utf-8"}), "sent a web page"),
        (Reply(b"x", headers={"Content-Type": "image/png"}), "sent image/png"),
        (Reply(b"x", headers={"Content-Encoding": "gzip"}), "used the content encoding gzip, which was not requested"),
        (Reply(b"x", headers={"Content-Length": "1000"}), "did not send a complete response"),
    ],
)
def test_an_answer_of_the_wrong_kind_is_refused(server: HttpsServer, reply: Reply, reason: str) -> None:
    server.files["/x"] = reply
    assert refusal(server.url("/x")).detail.startswith(f"127.0.0.1:{server.port} {reason}")


def test_a_large_body_is_refused_whatever_it_declares(server: HttpsServer) -> None:
    server.files["/declared"] = Reply(b"x" * 10_001)

    def endless(write: Write, stopping: threading.Event) -> None:
        write(b"HTTP/1.1 200 OK\r\n\r\n")
        while not stopping.is_set():
            write(b"x" * 65536)

    server.files["/endless"] = Reply(write=endless)
    for path in ("/declared", "/endless"):
        assert refusal(server.url(path)).detail == "it is larger than 0.00953674 MiB"


def test_a_length_that_is_too_small_gives_no_more_than_it_says(server: HttpsServer) -> None:
    server.files["/x"] = Reply(b"x" * 5000, headers={"Content-Length": "10"})
    assert download(server.url("/x"), RULES).data == b"x" * 10


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"])
def test_a_server_that_drips_is_given_up(server: HttpsServer, start: bytes) -> None:
    def drip(write: Write, stopping: threading.Event) -> None:
        write(start)
        while not stopping.wait(0.02):
            write(b"x: y\r\n" if start.endswith(b"OK\r\n") else b"H")

    def silent(write: Write, stopping: threading.Event) -> None:
        write(start)
        stopping.wait(30)

    server.files["/drip"] = Reply(write=drip)
    server.files["/silent"] = Reply(write=silent)
    if start:
        assert refusal(server.url("/drip"), replace(RULES, seconds=0.5)).detail == "it took longer than 0.5 s"
    waited = refusal(server.url("/silent"), replace(RULES, idle_seconds=0.3)).detail
    assert waited == f"127.0.0.1:{server.port} did not answer for 0.3 s"


def test_nobody_listens(server: HttpsServer) -> None:
    refused = refusal("https://127.0.0.1:1/x")
    assert refused.detail.startswith("cannot connect to 127.0.0.1:1: ")
    assert refused.hint == "Check the address and your connection, and try again."


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "the proxy 127.0.0.1:{port} refused: 407"),
        (
            b"HTTP/1.1 502 Bad Gateway\r\n\r\n<html>",
            "the proxy 127.0.0.1:{port} refused: 502",
        ),
        (b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\nfake", "cannot connect to 127.0.0.1:1 through the proxy"),
        (b"not http at all\r\n\r\n", "127.0.0.1:1 did not send a complete response"),
    ],
)
def test_a_proxy_that_lies_is_refused(
    server: HttpsServer, monkeypatch: pytest.MonkeyPatch, answer: bytes, reason: str
) -> None:
    with lying_proxy(answer) as port:
        monkeypatch.setenv("HTTPS_PROXY", f"http://user:secret@127.0.0.1:{port}")
        refused = refusal("https://127.0.0.1:1/x")
    assert refused.detail.startswith(reason.format(port=port))
    assert "secret" not in str(refused)


def test_a_proxy_cannot_pretend_to_be_the_server(
    server: HttpsServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tls: ssl.SSLContext = make_authority(tmp_path).context()
    with lying_proxy(b"HTTP/1.1 200 Connection established\r\n\r\n", tls) as port:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
        detail = refusal(server.url("/x")).detail
    assert detail.startswith(f"the certificate of 127.0.0.1:{server.port} through the proxy 127.0.0.1:{port} is not")


@pytest.mark.parametrize("proxy", ["gopher://proxy.example", "socks5://proxy.example:1080"])
def test_a_proxy_that_cannot_be_used_is_named(server: HttpsServer, monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    assert refusal(server.url("/x")).title.startswith("cannot use the proxy ")

"""Where a connector may connect: tricks in URLs are refused before anything is sent."""

import ipaddress
from collections.abc import Callable, Sequence

import pytest

from aileron_tui.sandbox.failure import CallRefused, FailureKind
from aileron_tui.sandbox.network import UpstreamClient
from aileron_tui.sandbox.network_grant import NetworkGrant, is_public, read_redirect, read_url
from tests.sandbox import guests
from tests.sandbox.conftest import Runner
from tests.sandbox.upstream import Upstream

GRANTED = NetworkGrant(
    ["api.example:443", "127.0.0.1:8080", "[::1]:8080", "localhost:9000", "XN--bcher-kva.example:443"]
)

TRICKS = [
    # another host
    "https://evil.example/",
    "https://api.example.evil.example/",
    "https://evil-api.example/",
    "https://sub.api.example/",
    "https://example/",
    # another port or scheme
    "https://api.example:8443/",
    "http://api.example/",
    "https://api.example:80/",
    "ftp://api.example:443/",
    "file:///etc/passwd",
    "gopher://api.example:443/",
    "javascript:alert(1)",
    "//api.example/",
    "/path",
    "https:api.example",
    "https:/api.example/",
    "https:///api.example/",
    "https://",
    "https://:443/",
    # user names
    "https://api.example@evil.example/",
    "https://api.example:443@evil.example/",
    "https://user@api.example/",
    "https://user:password@api.example/",
    "https://@api.example/",
    "https://api.example%40evil.example/",
    # parsers that disagree
    "https://api.example\\@evil.example/",
    "https://evil.example\\.api.example/",
    "https://evil.example#@api.example/",
    "https://api.example/#fragment",
    "https://evil.example?@api.example/",
    "https://evil.example;@api.example/",
    "https://api.example /",
    " https://api.example/",
    "https://api.example/\n",
    "https://api.ex\tample/",
    "https://api.example/a\r\nHost: evil.example",
    "https://api.example/\x00",
    "https://api.example\u3000/",
    "https://api.example\u2028/",
    # spellings of a host
    "https://api.example./",
    "https://api%2eexample/",
    "https://api。example/",
    "https://аpi.example/",
    "https://bücher.example/",
    "https://api..example/",
    "https://-api.example/",
    "https://[api.example]/",
    "https://*.example/",
    # ports
    "https://api.example:0443/",
    "https://api.example:+443/",
    "https://api.example:443:443/",
    "https://api.example:/",
    "https://api.example:443a/",
    "https://api.example:65979/",
    "https://api.example:0/",
    "https://api.example:٤٤٣/",
    # spellings of an address
    "http://127.1:8080/",
    "http://2130706433:8080/",
    "http://0x7f.1:8080/",
    "http://0x7f000001:8080/",
    "http://0177.0.0.1:8080/",
    "http://127.0.0.01:8080/",
    "http://127.0.0.1.:8080/",
    "http://127.0.0.2:8080/",
    "http://0.0.0.0:8080/",
    "http://[::ffff:127.0.0.1]:8080/",
    "http://[::127.0.0.1]:8080/",
    "http://[::1%25lo]:8080/",
    "http://[::1:8080/",
    "http://[::1]8080/",
    "http://localhost.:9000/",
    "http://169.254.169.254/latest/meta-data/",
    "https://api.example/" + "a" * 9000,
]
FINE = {
    "https://api.example": "https://api.example/",
    "HTTPS://API.Example:443/A?b=c": "https://api.example/A?b=c",
    "http://api.example:443/": "http://api.example:443/",
    "http://127.0.0.1:8080/x": "http://127.0.0.1:8080/x",
    "http://[0:0::1]:8080/": "http://[::1]:8080/",
    "http://LOCALHOST:9000?q": "http://localhost:9000/?q",
    "https://xn--bcher-kva.example/é?ü": "https://xn--bcher-kva.example/%C3%A9?%C3%BC",
    "https://api.example/a%2Fb/../c?x=%20&y=@:/": "https://api.example/a%2Fb/../c?x=%20&y=@:/",
}


@pytest.mark.parametrize("text", TRICKS)
def test_a_trick_is_refused(text: str) -> None:
    with pytest.raises(CallRefused) as refused:
        GRANTED.check(read_url(text))
    assert refused.value.failure.kind == FailureKind.CAPABILITY_DENIED
    assert "\n" not in refused.value.failure.reason


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("https://api.example@evil.example/", "it contains a user name"),
        ("https://api.example\\@evil.example/", "it contains a backslash"),
        ("https://api.example:0443/", "its port is not a number from 1 to 65535"),
        ("http://0x7f.1:8080/", "its host is not a valid IP address"),
        ("ftp://api.example/", "ftp: is neither http: nor https:"),
    ],
)
def test_a_refusal_says_what_is_wrong(text: str, why: str) -> None:
    with pytest.raises(CallRefused) as refused:
        read_url(text)
    assert refused.value.failure.reason == f"the connector requested a URL that is not allowed: {why}"


@pytest.mark.parametrize(("text", "read"), FINE.items())
def test_a_granted_url_passes(text: str, read: str) -> None:
    url = read_url(text)
    GRANTED.check(url)
    assert str(url) == read


@pytest.mark.parametrize("text", TRICKS)
def test_a_trick_in_a_redirect_is_refused(text: str) -> None:
    base = read_url("https://api.example/start")
    try:
        url = read_redirect(base, text)
        GRANTED.check(url)
    except CallRefused:
        return
    # What is left is relative to where the answer came from, or the same place with a fragment taken off.
    assert url.origin == base.origin


def test_without_a_network_table_nothing_is_granted() -> None:
    with pytest.raises(CallRefused):
        NetworkGrant(None).check(read_url("https://api.example/"))


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        ("127.0.0.1", False),
        ("10.0.0.1", False),
        ("172.16.5.4", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("240.0.0.1", False),
        ("255.255.255.255", False),
        ("192.0.2.1", False),
        ("198.18.0.1", False),
        ("::1", False),
        ("::", False),
        ("fe80::1", False),
        ("fec0::1", False),
        ("fd00::1", False),
        ("ff02::1", False),
        ("::ffff:10.0.0.1", False),
        ("::ffff:8.8.8.8", True),
        ("2002:7f00:1::", False),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::808:808", True),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", False),
        ("2001:db8::1", False),
    ],
)
def test_private_and_public_addresses_are_distinguished(address: str, expected: bool) -> None:
    assert is_public(ipaddress.ip_address(address)) is expected


def resolving(*addresses: str) -> Callable[[str, int], Sequence[str]]:
    return lambda _host, _port: addresses


@pytest.mark.parametrize(
    "addresses",
    [("127.0.0.1",), ("8.8.8.8", "127.0.0.1"), ("10.1.2.3",), ("fd00::1",), ("169.254.169.254",)],
)
def test_a_granted_name_with_a_private_address_is_refused(
    runner: Runner, service: Upstream, addresses: tuple[str, ...]
) -> None:
    runner.client = UpstreamClient(resolving(*addresses))
    host_port = f"rebind.example:{service.port}"
    reason = runner.preview(guests.http_guest({"url": f"http://{host_port}/draft"}), host_port).result.unavailable
    inside = next(address for address in addresses if address != "8.8.8.8")
    assert reason == f"the connector may not reach {host_port}, which resolves to the private address {inside}"
    assert not service.received


def test_the_address_that_was_checked_is_the_one_connected_to(runner: Runner, service: Upstream) -> None:
    """A resolver that changes its mind is asked once per connection, and its second answer is never used."""
    answers = iter([["127.0.0.1"], ["203.0.113.9"]])
    host_port = f"mind.example:{service.port}"
    runner.client = UpstreamClient(lambda _host, _port: next(answers), private_hosts=frozenset({host_port}))
    assert not runner.preview(guests.http_guest({"url": f"http://{host_port}/draft"}), host_port).result.unavailable
    assert service.received[0].headers["Host"] == host_port


def test_localhost_is_loopback_whatever_the_resolver_says(runner: Runner, service: Upstream) -> None:
    runner.client = UpstreamClient(resolving("203.0.113.9"))
    host_port = f"localhost:{service.port}"
    assert not runner.preview(guests.http_guest({"url": f"http://{host_port}/draft"}), host_port).result.unavailable


def test_a_name_that_does_not_resolve_cannot_be_reached(runner: Runner) -> None:
    def nowhere(_host: str, _port: int) -> Sequence[str]:
        raise OSError("no such name")

    runner.client = UpstreamClient(nowhere)
    reason = runner.preview(guests.http_guest({"url": "https://api.example/"}), "api.example:443").result.unavailable
    assert reason == "cannot reach api.example:443"

"""Addresses: which are valid, and which belong to this machine."""

import pytest

from aileron_tui.core.address import Address, BadAddress, read_address


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://127.0.0.1:54321", "http://127.0.0.1:54321"),
        ("http://127.0.0.1:54321/", "http://127.0.0.1:54321"),
        ("http://127.0.0.1:54321/v1", "http://127.0.0.1:54321"),
        ("http://127.0.0.1:54321/v1//", "http://127.0.0.1:54321"),
        (" HTTP://LocalHost:80/v1/ \n", "http://localhost"),
        ("https://aileron.example.com", "https://aileron.example.com"),
        ("https://aileron.example.com:8443", "https://aileron.example.com:8443"),
        ("http://[::1]:5", "http://[::1]:5"),
        ("http://[0:0:0:0:0:0:0:1]:5", "http://[::1]:5"),
    ],
)
def test_a_valid_address(text: str, url: str) -> None:
    assert read_address(text).url == url


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "does not start"),
        ("127.0.0.1:5", "does not start"),
        ("file:///etc/passwd", "does not start"),
        ("unix://x", "does not start"),
        ("http://user:s3cret@127.0.0.1:5", "user name or a password"),
        ("http://127.0.0.1@evil.example", "user name or a password"),
        ("http://127.0.0.1:5/v1?token=s3cret", "query"),
        ("http://127.0.0.1:5#s3cret", "fragment"),
        ("http://127.0.0.1:5/v2", "path"),
        ("http://127.0.0.1:5/v1/s3cret", "path"),
        ("http://127.0.0.1:0", "port 0 is not between"),
        ("http://127.0.0.1:65536", "port 65536 is not between"),
        ("http://127.0.0.1:-1", "host or its port"),
        ("http://", "host or its port"),
        ("http://a b", "host or its port"),
        ("http://127.0.0.1\\@evil.example", "user name"),
        ("http://pаypal.example", "host or its port"),
        ("http://[::1%25lo]:5", "host or its port"),
        ("http://[:::]:5", "IPv6"),
        ("http://127.0.0.1:٥", "host or its port"),
        ("http://127.0.0.1:5\r\nX: y", "host or its port"),
    ],
)
def test_an_invalid_address(text: str, words: str) -> None:
    with pytest.raises(BadAddress) as caught:
        read_address(text)
    assert words in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "[::1]", "localhost"])
def test_a_local_address(host: str) -> None:
    address = read_address(f"http://{host}:5")
    assert address.is_local
    assert address.is_confidential


@pytest.mark.parametrize(
    "host", ["10.0.0.1", "127.0.0.1.example.com", "localhost.example.com", "2130706433", "127.1", "[::ffff:127.0.0.1]"]
)
def test_an_address_of_another_machine(host: str) -> None:
    assert not read_address(f"http://{host}:5").is_confidential
    assert read_address(f"https://{host}:5").is_confidential


def test_which_addresses_match() -> None:
    here = Address("http", "127.0.0.1", 5)
    assert here.matches(here)
    assert Address("http", "localhost", 5).matches(here)
    assert not here.matches(Address("http", "127.0.0.1", 6))
    assert not here.matches(Address("https", "127.0.0.1", 5))
    assert not here.matches(Address("http", "::1", 5))
    assert not Address("http", "localhost", 5).matches(Address("http", "10.0.0.1", 5))

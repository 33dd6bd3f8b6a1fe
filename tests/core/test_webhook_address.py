"""Addresses of webhooks: https or this machine, and nothing that is not sent."""

import pytest

from aileron_tui.core.webhook_address import BadWebhookAddress, read_webhook_address


@pytest.mark.parametrize(
    ("text", "url", "server"),
    [
        ("https://hooks.example.com", "https://hooks.example.com/", "https://hooks.example.com"),
        ("https://h.example/a/b?c=d", "https://h.example/a/b?c=d", "https://h.example"),
        ("HTTPS://H.Example:8443/X", "https://h.example:8443/X", "https://h.example:8443"),
        ("http://127.0.0.1:9/x", "http://127.0.0.1:9/x", "http://127.0.0.1:9"),
        ("http://[::1]:9/x", "http://[::1]:9/x", "http://[::1]:9"),
        ("http://localhost/x", "http://localhost/x", "http://localhost"),
    ],
)
def test_a_good_address_is_read(text: str, url: str, server: str) -> None:
    address = read_webhook_address(text)
    assert (address.url, address.server) == (url, server)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hooks.example.com/secret",
        "http://hooks.example.com/secret",
        "http://10.0.0.1/secret",
        "http://0.0.0.0/secret",
        "http://[::ffff:127.0.0.1]/secret",
        "http://127.0.0.1.example.com/secret",
        "http://localhost@example.com/secret",
        "https://user:secret@example.com/",
        "https://example.com?secret",
        "https://example.com/#secret",
        "https://example.com/a b",
        "https://example.com/\r\nX-Secret: 1",
        "https://exämple.com/secret",
        "https://example.com:0/secret",
        "https://example.com:99999/secret",
        "file:///etc/secret",
        f"https://example.com/{'secret' * 400}",
    ],
)
def test_a_bad_address_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(BadWebhookAddress) as caught:
        read_webhook_address(text)
    assert "secret" not in str(caught.value).lower()

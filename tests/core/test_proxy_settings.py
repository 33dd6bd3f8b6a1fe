"""Proxies in the environment: which one, for which hosts, and never with its password."""

import pytest

from aileron_tui.core.proxy_settings import BadProxy, Proxy, read_proxy_settings

PROXY = "http://user:sEcret@Proxy.Example:3128/"


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ({}, ""),
        ({"HTTPS_PROXY": PROXY}, "proxy.example:3128"),
        ({"https_proxy": "proxy.example"}, "proxy.example:80"),
        ({"HTTPS_PROXY": "http://upper:1", "https_proxy": "http://lower:2"}, "lower:2"),
        ({"HTTPS_PROXY": "http://upper:1", "https_proxy": ""}, ""),
        ({"ALL_PROXY": "[::1]:3128"}, "[::1]:3128"),
        ({"HTTPS_PROXY": " ", "all_proxy": "http://127.0.0.1:8"}, "127.0.0.1:8"),
        ({"HTTP_PROXY": "http://only-http:1"}, ""),
    ],
)
def test_the_proxy_for_https(environment: dict[str, str], name: str) -> None:
    proxy = read_proxy_settings(environment).proxy()
    assert (proxy.name if proxy else "") == name


@pytest.mark.parametrize(
    ("exceptions", "host", "excepted"),
    [
        ("", "a.example", False),
        ("*", "a.example", True),
        ("a.example", "a.example", True),
        ("a.example", "b.a.example", True),
        (".a.example", "a.example", True),
        ("*.a.example", "b.a.example", True),
        ("a.example", "ba.example", False),
        ("x, A.Example y", "a.example", True),
        ("a.example:443", "a.example", True),
        ("a.example:80", "a.example", False),
        (".", "a.example", False),
        (",,", "a.example", False),
        ("example", "a.example", True),
    ],
)
def test_exceptions(exceptions: str, host: str, excepted: bool) -> None:
    settings = read_proxy_settings({"HTTPS_PROXY": PROXY, "NO_PROXY": exceptions})
    assert (settings.proxy_for(host, 443) is None) is excepted


def test_the_password_is_in_no_text() -> None:
    settings = read_proxy_settings({"HTTPS_PROXY": PROXY})
    proxy = settings.proxy()
    assert isinstance(proxy, Proxy)
    assert (proxy.user, proxy.password) == ("user", "sEcret")
    assert "sEcret" not in f"{settings!r} {proxy!r} {proxy.name}"


@pytest.mark.parametrize(
    "value",
    [
        "ftp://user:sEcret@proxy.example",
        "http://user:sEcret@",
        "http://user:sEcret@pro xy",
        "user:sEcret@proxy.example:0",
        "http://user:sEcret@proxy.example:3128:1",
        "http://user:sEcret%00@proxy.example",
        "sEcret://proxy.example",
        "http://user:sEcret@[::1",
    ],
)
def test_a_value_that_cannot_be_used_is_refused_without_its_password(value: str) -> None:
    with pytest.raises(BadProxy) as refused:
        read_proxy_settings({"HTTPS_PROXY": value}).proxy()
    assert "secret" not in f"{refused.value} {refused.value.hint}".lower()
    assert refused.value.title == "cannot use the proxy in HTTPS_PROXY"

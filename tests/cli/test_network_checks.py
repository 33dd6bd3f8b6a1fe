"""What doctor says about proxies, certificate authorities and test servers."""

from pathlib import Path

from aileron_tui.cli.machine_checks import Check, Status
from aileron_tui.cli.network_checks import network
from aileron_tui.files.config import Config, ConnectorSettings


def checks(config: Config | None = None, **environment: str) -> dict[str, Check]:
    return {check.id: check for check in network(environment, config)}


def test_nothing_is_set() -> None:
    found = checks()
    assert {id_: (check.status, check.words) for id_, check in found.items()} == {
        "proxy": (Status.OK, "none for https"),
        "certificates": (Status.OK, "https trusts the system's authorities and those of certifi"),
    }


def test_the_proxy_is_named_without_its_password() -> None:
    found = checks(HTTPS_PROXY="http://user:sEcret@proxy.example:3128", NO_PROXY="a.example,b.example")["proxy"]
    words = "connectors reach https services through proxy.example:3128 (HTTPS_PROXY), except a.example, b.example"
    assert (found.status, found.words) == (Status.OK, words)
    assert "sEcret" not in repr(found)


def test_a_proxy_for_http_is_not_used_and_that_is_said() -> None:
    found = checks(http_proxy="http://proxy.example:3128")["proxy"]
    assert (found.words, found.detail) == ("none for https", "connectors send no http through http_proxy, only https")


def test_what_cannot_be_used_fails(tmp_path: Path) -> None:
    found = checks(HTTPS_PROXY="socks5://user:sEcret@proxy.example", SSL_CERT_FILE=str(tmp_path / "missing.pem"))
    assert found["proxy"].status is Status.FAIL
    assert found["proxy"].detail == "socks5:// proxies are not supported, only http://"
    assert "sEcret" not in repr(found)
    assert found["certificates"].status is Status.FAIL
    assert found["certificates"].words == "cannot use SSL_CERT_FILE"


def test_a_test_server_is_a_warning() -> None:
    settings = ConnectorSettings(upstream={"api.example.com:443": "http://127.0.0.1:8080"})
    found = checks(Config(connectors={"local://a/b": settings}))["upstream"]
    assert found.status is Status.WARN
    assert found.words == (
        "test setup: local://a/b asks http://127.0.0.1:8080 instead of api.example.com:443; "
        "any credential goes there too"
    )
    assert found.fix == 'Remove [connectors."local://a/b".upstream] when the test is over.'

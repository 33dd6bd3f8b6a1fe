"""Connector manifests: what is read."""

from aileron_tui.core.connector import Connector, Credential, OAuth2, read_connector
from tests.corpus.cases import base

GOOD = base("connector")["base.toml"]


def good(text: str) -> Connector:
    reading = read_connector(text, "manifest.toml")
    assert reading.findings == ()
    assert reading.value is not None
    return reading.value


def test_everything_is_read() -> None:
    oauth2 = OAuth2(
        "https://login.example.com/authorize",
        "https://login.example.com/token",
        "acme",
        ("mail.read", "mail.send"),
    )
    assert good(GOOD) == Connector(
        name="github://acme/mail",
        version="2.0.1",
        publisher="Acme",
        provenance_hash="sha256:5e88",
        idempotent_by_default=False,
        hosts=frozenset({"mail.example.com:443", "127.0.0.1:8080"}),
        credential=Credential("oauth2", scope="Read and send mail", oauth2=oauth2),
        imports=("http_request", "log"),
        intents=("mail",),
    )


def test_the_secret_of_the_client_is_not_kept() -> None:
    assert "bound-at-release" not in repr(good(GOOD))


def test_without_a_network_table_nothing_may_be_reached() -> None:
    least = good('connector = { name = "local://acme/clock", version = "0.1.0" }')
    assert least.hosts is None
    assert least.credential is None
    assert least.idempotent_by_default


def test_hosts_are_compared_in_lower_case() -> None:
    hosts = good(GOOD.replace("mail.example.com", "MAIL.Example.COM")).hosts
    assert hosts == frozenset({"mail.example.com:443", "127.0.0.1:8080"})


def test_an_empty_idempotency_table_is_an_error() -> None:
    reading = read_connector(GOOD.replace('default = "not_idempotent"\n', ""), "manifest.toml")
    assert reading.value is None


def test_findings_name_the_key_as_an_author_writes_it() -> None:
    text = GOOD.replace('"mail.read"', '""')
    (finding,) = read_connector(text, "manifest.toml").findings
    assert finding.message == "capabilities.credential.oauth2.scopes[0] is empty"
    assert text.split("\n")[finding.line - 1][finding.column - 1 :].startswith('"", ')

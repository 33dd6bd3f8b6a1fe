"""TLS: the name is verified although the connection is made to an address."""

import datetime as dt
import ipaddress
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from aileron_tui.files.certificate_trust import CertificateTrust
from aileron_tui.sandbox.network import UpstreamClient
from tests.sandbox import guests
from tests.sandbox.conftest import Runner
from tests.sandbox.upstream import upstream


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mail.example")])
    now = dt.datetime.now(dt.UTC)
    names = [x509.DNSName("mail.example"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + built.public_bytes(serialization.Encoding.PEM))
    return path


def serving(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.mark.parametrize(("host", "fine"), [("mail.example", True), ("127.0.0.1", True), ("other.example", False)])
def test_the_certificate_must_be_for_the_name(runner: Runner, certificate: Path, host: str, fine: bool) -> None:
    with upstream(serving(certificate)) as service:
        host_port = f"{host}:{service.port}"
        runner.client = UpstreamClient(
            lambda *_: ["127.0.0.1"], frozenset({host_port}), CertificateTrust(str(certificate))
        )
        outcome = runner.preview(guests.http_guest({"url": f"https://{host_port}/draft"}), host_port)
    expected = "" if fine else f"cannot reach {host_port}: its certificate is not valid"
    assert outcome.result.unavailable == expected
    assert bool(service.received) is fine


def test_an_unknown_authority_is_refused(runner: Runner, certificate: Path) -> None:
    with upstream(serving(certificate)) as service:
        outcome = runner.preview(guests.http_guest({"url": service.url("/draft")}), service.host_port)
    assert outcome.result.unavailable == f"cannot reach {service.host_port}: its certificate is not valid"
    assert not service.received


def test_authorities_that_cannot_be_read_are_never_ignored(runner: Runner, certificate: Path, tmp_path: Path) -> None:
    missing = tmp_path / "missing.pem"
    with upstream(serving(certificate)) as service:
        runner.client = UpstreamClient(trust=CertificateTrust(str(missing)))
        outcome = runner.preview(guests.http_guest({"url": service.url("/draft")}), service.host_port)
    assert outcome.result.unavailable == (
        f"no https connection can be checked: cannot use SSL_CERT_FILE: {missing}: no such file or directory"
    )
    assert not service.received


def test_plain_http_on_a_tls_port_and_back(runner: Runner, certificate: Path) -> None:
    with upstream(serving(certificate)) as secure, upstream() as plain:
        to_secure = runner.preview(guests.http_guest({"url": f"http://{secure.host_port}/draft"}), secure.host_port)
        to_plain = runner.preview(guests.http_guest({"url": f"https://{plain.host_port}/draft"}), plain.host_port)
    assert to_secure.result.unavailable == f"{secure.host_port} did not send a complete response"
    assert to_plain.result.unavailable == f"cannot reach {plain.host_port}"

"""Which authorities are trusted: those that were named and no others, or the system's and those of certifi."""

import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from aileron_tui.files.certificate_trust import BadAuthorities, CertificateTrust, certificate_trust
from tests.packages.https_server import Authority, make_authority


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return make_authority(tmp_path_factory.mktemp("authority"))


def names(context: ssl.SSLContext) -> list[str]:
    certificates = context.get_ca_certs(binary_form=True)
    return [x509.load_der_x509_certificate(found).subject.rfc4514_string() for found in certificates]


def test_a_file_that_is_named_replaces_everything_else(authority: Authority) -> None:
    trust = certificate_trust({"SSL_CERT_FILE": str(authority.ca_file)})
    assert names(trust.context()) == ["CN=aileron-tui test authority"]
    assert trust.words == f"only {authority.ca_file} (SSL_CERT_FILE)"


def test_a_folder_that_is_named(authority: Authority, tmp_path: Path) -> None:
    certificate = x509.load_pem_x509_certificate(authority.ca_file.read_bytes())
    (tmp_path / "0123abcd.0").write_bytes(certificate.public_bytes(Encoding.PEM))
    trust = certificate_trust({"SSL_CERT_DIR": str(tmp_path)})
    assert trust.words == f"only {tmp_path} (SSL_CERT_DIR)"
    assert names(trust.context()) == []  # read when a certificate is checked


def test_by_default_the_system_and_certifi_count() -> None:
    trust = certificate_trust({"SSL_CERT_FILE": "", "PATH": "/"})
    assert trust == CertificateTrust()
    assert trust.words == "the system's authorities and those of certifi"
    context = trust.context()
    assert len(context.get_ca_certs()) > 50
    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED


def refusal(**environment: str) -> BadAuthorities:
    with pytest.raises(BadAuthorities) as refused:
        certificate_trust(environment).context()
    return refused.value


def test_what_cannot_be_used_is_said_and_never_ignored(tmp_path: Path) -> None:
    missing, empty = tmp_path / "missing.pem", tmp_path / "empty.pem"
    empty.write_text("no certificate")
    assert str(refusal(SSL_CERT_FILE=str(missing))) == (
        f"cannot use SSL_CERT_FILE: {missing}: no such file or directory"
    )
    assert str(refusal(SSL_CERT_FILE=str(empty))) == f"cannot use SSL_CERT_FILE: {empty} has no certificate"
    assert str(refusal(SSL_CERT_FILE=str(tmp_path))).startswith("cannot use SSL_CERT_FILE: ")
    assert str(refusal(SSL_CERT_DIR=str(missing))) == f"cannot use SSL_CERT_DIR: {missing}: no such file or directory"
    unhashed = refusal(SSL_CERT_DIR=str(tmp_path))
    assert str(unhashed) == f"cannot use SSL_CERT_DIR: {tmp_path} has no certificate that is named by its hash"
    assert unhashed.hint == f"Run `openssl rehash {tmp_path}`, or name one file with SSL_CERT_FILE."

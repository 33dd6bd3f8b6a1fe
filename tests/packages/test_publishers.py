"""Publishers: a trusted key, an unknown one, none, and a signature that is wrong."""

from dataclasses import replace

import pytest

from aileron_tui.core.action import read_action
from aileron_tui.core.connector import read_connector
from aileron_tui.packages.publishers import Publisher, SignatureState, action_publisher, connector_publisher
from aileron_tui.sandbox.connector_package import ConnectorPackage, PackageError, PublisherKeyring
from aileron_tui.signing.public_key import PublicKey
from tests.packages.made_packages import AUTHORITY, OWNER, PUBLISHER, STRANGER, keyring, made_release, raw_public

RELEASE = made_release()
CONNECTOR = read_connector(RELEASE.package.manifest, "manifest.toml").value
ACTION = read_action(RELEASE.actions["send-draft"], "action.md").value
FINGERPRINT = PublicKey(raw_public(PUBLISHER)).fingerprint
NOBODY = PublisherKeyring()


def of_connector(package: ConnectorPackage, trusted: PublisherKeyring) -> Publisher:
    assert CONNECTOR
    return connector_publisher(package, CONNECTOR, trusted)


def of_action(data: bytes, signature: bytes | None, trusted: PublisherKeyring) -> Publisher:
    assert ACTION
    return action_publisher(data, ACTION, signature, trusted)


@pytest.mark.parametrize("authority", [AUTHORITY, f"github://{OWNER}"])
def test_a_trusted_key(authority: str) -> None:
    trusted = keyring(authority=authority)
    expected = Publisher(SignatureState.TRUSTED, authority, FINGERPRINT)
    assert of_connector(RELEASE.package, trusted) == expected
    assert of_action(RELEASE.actions["send-draft"], RELEASE.signatures["send-draft"], trusted) == expected
    assert expected.words == f"signed by {authority}"


def test_an_unknown_publisher_and_no_signature() -> None:
    unknown = Publisher(SignatureState.UNKNOWN, AUTHORITY)
    assert of_connector(RELEASE.package, NOBODY) == unknown
    assert of_connector(RELEASE.package, keyring(authority="github://other")) == unknown
    assert of_action(b"x", b"s" * 64, NOBODY) == unknown
    assert of_connector(replace(RELEASE.package, signature=None), keyring()).words == "unsigned"
    assert of_action(b"x", None, keyring()).words == "unsigned"


@pytest.mark.parametrize(
    "package",
    [
        replace(RELEASE.package, signature=b""),
        replace(RELEASE.package, signature=b"s" * 64),
        replace(RELEASE.package, signature=STRANGER.sign(RELEASE.package.wasm + RELEASE.package.manifest)),
        replace(RELEASE.package, manifest=RELEASE.package.manifest + b"\n"),
        replace(RELEASE.package, wasm=RELEASE.package.wasm + b"\0"),
    ],
)
def test_a_wrong_signature_is_refused(package: ConnectorPackage) -> None:
    with pytest.raises(PackageError) as refused:
        of_connector(package, keyring())
    assert refused.value.title == f"the signature of {AUTHORITY} is wrong"
    assert "aileron-tui trust" in refused.value.hint


def test_the_signature_of_another_action_is_refused() -> None:
    with pytest.raises(PackageError):
        of_action(RELEASE.actions["send-draft"], RELEASE.signatures["get-draft"], keyring())

"""Pins and signatures: other bytes never run, and the trust in the publisher is shown."""

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from aileron_tui.sandbox.connector_package import (
    ConnectorPackage,
    PackageError,
    PublisherKeyring,
    read_keyring,
    read_package,
    read_packages,
)
from aileron_tui.sandbox.failure import FailureKind
from aileron_tui.sandbox.loaded_connectors import SandboxSettings
from aileron_tui.sandbox.preview import PreviewOutcome
from aileron_tui.sandbox.sandbox import Sandbox
from tests.sandbox import guests, packages

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = KEY.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
PACKED = packages.package(guests.echo())
SIGNED = replace(PACKED, signature=KEY.sign(PACKED.wasm + PACKED.manifest))


def preview(package: ConnectorPackage, pin: str = "", keyring: PublisherKeyring | None = None) -> PreviewOutcome:
    with Sandbox({packages.NAME: package}, SandboxSettings(keyring=keyring or PublisherKeyring())) as box:
        outcome = box.preview(box.resolve(packages.action(package, pin=pin), {"draft_id": "x"}))
    assert outcome is not None
    return outcome


def test_other_bytes_are_refused_with_both_hashes() -> None:
    pinned = packages.pin_of(PACKED)
    for changed in (
        replace(PACKED, wasm=guests.TRAP),
        replace(PACKED, manifest=PACKED.manifest + b"\n"),
        replace(PACKED, wasm=PACKED.wasm + PACKED.manifest[:1], manifest=PACKED.manifest[1:] + b" "),
    ):
        outcome = preview(changed, pinned)
        found = packages.pin_of(changed)
        assert outcome.result.unavailable == (f"the connector does not match its pin: pinned {pinned}, found {found}")
        assert outcome.failure is not None
        assert outcome.failure.kind == FailureKind.HASH_MISMATCH


def test_a_pin_is_compared_in_any_case() -> None:
    assert not preview(PACKED, packages.pin_of(PACKED).upper().replace("SHA256", "sha256")).result.unavailable


def test_bytes_are_checked_again_when_they_are_read_again() -> None:
    installed = {packages.NAME: PACKED}
    action = packages.action(PACKED)
    with Sandbox(installed) as box:
        for package, unavailable in ((PACKED, False), (replace(PACKED, wasm=guests.TRAP), True), (PACKED, False)):
            installed[packages.NAME] = package
            outcome = box.preview(box.resolve(action, {"draft_id": "x"}))
            assert outcome is not None
            assert bool(outcome.result.unavailable) is unavailable


def test_a_package_of_another_name_is_refused() -> None:
    other = packages.package(guests.echo(), name="github://evil/mail")
    outcome = preview(other)
    assert outcome.result.unavailable == (
        "the package contains github://evil/mail@1.0.0, not github://example/mail@1.0.0"
    )


def test_a_bad_manifest_is_refused() -> None:
    broken = replace(PACKED, manifest=b"[connector")
    assert preview(broken).result.unavailable.startswith("the manifest of github://example/mail is not valid: ")


@pytest.mark.parametrize("authority", ["github://example/mail", "github://example"])
def test_a_signature_by_a_trusted_key(authority: str) -> None:
    outcome = preview(SIGNED, keyring=PublisherKeyring({authority: (bytes(32), PUBLIC)}))
    assert outcome.trust == f"signed by {authority}"
    assert outcome.hash == packages.pin_of(SIGNED)


def test_missing_and_unknown_signatures_are_labelled() -> None:
    assert preview(PACKED).trust == "unsigned"
    assert preview(SIGNED).trust == "unknown publisher"
    assert preview(SIGNED, keyring=PublisherKeyring({"github://exam": (PUBLIC,)})).trust == "unknown publisher"


@pytest.mark.parametrize(
    "signature", [bytes(64), b"", SIGNED.signature[:63] if SIGNED.signature else b"", KEY.sign(PACKED.wasm)]
)
def test_a_bad_signature_is_refused(signature: bytes) -> None:
    outcome = preview(
        replace(PACKED, signature=signature), keyring=PublisherKeyring({"github://example/mail": (PUBLIC,)})
    )
    assert outcome.result.unavailable == "the connector's signature was not made by github://example/mail"
    assert outcome.failure is not None
    assert outcome.failure.kind == FailureKind.SIGNATURE_FAILURE


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_keyring_is_read_in_either_base64(encode: Callable[[bytes], bytes]) -> None:
    for text in (encode(PUBLIC).decode(), encode(PUBLIC).decode().rstrip("=")):
        data = json.dumps({"version": 1, "publishers": {"github://example/mail": [text]}}).encode()
        assert read_keyring(data).keys(packages.NAME) == ("github://example/mail", (PUBLIC,))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"version":2,"publishers":{}}',
        '{"version":1,"publishers":[]}',
        '{"version":1,"publishers":{"github://a/b":"x"}}',
        '{"version":1,"publishers":{"github://a/b":["AAAA"]}}',
        '{"version":1,"publishers":{"github://a/b":["!!!!"]}}',
        '{"version":1,"publishers":{"github://a/b":[7]}}',
    ],
)
def test_a_keyring_that_cannot_be_read_is_an_error(text: str) -> None:
    with pytest.raises(PackageError):
        read_keyring(text.encode())


def test_packages_are_read_from_a_bundle(tmp_path: Path) -> None:
    folder = tmp_path / "connectors" / "mail"
    folder.mkdir(parents=True)
    (folder / "connector.wasm").write_bytes(SIGNED.wasm)
    (folder / "manifest.toml").write_bytes(SIGNED.manifest)
    (folder / "signature.sig").write_bytes(SIGNED.signature or b"")
    (tmp_path / "connectors" / "empty").mkdir()
    assert read_package(folder) == SIGNED
    assert read_packages(tmp_path) == {packages.NAME: SIGNED}
    (folder / "manifest.toml").unlink()
    with pytest.raises(PackageError):
        read_package(folder)

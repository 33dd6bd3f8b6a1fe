"""Connector packages, and the checks on their bytes: the pinned hash and the publisher's signature."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Final

from aileron_tui.core.action import Requirement, read_action
from aileron_tui.core.connector import Connector, read_connector
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonError, read_object
from aileron_tui.core.values import dataclass
from aileron_tui.files.bundle_layout import (
    CONNECTOR_FILE,
    MODULE_FILE,
    SIGNATURE_FILE,
    ConnectorFiles,
    find_files,
    is_file,
)
from aileron_tui.files.manifest_files import LARGEST_MODULE, UnreadableFile, pins_of, read_file, read_manifest_file
from aileron_tui.sandbox.failure import Boundary, CallRefused, Failure, FailureKind

_SIGNATURE_SIZE: Final = 64
_LARGEST_SIGNATURE: Final = 4096
_KEY_SIZE: Final = 32
_KEYRING_VERSION: Final = 1

UNSIGNED: Final = "unsigned"
UNKNOWN_PUBLISHER: Final = "unknown publisher"


class PackageError(AileronError):
    """A package or the keyring cannot be read."""


@dataclass(frozen=True, slots=True)
class ConnectorPackage:
    """A connector as released: its module, its manifest, and the publisher's signature over both."""

    wasm: bytes = field(repr=False)
    manifest: bytes = field(repr=False)
    signature: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class PinnedPackage:
    """A package whose bytes match the hash that the action pins."""

    package: ConnectorPackage
    connector: Connector
    hash: str
    wasm_digest: str
    trust: str


@dataclass(frozen=True, slots=True)
class PublisherKeyring:
    """The trusted publishers: public keys (32 bytes each) by authority."""

    publishers: Mapping[str, tuple[bytes, ...]] = field(default_factory=dict)

    def keys(self, connector: str) -> tuple[str, tuple[bytes, ...]]:
        """Returns the most specific authority with keys for a connector: its repository, else its owner."""
        scheme, _, rest = connector.partition("://")
        owner, _, path = rest.partition("/")
        owner = f"{scheme}://{owner}"
        for authority in (f"{owner}/{path.partition('/')[0]}", owner):
            keys = self.publishers.get(authority, ())
            if keys:
                return authority, keys
        return "", ()


def read_keyring(data: bytes) -> PublisherKeyring:
    """Parses the contents of a `keyring.json`."""
    try:
        table = read_object(data)
    except JsonError as error:
        raise PackageError("cannot read the keyring", str(error)) from None
    publishers = table.get("publishers", {})
    if table.get("version") != _KEYRING_VERSION or not isinstance(publishers, dict):
        raise PackageError("the keyring has an unsupported version or format", "only version 1 is supported")
    keys_by_authority: dict[str, tuple[bytes, ...]] = {}
    for authority, keys in publishers.items():
        if not isinstance(keys, list):
            raise PackageError("cannot read the keyring", f"the keys of {authority} are not a list")
        keys_by_authority[authority] = tuple(_decoded_key(authority, key) for key in keys)
    return PublisherKeyring(keys_by_authority)


def load_keyring(path: Path) -> PublisherKeyring:
    """Loads the trusted publishers from a file; a missing file means that no publisher is trusted."""
    if not path.exists():
        return PublisherKeyring()
    try:
        return read_keyring(read_file(str(path)))
    except UnreadableFile as error:
        raise PackageError("cannot read the keyring", f"{path}: {error}") from None


def _decoded_key(authority: str, text: object) -> bytes:
    plain = str(text).rstrip("=").replace("-", "+").replace("_", "/")
    try:
        key = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != _KEY_SIZE:
        raise PackageError("cannot read the keyring", f"a key of {authority} is not 32 bytes in base64")
    return key


def read_package(folder: Path) -> ConnectorPackage:
    """Reads the package in a connector's folder. The folder need not be private: the pin decides what may run."""
    signature = str(folder / SIGNATURE_FILE)
    files = ConnectorFiles(str(folder / CONNECTOR_FILE), str(folder / MODULE_FILE), signature)
    return read_package_files(files if is_file(signature) else replace(files, signature=""))


def read_package_files(files: ConnectorFiles) -> ConnectorPackage:
    """Reads the package whose files are these."""
    try:
        wasm = read_file(files.module, LARGEST_MODULE)
        manifest = read_file(files.manifest)
        signature = read_file(files.signature, _LARGEST_SIGNATURE) if files.signature else None
    except UnreadableFile as error:
        raise PackageError(f"cannot read the connector in {Path(files.manifest).parent}", str(error)) from None
    return ConnectorPackage(wasm, manifest, signature)


def read_packages(*bundles: Path) -> dict[str, ConnectorPackage]:
    """Reads the packages of bundle folders, by connector name; skips connectors without a module."""
    packages: dict[str, ConnectorPackage] = {}
    for bundle in bundles:
        found = find_files(str(bundle), [])
        stored = any(files.stored for files in found.connectors)
        pins = pins_of([read_manifest_file(file, read_action) for file in found.actions]) if stored else ()
        for files in found.pinned_connectors(pins):
            if not files.module:
                continue
            package = read_package_files(files)
            connector = read_connector(package.manifest, files.manifest).value
            if connector is not None:
                packages.setdefault(connector.name, package)
    return packages


def package_hash(package: ConnectorPackage) -> str:
    """Returns the hash that actions pin, over the module followed by the manifest."""
    digest = hashlib.sha256(package.wasm)
    digest.update(package.manifest)
    return f"sha256:{digest.hexdigest()}"


def pin(package: ConnectorPackage, requirement: Requirement, keyring: PublisherKeyring) -> PinnedPackage:
    """Checks that a package has the pinned hash and that its signature, if any, is valid; raises CallRefused."""
    digest = hashlib.sha256(package.wasm)
    wasm_digest = digest.hexdigest()
    digest.update(package.manifest)
    computed = f"sha256:{digest.hexdigest()}"
    if not hmac.compare_digest(computed.encode(), requirement.hash.lower().encode()):
        raise CallRefused(_hash_mismatch(requirement, computed))
    reading = read_connector(package.manifest, CONNECTOR_FILE)
    connector = reading.value
    if connector is None:
        why = reading.findings[0].message if reading.findings else "it cannot be parsed"
        raise CallRefused(_wrong_package(f"the manifest of {requirement.name} is not valid: {why}"))
    if (connector.name, connector.version) != (requirement.name, requirement.version):
        asked, got = f"{requirement.name}@{requirement.version}", f"{connector.name}@{connector.version}"
        raise CallRefused(_wrong_package(f"the package contains {got}, not {asked}"))
    return PinnedPackage(package, connector, computed, wasm_digest, _trust(package, requirement.name, keyring))


def _trust(package: ConnectorPackage, connector: str, keyring: PublisherKeyring) -> str:
    if package.signature is None:
        return UNSIGNED
    authority, keys = keyring.keys(connector)
    if not keys:
        return UNKNOWN_PUBLISHER
    if not any(verifies(key, package.signature, package.wasm + package.manifest) for key in keys):
        raise CallRefused(
            Failure(
                FailureKind.SIGNATURE_FAILURE,
                f'signature does not verify against any key registered for authority "{authority}"',
                f"the connector's signature was not made by {authority}",
                Boundary.CONNECTOR_MANIFEST,
                details={"authority": authority},
            )
        )
    return f"signed by {authority}"


def verifies(key: bytes, signature: bytes, signed: bytes) -> bool:
    """Returns whether a publisher's key made this signature."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - only signed packages pay for the import
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415

    if len(signature) != _SIGNATURE_SIZE:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, signed)
    except (InvalidSignature, ValueError):
        return False
    return True


def _hash_mismatch(requirement: Requirement, computed: str) -> Failure:
    return Failure(
        FailureKind.HASH_MISMATCH,
        f"computed hash does not match declared hash: the action pins {requirement.hash}, the connector has {computed}",
        f"the connector does not match its pin: pinned {requirement.hash}, found {computed}",
        Boundary.RUNTIME,
        details={"connector": requirement.name, "declared": requirement.hash, "computed": computed},
    )


def _wrong_package(message: str) -> Failure:
    return Failure(FailureKind.HASH_MISMATCH, message, message, Boundary.CONNECTOR_MANIFEST)

"""Makes a release: sets the pins of actions, signs with a publisher's key, and packs the archives."""

import gzip
import io
import os
import shutil
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from aileron_tui.core.action import read_action
from aileron_tui.core.action_pins import PinError, with_pins
from aileron_tui.core.connector import Connector, read_connector
from aileron_tui.core.findings import Finding
from aileron_tui.core.values import dataclass
from aileron_tui.files.bundle_layout import (
    ACTION_FILE,
    CONNECTOR_FILE,
    MODULE_FILE,
    SIGNATURE_FILE,
    ConnectorFiles,
    find_files,
)
from aileron_tui.files.manifest_files import UnreadableFile, read_file
from aileron_tui.packages.release_address import ARCHIVE_FILE
from aileron_tui.sandbox.connector_package import ConnectorPackage, package_hash, read_package_files

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

Sign = Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class SourceConnector:
    """A connector that was built, and where its files are."""

    files: ConnectorFiles
    package: ConnectorPackage
    connector: Connector
    hash: str


@dataclass(frozen=True, slots=True)
class SourceAction:
    """An action file and what it contains with the right pins. `warnings` say what else does not fit."""

    file: Path
    before: bytes
    pinned: bytes
    warnings: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether a pin is wrong."""
        return self.before != self.pinned


def read_connectors(folder: Path) -> tuple[SourceConnector, ...]:
    """The connectors of a folder that were built; raises PinError or PackageError if there is none."""
    unreadable: list[Finding] = []
    found: list[SourceConnector] = []
    for files in find_files(str(folder), unreadable).connectors:
        if not files.module:
            detail, hint = f"{files.manifest} has no {MODULE_FILE}", "Build it first; the hash covers the module."
            raise PinError("the connector is not built", detail, hint)
        package = read_package_files(files)
        reading = read_connector(package.manifest, files.manifest)
        if reading.value is None:
            raise PinError(f"cannot read {files.manifest}", reading.findings[0].message, reading.findings[0].fix)
        found.append(SourceConnector(files, package, reading.value, package_hash(package)))
    if not found:
        hint = "Name the folder of a connector, or a folder that contains connector/ or connectors/."
        raise PinError(f"there is no connector in {folder}", hint=hint)
    return tuple(found)


def read_actions(
    folder: Path, named: tuple[Path, ...], connectors: tuple[SourceConnector, ...]
) -> tuple[SourceAction, ...]:
    """The actions named, or all of the folder, with the pins of these connectors. Raises PinError."""
    files = named or tuple(Path(file) for file in find_files(str(folder), []).actions)
    return tuple(_read_action(file / ACTION_FILE if file.is_dir() else file, connectors) for file in files)


def _read_action(file: Path, connectors: tuple[SourceConnector, ...]) -> SourceAction:
    try:
        data = read_file(str(file))
    except UnreadableFile as error:
        raise PinError(f"cannot read {file}", str(error), "Check that it is a file and that you can read it.") from None
    pinned = with_pins(data, str(file), {each.connector.name: each.hash for each in connectors})
    action = read_action(pinned, str(file)).value
    versions = {each.connector.name: each.connector.version for each in connectors}
    warnings = [
        f"requires version {each.version} of {each.name}, which has {versions[each.name]}"
        for each in (action.requires if action else ())
        if versions.get(each.name, each.version) != each.version
    ]
    if action and not any(each.name in versions for each in action.requires):
        warnings.append("requires none of these connectors, so nothing was pinned")
    return SourceAction(file, data, pinned, tuple(warnings))


def private_key(path: Path, ask: Callable[[], bytearray]) -> "Ed25519PrivateKey":
    """The publisher's key in a PEM file; asks for a passphrase only if it has one. Raises PinError."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415  # only for --sign
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    hint = "Make one with `openssl genpkey -algorithm ed25519 -out publisher.pem`."
    try:
        data = read_file(str(path), 65536)
    except UnreadableFile as error:
        raise PinError(f"cannot read {path}", str(error), hint) from None
    try:
        key = load_pem_private_key(data, None)
    except TypeError:
        try:
            key = load_pem_private_key(data, bytes(ask()))
        except ValueError:
            raise PinError("wrong passphrase", str(path)) from None
    except (ValueError, UnsupportedAlgorithm):
        raise PinError(f"{path} is not a private key in PEM", hint=hint) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise PinError(f"{path} is not an Ed25519 key", hint=hint)
    return key


def replace_file(path: Path, data: bytes) -> None:
    """Writes the whole file or nothing, and keeps its mode; raises PinError."""
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{os.urandom(4).hex()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(data)
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    except OSError as error:
        raise PinError(f"cannot write {path}", (error.strerror or str(error)).lower()) from None
    finally:
        temporary.unlink(missing_ok=True)


def sign_release(connectors: tuple[SourceConnector, ...], actions: tuple[SourceAction, ...], sign: Sign) -> list[Path]:
    """Writes `signature.sig` beside each connector's manifest and each `action.md`; returns the files."""
    written: list[Path] = []
    for connector in connectors:
        package = connector.package
        path = Path(connector.files.signature or Path(connector.files.module).with_name(SIGNATURE_FILE))
        replace_file(path, sign(package.wasm + package.manifest))
        written.append(path)
    for action in actions:
        if action.file.name == ACTION_FILE:
            path = action.file.with_name(SIGNATURE_FILE)
            replace_file(path, sign(action.pinned))
            written.append(path)
    return written


def pack_release(
    folder: Path, connectors: tuple[SourceConnector, ...], actions: tuple[SourceAction, ...], sign: Sign | None
) -> list[Path]:
    """Writes the archives, each in a folder named after the tag that it is released under; returns the files."""
    written: list[Path] = []
    for connector in connectors:
        package = connector.package
        signature = sign(package.wasm + package.manifest) if sign else package.signature
        if signature is None:
            raise PinError("a connector is released with a signature", hint="Give the publisher's key with --sign.")
        members = {MODULE_FILE: package.wasm, CONNECTOR_FILE: package.manifest, SIGNATURE_FILE: signature}
        several = Path(connector.files.manifest).parent.name if len(connectors) > 1 else ""
        path = folder / several / f"v{connector.connector.version}" / ARCHIVE_FILE
        replace_file(path, packed(members))
        written.append(path)
    for action in actions:
        value = read_action(action.pinned, str(action.file)).value
        members = {ACTION_FILE: action.pinned} | ({SIGNATURE_FILE: sign(action.pinned)} if sign else {})
        if value:
            path = folder / "actions" / value.name / f"v{value.version}" / ARCHIVE_FILE
            replace_file(path, packed(members))
            written.append(path)
    return written


def packed(members: Mapping[str, bytes]) -> bytes:
    """A release archive. The same content always gives the same bytes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return gzip.compress(out.getvalue(), mtime=0)

"""The files of installed packages, by the hash of their content: `packages/sha256/<hash>/`.

A package is written to a temporary folder, synced and renamed, so a folder with a hash is always whole. It counts only
once the ledger has the grant. What the ledger does not name is left over from a command that was stopped; the next one
removes it.
"""

import fcntl
import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path
from shlex import quote
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.package_grant import ActionGrant, ConnectorGrant, PackageGrant, file_hash
from aileron_tui.core.values import dataclass
from aileron_tui.files.bundle_layout import CONNECTOR_FILE, MODULE_FILE, SIGNATURE_FILE
from aileron_tui.files.manifest_files import LARGEST_MODULE, UnreadableFile, read_file
from aileron_tui.files.private_files import private_folder
from aileron_tui.sandbox.connector_package import ConnectorPackage

SIGNED: Final = "signed by "
"""How the publisher of a grant begins if a trusted key signed it."""

_FOLDER: Final = "packages"
_BY_HASH: Final = "sha256"
_LOCK_FILE: Final = ".lock"
_TEMPORARY: Final = ".new-"
_ACTIONS, _CONNECTORS = "actions", "connectors"
_LARGEST_SIGNATURE: Final = 4096


class StoreError(AileronError):
    """The files of a package cannot be written or read."""


@dataclass(frozen=True, slots=True)
class StoredAction:
    """The file of an action, and the publisher's signature over it."""

    data: bytes = field(repr=False)
    signature: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class PackageContent:
    """The bytes of a package, in the order of its grant."""

    connectors: tuple[ConnectorPackage, ...]
    actions: tuple[StoredAction, ...]


class PackageStore:
    """The packages in a data folder."""

    def __init__(self, data: Path) -> None:
        self._root = data / _FOLDER

    @property
    def root(self) -> Path:
        """The folder that has everything."""
        return self._root

    def folder(self, digest: str) -> Path:
        """Where the package with this hash is, or would be."""
        return self._root / _BY_HASH / digest.removeprefix("sha256:")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Only one process changes the store and its grants at a time; others wait."""
        try:
            private_folder(self._root)
            descriptor = os.open(self._root / _LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise _unwritable(self._root, error) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def put(self, grant: PackageGrant, content: PackageContent) -> None:
        """Writes a package unless it is there already and intact. When this returns, it is on disk."""
        target = self.folder(grant.hash)
        if target.is_dir():
            with suppress(StoreError):
                self.read(grant)
                return
        temporary = self._root / f"{_TEMPORARY}{os.urandom(8).hex()}"
        try:
            private_folder(target.parent)
            self._write(temporary, grant, content)
            if target.exists() or target.is_symlink():
                target.rename(self._root / f"{_TEMPORARY}{os.urandom(8).hex()}")
            temporary.rename(target)
            _sync(target.parent)
        except OSError as error:
            raise _unwritable(target, error) from None
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    @staticmethod
    def _write(folder: Path, grant: PackageGrant, content: PackageContent) -> None:
        for known, package in zip(grant.connectors, content.connectors, strict=True):
            home = folder / _CONNECTORS / known.hash.removeprefix("sha256:")
            home.mkdir(mode=0o700, parents=True)
            _write_file(home / MODULE_FILE, package.wasm)
            _write_file(home / CONNECTOR_FILE, package.manifest)
            if package.signature is not None:
                _write_file(home / SIGNATURE_FILE, package.signature)
            _sync(home)
        home = folder / _ACTIONS
        home.mkdir(mode=0o700, parents=True)
        for action, stored in zip(grant.actions, content.actions, strict=True):
            _write_file(home / f"{action.name}.md", stored.data)
            if stored.signature is not None:
                _write_file(home / f"{action.name}.sig", stored.signature)
        for made in (home, folder / _CONNECTORS, folder):
            if made.is_dir():
                _sync(made)

    def read(self, grant: PackageGrant) -> PackageContent:
        """The bytes of a package, if all of them are those of its grant. Raises StoreError."""
        folder = self.folder(grant.hash)
        if not folder.is_dir():
            raise _damaged(grant, "its files are missing")
        return PackageContent(
            tuple(_read_connector(folder, grant, connector) for connector in grant.connectors),
            tuple(_read_action(folder, grant, action) for action in grant.actions),
        )

    def clean(self, keep: Collection[str]) -> None:
        """Removes what no grant names any more. Only for who holds the lock; what cannot be removed stays."""
        wanted = {self.folder(digest) for digest in keep}
        with suppress(OSError):
            found = [*self._root.glob(f"{_TEMPORARY}*"), *(self._root / _BY_HASH).glob("*")]
            for folder in found:
                if folder not in wanted:
                    shutil.rmtree(folder, ignore_errors=True)


def _read_connector(folder: Path, grant: PackageGrant, connector: ConnectorGrant) -> ConnectorPackage:
    home = folder / _CONNECTORS / connector.hash.removeprefix("sha256:")
    wasm = _read(home / MODULE_FILE, grant, LARGEST_MODULE)
    manifest = _read(home / CONNECTOR_FILE, grant)
    if file_hash(wasm + manifest) != connector.hash:
        raise _damaged(grant, f"the connector {connector.name} was changed after it was approved")
    signature = _signature(home / SIGNATURE_FILE, grant, connector.publisher)
    return ConnectorPackage(wasm, manifest, signature)


def _read_action(folder: Path, grant: PackageGrant, action: ActionGrant) -> StoredAction:
    data = _read(folder / _ACTIONS / f"{action.name}.md", grant)
    if file_hash(data) != action.hash:
        raise _damaged(grant, f"the action {action.name} was changed after it was approved")
    return StoredAction(data, _signature(folder / _ACTIONS / f"{action.name}.sig", grant, action.publisher))


def _signature(file: Path, grant: PackageGrant, publisher: str) -> bytes | None:
    if file.exists():
        return _read(file, grant, _LARGEST_SIGNATURE)
    if publisher.startswith(SIGNED):
        raise _damaged(grant, f"{file.name} is missing, but what was approved was signed")
    return None


def _read(file: Path, grant: PackageGrant, limit: int = 0) -> bytes:
    try:
        return read_file(str(file), limit) if limit else read_file(str(file))
    except UnreadableFile as error:
        raise _damaged(grant, f"{file.name} cannot be read: {error}") from None


def _damaged(grant: PackageGrant, why: str) -> StoreError:
    add, remove = f"aileron-tui add {quote(grant.source)}", f"aileron-tui remove {grant.name}"
    hint = f"Restore it with `{add}`, or remove it with `{remove}`."
    return StoreError(f"the package {grant.name} cannot be used", why, hint)


def _unwritable(path: Path, error: OSError) -> StoreError:
    hint = "Nothing was installed. Check the free disk space and your permission to write there."
    return StoreError(f"cannot write {path}", (error.strerror or str(error)).lower(), hint)


def _write_file(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(descriptor)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Reads manifests from disk: single files, and folders that hold a bundle.

A bundle folder holds `suite.toml`, `actions/*.md` and `connectors/<name>/manifest.toml` with its `connector.wasm`;
a folder without `actions/` holds its `*.md` directly. All but the actions may be absent.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeVar

from aileron_tui.core.action import Action, read_action
from aileron_tui.core.bundle import Bundle, Package, check_bundle
from aileron_tui.core.connector import read_connector
from aileron_tui.core.findings import Finding, Problems, Reading, Source
from aileron_tui.core.suite import Suite, read_suite

LARGEST_MANIFEST: Final = 8 * 1024 * 1024
LARGEST_MODULE: Final = 64 * 1024 * 1024
SUITE_FILE: Final = "suite.toml"
CONNECTOR_FILE: Final = "manifest.toml"
MODULE_FILE: Final = "connector.wasm"
SIGNATURE_FILE: Final = "signature.sig"

T = TypeVar("T")


class Unreadable(OSError):
    """A file that is there but cannot be read as one; the message is for people."""


@dataclass(frozen=True, slots=True)
class Manifests:
    """Everything that was read from a folder, good and bad."""

    actions: tuple[Reading[Action], ...] = ()
    packages: tuple[Package, ...] = ()
    suite: Reading[Suite] | None = None

    @property
    def count(self) -> int:
        """How many files were read."""
        return len(self.actions) + len(self.packages) + (self.suite is not None)

    def bundle(self) -> Bundle:
        """What may be called, and all findings: the suite's first, then file by file."""
        bundle = check_bundle(self.actions, self.packages)
        return replace(bundle, findings=(*self.suite.findings, *bundle.findings)) if self.suite else bundle


def load_bundle(folder: Path) -> Bundle:
    """The bundle of a folder. A missing folder is an empty bundle; a bad file is a finding."""
    return read_folder(folder).bundle()


def read_folder(folder: Path) -> Manifests:
    """Reads every manifest of a bundle folder."""
    root = str(folder)
    below = os.path.join(root, "actions")  # noqa: PTH118  # joining strings is what makes thousands of files cheap
    home = below if Path(below).is_dir() else root
    names = [name for name in _listed(home) if name.endswith(".md")]
    files = [f"{home}/{name}" for name in names]
    suite = _suite(folder / SUITE_FILE) if (folder / SUITE_FILE).exists() else None
    if suite and suite.value:
        suite, extra = _resolved(suite, suite.value, folder, files)
        files += extra
    connectors = folder / "connectors"
    packages = [_package(connectors / name) for name in _listed(str(connectors), folders=True)]
    return Manifests(tuple([_read(file, read_action) for file in files]), tuple(filter(None, packages)), suite)


def read_file(file: str, limit: int = LARGEST_MANIFEST) -> bytes:
    """The bytes of an ordinary file, or Unreadable; never waits on a pipe or device."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        looped = error.errno == errno.ELOOP
        raise Unreadable("its symbolic links form a loop" if looped else (error.strerror or "").lower()) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable("it is a folder" if stat.S_ISDIR(status.st_mode) else "it is not an ordinary file")
        if status.st_size > limit:
            raise Unreadable(f"it has {status.st_size:,} bytes; {limit:,} are allowed")
        data = b""
        while chunk := os.read(descriptor, status.st_size + 1):
            data += chunk
            if len(data) > limit:
                raise Unreadable(f"it has more than {limit:,} bytes")
        return data
    finally:
        os.close(descriptor)


def read_manifest(file: str) -> Manifests:
    """Reads one file: `suite.toml`, a connector's `.toml`, else an action."""
    path = Path(file)
    if path.name == SUITE_FILE:
        return Manifests(suite=_suite(path))
    if path.suffix == ".toml":
        return Manifests(packages=(Package(_read(file, read_connector), _hash(path.parent)),))
    return Manifests(actions=(_read(file, read_action),))


def _read(file: str, parse: Callable[[bytes, str], Reading[T]]) -> Reading[T]:
    try:
        data = read_file(file)
    except Unreadable as error:
        mend = "Check that it is a file you may read."
        return Reading(None, (Finding("unreadable", f"cannot read it: {error}", mend, file),), Source(file))
    return parse(data, file)


def _listed(folder: str, *, folders: bool = False) -> list[str]:
    """Names in a folder, sorted; those of folders, or of everything that is not one (dangling links included)."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir() == folders)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _suite(path: Path) -> Reading[Suite]:
    return _read(str(path), read_suite)


def _resolved(
    reading: Reading[Suite], suite: Suite, folder: Path, known: list[str]
) -> tuple[Reading[Suite], list[str]]:
    """Follows a suite's entries in path form: adds a finding for each that leads nowhere, and files not listed yet."""
    problems, extra, seen = Problems(), [], set(known)
    for index, entry in suite.paths:
        candidates = [folder / entry, folder / f"{entry}.md", folder / entry / "action.md"]
        found = next((str(path) for path in candidates if path.is_file()), "")
        if not found:
            mend = f"Add {entry}.md, or take the entry out."
            problems.add(("actions", index), "suite-missing", f'there is no action at "{entry}"', mend)
        elif found not in seen:
            seen.add(found)
            extra.append(found)
    if not problems.any:
        return reading, extra
    return replace(reading, findings=(*reading.findings, *problems.findings(reading.source))), extra


def _package(folder: Path) -> Package | None:
    manifest = folder / CONNECTOR_FILE
    if not manifest.exists() and not (folder / MODULE_FILE).exists():
        return None
    return Package(_read(str(manifest), read_connector), _hash(folder))


def _hash(folder: Path) -> str:
    """The canonical hash of a connector, over its module followed by its manifest; "" without a module."""
    try:
        module = read_file(str(folder / MODULE_FILE), LARGEST_MODULE)
        digest = hashlib.sha256(module)
        digest.update(read_file(str(folder / CONNECTOR_FILE)))
    except Unreadable:
        return ""
    return f"sha256:{digest.hexdigest()}"

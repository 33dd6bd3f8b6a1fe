"""Reads manifests from disk: single files, and folders that hold a bundle.

A bundle folder holds `suite.toml`, `actions/*.md` and `connectors/<name>/manifest.toml` with its `connector.wasm`;
a folder without `actions/` holds its `*.md` directly. All but the actions may be absent.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

from aileron_tui.core.action import Action, read_action
from aileron_tui.core.bundle import Bundle, BundledConnector, check_bundle
from aileron_tui.core.connector import read_connector
from aileron_tui.core.findings import Finding, Problems, Reading, TomlSource
from aileron_tui.core.suite import Suite, read_suite
from aileron_tui.core.values import dataclass

LARGEST_MANIFEST: Final = 8 * 1024 * 1024
LARGEST_MODULE: Final = 64 * 1024 * 1024
SUITE_FILE: Final = "suite.toml"
CONNECTOR_FILE: Final = "manifest.toml"
MODULE_FILE: Final = "connector.wasm"
SIGNATURE_FILE: Final = "signature.sig"
_CHUNK: Final = 64 * 1024

T = TypeVar("T")


class UnreadableFile(OSError):
    """A file that is there but cannot be read as one; the message is for people."""


@dataclass(frozen=True, slots=True)
class Manifests:
    """Everything that was read from a folder, good and bad."""

    actions: tuple[Reading[Action], ...] = ()
    packages: tuple[BundledConnector, ...] = ()
    suite: Reading[Suite] | None = None
    faults: tuple[Finding, ...] = ()

    @property
    def count(self) -> int:
        """How many files were read."""
        return len(self.actions) + len(self.packages) + (self.suite is not None)

    def bundle(self) -> Bundle:
        """What may be called, and all findings: of folders, of the suite, then file by file."""
        bundle = check_bundle(self.actions, self.packages)
        before = (*self.faults, *self.suite.findings) if self.suite else self.faults
        return replace(bundle, findings=(*before, *bundle.findings))


def load_bundle(folder: Path) -> Bundle:
    """The bundle of a folder. A missing folder is an empty bundle; a bad file is a finding."""
    return read_folder(folder).bundle()


def read_folder(folder: Path) -> Manifests:
    """Reads every manifest of a bundle folder, or of the folder of a single connector."""
    root = str(folder)
    faults: list[Finding] = []
    files, folders = _listed(root, faults)
    home, names = (f"{root}/actions", _listed(f"{root}/actions", faults)[0]) if "actions" in folders else (root, files)
    actions = [f"{home}/{name}" for name in names if name.endswith(".md")]
    suite = _suite(f"{root}/{SUITE_FILE}") if SUITE_FILE in (*files, *folders) else None
    if suite and suite.value:
        suite, extra = _resolved(suite, suite.value, root, actions)
        actions += extra
    homes = [root] if CONNECTOR_FILE in files else []
    if "connectors" in folders:
        homes += [f"{root}/connectors/{name}" for name in _listed(f"{root}/connectors", faults)[1]]
    packages = [package for home in homes if (package := _package(home, faults))]
    return Manifests(tuple([_read(file, read_action) for file in actions]), tuple(packages), suite, tuple(faults))


def read_file(file: str, limit: int = LARGEST_MANIFEST) -> bytes:
    """The bytes of an ordinary file, or Unreadable; never waits on a pipe or device."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            return _whole(descriptor, limit)
        finally:
            os.close(descriptor)
    except UnreadableFile:
        raise
    except (OSError, ValueError) as error:
        raise UnreadableFile(_why(error)) from None


def _whole(descriptor: int, limit: int) -> bytes:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableFile("it is a folder" if stat.S_ISDIR(status.st_mode) else "it is not an ordinary file")
    if status.st_size > limit:
        raise UnreadableFile(f"it has {status.st_size:,} bytes; {limit:,} are allowed")
    data = os.read(descriptor, status.st_size + 1)
    if len(data) == status.st_size:
        return data
    chunks, size = [data], len(data)
    while chunk := os.read(descriptor, _CHUNK):  # it grew, or is of a kind that does not tell its size
        chunks.append(chunk)
        size += len(chunk)
        if size > limit:
            raise UnreadableFile(f"it has more than {limit:,} bytes")
    return b"".join(chunks)


def _why(error: OSError | ValueError) -> str:
    if isinstance(error, ValueError):
        return "no file can have this name"
    return "its symbolic links form a loop" if error.errno == errno.ELOOP else (error.strerror or str(error)).lower()


def read_manifest(file: str) -> Manifests:
    """Reads one file: `suite.toml`, a connector's `.toml`, else an action."""
    path = Path(file)
    if path.name == SUITE_FILE:
        return Manifests(suite=_suite(file))
    if path.suffix == ".toml":
        return Manifests(packages=(BundledConnector(_read(file, read_connector), _hash(str(path.parent))),))
    return Manifests(actions=(_read(file, read_action),))


def _read(file: str, parse: Callable[[bytes, str], Reading[T]]) -> Reading[T]:
    try:
        data = read_file(file)
    except UnreadableFile as error:
        fix = "Check that it is a file you may read."
        return Reading(None, (Finding("unreadable", f"cannot read it: {error}", fix, file),), TomlSource(file))
    return parse(data, file)


def _listed(folder: str, faults: list[Finding]) -> tuple[list[str], list[str]]:
    """Names in a folder, sorted: of everything but folders (dangling links included), and of folders."""
    files: list[str] = []
    folders: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                (folders if _is_folder(entry) else files).append(entry.name)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        fix = "Make the folder readable for you."
        faults.append(Finding("unreadable", f"cannot read it: {_why(error)}", fix, folder))
    return sorted(files), sorted(folders)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads in a circle, or where nobody may look
        return False


def _suite(file: str) -> Reading[Suite]:
    return _read(file, read_suite)


def _resolved(reading: Reading[Suite], suite: Suite, root: str, known: list[str]) -> tuple[Reading[Suite], list[str]]:
    """Follows a suite's entries in path form: adds a finding for each that leads nowhere, and files not listed yet."""
    problems, extra, seen = Problems(), [], set(known)
    for index, entry in suite.paths:
        candidates = [f"{root}/{entry}", f"{root}/{entry}.md", f"{root}/{entry}/action.md"]
        found = next(filter(_is_file, candidates), "")
        if not found:
            fix = f"Add {entry}.md, or take the entry out."
            problems.add(("actions", index), "suite-missing", f'there is no action at "{entry}"', fix)
        elif found not in seen:
            seen.add(found)
            extra.append(found)
    if not problems.any:
        return reading, extra
    return replace(reading, findings=(*reading.findings, *problems.findings(reading.source))), extra


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116  # Path would refuse some names with an exception
    except (OSError, ValueError):
        return False


def _package(folder: str, faults: list[Finding]) -> BundledConnector | None:
    files, _ = _listed(folder, faults)
    if CONNECTOR_FILE not in files and MODULE_FILE not in files:
        return None
    return BundledConnector(_read(f"{folder}/{CONNECTOR_FILE}", read_connector), _hash(folder))


def _hash(folder: str) -> str:
    """The canonical hash of a connector, over its module followed by its manifest; "" without a module."""
    try:
        module = read_file(f"{folder}/{MODULE_FILE}", LARGEST_MODULE)
        digest = hashlib.sha256(module)
        digest.update(read_file(f"{folder}/{CONNECTOR_FILE}"))
    except UnreadableFile:
        return ""
    return f"sha256:{digest.hexdigest()}"

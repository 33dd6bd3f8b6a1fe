"""Reads manifests from disk: single files, and folders with a bundle (`files/bundle_layout.py`)."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Final, TypeVar

from aileron_tui.core.action import Action, read_action
from aileron_tui.core.bundle import Bundle, BundledConnector, check_bundle
from aileron_tui.core.connector import read_connector
from aileron_tui.core.findings import Finding, Problems, Reading, Severity, TomlSource
from aileron_tui.core.jsontext import JsonError, read_object
from aileron_tui.core.suite import Suite, read_suite
from aileron_tui.core.values import dataclass
from aileron_tui.files.bundle_layout import (
    MODULE_FILE,
    SUITE_FILE,
    BundleFiles,
    ConnectorFiles,
    find_files,
    is_file,
    reason,
)

LARGEST_MANIFEST: Final = 8 * 1024 * 1024
LARGEST_MODULE: Final = 64 * 1024 * 1024
_CHUNK: Final = 64 * 1024

T = TypeVar("T")


class UnreadableFile(OSError):
    """A file that cannot be read; the message is for users."""


@dataclass(frozen=True, slots=True)
class Manifests:
    """All manifests of a folder, valid or not, and findings for the folders that could not be read.

    `disabled` has the actions that are switched off in an Aileron home.
    """

    actions: tuple[Reading[Action], ...] = ()
    packages: tuple[BundledConnector, ...] = ()
    suite: Reading[Suite] | None = None
    unreadable: tuple[Finding, ...] = ()
    disabled: frozenset[str] = frozenset()

    @property
    def count(self) -> int:
        """The number of files that were read."""
        return len(self.actions) + len(self.packages) + (self.suite is not None)

    def bundle(self) -> Bundle:
        """Returns the bundle with all findings: of folders, of the suite, then of each file."""
        bundle = check_bundle(self.actions, self.packages)
        before = (*self.unreadable, *self.suite.findings) if self.suite else self.unreadable
        actions = {name: action for name, action in bundle.actions.items() if name not in self.disabled}
        return replace(bundle, actions=actions, findings=(*before, *bundle.findings))

    def beside(self, other: "Manifests") -> "Manifests":
        """These manifests and those of another folder, to be loaded together."""
        suites = [suite.findings for suite in (self.suite, other.suite) if suite]
        findings = [finding for found in suites for finding in found]
        return Manifests(
            (*self.actions, *other.actions),
            (*self.packages, *other.packages),
            None,
            (*self.unreadable, *other.unreadable, *findings),
            self.disabled | other.disabled,
        )


def load_bundle(*folders: Path) -> Bundle:
    """Returns the bundle in a folder or in several. A missing folder has nothing in it; a bad file gives a finding."""
    return read_folders(folders).bundle()


def read_folders(folders: Sequence[Path]) -> Manifests:
    """Reads the manifests of several folders, which are loaded together."""
    return reduce(Manifests.beside, map(read_folder, folders))


def read_folder(folder: Path) -> Manifests:
    """Reads every manifest of a bundle folder, or of the folder of a single connector."""
    root = str(folder)
    unreadable: list[Finding] = []
    files = find_files(root, unreadable)
    actions = list(files.actions)
    suite = _suite(files.suite) if files.suite else None
    if suite and suite.value:
        suite, extra = resolve_paths(suite, suite.value, root, actions)
        actions += extra
    readings = tuple([read_manifest_file(file, read_action) for file in actions])
    packages = [_package(connector, unreadable) for connector in files.pinned_connectors(pins_of(readings))]
    disabled = disabled_actions(files, readings, unreadable)
    return Manifests(readings, tuple(packages), suite, tuple(unreadable), disabled)


def connector_names(*folders: Path) -> frozenset[str]:
    """The names of the connectors in bundle folders, whether they were built or not."""
    manifests = [files.manifest for folder in folders for files in find_files(str(folder), []).connectors]
    readings = [read_manifest_file(manifest, read_connector) for manifest in manifests]
    return frozenset(reading.value.name for reading in readings if reading.value)


def pins_of(actions: Iterable[Reading[Action]]) -> frozenset[str]:
    """The hashes that actions pin."""
    found = (requirement for reading in actions if reading.value for requirement in reading.value.requires)
    return frozenset(requirement.hash.lower() for requirement in found)


def disabled_actions(files: BundleFiles, actions: Sequence[Reading[Action]], findings: list[Finding]) -> frozenset[str]:
    """The actions that are switched off in an Aileron home; all of them if the file that says so cannot be read."""
    if not files.state:
        return frozenset()
    names = [(reading.value.name, reading.source.file) for reading in actions if reading.value]
    try:
        states = read_object(read_file(files.state))
    except (UnreadableFile, JsonError) as error:
        fix = "Correct the file, or remove it to enable every action."
        findings.append(Finding("action-state", f"cannot read which actions are enabled: {error}", fix, files.state))
        return frozenset(name for name, _ in names)
    disabled = {name for name, state in states.items() if isinstance(state, dict) and state.get("enabled") is False}
    for name, file in names:
        if name in disabled:
            fix = f"Enable it in {files.state} if you want to use it."
            message = f'action "{name}" is disabled'
            findings.append(Finding("action-disabled", message, fix, file, severity=Severity.WARNING))
    return frozenset(disabled)


def read_file(file: str, limit: int = LARGEST_MANIFEST) -> bytes:
    """Returns the bytes of a regular file or raises UnreadableFile; never waits for a pipe or device."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            return _read_all(descriptor, limit)
        finally:
            os.close(descriptor)
    except UnreadableFile:
        raise
    except (OSError, ValueError) as error:
        raise UnreadableFile(reason(error)) from None


def _read_all(descriptor: int, limit: int) -> bytes:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableFile("it is a folder" if stat.S_ISDIR(status.st_mode) else "it is not a regular file")
    if status.st_size > limit:
        raise UnreadableFile(f"it has {status.st_size:,} bytes, but at most {limit:,} are allowed")
    data = os.read(descriptor, status.st_size + 1)
    if len(data) == status.st_size:
        return data
    chunks, size = [data], len(data)
    while chunk := os.read(descriptor, _CHUNK):  # the file grew, or its size was unknown
        chunks.append(chunk)
        size += len(chunk)
        if size > limit:
            raise UnreadableFile(f"it has more than {limit:,} bytes")
    return b"".join(chunks)


def read_manifest(file: str) -> Manifests:
    """Reads one file: a suite if its name is `suite.toml`, a connector if it is another `.toml`, or else an action."""
    path = Path(file)
    if path.name == SUITE_FILE:
        return Manifests(suite=_suite(file))
    if path.suffix == ".toml":
        return Manifests(packages=(_package(ConnectorFiles(file, str(path.parent / MODULE_FILE)), []),))
    return Manifests(actions=(read_manifest_file(file, read_action),))


def read_manifest_file(file: str, parse: Callable[[bytes, str], Reading[T]]) -> Reading[T]:
    """Returns what `parse` makes of a file, or a finding if it cannot be read."""
    try:
        data = read_file(file)
    except UnreadableFile as error:
        fix = "Check that it is a file and that you can read it."
        return Reading(None, (Finding("unreadable", f"cannot read the file: {error}", fix, file),), TomlSource(file))
    return parse(data, file)


def _suite(file: str) -> Reading[Suite]:
    return read_manifest_file(file, read_suite)


def resolve_paths(
    reading: Reading[Suite], suite: Suite, root: str, known: list[str]
) -> tuple[Reading[Suite], list[str]]:
    """Resolves the paths in a suite. Adds a finding for each path without a file; returns the files not in `known`."""
    problems, extra, seen = Problems(), [], set(known)
    for index, entry in suite.paths:
        candidates = [f"{root}/{entry}", f"{root}/{entry}.md", f"{root}/{entry}/action.md"]
        found = next(filter(is_file, candidates), "")
        if not found:
            fix = f"Add {entry}.md, or remove the entry."
            problems.add(("actions", index), "suite-missing", f'there is no action at "{entry}"', fix)
        elif found not in seen:
            seen.add(found)
            extra.append(found)
    if not problems.any:
        return reading, extra
    return replace(reading, findings=(*reading.findings, *problems.findings(reading.source))), extra


def _package(files: ConnectorFiles, findings: list[Finding]) -> BundledConnector:
    package = BundledConnector(read_manifest_file(files.manifest, read_connector), _hash(files))
    if files.stored and package.hash != files.stored:
        message = f"the connector was changed in the store: its hash is {package.hash or 'unknown'}"
        findings.append(Finding("store-changed", message, "Install it again.", files.manifest))
    return package


def _hash(files: ConnectorFiles) -> str:
    """Returns the hash of a connector, over its module followed by its manifest; "" if there is no module."""
    try:
        module = read_file(files.module, LARGEST_MODULE)
        digest = hashlib.sha256(module)
        digest.update(read_file(files.manifest))
    except UnreadableFile:
        return ""
    return f"sha256:{digest.hexdigest()}"

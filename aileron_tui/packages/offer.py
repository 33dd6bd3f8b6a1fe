"""What a source offers to install: connectors and actions with the exact bytes that would be installed.

A source is a folder (a bundle, a connector's repository, or a folder of release archives), an archive, a `suite.toml`,
the https address of one of these files, or a reference such as `github://owner/repo@1.2.3`. Nothing is installed here.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import field, replace
from pathlib import Path
from time import monotonic
from typing import Final

from aileron_tui.core.action import Action, Requirement, read_action
from aileron_tui.core.bundle import BundledConnector, check_bundle
from aileron_tui.core.connector import Connector, read_connector
from aileron_tui.core.findings import Finding, Reading, Severity
from aileron_tui.core.suite import Suite, read_suite
from aileron_tui.core.values import dataclass
from aileron_tui.files.bundle_layout import (
    ACTION_FILE,
    SIGNATURE_FILE,
    SUITE_FILE,
    ConnectorFiles,
    find_files,
    is_file,
    list_folder,
)
from aileron_tui.files.manifest_files import UnreadableFile, disabled_actions, pins_of, read_file, resolve_paths
from aileron_tui.packages.archive import LARGEST_ARCHIVE, WASM_START, ArchivedAction, read_archive
from aileron_tui.packages.download import Download, DownloadRules, Progress, download
from aileron_tui.packages.release_address import (
    beside,
    is_reference,
    release_address,
    release_of,
)
from aileron_tui.sandbox.connector_package import ConnectorPackage, PackageError, package_hash, read_package_files
from aileron_tui.sandbox.failure import mebibytes

_ARCHIVE_ENDINGS: Final = (".tar.gz", ".tgz")
_HASH: Final = re.compile(r"sha256:[0-9a-fA-F]{64}")
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_MOST_ARCHIVES: Final = 200
_LARGEST_SOURCE: Final = 256 * 1024 * 1024
_LONGEST_MINUTES: Final = 15
_LARGEST_SUITE: Final = 1024 * 1024
_LARGEST_SIGNATURE: Final = 4096


@dataclass(frozen=True, slots=True)
class OfferedConnector:
    """A connector that can be installed. `hash` is over its module and its manifest: what actions pin."""

    package: ConnectorPackage
    connector: Connector
    hash: str


@dataclass(frozen=True, slots=True)
class OfferedAction:
    """An action that can be installed: its bytes, what they say, and the signature over them."""

    data: bytes = field(repr=False)
    action: Action
    signature: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class PackageOffer:
    """What a source offers: everything valid in it, and findings for the rest.

    `source` can be read again later, from any folder. `origin` says in words where the bytes came from.
    """

    source: str
    origin: str
    connectors: tuple[OfferedConnector, ...] = ()
    actions: tuple[OfferedAction, ...] = ()
    suite: Suite | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def missing(self) -> tuple[Requirement, ...]:
        """The connectors that the actions pin and that are not offered, each once."""
        offered = {connector.hash for connector in self.connectors}
        pinned = {
            (requirement.name, requirement.hash.lower()): requirement
            for offered_action in self.actions
            for requirement in offered_action.action.requires
        }
        return tuple(requirement for (_, pin), requirement in pinned.items() if pin not in offered)


@dataclass(frozen=True, slots=True)
class OfferRules:
    """How a source may be read. A suite's connectors whose hash is `present` already are not downloaded."""

    download: DownloadRules = field(default_factory=DownloadRules)
    progress: Progress | None = None
    present: Collection[str] = ()


def read_offer(source: str, rules: OfferRules | None = None) -> PackageOffer:
    """Reads what a source offers; raises PackageError if it cannot be read or offers nothing."""
    rules = rules or OfferRules()
    if _LONE_SURROGATE.search(os.path.abspath(source)):  # noqa: PTH100  # Path raises for some names
        hint = "Rename it, or copy it to another folder."
        raise PackageError(f"cannot use {source}", "its path is not valid UTF-8, so it cannot be recorded", hint)
    if is_reference(source):
        offer = _Reading(rules).release(source).offer(source)
    elif "://" in source:
        offer = _read_address(source, rules)
    else:
        offer = _read_path(os.path.abspath(os.path.expanduser(source)), rules)  # noqa: PTH100, PTH111  # never raise
    if not offer.connectors and not offer.actions:
        errors = [finding for finding in offer.findings if finding.severity is Severity.ERROR]
        detail = f"{errors[0].file}: {errors[0].message}" if errors else "it contains no connector and no action"
        hint = errors[0].fix if errors else "Name a bundle folder, a release archive, a suite.toml or an https address."
        raise PackageError(f"{source} has nothing to install", detail, hint)
    return offer


def _read_address(address: str, rules: OfferRules) -> PackageOffer:
    reading = _Reading(rules)
    if address.partition("?")[0].endswith(f"/{SUITE_FILE}"):
        reading.suite_at(address)
        return reading.offer(address)
    reading.came_from(address, reading.archive_at(address))
    return reading.offer(address)


def _read_path(source: str, rules: OfferRules) -> PackageOffer:
    reading = _Reading(rules)
    if os.path.isdir(source):  # noqa: PTH112  # Path raises for some names
        reading.origins.append(f"the folder {source}")
        names = list_folder(source, reading.unreadable)[0]
        archives = [f"{source}/{name}" for name in names if name.endswith(_ARCHIVE_ENDINGS)]
        files = find_files(source, [])
        if files.actions or files.connectors or files.suite or not archives:
            reading.folder(source)
        else:
            reading.archive_files(archives)
    elif source.endswith(f"/{SUITE_FILE}"):
        reading.suite_file(Path(source))
    elif is_file(source):
        reading.archive_files([source])
    else:
        hint = "Name a bundle folder, a release archive, a suite.toml or an https address."
        raise PackageError(f"cannot read {source}", "there is no such file or folder", hint)
    return reading.offer(source)


class _Reading:
    """Collects what a source contains. Everything is parsed from the very bytes that are offered."""

    def __init__(self, rules: OfferRules) -> None:
        self._rules = rules
        self.unreadable: list[Finding] = []
        self.origins: list[str] = []
        self._actions: list[tuple[Reading[Action], bytes, bytes | None]] = []
        self._packages: list[tuple[Reading[Connector], ConnectorPackage | None]] = []
        self._suite: Reading[Suite] | None = None
        self._whole = False
        self._disabled: frozenset[str] = frozenset()
        self._archives = self._size = 0
        self._hosts: dict[str, None] = {}
        self._told: set[str] = set()
        self._ends = monotonic() + _LONGEST_MINUTES * 60

    def folder(self, root: str) -> None:
        """Reads a bundle or a repository."""
        self._whole = True
        files = find_files(root, self.unreadable)
        actions = list(files.actions)
        if files.suite:
            actions += self._read_suite(files.suite, root, actions)
        for file in actions:
            self._action_file(file)
        readings = [reading for reading, *_ in self._actions]
        self._disabled = disabled_actions(files, readings, self.unreadable)
        for connector in files.pinned_connectors(pins_of(readings)):
            self._connector_files(connector)

    def suite_file(self, path: Path) -> None:
        """Reads a suite: its own entries, and all connectors beside it."""
        self.origins.append(f"the suite {path}")
        self._whole = True
        root = str(path.parent)
        for file in self._read_suite(str(path), root, []):
            self._action_file(file)
        for connector in find_files(root, self.unreadable).connectors:
            self._connector_files(connector)
        self._fetch_references()

    def suite_at(self, address: str) -> None:
        """Reads a suite from an address, then its actions, then the connectors that these pin."""
        fetched = self._download(address, _LARGEST_SUITE)
        self.came_from(address, fetched.address)
        self._suite = read_suite(fetched.data, address)
        for _, entry in self._suite.value.paths if self._suite.value else ():
            self.archive_at(beside(address, entry))
        self._fetch_references()
        self._fetch_connectors(address)

    def archive_files(self, paths: Iterable[str]) -> None:
        """Reads release archives."""
        for path in paths:
            if not self.origins:
                self.origins.append(f"the archive {path}")
            self._add_archive(_read(path, LARGEST_ARCHIVE), path)

    def came_from(self, source: str, final: str) -> None:
        """Notes where the source was downloaded from; a redirect to another host is said."""
        host = _host(final)
        self._told |= {host, _host(source)}
        if is_reference(source):
            self.origins.append(f"{source} from {host}")
        else:
            self.origins.append(source if _host(source) == host else f"{source} (redirected to {host})")

    def release(self, reference: str) -> "_Reading":
        """Reads the release archive of a reference."""
        self.came_from(reference, self.archive_at(release_address(reference), reference))
        return self

    def archive_at(self, address: str, reference: str = "") -> str:
        """Downloads an archive, which must contain what its reference says; returns where it finally came from."""
        fetched = self._download(address)
        found = self._add_archive(fetched.data, address)
        release = release_of(address)
        if found and reference and found != reference:
            raise _other_release(address, found, reference)
        if found and release and found.partition("://")[2] != release.reference:
            raise _other_release(address, found, release.reference)
        self._hosts[_host(fetched.address)] = None
        return fetched.address

    def offer(self, source: str) -> PackageOffer:
        """What was found, without what has errors."""
        packages = [
            BundledConnector(reading, package_hash(package) if package else "") for reading, package in self._packages
        ]
        checked = check_bundle([reading for reading, *_ in self._actions], packages)
        findings = [*self.unreadable, *(self._suite.findings if self._suite else ()), *checked.findings]
        findings += [finding for reading, *_ in self._actions for finding in _unset_pins(reading)]
        if not self._whole:  # the actions that make a preview valid may be installed already
            findings = [finding for finding in findings if finding.rule != "preview-not-idempotent"]
        wrong = {finding.file for finding in findings if finding.severity is Severity.ERROR}
        return PackageOffer(
            source,
            self._origin,
            tuple(
                OfferedConnector(package, reading.value, bundled.hash)
                for (reading, package), bundled in zip(self._packages, packages, strict=True)
                if reading.value and package and reading.source.file not in wrong
            ),
            tuple(
                OfferedAction(data, reading.value, signature)
                for reading, data, signature in self._actions
                if reading.value and reading.value.name not in self._disabled and reading.source.file not in wrong
            ),
            self._suite.value if self._suite else None,
            tuple(findings),
        )

    @property
    def _origin(self) -> str:
        """Where everything came from: what the source says of itself, and every other host that sent something."""
        said = "; ".join(self.origins)
        others = [host for host in self._hosts if host not in self._told]
        return f"{said}, with archives from {', '.join(others)}" if others else said

    def _read_suite(self, file: str, root: str, known: list[str]) -> list[str]:
        """Reads a suite and returns the files that it names and that are not known."""
        suite = self._suite = read_suite(_read(file), file)
        if suite.value is None:
            return []
        self._suite, extra = resolve_paths(suite, suite.value, root, known)
        return extra

    def _fetch_references(self) -> None:
        suite = self._suite.value if self._suite else None
        for entry in suite.actions if suite else ():
            if "://" in entry:
                self.archive_at(release_address(entry), entry)

    def _fetch_connectors(self, address: str) -> None:
        """Fetches the connectors that the actions of a suite pin, from the repository of the suite or their own."""
        release = release_of(address)
        present = {pin.lower() for pin in self._rules.present}
        present |= {package_hash(package) for _, package in self._packages if package}
        for reading, *_ in tuple(self._actions):
            for requirement in reading.value.requires if reading.value else ():
                if requirement.hash.lower() in present:
                    continue
                present.add(requirement.hash.lower())
                reference = f"{requirement.name}@{requirement.version}"
                if release and release.holds(requirement.name):
                    self.archive_at(release.address("", requirement.version), reference)
                elif not requirement.name.startswith("local://"):
                    self.archive_at(release_address(reference), reference)

    def _download(self, address: str, largest: int = LARGEST_ARCHIVE) -> Download:
        """Downloads a file in the time that is left for all of them."""
        rules, left = self._rules.download, self._ends - monotonic()
        if left <= 0:
            detail = f"it was not complete after {_LONGEST_MINUTES} minutes"
            raise PackageError("downloading takes too long", detail, "Try again, or add it in parts.")
        rules = replace(rules, seconds=min(rules.seconds, left), largest=min(rules.largest, largest))
        return download(address, rules, self._rules.progress)

    def _add_archive(self, data: bytes, name: str) -> str:
        """Adds what is in an archive, and returns its name and version."""
        self._archives += 1
        if self._archives > _MOST_ARCHIVES:
            raise PackageError(f"there are more than {_MOST_ARCHIVES} archives", name, "Add them in parts.")
        content = read_archive(data, name)
        if isinstance(content, ArchivedAction):
            self._count(content.data)
            reading = read_action(content.data, name)
            self._actions.append((reading, content.data, content.signature))
            return reading.value.source if reading.value else ""
        self._count(content.wasm, content.manifest)
        connector = read_connector(content.manifest, name)
        self._packages.append((connector, content))
        return f"{connector.value.name}@{connector.value.version}" if connector.value else ""

    def _count(self, *parts: bytes) -> None:
        """Limits what is kept in memory, which may be a hundred times as much as was downloaded."""
        self._size += sum(map(len, parts))
        if self._size > _LARGEST_SOURCE:
            detail = f"its files have more than {mebibytes(_LARGEST_SOURCE)}"
            raise PackageError("this is too much to install at once", detail, "Add it in parts.")

    def _action_file(self, file: str) -> None:
        data = self._found(file, _read)
        if data is None:
            return
        self._count(data)
        signature = f"{file.removesuffix(ACTION_FILE)}{SIGNATURE_FILE}" if file.endswith(f"/{ACTION_FILE}") else ""
        signed = _read(signature, _LARGEST_SIGNATURE) if signature and is_file(signature) else None
        self._actions.append((read_action(data, file), data, signed))

    def _connector_files(self, files: ConnectorFiles) -> None:
        if not files.module:
            data = self._found(files.manifest, _read)
            if data is not None:
                self._packages.append((read_connector(data, files.manifest), None))
                fix = "Build it, or add the release archive instead."
                message = "the connector has no module, so it cannot be installed"
                self.unreadable.append(Finding("module-missing", message, fix, files.manifest, 0, 0, Severity.WARNING))
            return
        package = read_package_files(files)
        self._count(package.wasm, package.manifest)
        if not package.wasm.startswith(WASM_START):
            detail = "it is not a WebAssembly module, and the gate runs nothing else"
            raise PackageError(f"cannot use {files.module}", detail, "Build the connector again.")
        self._packages.append((read_connector(package.manifest, files.manifest), package))

    def _found(self, file: str, read: Callable[[str], bytes]) -> bytes | None:
        try:
            return read(file)
        except PackageError as error:
            self.unreadable.append(Finding("unreadable", error.detail, "Check that you can read it.", file))
            return None


def _unset_pins(reading: Reading[Action]) -> Iterator[Finding]:
    """Findings for pins that are not a hash yet, as in the source of an action before its release."""
    for index, requirement in enumerate(reading.value.requires if reading.value else ()):
        if not _HASH.fullmatch(requirement.hash):
            message = f"the pin {requirement.hash} is not a hash, because this is not a released action"
            fix = "Add the released action, or set its pin with `aileron-tui pin`."
            place = reading.source.position(("requires", "connectors", index, "hash"))
            yield Finding("pin-unset", message, fix, reading.source.file, *place)


def _read(file: str, limit: int = 0) -> bytes:
    try:
        return read_file(file, limit) if limit else read_file(file)
    except UnreadableFile as error:
        raise PackageError(
            f"cannot read {file}", str(error), "Check that it is a file and that you can read it."
        ) from None


def _host(address: str) -> str:
    return address.partition("://")[2].partition("/")[0]


def _other_release(address: str, found: str, expected: str) -> PackageError:
    detail = f"it contains {found}, but the address is that of {expected}"
    return PackageError(f"cannot use {address}", detail, "Ask its publisher, or name the release that you want.")

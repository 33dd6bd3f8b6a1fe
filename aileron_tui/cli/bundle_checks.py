"""The checks of `doctor` on what a gate of this home uses: actions, connectors, signatures and credentials."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from aileron_tui.cli.ledger_reading import local_reader
from aileron_tui.cli.machine_checks import Check, Status, failed
from aileron_tui.cli.output import counted
from aileron_tui.core.connector import read_connector
from aileron_tui.core.errors import AileronError
from aileron_tui.core.findings import Finding, Severity
from aileron_tui.files.config import Config
from aileron_tui.files.manifest_files import read_folder
from aileron_tui.files.paths import Paths, bundled
from aileron_tui.ledger.file_names import FILE
from aileron_tui.packages.found_sources import found_sources, known_connectors, unknown_names
from aileron_tui.packages.installed import InstalledContent, InstalledPackages, installed_content, installed_packages
from aileron_tui.packages.publishers import connector_publisher
from aileron_tui.sandbox.connector_package import PackageError, PublisherKeyring, load_keyring
from aileron_tui.signing.packages import Packages
from aileron_tui.signing.trusted_publishers import TrustedPublishers


def bundle(here: Paths, config: Config | None) -> Iterator[Check]:
    """Everything about what is installed, found, trusted and configured."""
    try:
        with local_reader(here.data / FILE) as reader:
            packages = Packages.of(reader) if reader else Packages()
            recorded = TrustedPublishers.of(reader) if reader else TrustedPublishers()
    except AileronError:  # the checks of the ledger say why
        packages, recorded = Packages(), TrustedPublishers()
    installed = installed_packages(here.data, packages)
    publishers_check, keyring = _publishers(here, recorded)
    yield publishers_check
    yield _in_use(installed, keyring, here.cache)
    folders = config.manifests if config else ()
    for source in found_sources(folders, here.config.parent, installed):
        status = Status.FAIL if source.problem else Status.WARN if source.new else Status.OK
        yield Check("found", status, source.words, fix=source.fix)
    if config:
        yield from _connectors(config, installed)


def _publishers(here: Paths, recorded: TrustedPublishers) -> tuple[Check, PublisherKeyring]:
    """Whether the trusted publishers can be read, and whether somebody signed for each; and their keys."""
    if not here.keyring.exists():
        words = "no publisher is trusted by name; connectors are trusted by their hash"
        return Check("publishers", Status.OK, words), PublisherKeyring()
    try:
        keyring = load_keyring(here.keyring)
    except AileronError as error:
        return failed("publishers", error, f"Fix {here.keyring}, or move it away."), PublisherKeyring()
    if unsigned := recorded.without_record(keyring.publishers):
        words = f"nobody signed for {counted(len(unsigned), 'key')} in {here.keyring}: {', '.join(unsigned)}"
        return Check("publishers", Status.WARN, words, fix="`aileron-tui trust --list` shows what to do."), keyring
    count = sum(map(len, keyring.publishers.values()))
    return Check("publishers", Status.OK, f"{counted(count, 'key')} in {here.keyring}"), keyring


def _in_use(installed: InstalledPackages, keyring: PublisherKeyring, cache: Path) -> Check:
    """Whether what a gate loads is valid: what is installed, or else the samples."""
    if not installed.replace_samples:
        return _samples(installed)
    if not installed.packages and not installed.invalid:
        fix = "Install actions with `aileron-tui add SOURCE`. The samples are not used after a package was installed."
        return Check("manifests", Status.WARN, "no action: every package was removed", fix=fix)
    loaded = installed_content(installed)
    content = loaded.bundle
    errors = [finding for finding in content.findings if finding.severity is Severity.ERROR]
    signatures = list(_signatures(installed, keyring))
    wrong = [line for line, valid in signatures if not valid] + _broken_modules(loaded, cache)
    detail = "\n".join([*map(_line, errors), *wrong, *(line for line, valid in signatures if valid)])
    words = f"{counted(len(content.actions), 'action')} of {counted(len(installed.packages), 'installed package')}"
    if errors or wrong:
        problems = counted(len(errors) + len(wrong), "problem")
        return Check("manifests", Status.FAIL, f"{words}, {problems}", detail, "`aileron-tui installed` says more.")
    return Check("manifests", Status.OK, f"{words}, no problems", detail)


def _samples(installed: InstalledPackages) -> Check:
    folder = bundled("manifests")
    found = read_folder(folder)
    errors = sum(finding.severity is Severity.ERROR for finding in found.bundle().findings) + (not found.count)
    if errors:
        fix = "Run `aileron-tui lint` to see them, and reinstall aileron-tui."
        return Check("manifests", Status.FAIL, f"{counted(errors, 'error')} in {folder}", fix=fix)
    if installed.invalid:
        detail, fix = "\n".join(installed.invalid), "Run `aileron-tui history verify`."
        return Check("manifests", Status.FAIL, "entries of the ledger about packages were ignored", detail, fix)
    return Check("manifests", Status.OK, f"{found.count} bundled, no problems; nothing is installed")


def _line(finding: Finding) -> str:
    return f"{finding.file}: {finding.message}"


def _signatures(installed: InstalledPackages, keyring: PublisherKeyring) -> Iterator[tuple[str, bool]]:
    """What is said about the publisher of each connector, and whether its signature is valid or missing."""
    for package in installed.packages:
        granted = package.known.grant.connectors
        for grant, content in zip(granted, package.content.connectors if package.content else (), strict=False):
            connector = read_connector(content.manifest, grant.name).value
            if connector is None:
                continue
            try:
                words, valid = connector_publisher(content, connector, keyring).words, True
            except PackageError as error:
                words, valid = f"{error.title}: {error.detail}", False
            yield f"{connector.name} {connector.version}: {words}", valid


def _broken_modules(content: InstalledContent, cache: Path) -> list[str]:
    """The connectors whose modules cannot be loaded, as every call of them would find out."""
    from aileron_tui.sandbox.loaded_connectors import SandboxSettings  # noqa: PLC0415  # loads wasmtime
    from aileron_tui.sandbox.sandbox import Sandbox  # noqa: PLC0415

    settings = SandboxSettings(cache if cache.is_dir() else None)
    with Sandbox(content.connectors, settings) as sandbox:
        failures = sandbox.prepare(content.bundle.actions.values())
    return [f"{name}: {failure.message}" for name, failure in failures.items()]


def _connectors(config: Config, installed: InstalledPackages) -> Iterator[Check]:
    """Whether the connectors in the configuration exist, and whether their credentials can be found."""
    known = known_connectors(installed, config.manifests)
    for why in unknown_names(config.connectors, known):
        problem, _, fix = why.partition(". ")
        yield Check("connectors", Status.FAIL, problem, fix=fix)
    for name, settings in config.connectors.items():
        source = settings.credential
        if source is None or name not in known:
            continue
        if source.env and not os.environ.get(source.env):
            words = f"the credential of {name} is not set: {source.env} is empty here"
            yield Check("credentials", Status.WARN, words, fix=f"Set {source.env} where the gate runs.")
        elif source.command and not shutil.which(source.command[0]):
            words = f"the credential of {name} comes from {source.command[0]}, which is not installed"
            yield Check("credentials", Status.FAIL, words, fix="Install it, or name it by its full path.")
        else:
            where = source.env or (source.command[0] if source.command else f"the keyring entry {source.keyring}")
            yield Check("credentials", Status.OK, f"the credential of {name} comes from {where}")

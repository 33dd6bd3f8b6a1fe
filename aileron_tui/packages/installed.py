"""What is installed, and what of it the gate may load: bytes with a valid grant, doing no more than it names.

Damage in one package does not affect the others, but a package is loaded as a whole or not at all: an action that is
missing could be the one that gates an op.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from shlex import quote

from aileron_tui.core.action import Action, read_action
from aileron_tui.core.bundle import Bundle, BundledConnector, check_bundle
from aileron_tui.core.connector import read_connector
from aileron_tui.core.findings import Finding, Reading, Severity
from aileron_tui.core.package_grant import (
    ActionGrant,
    ConnectorGrant,
    action_excess,
    action_grant,
    connector_grant,
    excess,
)
from aileron_tui.core.values import dataclass
from aileron_tui.packages.store import PackageContent, PackageStore, StoredAction, StoreError
from aileron_tui.sandbox.connector_package import ConnectorPackage
from aileron_tui.signing.packages import KnownPackage, Packages


@dataclass(frozen=True, slots=True)
class InstalledPackage:
    """A package with a valid grant. `content` is None if it cannot be used, and `problem` says why."""

    known: KnownPackage
    content: PackageContent | None
    problem: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class InstalledPackages:
    """Everything that is installed, and what is wrong with entries of the ledger that were ignored.

    `replace_samples` is whether a package with an action is or was installed, even if it cannot be used.
    """

    packages: tuple[InstalledPackage, ...] = ()
    invalid: tuple[str, ...] = ()
    replace_samples: bool = False

    @property
    def usable_connectors(self) -> frozenset[str]:
        """The hashes of all connectors whose files are as they were approved."""
        grants = [package.known.grant for package in self.packages if package.content]
        return frozenset(connector.hash for grant in grants for connector in grant.connectors)


@dataclass(frozen=True, slots=True)
class InstalledContent:
    """What can be loaded: the checked bundle, and the bytes of its connectors by name."""

    bundle: Bundle
    connectors: Mapping[str, ConnectorPackage]


def installed_packages(data: Path, packages: Packages) -> InstalledPackages:
    """Reads the packages that the ledger lists, and checks that they are what was approved."""
    store = PackageStore(data)
    found = (_read(store, known) for _, known in sorted(packages.items()))
    return InstalledPackages(tuple(found), tuple(packages.invalid), packages.replace_samples)


def installed_content(installed: InstalledPackages) -> InstalledContent:
    """Checks everything that is installed together, as one bundle."""
    actions: list[Reading[Action]] = []
    connectors: dict[str, ConnectorPackage] = {}
    bundled: dict[str, BundledConnector] = {}
    for package in installed.packages:
        if package.content is None:
            continue
        grant = package.known.grant
        for granted, content in zip(grant.connectors, package.content.connectors, strict=True):
            bundled.setdefault(
                granted.hash,
                BundledConnector(read_connector(content.manifest, f"{grant.name}: {granted.name}"), granted.hash),
            )
            connectors.setdefault(granted.name, content)
        for action, stored in zip(grant.actions, package.content.actions, strict=True):
            actions.append(read_action(stored.data, f"{grant.name}: {action.name}.md"))
    bundle = check_bundle(actions, [*bundled.values()])
    findings = (*_problems(installed), *bundle.findings)
    return InstalledContent(Bundle(bundle.actions, bundle.connectors, findings), connectors)


def _problems(installed: InstalledPackages) -> Iterable[Finding]:
    for line in installed.invalid:
        yield Finding("package-entry", f"ignored: {line}", "Run `aileron-tui history verify`.", "ledger")
    for package in installed.packages:
        if package.problem:
            yield Finding("package", package.problem, package.fix, package.known.grant.name)
        elif package.known.revoked:
            message = f"it was approved with the key {package.known.approved_by}, which was revoked later"
            fix = f"If you do not trust it any more, run `aileron-tui remove {package.known.grant.name}`."
            yield Finding("package-key", message, fix, package.known.grant.name, severity=Severity.WARNING)


def _read(store: PackageStore, known: KnownPackage) -> InstalledPackage:
    grant = known.grant
    try:
        content = store.read(grant)
    except StoreError as error:
        return InstalledPackage(known, None, f"{error.title}: {error.detail}", error.hint)
    fix = f"Install it again with `aileron-tui add {quote(grant.source)}`."
    for connector, package in zip(grant.connectors, content.connectors, strict=True):
        if why := _connector_problem(connector, package):
            return InstalledPackage(known, None, f"the connector {connector.name} is refused: {why}", fix)
    for action, stored in zip(grant.actions, content.actions, strict=True):
        if why := _action_problem(action, stored):
            return InstalledPackage(known, None, f"the action {action.name} is refused: {why}", fix)
    return InstalledPackage(known, content)


def _connector_problem(granted: ConnectorGrant, package: ConnectorPackage) -> str:
    connector = read_connector(package.manifest, granted.name).value
    if connector is None:
        return "its manifest is not valid for this version of aileron-tui"
    return excess(connector_grant(connector, granted.hash, granted.publisher), granted)


def _action_problem(granted: ActionGrant, stored: StoredAction) -> str:
    action = read_action(stored.data, granted.name).value
    if action is None:
        return "its manifest is not valid for this version of aileron-tui"
    return action_excess(action_grant(action, stored.data, granted.publisher), granted)

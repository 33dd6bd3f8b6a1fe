"""The connectors that a gate would use: those of the installed packages, or those in folders."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from aileron_tui.core.connector import Connector, read_connector
from aileron_tui.core.package_grant import ConnectorGrant, connector_grant
from aileron_tui.core.values import dataclass
from aileron_tui.files.paths import bundled
from aileron_tui.packages.installed import InstalledPackages
from aileron_tui.packages.publishers import connector_publisher
from aileron_tui.sandbox.connector_package import PublisherKeyring, package_hash, read_packages


@dataclass(frozen=True, slots=True)
class ConnectorInUse:
    """A connector as its manifest describes it, and what it may do. `origin` says in words where it comes from."""

    connector: Connector
    grant: ConnectorGrant
    origin: str


def connectors_in_use(
    installed: InstalledPackages, folders: Sequence[Path], keyring: PublisherKeyring
) -> Mapping[str, ConnectorInUse]:
    """The connectors by name. Without folders, what is installed counts, and the samples if no action ever was."""
    if folders:
        sources = [(folder, f"the folder {folder}") for folder in folders]
        found: dict[str, ConnectorInUse] = {}
    else:
        sources = [] if installed.replace_samples else [(bundled("manifests"), "the samples of aileron-tui")]
        found = {each.connector.name: each for each in _installed(installed)}
    for folder, origin in sources:
        for name, package in read_packages(folder).items():
            connector = read_connector(package.manifest, name).value
            if connector is not None and name not in found:
                publisher = connector_publisher(package, connector, keyring).words
                grant = connector_grant(connector, package_hash(package), publisher)
                found[name] = ConnectorInUse(connector, grant, origin)
    return found


def _installed(installed: InstalledPackages) -> Iterator[ConnectorInUse]:
    for package in installed.packages:
        grant = package.known.grant
        for granted, content in zip(
            grant.connectors, package.content.connectors if package.content else (), strict=False
        ):
            connector = read_connector(content.manifest, granted.name).value
            if connector is not None:
                yield ConnectorInUse(connector, granted, f"the package {grant.name}")

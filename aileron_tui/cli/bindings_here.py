"""What the commands about accounts share: the bindings of this home, and the connectors that its gate would use."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from aileron_tui.cli.ledger_reading import local_reader
from aileron_tui.cli.package_consent import installed
from aileron_tui.files.paths import paths
from aileron_tui.packages.connectors_in_use import ConnectorInUse, connectors_in_use
from aileron_tui.sandbox.connector_package import load_keyring
from aileron_tui.signing.bindings import Bindings
from aileron_tui.surface.local_ledgers import gate_ledger


def bindings_here() -> Bindings:
    """The bindings in the ledger of this home's gate."""
    with local_reader(gate_ledger(), indexed=True) as reader:
        return Bindings.of(reader) if reader else Bindings()


def connectors_here(folders: Sequence[Path]) -> Mapping[str, ConnectorInUse]:
    """The connectors that a gate of this home uses, or those in folders, as for `gate --manifests`."""
    return connectors_in_use(installed(), folders, load_keyring(paths().keyring))

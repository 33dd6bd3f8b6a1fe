"""What is installed in this home, for commands that only read."""

from aileron_tui.cli.ledger_reading import local_reader
from aileron_tui.files.paths import paths
from aileron_tui.ledger.file_names import FILE
from aileron_tui.packages.installed import InstalledPackages, installed_packages
from aileron_tui.signing.packages import Packages


def installed_here() -> InstalledPackages:
    """What is installed in this home. Nothing is written."""
    data = paths().data
    with local_reader(data / FILE) as reader:
        return installed_packages(data, Packages.of(reader) if reader else Packages())

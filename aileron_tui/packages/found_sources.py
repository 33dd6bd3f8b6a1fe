"""Bundles that are on this machine but that nobody may have approved: those of the configuration, and an Aileron home.

They are read where they are. Nothing in them is used until it was added: what counts is the bytes that were approved.
"""

from collections.abc import Collection, Iterable
from pathlib import Path
from shlex import quote
from typing import Final

from aileron_tui.core.package_grant import file_hash
from aileron_tui.core.toml_schema import nearest
from aileron_tui.core.values import dataclass
from aileron_tui.files.bundle_layout import STORE
from aileron_tui.files.manifest_files import connector_names
from aileron_tui.files.paths import bundled
from aileron_tui.packages.installed import InstalledPackages
from aileron_tui.packages.offer import read_offer
from aileron_tui.sandbox.connector_package import PackageError

_MOST_NAMES: Final = 5


@dataclass(frozen=True, slots=True)
class FoundSource:
    """A folder that was found. `new` names what in it was not approved; `problem` says why it cannot be read."""

    folder: Path
    what: str
    new: tuple[str, ...] = ()
    problem: str = ""
    hint: str = ""

    @property
    def words(self) -> str:
        """What was found, in words."""
        if self.problem:
            return f"{self.what} {self.folder} cannot be read: {self.problem}"
        if not self.new:
            return f"{self.what} {self.folder}: everything in it was approved"
        names = ", ".join(self.new[:_MOST_NAMES])
        more = f" and {len(self.new) - _MOST_NAMES} more" if len(self.new) > _MOST_NAMES else ""
        return f"{self.what} {self.folder} contains what nobody has approved, so it is not used: {names}{more}"

    @property
    def fix(self) -> str:
        """What to do about it."""
        if self.problem:
            return self.hint or "Check the folder."
        add = f"aileron-tui add {quote(str(self.folder))}"
        return f"Look at it and approve it with `{add}`." if self.new else ""


def found_sources(folders: Iterable[Path], home: Path | None, installed: InstalledPackages) -> tuple[FoundSource, ...]:
    """What there is in the folders of the configuration and in an Aileron home, compared with what is installed."""
    named = [(folder, "the folder") for folder in folders]
    if home and is_aileron_home(home):
        named.append((home, "the Aileron home"))
    return tuple(_found(folder, what, installed) for folder, what in named)


def is_aileron_home(folder: Path) -> bool:
    """Whether Aileron keeps actions or connectors in this folder."""
    return (folder / "actions").is_dir() or folder.joinpath(*STORE).is_dir()


def known_connectors(installed: InstalledPackages, folders: Iterable[Path]) -> frozenset[str]:
    """The names of all connectors that the configuration may name: installed, in these folders, or a sample."""
    granted = (connector.name for package in installed.packages for connector in package.known.grant.connectors)
    return frozenset(granted) | connector_names(*folders, bundled("manifests"))


def unknown_names(names: Iterable[str], known: Collection[str]) -> tuple[str, ...]:
    """What is wrong with names of connectors in the configuration, in words."""
    found = []
    for name in names:
        if name not in known:
            close = nearest(name, sorted(known))
            meant = f' Did you mean "{close}"?' if close else " Install it, or remove its settings."
            found.append(f'[connectors."{name}"] is not a connector that is installed.{meant}')
    return tuple(found)


def _found(folder: Path, what: str, installed: InstalledPackages) -> FoundSource:
    if not folder.is_dir():  # a suite would be downloaded
        return FoundSource(folder, what, problem="there is no such folder")
    try:
        offer = read_offer(str(folder))
    except PackageError as error:
        return FoundSource(folder, what, problem=error.detail or error.title, hint=error.hint)
    grants = [package.known.grant for package in installed.packages]
    connectors = {connector.hash for grant in grants for connector in grant.connectors}
    actions = {(action.name, action.hash) for grant in grants for action in grant.actions}
    new = [each.connector.name for each in offer.connectors if each.hash not in connectors]
    new += [each.action.name for each in offer.actions if (each.action.name, file_hash(each.data)) not in actions]
    return FoundSource(folder, what, tuple(new))

"""Where the files of a bundle are, in our own layout, in that of connector repositories and in an Aileron home.

A bundle folder contains `suite.toml`, `actions/*.md` or `actions/<name>/action.md`, and `connectors/<name>` with
`manifest.toml`, `connector.wasm` and `signature.sig`. The repository of one connector has its manifest in `connector`,
and its module there, at the top or in `dist` once it has been built. An Aileron home keeps its connectors in
`store/connectors/sha256/<hash>`. A folder without `actions` contains the `*.md` files directly. Everything but the
actions is optional.
"""

import errno
import os
import stat
from collections.abc import Collection
from dataclasses import replace
from typing import Final

from aileron_tui.core.findings import Finding
from aileron_tui.core.values import dataclass

SUITE_FILE: Final = "suite.toml"
ACTION_FILE: Final = "action.md"
CONNECTOR_FILE: Final = "manifest.toml"
MODULE_FILE: Final = "connector.wasm"
SIGNATURE_FILE: Final = "signature.sig"
STATE_FILE: Final = "action-state.json"
STORE: Final = ("store", "connectors", "sha256")


@dataclass(frozen=True, slots=True)
class ConnectorFiles:
    """The files of one connector; `module` and `signature` are "" if there is none.

    `stored` is the hash that the store of an Aileron home has it under, "" elsewhere.
    """

    manifest: str
    module: str = ""
    signature: str = ""
    stored: str = ""


@dataclass(frozen=True, slots=True)
class BundleFiles:
    """The files of a bundle; `suite` is "" if there is none, and so is `state`, which says what is switched off."""

    actions: tuple[str, ...] = ()
    connectors: tuple[ConnectorFiles, ...] = ()
    suite: str = ""
    state: str = ""

    def pinned_connectors(self, pins: Collection[str]) -> tuple[ConnectorFiles, ...]:
        """The connectors, without those in a store that no action pins: it keeps every version it ever had."""
        return tuple(connector for connector in self.connectors if not connector.stored or connector.stored in pins)


def find_files(root: str, unreadable: list[Finding]) -> BundleFiles:
    """Finds the files of a bundle. Adds a finding for each folder that cannot be read."""
    files, folders = list_folder(root, unreadable)
    actions = _actions(root, files, folders, unreadable)
    suite = f"{root}/{SUITE_FILE}" if SUITE_FILE in (*files, *folders) else ""
    state = f"{root}/{STATE_FILE}" if STATE_FILE in files else ""
    return BundleFiles(tuple(actions), tuple(_connectors(root, files, folders, unreadable)), suite, state)


def _actions(root: str, files: list[str], folders: list[str], unreadable: list[Finding]) -> list[str]:
    if "actions" not in folders:
        return [f"{root}/{name}" for name in files if name.endswith(".md")]
    home = f"{root}/actions"
    inside, below = list_folder(home, unreadable)
    nested = [f"{home}/{name}/{ACTION_FILE}" for name in below]
    return [f"{home}/{name}" for name in inside if name.endswith(".md")] + [file for file in nested if is_file(file)]


def _connectors(root: str, files: list[str], folders: list[str], unreadable: list[Finding]) -> list[ConnectorFiles]:
    homes = [root] if CONNECTOR_FILE in files else []
    if "connectors" in folders:
        homes += [f"{root}/connectors/{name}" for name in list_folder(f"{root}/connectors", unreadable)[1]]
    found = [connector for home in homes if (connector := _connector(home, unreadable))]
    if STORE[0] in folders:
        found += _stored("/".join((root, *STORE)), unreadable)
    return found + _repository_connector(root, folders, unreadable)


def _stored(store: str, unreadable: list[Finding]) -> list[ConnectorFiles]:
    """The connectors in the store of an Aileron home, each in a folder named after its hash."""
    names = list_folder(store, unreadable)[1]
    found = [(name, _connector(f"{store}/{name}", unreadable)) for name in names]
    return [replace(connector, stored=f"sha256:{name.lower()}") for name, connector in found if connector]


def _connector(folder: str, unreadable: list[Finding]) -> ConnectorFiles | None:
    files, _ = list_folder(folder, unreadable)
    if CONNECTOR_FILE not in files and MODULE_FILE not in files:
        return None
    module, signature = (f"{folder}/{name}" if name in files else "" for name in (MODULE_FILE, SIGNATURE_FILE))
    return ConnectorFiles(f"{folder}/{CONNECTOR_FILE}", module, signature)


def _repository_connector(root: str, folders: list[str], unreadable: list[Finding]) -> list[ConnectorFiles]:
    """The one connector of a repository: as built in `dist` if its manifest is there too, else from its source."""
    built = _connector(f"{root}/dist", unreadable) if "dist" in folders else None
    if built and built.module and is_file(built.manifest):
        return [built]
    source = f"{root}/connector"
    if "connector" not in folders or not is_file(f"{source}/{CONNECTOR_FILE}"):
        return []
    for home in (source, root, f"{root}/dist", f"{source}/dist"):
        if is_file(module := f"{home}/{MODULE_FILE}"):
            signature = f"{home}/{SIGNATURE_FILE}"
            return [ConnectorFiles(f"{source}/{CONNECTOR_FILE}", module, signature if is_file(signature) else "")]
    return [ConnectorFiles(f"{source}/{CONNECTOR_FILE}")]


def list_folder(folder: str, unreadable: list[Finding]) -> tuple[list[str], list[str]]:
    """Returns the sorted names in a folder: first the files, then the subfolders."""
    files: list[str] = []
    folders: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                (folders if _is_folder(entry) else files).append(entry.name)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        fix = "Check that you have permission to read the folder."
        unreadable.append(Finding("unreadable", f"cannot read the folder: {reason(error)}", fix, folder))
    return sorted(files), sorted(folders)


def is_file(path: str) -> bool:
    """Returns whether there is a regular file at a path, which may be any text."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116  # Path raises for some names
    except (OSError, ValueError):
        return False


def reason(error: OSError | ValueError) -> str:
    """Returns why a file or folder cannot be used, in a few words."""
    if isinstance(error, ValueError):
        return "the file name is not valid"
    return "its symbolic links form a loop" if error.errno == errno.ELOOP else (error.strerror or str(error)).lower()


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that forms a loop, or a target without permission
        return False

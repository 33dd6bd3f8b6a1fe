"""Policies for MCP servers on disk: those of the user, and the examples that ship with the program.

They are `*.toml` files in a folder called `mcp`.
"""

from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Final

from aileron_tui.core import frontmatter
from aileron_tui.core.errors import AileronError
from aileron_tui.core.findings import Finding, Reading, Severity, TomlSource
from aileron_tui.core.mcp_policy import McpPolicy, is_policy, policy_reading
from aileron_tui.files.bundle_layout import CONNECTOR_FILE, SUITE_FILE, list_folder
from aileron_tui.files.manifest_files import (
    UnreadableFile,
    read_file,
    read_manifest_file,
)
from aileron_tui.files.paths import bundled, paths

_FOLDER: Final = "mcp"


class InvalidPolicy(AileronError):
    """A policy that cannot be used."""


def policy_path(server: str) -> Path:
    """Where the user's policy for a server is, by the name under which the server was set up."""
    return paths().policies / f"{server}.toml"


def load_policy(file: Path) -> McpPolicy:
    """Returns the policy in a file. Raises InvalidPolicy with the first problem and where it is."""
    reading = read_policy_file(str(file))
    if reading.value:
        return reading.value
    error = next(finding for finding in reading.findings if finding.severity is Severity.ERROR)
    place = f"line {error.line}: " if error.line else ""
    hint = f"Run `aileron-tui lint {file}`."
    raise InvalidPolicy(f"the policy {file} has errors", f"{place}{error.message}", hint)


def read_policy_file(file: str) -> Reading[McpPolicy]:
    """Returns the policy in a file, with every problem found in it."""
    return read_manifest_file(file, policy_reading)


def policies_in(folder: Path) -> tuple[list[Reading[McpPolicy]], list[Finding]]:
    """Every policy in a folder called `mcp`, or in the one inside a folder; and what is wrong with the folder."""
    unreadable: list[Finding] = []
    here = folder if folder.absolute().name == _FOLDER else folder / _FOLDER
    files = [here / name for name in list_folder(str(here), unreadable)[0]]
    return [read_policy_file(str(file)) for file in files if is_policy_file(file)], unreadable


def is_policy_file(file: Path) -> bool:
    """Whether a file is a policy: a TOML file in a folder called `mcp`, or one with the keys of a policy."""
    if file.suffix != ".toml" or file.name in (SUITE_FILE, CONNECTOR_FILE):
        return False
    if file.absolute().parent.name == _FOLDER:
        return True
    try:
        return is_policy(frontmatter.tables(TomlSource(str(file), frontmatter.decode(read_file(str(file)), str(file)))))
    except (UnreadableFile, frontmatter.UnreadableManifest):
        return False


def shipped_policies() -> dict[Path, McpPolicy]:
    """The examples that ship with the program."""
    readings, _ = policies_in(bundled("manifests"))
    return {Path(reading.source.file): reading.value for reading in readings if reading.value}


def shipped_policy(command: Sequence[str]) -> Path | None:
    """The example for the server that a command starts, or None.

    It is found by the name of the server's package, with or without a version, or by the program that it installs.
    """
    for file, policy in shipped_policies().items():
        if any(_names(word, policy.server) for word in command):
            return file
    return None


def _names(word: str, package: str) -> bool:
    installed = f"mcp-{package.rpartition('/')[2].removeprefix('mcp-')}"
    inside = f"/node_modules/{package}/"
    return word == package or word.startswith(f"{package}@") or PurePath(word).name == installed or inside in word

"""Makes the repository of a new connector from the templates in `skeletons`."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.manifest_names import PLAIN_NAME_RULE, is_plain_name
from aileron_tui.core.values import dataclass
from aileron_tui.files.new_files import create_files
from aileron_tui.files.paths import bundled

UNPINNED: Final = "not-built-yet"
"""Stands for the hash in the pin of an action whose connector was not built yet."""

_FULL_NAME: Final = re.compile(r"(?:github|gitlab|hub|local)://[A-Za-z0-9._~-]+(?:/[A-Za-z0-9._~-]+)+")
_MARKER: Final = re.compile(r"@@([a-z]+)@@")
_COMMON: Final = "repository"
_HIDDEN: Final = {"gitignore": ".gitignore"}  # it would count for this project too


class InvalidName(AileronError):
    """A name that a connector cannot have."""


@dataclass(frozen=True, slots=True)
class Language:
    """A language for connectors: what is needed to build one, and the file with the ops."""

    needs: str
    main: str


LANGUAGES: Final[Mapping[str, Language]] = {
    "go": Language(
        "You need Go 1.24 or newer, make, Python 3.11 or newer and `aileron-tui`.",
        "connector/main.go",
    ),
    "c": Language(
        "You need make, Python 3.11 or newer, `aileron-tui`, and zig, which compiles C: `pip install ziglang`.",
        "connector/main.c",
    ),
}


def new_repository(folder: Path, connector: str, language: str) -> tuple[str, ...]:
    """Creates the repository in a folder, and returns its files. Without a name, the connector has the folder's."""
    name = folder.absolute().name
    if not is_plain_name(name):
        raise InvalidName(f'"{name}" is not a valid name for a connector', hint=PLAIN_NAME_RULE)
    connector = connector or f"local://dev/{name}"
    if not _FULL_NAME.fullmatch(connector):
        raise InvalidName(
            f'"{connector}" is not the full name of a connector', hint="Write one such as github://owner/repo."
        )
    chosen = LANGUAGES[language]
    values = {
        "name": name,
        "connector": connector,
        "needs": chosen.needs,
        "main": chosen.main,
        "unpinned": UNPINNED,
    }
    files = {name: filled(data, values) for name, data in {**_templates(_COMMON), **_templates(language)}.items()}
    create_files(folder, files)
    return tuple(sorted(files))


def filled(data: bytes, values: Mapping[str, str]) -> bytes:
    """A template with every `@@marker@@` replaced; anything else in it, such as braces, stays as it is."""
    return _MARKER.sub(lambda marker: values[marker[1]], data.decode()).encode()


def _templates(name: str) -> dict[str, bytes]:
    root = bundled("skeletons") / name
    found = sorted(path for path in root.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {
        path.relative_to(root).with_name(_HIDDEN.get(path.name, path.name)).as_posix(): path.read_bytes()
        for path in found
    }

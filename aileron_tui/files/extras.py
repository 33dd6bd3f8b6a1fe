"""How to install an extra of this program, which depends on how the program itself was installed."""

import json
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from aileron_tui.core.visible_text import Visible, inline

if TYPE_CHECKING:
    from importlib.metadata import Distribution

_NAME: Final = "aileron-tui"
_UNKNOWN: Final = "PATH_TO_AILERON_TUI"  # for a person to replace
_OF_AN_EXTRA: Final = re.compile(r"""([\w.-]+)[^;]*;.*\bextra *== *['"]([\w-]+)['"]""")


def install_command(extra: str) -> Visible:
    """The command that adds an extra to this installation. The extras that it has stay."""
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415  # only if an extra is missing

    try:
        program = distribution(_NAME)
    except PackageNotFoundError:
        source, kept = {}, set()
    else:
        source, kept = _source(program), _complete(program)
    prefix = Path(sys.prefix)
    if (prefix / "pipx_metadata.json").is_file():
        words = ["pipx", "install", "--force"]
    elif (prefix / "uv-receipt.toml").is_file():
        words = ["uv", "tool", "install", "--force"]
    else:
        words, kept = _pip(), set()  # pip removes nothing
    if source.get("dir_info", {}).get("editable"):
        words.append("--editable")
    words.append(_requirement(source, ",".join(sorted({extra, *kept} - {"dev"}))))
    return inline(shlex.join(words))


def _pip() -> list[str]:
    """What installs into the environment of this program; uv makes environments without pip."""
    from importlib.util import find_spec  # noqa: PLC0415

    has_pip = find_spec("pip") is not None
    return [sys.executable, "-m", "pip", "install"] if has_pip else ["uv", "pip", "install", "--python", sys.executable]


def _source(program: "Distribution") -> dict[str, Any]:
    """Where the program was installed from, as its installer wrote it down; empty if it did not."""
    try:
        source = json.loads(program.read_text("direct_url.json") or "{}")
    except (OSError, ValueError):
        return {}
    return source if isinstance(source, dict) else {}


def _requirement(source: dict[str, Any], extras: str) -> str:
    """What to install, as pip, pipx and uv read it."""
    url = source.get("url", "")
    address = urlsplit(url)
    if address.scheme == "file":
        path = url2pathname(address.path)
        return f"{path if Path(path).exists() else _UNKNOWN}[{extras}]"
    if not url:  # it came from a registry, or from none of these installers
        return f"{_UNKNOWN}[{extras}]"
    version = source.get("vcs_info", {})
    at = f"{version['vcs']}+{url}@{version['commit_id']}" if version else url
    return f"{_NAME}[{extras}] @ {at}"


def _complete(program: "Distribution") -> set[str]:
    """The extras of which every package is installed."""
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415

    extras, missing = set(), set()
    for requirement in program.requires or ():
        if found := _OF_AN_EXTRA.match(requirement):
            package, extra = found.groups()
            extras.add(extra)
            try:
                distribution(package)
            except PackageNotFoundError:
                missing.add(extra)
    return extras - missing

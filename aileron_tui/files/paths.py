"""The folders for configuration, data, keys and cache, and those that ship with the program."""

import os
from pathlib import Path
from typing import Final, Literal

import aileron_tui
from aileron_tui.core.values import dataclass

HOME_VARIABLE: Final = "AILERON_TUI_HOME"
_APP: Final = "aileron-tui"


@dataclass(frozen=True, slots=True)
class Paths:
    """The files and folders of one installation. The folders may not exist yet."""

    config: Path
    keyring: Path
    data: Path
    keys: Path
    cache: Path

    @property
    def policies(self) -> Path:
        """The folder with the user's policies for MCP servers."""
        return self.config.parent / "mcp"


def paths() -> Paths:
    """Returns the paths in AILERON_TUI_HOME if it is set, or else in the user's standard folders."""
    if home := os.environ.get(HOME_VARIABLE):
        root = Path(home).expanduser().absolute()
        return Paths(root / "config.toml", root / "keyring.json", root / "data", root / "keys", root / "cache")
    import platformdirs  # noqa: PLC0415  # not needed with AILERON_TUI_HOME

    data = Path(platformdirs.user_data_dir(_APP, appauthor=False))
    cache = Path(platformdirs.user_cache_dir(_APP, appauthor=False))
    aileron = Path.home() / ".aileron"
    return Paths(aileron / "config.toml", aileron / "keyring.json", data, data / "keys", cache)


def bundled(name: Literal["manifests", "skeletons", "styles"]) -> Path:
    """Returns a folder that ships with the program: inside the package if installed, beside it in a checkout."""
    package = Path(aileron_tui.__file__).parent
    inside = package / name
    return inside if inside.is_dir() else package.parent / name


def page_folder() -> Path:
    """Returns the folder with the templates, the script and the style of the web page."""
    return Path(aileron_tui.__file__).parent / "page"

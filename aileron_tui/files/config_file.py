"""Loads the user's configuration file."""

from pathlib import Path

from aileron_tui.files.config import Config


def load_config(path: Path) -> Config:
    """Returns the configuration in a file, or the defaults if the file does not exist."""
    if not path.exists():
        return Config()
    from aileron_tui.files.config_reader import read_config  # noqa: PLC0415  # only needed if there is a file

    return read_config(path)

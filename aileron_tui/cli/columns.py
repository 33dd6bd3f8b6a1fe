"""How wide the terminal is, so that long lines are wrapped by us: a terminal would wrap them into its first column."""

import os
from typing import TextIO


def columns(out: TextIO) -> int:
    """The width of the terminal that this stream writes to; 0 where it is none and lines stay whole."""
    try:
        return os.get_terminal_size(out.fileno()).columns
    except (OSError, ValueError):
        return 0

"""How wide the terminal is, so that long lines are wrapped by us: a terminal would wrap them into its first column."""

import os
from typing import Final, TextIO

from aileron_tui.core.visible_text import Visible, wrap

_HANG: Final = " " * 4


def columns(out: TextIO) -> int:
    """The width of the terminal that this stream writes to; 0 where it is none and lines stay whole."""
    try:
        return os.get_terminal_size(out.fileno()).columns
    except (OSError, ValueError):
        return 0


def write(out: TextIO, *lines: str) -> None:
    """Lines whose foreign text was made visible; whatever of it a terminal would wrap stays behind an indent."""
    width = columns(out)
    out.write("".join(f"{row}\n" for line in lines for row in wrap(Visible(line), width, _HANG)))

"""Printing. Long lines are wrapped here, because a terminal would continue them without indentation."""

import json
import os
import sys
from typing import TYPE_CHECKING, Final, TextIO

from aileron_tui.core.visible_text import Visible, inline, wrap

if TYPE_CHECKING:
    from aileron_tui.core.errors import AileronError
    from aileron_tui.core.jsontext import Json

_INDENT: Final = " " * 4


def columns(out: TextIO) -> int:
    """The width of the terminal that a stream writes to; 0 if it is not a terminal and lines are not wrapped."""
    try:
        return os.get_terminal_size(out.fileno()).columns
    except (OSError, ValueError):
        return 0


def write(out: TextIO, *lines: str, indent: str = _INDENT) -> None:
    """Writes lines whose foreign text was made visible; the continuation of a long line is indented."""
    width = columns(out)
    out.write("".join(f"{row}\n" for line in lines for row in wrap(Visible(line), width, indent, words=True)))


def print_lines(*lines: str) -> None:
    """Writes lines to standard output; foreign text in them was made visible."""
    write(sys.stdout, *lines)


def print_json(value: "Json", *, compact: bool = False) -> None:
    """Writes a JSON document to standard output; a compact one takes one line."""
    sys.stdout.write(json.dumps(value, indent=None if compact else 2) + "\n")
    sys.stdout.flush()


def print_error(error: "AileronError") -> None:
    """Writes an error to standard error."""
    write_error(error.title, error.detail, error.hint)


def write_error(title: str, *details: str) -> None:
    """Writes the parts of an error, which may contain foreign text, to standard error."""
    write(sys.stderr, f"error: {inline(title)}", *(f"  {inline(line)}" for line in details if line))


def counted(count: int, one: str, many: str = "") -> str:
    """A number and its noun."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"

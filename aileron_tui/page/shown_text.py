"""The only place of the page where foreign text becomes something that a template places."""

from collections.abc import Iterable
from typing import Final

from aileron_tui.core.visible_text import LONGEST_CONVERTED, Visible, block_pieces, inline, inline_pieces, short
from aileron_tui.page.views import Line, Piece

_NEWLINE_MARKS: Final = frozenset("⇥⏎")


def own(text: str) -> Line:
    """A line in the program's own words."""
    return (Piece(Visible(text)),) if text else ()


def line(text: str) -> Line:
    """Foreign text as one line."""
    return _pieces(inline_pieces(text))


def short_line(text: str, width: int) -> Line:
    """Foreign text as one line that is cut, and says how much of it is hidden."""
    clipped = short(text, width)
    is_whole = len(text) <= LONGEST_CONVERTED and clipped == inline(text)
    return line(text) if is_whole else (Piece(clipped),)


def block_lines(text: str) -> tuple[Line, ...]:
    """Foreign text as lines, with padding replaced by counts."""
    return tuple(map(_pieces, block_pieces(text)))


def _pieces(parts: Iterable[tuple[Visible, bool]]) -> Line:
    return tuple(
        Piece(text, ("newline" if text in _NEWLINE_MARKS else "mark") if is_mark else "")
        for text, is_mark in parts
        if text
    )

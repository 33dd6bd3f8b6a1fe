"""The only place where foreign text is turned into something that Textual draws.

Textual reads a `str` as markup and passes escape sequences on to the terminal. So text that this program did not write
goes through `core/visible_text.py` first and becomes `Content`, which is never read as markup, or segments without
metadata, so that nothing in it can be clicked. Real marks (`⟨ESC⟩`, `⏎`) have a style that foreign text cannot get.
"""

from collections.abc import Iterable
from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.content import Content, Span

from aileron_tui.core.visible_text import LONGEST_CONVERTED, block_pieces, inline, inline_pieces, pieces, short

TextPart = tuple[str, bool]
"""A piece of visible text, and whether it is a mark shown in place of a character."""

MARK: Final = "bold $text-warning"
NEWLINE_MARK: Final = "dim $text-primary"
MUTED: Final = "$foreground 60%"
STRONG: Final = "bold"
ACCENT: Final = "bold $text-primary"
WARNING: Final = "$text-warning"
STRONG_WARNING: Final = "bold $text-warning"
DANGER: Final = "bold $text-error"
FOREIGN: Final = "$foreground on $surface"
GUTTER_STYLE: Final = "$primary 60% on $surface"

# Tabs and newlines are common, so their marks differ from text without drawing attention.
_NEWLINE_MARKS: Final = frozenset("⇥⏎")


def trusted(text: str, style: str = "") -> Content:
    """Text written by this program. It is not read as markup either, so a bracket stays a bracket."""
    return Content.styled(text, style)


def foreign(text: str, style: str = "") -> Content:
    """Foreign text with its newlines."""
    return from_parts(pieces(text), style)


def foreign_line(text: str, style: str = "") -> Content:
    """Foreign text as one line."""
    return from_parts(inline_pieces(text), style)


def foreign_short(text: str, width: int, style: str = "") -> Content:
    """Foreign text as one line of at most `width` columns; says how much of it is hidden."""
    clipped = short(text, width)
    is_whole = len(text) <= LONGEST_CONVERTED and clipped == inline(text)
    return foreign_line(text, style) if is_whole else Content.styled(clipped, style)


def foreign_lines(text: str, style: str = "") -> list[Content]:
    """Foreign text as lines, with padding replaced by counts."""
    return [from_parts(line, style) for line in block_pieces(text)]


def from_parts(parts: Iterable[TextPart], style: str = "") -> Content:
    """Content made of parts that `core/visible_text.py` returned."""
    texts: list[str] = []
    spans: list[Span] = []
    end = 0
    for text, is_mark in parts:
        start, end = end, end + len(text)
        texts.append(text)
        if style:
            spans.append(Span(start, end, style))
        if is_mark:
            spans.append(Span(start, end, NEWLINE_MARK if text in _NEWLINE_MARKS else MARK))
    return Content("".join(texts), spans)


def segments(parts: Iterable[TextPart], plain: Style, mark: Style, newline_mark: Style) -> list[Segment]:
    """The same parts as segments, for widgets that draw line by line."""
    return [
        Segment(text, (newline_mark if text in _NEWLINE_MARKS else mark) if is_mark else plain)
        for text, is_mark in parts
        if text
    ]

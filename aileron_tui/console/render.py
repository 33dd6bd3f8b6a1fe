"""The one place where foreign text becomes something Textual draws.

Textual reads a `str` as markup and passes escape sequences on to the terminal. So what we did not write goes
through `core.text` first and becomes `Content`, which is never read as markup, or segments without any meta, so
that nothing in it can be clicked. Real marks (`⟨ESC⟩`, `⏎`) get a look that content cannot give itself.
"""

from collections.abc import Iterable
from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.content import Content, Span

from aileron_tui.core.visible_text import block_pieces, clip, inline, inline_pieces, pieces

Part = tuple[str, bool]

MARK: Final = "bold $text-warning"
SIGN: Final = "dim $text-primary"
MUTED: Final = "$foreground 60%"
STRONG: Final = "bold"
ACCENT: Final = "bold $text-primary"
WARNING: Final = "$text-warning"
LOUD: Final = "bold $text-warning"
DANGER: Final = "bold $text-error"
GROUND: Final = "$foreground on $surface"
GUTTER: Final = "$primary 60% on $surface"

# Tabs and newlines are marks too, but ordinary ones: they must be told from text, not shouted.
_SIGNS: Final = frozenset("⇥⏎")


def own(text: str, style: str = "") -> Content:
    """Our own words. They are not read as markup either, so that a bracket in them stays a bracket."""
    return Content.styled(text, style)


def foreign(text: str, style: str = "") -> Content:
    """Foreign text with its newlines."""
    return assembled(pieces(text), style)


def foreign_line(text: str, style: str = "") -> Content:
    """Foreign text as one line."""
    return assembled(inline_pieces(text), style)


def foreign_short(text: str, width: int, style: str = "") -> Content:
    """Foreign text as one line of at most `width` columns, which tells how much of it is hidden."""
    shown = inline(text)
    clipped = clip(shown, width)
    return foreign_line(text, style) if clipped == shown else Content.styled(clipped, style)


def foreign_lines(text: str, style: str = "") -> list[Content]:
    """Foreign text as lines, with padding folded."""
    return [assembled(line, style) for line in block_pieces(text)]


def assembled(parts: Iterable[Part], style: str = "") -> Content:
    """Parts that `core.text` made visible, each with whether it is a mark of ours."""
    texts: list[str] = []
    spans: list[Span] = []
    end = 0
    for text, is_mark in parts:
        start, end = end, end + len(text)
        texts.append(text)
        if style:
            spans.append(Span(start, end, style))
        if is_mark:
            spans.append(Span(start, end, SIGN if text in _SIGNS else MARK))
    return Content("".join(texts), spans)


def segments(parts: Iterable[Part], plain: Style, mark: Style, sign: Style) -> list[Segment]:
    """The same as segments, for widgets that draw line by line."""
    return [Segment(text, (sign if text in _SIGNS else mark) if is_mark else plain) for text, is_mark in parts if text]

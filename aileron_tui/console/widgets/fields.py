"""Labelled values in two columns: labels are ours to place, values sit behind a gutter on their own ground.

Every value is one line that wraps within its own column, so that nothing in it can pass for another row. What a
person of ours says instead of a value (`n/a`) has neither gutter nor ground.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from textual.content import Content

from aileron_tui.console.render import GROUND, GUTTER, MUTED, STRONG, Part, assembled, own
from aileron_tui.console.widgets.line_widget import LineWidget
from aileron_tui.console.widgets.quote_text import GUTTER as BAR
from aileron_tui.console.widgets.warning_lines import notices
from aileron_tui.console.widgets.wrapping import rows
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import cells, inline, inline_pieces

WIDEST_LABEL: Final = 24
LEAST_VALUE: Final = 20
_INDENT: Final = 2
_OLD: Final = f"{MUTED} on $surface"
_NEW: Final = f"bold {GROUND}"


@dataclass(frozen=True, slots=True)
class Field:
    """A labelled value. `said` stands where there is no value; `old` is what an edit replaced."""

    label: str
    value: str | None = None
    said: str = ""
    old: str | None = None
    edited: bool = False
    warnings: tuple[str, ...] = ()


class Fields(LineWidget):
    """Rows of one section, below a title if it has one."""

    def __init__(self, title: Content | None = None, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._title = [title] if title else []
        self._fields: tuple[Field, ...] = ()
        self._labels = 0

    def show(self, fields: Sequence[Field], labels: int) -> None:
        """These rows, with labels of this width; the same ones again change nothing."""
        if (tuple(fields), labels) != (self._fields, self._labels):
            before = self.height_at(self.size.width)
            self._fields, self._labels = tuple(fields), labels
            self.display = bool(fields)
            self.lay_anew(before)

    def lines_at(self, width: int) -> list[Content]:
        """All rows."""
        return self._title + laid(self._fields, self._labels, width) if self._fields else []


def label_width(fields: Sequence[Field], width: int) -> int:
    """A width of the label column that suits all sections; 0 where labels go above their values.

    They do where a value would be left with too little room; a few very long labels wrap instead.
    """
    widest = max((cells(inline(field.label)) for field in fields), default=0)
    labels = max(4, min(widest, WIDEST_LABEL))
    return labels if width - _INDENT - labels - 2 >= LEAST_VALUE else 0


@lru_cache(maxsize=16)
def laid(fields: tuple[Field, ...], labels: int, width: int) -> list[Content]:
    """The lines of a section."""
    lines: list[Content] = []
    for field in fields:
        lines.extend(_beside(field, labels, width) if labels else _above(field, width))
    return lines


def _beside(field: Field, labels: int, width: int) -> list[Content]:
    left = _INDENT + labels + 2
    names = [_padded(row, labels, MUTED) for row in rows(inline_pieces(field.label), labels)]
    values = _values(field, width - left)
    blank = own(" " * labels)
    names += [blank] * (len(values) - len(names))
    values += [Content("")] * (len(names) - len(values))
    margin, apart = own(" " * _INDENT), own("  ")
    lines = [Content.assemble(margin, name, apart, value) for name, value in zip(names, values, strict=True)]
    indent = own(" " * left)
    return lines + [Content.assemble(indent, line) for line in _notices(field, width - left)]


def _above(field: Field, width: int) -> list[Content]:
    margin = own(" ")
    names = [Content.assemble(margin, assembled(row, MUTED)) for row in rows(inline_pieces(field.label), width - 1)]
    below = [*_values(field, width - _INDENT), *_notices(field, width - _INDENT)]
    indent = own(" " * _INDENT)
    return names + [Content.assemble(indent, line) for line in below]


def _values(field: Field, width: int) -> list[Content]:
    lines: list[Content] = []
    if field.edited and field.old is not None:
        lines += _ground(field.old, width, "−", _OLD)
    if field.value is None:
        said = rows(inline_pieces(field.said), max(1, width)) if field.said else ()
        return lines + [assembled(row, f"italic {MUTED}") for row in said]
    return lines + _ground(field.value, width, "+" if field.edited else " ", _NEW if field.edited else GROUND)


def _ground(value: str, width: int, sign: str, style: str) -> list[Content]:
    margin = Content.assemble(own(BAR, GUTTER), own(sign, f"{STRONG} {GROUND}" if sign.strip() else GROUND))
    room = max(1, width - 3)
    drawn = [_padded(row, room, style) for row in rows(inline_pieces(value), room)]
    end = own(" ", style)
    return [Content.assemble(margin, line, end) for line in drawn]


def _padded(row: tuple[Part, ...], width: int, style: str) -> Content:
    content = assembled(row, style)
    return Content.assemble(content, own(" " * max(0, width - content.cell_length), style))


def _notices(field: Field, width: int) -> list[Content]:
    return notices(field.warnings, width)

"""Labelled values in two columns.

Every value is one line that wraps inside its own column, behind a gutter and on its own background, so that nothing in
it can look like another row. A placeholder for a missing value (`n/a`) has neither gutter nor background.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from textual.content import Content

from aileron_tui.console.render import FOREIGN, GUTTER_STYLE, MUTED, STRONG, TextPart, from_parts, trusted
from aileron_tui.console.widgets.line_widget import LineWidget
from aileron_tui.console.widgets.quote_text import GUTTER
from aileron_tui.console.widgets.warning_lines import note_lines, warning_lines
from aileron_tui.console.widgets.wrapping import wrap_parts
from aileron_tui.core.lookalikes import Remarks
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import cells, inline, inline_pieces

MAX_LABEL_WIDTH: Final = 24
MIN_VALUE_WIDTH: Final = 20
_INDENT: Final = 2
_MIN_LABEL_WIDTH: Final = 4
_OLD_VALUE: Final = f"{MUTED} on $surface"
_NEW_VALUE: Final = f"bold {FOREIGN}"


@dataclass(frozen=True, slots=True)
class Field:
    """A labelled value. `placeholder` is shown if there is no value; `old` is the value that an edit replaced.

    The label of a `heading` is in the first column, like the titles of sections.
    """

    label: str
    value: str | None = None
    placeholder: str = ""
    old: str | None = None
    edited: bool = False
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    heading: bool = False


def with_remarks(field: Field, remarks: Remarks) -> Field:
    """The field with these remarks about its value instead of its own; the same field if there are none."""
    if not remarks.warnings and not remarks.notes:
        return field
    about = (field.label, field.value, field.placeholder, field.old, field.edited)
    return Field(*about, remarks.warnings, remarks.notes, field.heading)


class Fields(LineWidget):
    """The fields of one section."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._fields: tuple[Field, ...] = ()
        self._label_width = 0
        self.display = False  # without fields there is nothing to read

    @property
    def content(self) -> object:
        """The fields. Whether a heading is opened does not change what it says."""
        return tuple(field.value if field.heading else field for field in self._fields)

    def show(self, fields: Sequence[Field], label_width: int) -> None:
        """Shows these fields; labels go above their values if `label_width` is 0."""
        if (tuple(fields), label_width) != (self._fields, self._label_width):
            old_height = self.height_at(self.size.width)
            self._fields, self._label_width = tuple(fields), label_width
            self.display = bool(fields)
            self.refresh_lines(old_height)

    def lines_at(self, width: int) -> list[Content]:
        """The lines of all fields."""
        return field_lines(self._fields, self._label_width, width)


def common_label_width(fields: Sequence[Field], width: int) -> int:
    """The width of the label column for all of these fields; 0 if labels must go above their values.

    Very long labels wrap. On a narrow screen, they go above their values, and the others stay beside theirs.
    """
    room = min(MAX_LABEL_WIDTH, width - _INDENT - 2 - MIN_VALUE_WIDTH)
    widths = [_width_beside(field) for field in fields]
    if room < MAX_LABEL_WIDTH:
        widths = [found for found in widths if found <= room]
    label_width = max(_MIN_LABEL_WIDTH, min(max(widths, default=0), room))
    return label_width if label_width <= room else 0


def _width_beside(field: Field) -> int:
    return cells(inline(field.label)) - (_INDENT if field.heading else 0)


@lru_cache(maxsize=16)
def field_lines(fields: tuple[Field, ...], label_width: int, width: int) -> list[Content]:
    """The lines of these fields."""
    lines: list[Content] = []
    for field in fields:
        if label_width and (label_width == MAX_LABEL_WIDTH or _width_beside(field) <= label_width):
            lines += _label_beside_value(field, label_width, width)
        else:
            lines += _label_above_value(field, width)
    return lines


def _label_beside_value(field: Field, label_width: int, width: int) -> list[Content]:
    left = _INDENT + label_width + 2
    indent_width = 0 if field.heading else _INDENT
    label_width += _INDENT - indent_width
    style = STRONG if field.heading else MUTED
    labels = [_padded(row, label_width, style) for row in wrap_parts(inline_pieces(field.label), label_width)]
    values = _value_lines(field, width - left)
    blank = trusted(" " * label_width)
    labels += [blank] * (len(values) - len(labels))
    values += [Content("")] * (len(labels) - len(values))
    margin, gap = trusted(" " * indent_width), trusted("  ")
    lines = [Content.assemble(margin, label, gap, value) for label, value in zip(labels, values, strict=True)]
    indent = trusted(" " * left)
    return lines + [Content.assemble(indent, line) for line in _remark_lines(field, width - left)]


def _label_above_value(field: Field, width: int) -> list[Content]:
    margin, style = (trusted(""), STRONG) if field.heading else (trusted(" "), MUTED)
    label_rows = wrap_parts(inline_pieces(field.label), width - 1)
    labels = [Content.assemble(margin, from_parts(row, style)) for row in label_rows]
    below = [*_value_lines(field, width - _INDENT), *_remark_lines(field, width - _INDENT)]
    indent = trusted(" " * _INDENT)
    return labels + [Content.assemble(indent, line) for line in below]


def _remark_lines(field: Field, width: int) -> list[Content]:
    return warning_lines(field.warnings, width) + note_lines(field.notes, width)


def _value_lines(field: Field, width: int) -> list[Content]:
    lines: list[Content] = []
    if field.edited and field.old is not None:
        lines += _behind_gutter(field.old, width, "−", _OLD_VALUE)
    if field.value is None:
        rows = wrap_parts(inline_pieces(field.placeholder), max(1, width)) if field.placeholder else ()
        return lines + [from_parts(row, f"italic {MUTED}") for row in rows]
    return lines + _behind_gutter(
        field.value, width, "+" if field.edited else " ", _NEW_VALUE if field.edited else FOREIGN
    )


def _behind_gutter(value: str, width: int, sign: str, style: str) -> list[Content]:
    sign_style = f"{STRONG} {FOREIGN}" if sign.strip() else FOREIGN
    margin = Content.assemble(trusted(GUTTER, GUTTER_STYLE), trusted(sign, sign_style))
    room = max(1, width - 3)
    rows = [_padded(row, room, style) for row in wrap_parts(inline_pieces(value), room)]
    end = trusted(" ", style)
    return [Content.assemble(margin, line, end) for line in rows]


def _padded(row: tuple[TextPart, ...], width: int, style: str) -> Content:
    content = from_parts(row, style)
    return Content.assemble(content, trusted(" " * max(0, width - content.cell_length), style))

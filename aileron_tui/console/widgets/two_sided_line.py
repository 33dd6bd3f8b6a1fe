"""A line with text on the left and on the right, or one below the other if they do not fit.

What is wrapped continues behind an indent that is deeper than that of labels, so that foreign text in a line can look
neither like a heading nor like a row.
"""

from collections.abc import Iterator

from textual.content import Content

from aileron_tui.console.render import trusted
from aileron_tui.console.widgets.cached_widget import TextChange
from aileron_tui.console.widgets.line_widget import LineWidget

_MIN_GAP = 2
_INDENT = 4
_MIN_INDENTED_WIDTH = 8
_EMPTY = Content("")


class TwoSidedLine(LineWidget):
    """Two texts on one line; on a narrow screen the right one goes below."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._left = self._right = _EMPTY
        self.content_to_read: str | None = None

    @property
    def content(self) -> object:
        """The text that must be read: by default the one on the left."""
        return self._left.plain if self.content_to_read is None else self.content_to_read

    def show(self, left: Content, right: Content = _EMPTY) -> None:
        """Shows these texts; other widgets move only if the height changes."""
        if not left.is_same(self._left):
            self._show_both(left, right)
        elif not right.is_same(self._right):
            self._show_right(right)

    def _show_both(self, left: Content, right: Content) -> None:
        old_height = self.height_at(self.size.width)
        self._left, self._right = left, right
        self.refresh_lines(old_height)

    def _show_right(self, right: Content) -> None:
        """Replaces the right side; if only some characters differ, as in a clock, only these are redrawn."""
        old, new = self._right.plain, right.plain
        if len(old) != len(new) or right.spans != self._right.spans:
            self._show_both(self._left, right)
            return
        same = next(index for index, pair in enumerate(zip(old, new, strict=True)) if pair[0] != pair[1])
        self._right = right
        width, height = self.size
        self.replace_text([TextChange(width - len(new) + same, height - 1, old[same:], new[same:])])

    def lines_at(self, width: int) -> list[Content]:
        """One line if both sides fit, else both sides wrapped."""
        left, right = self._left, self._right
        gap = width - left.cell_length - right.cell_length
        if right and gap >= (_MIN_GAP if left else 0):
            return [Content.assemble(left, trusted(" " * gap), right)]
        lines = list(_indented(left, max(1, width))) if left or not right else []
        return [*lines, *(trusted(" " * max(0, width - line.cell_length)) + line for line in _wrapped(right, width))]


def _wrapped(content: Content, width: int) -> list[Content]:
    return content.wrap(max(1, width)) if content else []


def _indented(content: Content, width: int) -> Iterator[Content]:
    indent = min(_INDENT, max(0, width - _MIN_INDENTED_WIDTH))
    for line in content.split("\n", allow_blank=True):
        if line.cell_length <= width:
            yield line
            continue
        first = line.wrap(width)[0]
        yield first
        rest = line[len(first.plain) :]
        rest = rest[len(rest.plain) - len(rest.plain.lstrip(" ")) :]
        yield from (trusted(" " * indent) + row for row in rest.wrap(width - indent))

"""A line with something at its left and something at its right, or one above the other where there is no room."""

from textual.content import Content

from aileron_tui.console.render import own
from aileron_tui.console.widgets.cached_widget import TextChange
from aileron_tui.console.widgets.line_widget import LineWidget

_APART = 2
_NOTHING = Content("")


class TwoSidedLine(LineWidget):
    """Two contents on one line; on a narrow screen the right one goes below."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._left = self._right = _NOTHING

    def show(self, left: Content, right: Content = _NOTHING) -> None:
        """Draw these; only a change of height moves anything else."""
        if not left.is_same(self._left):
            self._lay(left, right)
        elif not right.is_same(self._right):
            self._go_on(right)

    def _lay(self, left: Content, right: Content) -> None:
        before = self.height_at(self.size.width)
        self._left, self._right = left, right
        self.lay_anew(before)

    def _go_on(self, right: Content) -> None:
        """A clock that goes on has other digits in the same room."""
        old, new = self._right.plain, right.plain
        if len(old) != len(new) or right.spans != self._right.spans:
            self._lay(self._left, right)
            return
        same = next(index for index, pair in enumerate(zip(old, new, strict=True)) if pair[0] != pair[1])
        self._right = right
        width, height = self.size
        self.turn([TextChange(width - len(new) + same, height - 1, old[same:], new[same:])])

    def lines_at(self, width: int) -> list[Content]:
        """One line, or as many as it takes."""
        left, right = self._left, self._right
        room = width - left.cell_length - right.cell_length
        if right and room >= (_APART if left else 0):
            return [Content.assemble(left, own(" " * room), right)]
        lines = left.wrap(max(1, width)) if left or not right else []
        return [*lines, *(own(" " * max(0, width - line.cell_length)) + line for line in _wrapped(right, width))]


def _wrapped(content: Content, width: int) -> list[Content]:
    return content.wrap(max(1, width)) if content else []

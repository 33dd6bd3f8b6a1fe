"""A line with something at its left and something at its right, or one above the other where there is no room."""

from textual.content import Content

from aileron_tui.console.render import own
from aileron_tui.console.widgets.laid import Laid

_APART = 2


class Spread(Laid):
    """Two contents on one line; on a narrow screen the right one goes below."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._left = self._right = Content("")

    def show(self, left: Content, right: Content) -> None:
        """Draw these; only a change of height moves anything else."""
        if left.is_same(self._left) and right.is_same(self._right):
            return
        if left.is_same(self._left) and right.cell_length == self._right.cell_length:
            # A clock that goes on takes the same room.
            self._left, self._right = left, right
            self.refresh()
            return
        width = self.size.width
        before = self.height_at(width)
        self._left, self._right = left, right
        self.refresh(layout=before != self.height_at(width))

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

"""Widgets that can compute their lines for any width, so that their height is known before they are drawn."""

from collections.abc import Sequence
from typing import Final

from textual.content import Content
from textual.geometry import Size

from aileron_tui.console.textual_internals import forget_measured_height
from aileron_tui.console.widgets.cached_widget import CachedWidget

_FIXED_WIDTH: Final = 200


class LineWidget(CachedWidget):
    """Draws the lines that `lines_at` returns for its width."""

    DEFAULT_CSS = "LineWidget { height: auto; width: 1fr; }"

    def lines_at(self, width: int) -> Sequence[Content]:
        """The lines for a width; none may be wider than that."""
        raise NotImplementedError

    def height_at(self, width: int) -> int:
        """The number of rows at a width."""
        return len(self.lines_at(width)) if width > 0 else 0

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """The number of rows, for Textual."""
        del container, viewport
        return self.height_at(width)

    def render(self) -> Content:
        """All lines."""
        return Content("\n").join(self.lines_at(self.size.width))

    @property
    def content(self) -> object:
        """What the widget says at any width; if it changes, it must be read again."""
        return tuple(line.plain for line in self.lines_at(_FIXED_WIDTH))

    def refresh_lines(self, old_height: int) -> None:
        """Redraws the widget; updates the layout of the screen only if the height is no longer `old_height`."""
        # Textual keeps the height it measured if a layout was already pending, for example after a resize.
        forget_measured_height(self)
        self.refresh(layout=self.height_at(self.size.width) != old_height)

    @property
    def has_current_height(self) -> bool:
        """Whether the layout of the screen matches the current lines."""
        return not self.display or self.size.height == self.height_at(self.size.width)

"""Widgets that know their own lines for every width, so that their height is known before they are drawn."""

from collections.abc import Sequence

from textual.content import Content
from textual.geometry import Size

from aileron_tui.console.textual_internals import forget_measured_height
from aileron_tui.console.widgets.cached_widget import CachedWidget


class LineWidget(CachedWidget):
    """Draws the lines it is laid out in."""

    DEFAULT_CSS = "LineWidget { height: auto; width: 1fr; }"

    def lines_at(self, width: int) -> Sequence[Content]:
        """The lines for a width, none of them wider."""
        raise NotImplementedError

    def height_at(self, width: int) -> int:
        """How many rows it takes."""
        return len(self.lines_at(width)) if width > 0 else 0

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many rows as there are lines."""
        del container, viewport
        return self.height_at(width)

    def render(self) -> Content:
        """All lines."""
        return Content("\n").join(self.lines_at(self.size.width))

    def lay_anew(self, before: int) -> None:
        """Draws again; only if it is not as high as before is the screen laid out anew."""
        # Textual keeps the height it measured if this was to be laid out already, as after a change of size.
        forget_measured_height(self)
        self.refresh(layout=self.height_at(self.size.width) != before)

    @property
    def settled(self) -> bool:
        """Whether the screen already has room for what is to be shown."""
        return not self.display or self.size.height == self.height_at(self.size.width)

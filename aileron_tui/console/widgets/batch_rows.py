"""The rows of the sheet of marked requests, and which of them have been on screen."""

from typing import Final

from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.widgets import OptionList

from aileron_tui.console.textual_internals import painted_regions
from aileron_tui.console.widgets.seen_rows import SeenRows

CHOICE_WIDTH: Final = 8


class BatchRows(OptionList):
    """The requests. A click selects one; a click on its first word switches the choice."""

    class Switched(Message):
        """The choice of the highlighted request was clicked."""

    _painted_top = 0
    _seen_size = Size()
    _seen: SeenRows | None = None

    @property
    def unread(self) -> int:
        """How many lines have not been on screen."""
        return (self._seen_lines or SeenRows()).unseen(self.virtual_size.height)

    def on_mount(self) -> None:
        """Starts recording which lines are on screen."""
        self.watch(self, "scroll_y", self._record_soon)
        self.watch(self, "virtual_size", self._record_soon)

    def _record_soon(self) -> None:
        self.call_after_refresh(self._record_painted)

    @property
    def _seen_lines(self) -> SeenRows | None:
        """The lines that have been on screen; if the layout changed, they must be read again."""
        return self._seen if self.virtual_size == self._seen_size else None

    def _record_painted(self) -> None:
        if self.app.screen is not self.screen or self not in (painted := painted_regions(self.screen)):
            return
        region, clip = painted[self]
        visible = region.intersection(clip)
        seen = self._seen_lines or SeenRows()
        top = self._painted_top - region.y
        seen.add(visible.y + top, min(visible.bottom + top, self.virtual_size.height))
        self._seen, self._seen_size = seen, self.virtual_size

    def render_lines(self, crop: Region) -> list[Strip]:
        """Notes which line is painted at the top."""
        self._painted_top = round(self.scroll_y)
        return super().render_lines(crop)

    def action_select(self) -> None:
        """Scrolls to the first line that has not been on screen. Enter never answers."""
        if self.unread:
            seen = self._seen_lines
            self.scroll_to(y=max(0, (seen.first_unseen if seen else 0) - 1), animate=False)

    def on_click(self, event: events.Click) -> None:
        """Switches if the choice was clicked; the list itself selects the request."""
        offset = event.get_content_offset(self)
        if offset is not None and offset.x < CHOICE_WIDTH and "option" in event.style.meta:
            self.post_message(self.Switched())

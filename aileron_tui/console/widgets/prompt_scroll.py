"""The scrolling body of a prompt: one scroll through its rows and its quotes."""

from collections.abc import Iterator
from typing import Final

from textual.containers import VerticalScroll
from textual.message import Message
from textual.widget import Widget

from aileron_tui.console.textual_internals import TallContainer
from aileron_tui.console.widgets.cached_widget import CachedWidget
from aileron_tui.console.widgets.quote import Quote
from aileron_tui.console.widgets.quote_text import QuoteText

_TO_THE_END: Final = 10**9


class PromptScroll(VerticalScroll, TallContainer, CachedWidget, can_focus=False, inherit_bindings=False):
    """The part of a prompt below its title, which scrolls. The view around it has the focus and handles the keys.

    At another width, the line of a quote that was at the top stays there.
    """

    class Resized(Message):
        """The size of the body changed."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._following_end = False
        self._top_line: tuple[QuoteText, tuple[int, int]] | None = None
        self._top_line_width = 0

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Redraws everything: Textual would redraw only what moved since it last computed the layout."""
        super().watch_scroll_y(old_value, new_value)
        self.refresh()
        if self._top_line is None or self.size.width == self._top_line_width:
            self._note_top_line()

    def on_resize(self) -> None:
        """Reports the new size to the view."""
        self.post_message(self.Resized())
        if self._top_line is not None and self.size.width != self._top_line_width:
            self.call_after_refresh(self.keep_position)

    def keep_position(self) -> None:
        """Scrolls to the line that was at the top before the width changed, or to the end while that is followed."""
        if self._following_end:
            self._following_end = any(not text.long_text.counted for _, text in self._texts())
            self.scroll_to(y=self.virtual_size.height, animate=False)
        elif self._top_line is not None and self.size.width != self._top_line_width:
            text, position = self._top_line
            if not text.display or (row := text.long_text.row_at(position)) is None:
                return  # not counted yet
            self._top_line, self._top_line_width = None, self.size.width
            self.scroll_to(y=self._top_of(text) + row, animate=False, force=True)

    def scroll_to_row(self, part: Widget, row: int) -> None:
        """Unfolds a part and brings one of its rows into view, below the row before it."""
        if isinstance(part, QuoteText):
            part.unfold_all()
        at, y = self._top_of(part) + row, round(self.scroll_y)
        self._following_end = False
        if not y <= at < y + self.size.height:
            self.scroll_to(y=max(0, at - 1), animate=False)

    def keep_in_view(self, part: Widget, row: int) -> None:
        """Scrolls as little as possible to show a row of a part."""
        at, y = self._top_of(part) + row, round(self.scroll_y)
        self.scroll_to(y=max(0, min(at, max(y, at - self.size.height + 1))), animate=False)

    def scroll_rows(self, rows: int, *, pages: bool = False) -> None:
        """Scrolls by rows, or by pages, each one row less than the screen."""
        rows = rows * max(1, self.size.height - 1) if pages else rows
        self._following_end = rows >= _TO_THE_END and any(not text.long_text.counted for _, text in self._texts())
        self.scroll_to(y=max(0, min(round(self.scroll_y) + rows, self._last_top)), animate=False)

    @property
    def below(self) -> int:
        """How many of the rows counted so far are below the screen."""
        # Not max_scroll_y, which Textual updates some time after the number of rows.
        return max(0, self._last_top - round(self.scroll_y))

    @property
    def _last_top(self) -> int:
        return max(0, self.virtual_size.height - self.size.height)

    def _texts(self) -> Iterator[tuple[int, QuoteText]]:
        """The quoted texts, each with the row in which it begins."""
        for child in self.displayed_children:
            if isinstance(child, Quote):
                yield child.virtual_region.y + child.body.virtual_region.y, child.body

    def _top_of(self, part: Widget) -> int:
        parent = part.parent
        return part.virtual_region.y + (parent.virtual_region.y if isinstance(parent, Quote) else 0)

    def _note_top_line(self) -> None:
        """Notes which line of a quote is at the top of the screen."""
        y = round(self.scroll_y)
        self._top_line_width, self._top_line = self.size.width, None
        for top, text in self._texts():
            if top <= y < top + text.size.height:
                self._top_line = text, text.long_text.position_of(y - top)

"""The scrolling body of a prompt, and how it scrolls through its quotes."""

from collections.abc import Sequence
from typing import Final

from textual.containers import VerticalScroll
from textual.message import Message
from textual.widget import Widget

from aileron_tui.console.widgets.cached_widget import CachedWidget
from aileron_tui.console.widgets.quote import Quote
from aileron_tui.console.widgets.quote_text import QuoteText

_TO_THE_END: Final = 10**9


class PromptScroll(VerticalScroll, CachedWidget, can_focus=False, inherit_bindings=False):
    """The part of a prompt below its title, which scrolls. The view around it has the focus and handles the keys."""

    class Resized(Message):
        """The size of the body changed."""

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Redraws everything: Textual would redraw only what moved since it last computed the layout."""
        super().watch_scroll_y(old_value, new_value)
        self.refresh()

    def on_resize(self) -> None:
        """Reports the new size to the view."""
        self.post_message(self.Resized())

    def scroll_to_row(self, part: Widget, row: int) -> None:
        """Brings a row of a part into view, below the row before it; the text of a quote also scrolls by itself."""
        top, parent = part.virtual_region.y, part.parent
        if isinstance(parent, Quote):
            top += parent.virtual_region.y
        first, last, height = row, row + 1, self.size.height
        if isinstance(part, QuoteText):
            first = row - part.show_row(row)
            last = first + 1
            if part.outer_size.height <= height:
                first, last = 0, part.outer_size.height
        y = round(self.scroll_y)
        if not y <= top + first < top + last <= y + height:
            self.scroll_to(y=max(0, top + first - 1, top + last - height), animate=False)

    def scroll_rows(self, rows: int, quotes: Sequence[Quote], *, pages: bool = False) -> None:
        """Scrolls by rows (or pages). A quote in view scrolls to its end before the body does."""
        count, rows = rows, rows * max(1, self.size.height - 1) if pages else rows
        down = rows > 0
        top, height = round(self.scroll_y), self.size.height
        target = top + rows
        for quote in quotes if down else quotes[::-1]:
            region = quote.virtual_region
            in_view = region.y >= top and region.bottom <= top + height
            if down and rows >= _TO_THE_END and in_view and not quote.body.long_text.counted:
                quote.body.scroll_to_last_row()
                return
            quote_rows = count * max(1, quote.body.size.height - 1) if pages else rows
            if in_view and quote.body.scroll_rows(quote_rows):
                return
            if down and quote.body.below and region.bottom > top + height:
                target = min(target, region.bottom - height)
            elif not down and quote.body.above and region.y < top:
                target = max(target, region.y)
        self.scroll_to(y=max(0, min(target, round(self.max_scroll_y))), animate=False)

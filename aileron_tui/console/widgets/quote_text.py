"""The text of a quote: foreign text of any length behind a gutter, drawn row by row."""

import re
from time import monotonic
from typing import ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.actions import SkipAction
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_table import bindings
from aileron_tui.console.render import segments
from aileron_tui.console.textual_internals import TallWidget, forget_measured_height
from aileron_tui.console.widgets.json_outline import JsonOutline
from aileron_tui.console.widgets.long_text import DrawnRow, LongText
from aileron_tui.console.widgets.seen_rows import SeenRows
from aileron_tui.console.widgets.text_search import MAX_QUERY, marked_parts

GUTTER: Final = "▎"
_FIRST_COUNT_SECONDS: Final = 0.008
_COUNT_SECONDS: Final = 0.004
_COUNT_INTERVAL: Final = 1 / 60
_GROWTH_INTERVAL: Final = 0.25
_DIFF: Final = re.compile(r"^(?:diff --git |@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@|--- .*\r?\n\+\+\+ )", re.MULTILINE)
_DIFF_SEARCH_LENGTH: Final = 64 * 1024
_HUNK: Final = ("@@", "dif", "ind", "---", "+++")
_CHANGE_SIGNS: Final = ("+", "-")
_CONTINUATION: Final = "·"


class QuoteText(TallWidget, can_focus=True):
    """All rows of a foreign text; what is around it scrolls. Rows are counted a little at a time.

    So a long text opens at once, and grows at its end until all of its rows are counted.
    """

    DEFAULT_CSS = "QuoteText { height: auto; width: 1fr; }"
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "quote--gutter",
        "quote--mark",
        "quote--sign",
        "quote--added",
        "quote--removed",
        "quote--hunk",
        "quote--fold",
        "quote--cursor",
        "quote--match",
        "quote--found",
    }
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.QUOTE)]

    class RowsChanged(Message):
        """The text has other rows, or more of them were counted."""

    class CursorMoved(Message):
        """The cursor is in another row."""

        def __init__(self, text: "QuoteText", row: int) -> None:
            super().__init__()
            self.text = text
            self.row = row

    def __init__(self) -> None:
        super().__init__()
        self.long_text = LongText("")
        self.outline: JsonOutline | None = None
        self.is_diff = False
        self._is_list = False
        self._cursor = 0
        self._last_growth = 0.0
        self._count_timer: Timer | None = None
        self._pattern: re.Pattern[str] | None = None
        self._found_row = -1
        self.is_final = True
        self.is_seen = False
        self._seen = SeenRows()
        self._seen_positions: list[tuple[tuple[int, int], tuple[int, int]]] = []

    def show(
        self, text: str, outline: JsonOutline | None = None, *, is_diff: bool = False, is_list: bool = False
    ) -> None:
        """Shows another text. If `is_list`, each line is a separate entry."""
        self.outline = outline
        self._cursor = 0
        self.forget_seen()
        self.is_diff = is_diff or (outline is None and _DIFF.search(text, 0, _DIFF_SEARCH_LENGTH) is not None)
        self._is_list = is_list
        self._set_text(outline.text if outline else text)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """The number of rows counted so far, at least those of a screen."""
        del container
        self._set_width(width)
        self.long_text.count(_FIRST_COUNT_SECONDS, viewport.height + 1)
        self._restore_seen()
        return max(1, self.long_text.height)

    def highlight(self, pattern: re.Pattern[str] | None, row: int = -1) -> None:
        """Highlights every match of a pattern; those in one row stand out."""
        self._pattern, self._found_row = pattern, row
        self.refresh()

    # which rows have been on screen

    def forget_seen(self) -> None:
        """Forgets which rows have been on screen."""
        self.is_seen = False
        self._seen.clear()
        self._seen_positions.clear()

    def rows_painted(self, first: int, last: int) -> None:
        """Records that these rows are on screen; records nothing while a part of the JSON is folded."""
        if self.is_seen or self._is_folded:
            return
        self._restore_seen()
        height = self.long_text.height
        self._seen.add(first, min(last, height))
        self.is_seen = self.is_final and self.long_text.counted and not self._seen.unseen(height)

    @property
    def unseen(self) -> int:
        """How many of the rows counted so far have not been on screen."""
        return self._seen.unseen(self.long_text.height)

    @property
    def first_unseen(self) -> int:
        """The first row that has not been on screen."""
        return self._seen.first_unseen

    @property
    def _is_folded(self) -> bool:
        return self.outline is not None and bool(self.outline.folded)

    def _keep_seen(self) -> None:
        """Remembers which lines have been on screen, before a new width or a fold changes the rows."""
        if self._is_folded:
            return
        text = self.long_text
        self._seen_positions += [
            (text.boundary_at(one.start, after=True), text.boundary_at(one.stop, after=False))
            for one in self._seen.ranges
        ]
        self._seen.clear()

    def _restore_seen(self) -> None:
        """Finds the rows of the remembered lines; lines that are not counted yet stay remembered."""
        if not self._seen_positions or self._is_folded:
            return
        kept, self._seen_positions = self._seen_positions, []
        for start, stop in kept:
            rows = self.long_text.row_at_boundary(start), self.long_text.row_at_boundary(stop)
            if rows[0] is None or rows[1] is None:
                self._seen_positions.append((start, stop))
            else:
                self._seen.add(rows[0], rows[1])

    def unfold_all(self) -> None:
        """Unfolds all JSON, so that every row can be read."""
        if self.outline is not None and self.outline.folded:
            self.outline.unfold_all()
            self._set_text(self.outline.text)

    def on_mount(self) -> None:
        """Counts in the background while there are rows to count."""
        self._count_timer = self.set_interval(_COUNT_INTERVAL, self._count, pause=self.long_text.counted)

    def render_line(self, y: int) -> Strip:
        """A row behind its gutter, in the style of foreign text."""
        width = self.size.width
        plain = self.rich_style
        row = self.long_text.row(y)
        margin = Segment(GUTTER, self.get_component_rich_style("quote--gutter"))
        if row is None:
            return Strip([margin, Segment(" " * (width - 1), plain)], width)
        segments_ = [margin, self._sign(row, plain), *self._parts(row, plain, y)]
        strip = Strip(segments_).adjust_cell_length(width, plain)
        if not self._is_cursor(row):
            return strip
        cursor = self.get_component_rich_style("quote--cursor", partial=True)
        return Strip([Segment(text, (style or plain) + cursor) for text, style, _ in strip], width)

    def action_step(self, lines: int) -> None:
        """Moves the cursor of an outline by lines."""
        if self.outline is None:
            raise SkipAction
        self._move_cursor(lines)

    def action_fold(self, folded: bool) -> None:
        """Folds the object or array around the cursor, or unfolds the one at the cursor."""
        if self.outline is None:
            raise SkipAction
        shown = self.outline.enclosing(self._cursor) if folded else self._cursor
        if not self._set_folded(shown, folded):
            raise SkipAction

    def on_click(self, event: events.Click) -> None:
        """Folds or unfolds a part when its sign is clicked."""
        row = self.long_text.row(event.y)
        if self.outline is not None and row is not None and event.x < self._margin_width:
            self._set_folded(row.line, not self.outline.is_folded(row.line))

    @property
    def _margin_width(self) -> int:
        return 3 if self.outline is not None else 2

    def _set_folded(self, shown: int, folded: bool) -> bool:
        outline = self.outline
        if outline is None or outline.fold_at(shown) is None:
            return False
        self._keep_seen()
        if not outline.set_folded(shown, folded):
            return False
        self._cursor = shown
        self._set_text(outline.text)
        return True

    def _set_text(self, text: str) -> None:
        width = self.long_text.width
        self.long_text = LongText(text)
        self.long_text.set_width(width)
        if width:
            self.long_text.count(_FIRST_COUNT_SECONDS, self.size.height + 1)
        self._rows_counted()

    def _set_width(self, width: int) -> None:
        inner = max(1, width - self._margin_width - 1)
        if inner != self.long_text.width:
            if self.long_text.width:
                self._keep_seen()
            self.long_text.set_width(inner)
            if self._count_timer is not None:
                self._count_timer.resume()

    def _count(self) -> None:
        if self.long_text.width:
            self.long_text.count(_COUNT_SECONDS)
            if self.long_text.counted or monotonic() - self._last_growth > _GROWTH_INTERVAL:
                self._rows_counted()

    def _rows_counted(self) -> None:
        """Makes room for the rows counted so far."""
        self._last_growth = monotonic()
        self._restore_seen()
        if self._count_timer is not None:
            (self._count_timer.pause if self.long_text.counted else self._count_timer.resume)()
        if not self.is_mounted:
            return
        forget_measured_height(self)
        self.refresh(layout=self.size.height != max(1, self.long_text.height))
        self.post_message(self.RowsChanged())

    def _move_cursor(self, lines: int) -> None:
        last = self.long_text.row(self.long_text.height - 1)
        target = self._cursor + lines
        if not 0 <= target <= (last.line if last else 0):
            raise SkipAction
        self._cursor = target
        self.post_message(self.CursorMoved(self, self.long_text.row_of_line(target) or 0))
        self.refresh()

    def _is_cursor(self, row: DrawnRow) -> bool:
        return self.outline is not None and self.has_focus and row.line == self._cursor

    def _sign(self, row: DrawnRow, plain: Style) -> Segment:
        """The sign before a row: whether it is folded, or that it continues a line and does not start one."""
        if self.outline is None:
            changed = self.is_diff and row.line_start[:1] in _CHANGE_SIGNS and not row.line_start.startswith(_HUNK)
            continues = (self.is_diff or self._is_list) and not row.starts_line
            sign = (row.line_start[0] if changed else _CONTINUATION) if continues else " "
            return Segment(sign, self._diff_style(row.line_start, plain))
        fold = self.outline.fold_at(row.line) if row.starts_line else None
        sign = "  " if fold is None else "▸ " if self.outline.is_folded(row.line) else "▾ "
        return Segment(sign, self.get_component_rich_style("quote--fold"))

    def _parts(self, row: DrawnRow, plain: Style, y: int) -> list[Segment]:
        mark = self.get_component_rich_style("quote--mark")
        plain = self._diff_style(row.line_start, plain)
        sign = self.get_component_rich_style("quote--sign")
        if self._pattern is None:
            return segments(row.parts, plain, mark, sign)
        name = "quote--found" if y == self._found_row else "quote--match"
        match = self.get_component_rich_style(name, partial=True)
        parts = marked_parts(*self._neighbours(y), self._pattern)
        return [
            Segment(text, (style or plain) + match if matches else style)
            for part, is_mark, matches in parts
            for text, style, _ in segments([(part, is_mark)], plain, mark, sign)
        ]

    def _neighbours(self, y: int) -> tuple[list[DrawnRow], int]:
        """The rows around a row that a match may reach, and the place of the row among them."""
        reach = MAX_QUERY // max(1, self.long_text.width) + 1
        numbers = range(max(0, y - reach), y + reach + 1)
        rows = [(number, row) for number in numbers if (row := self.long_text.row(number)) is not None]
        return [row for _, row in rows], next(place for place, (number, _) in enumerate(rows) if number == y)

    def _diff_style(self, line_start: str, plain: Style) -> Style:
        if not self.is_diff:
            return plain
        if line_start.startswith(_HUNK):
            return self.get_component_rich_style("quote--hunk")
        if line_start.startswith("+"):
            return self.get_component_rich_style("quote--added")
        return self.get_component_rich_style("quote--removed") if line_start.startswith("-") else plain

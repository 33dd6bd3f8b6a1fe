"""The text of a quote: any length of foreign text behind a gutter, drawn row by row."""

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
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_table import bindings
from aileron_tui.console.render import segments
from aileron_tui.console.widgets.json_outline import JsonOutline
from aileron_tui.console.widgets.long_text import DrawnRow, LongText

GUTTER: Final = "▎"
_FIRST: Final = 0.008
_PORTION: Final = 0.004
_PAUSE: Final = 1 / 60
_GROWTH_SHOWN: Final = 0.25
_DIFF: Final = re.compile(r"^(?:diff --git |@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@|--- .*\r?\n\+\+\+ )", re.MULTILINE)
_DIFF_WITHIN: Final = 64 * 1024
_HUNK: Final = ("@@", "dif", "ind", "---", "+++")
_CHANGES: Final = ("+", "-")
_GOES_ON: Final = "·"


class QuoteText(ScrollView, can_focus=True, inherit_bindings=False):
    """Rows of foreign text. Lines are counted little by little, so that a long text opens at once."""

    DEFAULT_CSS = """
    QuoteText { height: auto; width: 1fr; overflow-x: hidden; overflow-y: auto; scrollbar-gutter: stable;
                scrollbar-size-vertical: 1; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "quote--gutter",
        "quote--mark",
        "quote--sign",
        "quote--added",
        "quote--removed",
        "quote--hunk",
        "quote--fold",
        "quote--cursor",
    }
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.QUOTE)]

    class Moved(Message):
        """Other rows are on screen, or more of them are counted."""

    def __init__(self) -> None:
        super().__init__()
        self.passage = LongText("")
        self.outline: JsonOutline | None = None
        self.is_diff = False
        self._is_list = False
        self._cursor = 0
        self._place: tuple[int, int] | None = None
        self._to_end = False
        self._grown = 0.0
        self._counting: Timer | None = None

    def show(self, text: str, outline: JsonOutline | None = None, *, diff: bool = False, listed: bool = False) -> None:
        """Another text; the position is kept as far as the text goes. Each line of a list is an entry of its own."""
        self.outline = outline
        self._cursor = 0
        self.is_diff = diff or (outline is None and _DIFF.search(text, 0, _DIFF_WITHIN) is not None)
        self._is_list = listed
        self._set(outline.text if outline else text)

    def rows_at(self, width: int, limit: int) -> int:
        """How many rows there are at this outer width, looking no further than `limit`."""
        self._lay(width - self.styles.scrollbar_size_vertical)
        self.passage.count(_FIRST, limit + 1)
        return self.passage.height if self.passage.counted else max(self.passage.height, limit + 1)

    @property
    def below(self) -> int:
        """How many rows are known below the screen."""
        return max(0, self.passage.height - round(self.scroll_y) - self.size.height)

    @property
    def above(self) -> int:
        """How many rows are above the screen."""
        return round(self.scroll_y)

    @property
    def at_end(self) -> bool:
        """Whether the last row of all is shown, and nothing is folded away."""
        folded = self.outline is not None and bool(self.outline.folded)
        return self.passage.counted and not folded and self.size.height > 0 and self.below == 0

    def travel(self, rows: int) -> int:
        """Scroll by as many rows as there are; how many it were."""
        before = round(self.scroll_y)
        after = max(0, min(before + rows, round(self.max_scroll_y)))
        self._to_end = False
        if after != before:
            self.scroll_to(y=after, animate=False)
        return after - before

    def to_end(self) -> None:
        """To the last row, also when it is not yet counted."""
        self._to_end = not self.passage.counted
        self.scroll_to(y=self.max_scroll_y, animate=False)

    def on_mount(self) -> None:
        """Counting goes on while there is something to count."""
        self._counting = self.set_interval(_PAUSE, self._count, pause=self.passage.counted)

    def on_resize(self) -> None:
        """Lay out for the new width, around the line that was on top."""
        self._lay(self.scrollable_content_region.width)
        self._count_screen()
        self._settle()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Tell those who show how much is left."""
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self.post_message(self.Moved())

    def render_line(self, y: int) -> Strip:
        """A row behind its gutter, on the ground of foreign text."""
        width = self.scrollable_content_region.width
        ground = self.rich_style
        row = self.passage.row(round(self.scroll_y) + y)
        margin = Segment(GUTTER, self.get_component_rich_style("quote--gutter"))
        if row is None:
            return Strip([margin, Segment(" " * (width - 1), ground)], width)
        drawn = [margin, self._sign(row, ground), *self._parts(row, ground)]
        strip = Strip(drawn).adjust_cell_length(width, ground)
        if not self._is_cursor(row):
            return strip
        cursor = self.get_component_rich_style("quote--cursor", partial=True)
        return Strip([Segment(text, (style or ground) + cursor) for text, style, _ in strip], width)

    def action_step(self, rows: int) -> None:
        """One row, or one line of an outline."""
        if self.outline is not None:
            self._move_cursor(rows)
        elif not self.travel(rows):
            raise SkipAction

    def action_page(self, pages: int) -> None:
        """A screen of rows, with one row kept for the eye."""
        if not self.travel(pages * max(1, self.size.height - 1)):
            raise SkipAction

    def action_edge(self, side: int) -> None:
        """To the start or the end."""
        if side > 0:
            self.to_end()
        else:
            self.travel(-self.passage.height)

    def action_fold(self, folded: bool) -> None:
        """Fold what the cursor is in, or unfold what it is on."""
        if self.outline is None:
            raise SkipAction
        shown = self.outline.around(self._cursor) if folded else self._cursor
        if not self._turn(shown, folded):
            raise SkipAction

    def on_click(self, event: events.Click) -> None:
        """A click on the sign of a fold turns it."""
        row = self.passage.row(round(self.scroll_y) + event.y)
        if self.outline is not None and row is not None and event.x < self._margin:
            self._turn(row.line, not self.outline.is_folded(row.line))

    @property
    def _margin(self) -> int:
        return 3 if self.outline is not None else 2

    def _turn(self, shown: int, folded: bool) -> bool:
        outline = self.outline
        if outline is None or not outline.turn(shown, folded):
            return False
        self._cursor = shown
        self._set(outline.text)
        return True

    def _set(self, text: str) -> None:
        width = self.passage.width
        self.passage = LongText(text)
        self.passage.lay(width)
        self._count_screen()
        self._place, self._to_end = None, False
        self._settle()

    def _count_screen(self) -> None:
        """Counts at once as far as the screen shows; without a width there is nothing to count."""
        if self.passage.width:
            self.passage.count(_FIRST, round(self.scroll_y) + self.size.height + 1)

    def _lay(self, width: int) -> None:
        inner = max(1, width - self._margin - 1)
        if inner != self.passage.width:
            top = round(self.scroll_y)
            if self.passage.width and top:
                self._place = self.passage.place(top)
            self.passage.lay(inner)

    def _count(self) -> None:
        self.passage.count(_PORTION)
        if self.passage.counted or monotonic() - self._grown > _GROWTH_SHOWN:
            self._settle()

    def _settle(self) -> None:
        """Make what is counted so far reachable, and go where we were or want to be."""
        self._grown = monotonic()
        if self._counting is not None:
            (self._counting.pause if self.passage.counted else self._counting.resume)()
        if not self.is_mounted:
            return
        self.virtual_size = Size(self.scrollable_content_region.width, self.passage.height)
        if self._place is not None and (row := self.passage.find(self._place)) is not None:
            self._place = None
            self.scroll_to(y=row, animate=False)
        elif self._to_end:
            self.scroll_to(y=self.max_scroll_y, animate=False)
            self._to_end = not self.passage.counted
        self.refresh()
        self.post_message(self.Moved())

    def _move_cursor(self, lines: int) -> None:
        last = self.passage.row(self.passage.height - 1)
        target = self._cursor + lines
        if not 0 <= target <= (last.line if last else 0):
            raise SkipAction
        self._cursor = target
        row = self.passage.row_of(target) or 0
        if row < self.scroll_y:
            self.travel(row - round(self.scroll_y))
        elif row >= round(self.scroll_y) + self.size.height:
            self.travel(row - round(self.scroll_y) - self.size.height + 1)
        self.refresh()

    def _is_cursor(self, row: DrawnRow) -> bool:
        return self.outline is not None and self.has_focus and row.line == self._cursor

    def _sign(self, row: DrawnRow, ground: Style) -> Segment:
        """What stands before a row: the state of a fold, or what a row is part of that could pass for a line."""
        if self.outline is None:
            changed = self.is_diff and row.head[:1] in _CHANGES and not row.head.startswith(_HUNK)
            goes_on = (self.is_diff or self._is_list) and not row.first
            sign = (row.head[0] if changed else _GOES_ON) if goes_on else " "
            return Segment(sign, self._diff_style(row.head, ground))
        fold = self.outline.fold_at(row.line) if row.first else None
        sign = "  " if fold is None else "▸ " if self.outline.is_folded(row.line) else "▾ "
        return Segment(sign, self.get_component_rich_style("quote--fold"))

    def _parts(self, row: DrawnRow, ground: Style) -> list[Segment]:
        mark = self.get_component_rich_style("quote--mark")
        plain = self._diff_style(row.head, ground)
        return segments(row.parts, plain, mark, self.get_component_rich_style("quote--sign"))

    def _diff_style(self, head: str, ground: Style) -> Style:
        if not self.is_diff:
            return ground
        if head.startswith(_HUNK):
            return self.get_component_rich_style("quote--hunk")
        if head.startswith("+"):
            return self.get_component_rich_style("quote--added")
        return self.get_component_rich_style("quote--removed") if head.startswith("-") else ground

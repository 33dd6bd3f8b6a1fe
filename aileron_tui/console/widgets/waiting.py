"""The list of requests. Only the lines on screen are drawn, and the cursor sits on a request, not on a row."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from aileron_tui.console.board import Board, Tone
from aileron_tui.console.widgets.time_left import clock
from aileron_tui.core.text import Visible, cells, clip, inline

_TONES = {
    Tone.QUIET: "waiting--quiet",
    Tone.GOOD: "waiting--good",
    Tone.WARN: "waiting--warn",
    Tone.BAD: "waiting--bad",
}


class WaitingList(ScrollView, can_focus=True):
    """Requests, oldest first."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "waiting--row",
        "waiting--chosen",
        "waiting--quiet",
        "waiting--good",
        "waiting--warn",
        "waiting--bad",
    }

    @dataclass
    class Picked(Message):
        """A request was clicked."""

        id: str

    def __init__(self, board: Board) -> None:
        super().__init__()
        self._board = board
        self._folded = False
        self._blank = Strip.blank(0)

    def notify_style_update(self) -> None:
        """Other colours: what was kept is drawn anew."""
        super().notify_style_update()
        self._blank = Strip.blank(0)

    def tick(self) -> None:
        """A second has passed: only lines with a request on them have changed."""
        top, count = self.scroll_offset.y, len(self._board.visible)
        rows = 1 if self._folded else min(self.size.height, count - top)
        if rows > 0:
            self.refresh(Region(0, 0, self.size.width, rows))

    def update(self, *, folded: bool = False) -> None:
        """Draws the board anew; `folded` shows only the request that is looked at, on one line."""
        self._folded = folded
        count = 1 if folded else len(self._board.visible)
        self.virtual_size = Size(self.scrollable_content_region.width, count)
        if not folded and self._board.chosen in self._board.visible:
            at = self._board.visible.index(self._board.chosen)
            self.scroll_to_region(Region(0, at, 1, 1), animate=False, force=True)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        ids = self._board.visible
        if not ids:
            return self._empty(y, width)
        index = (
            ids.index(self._board.chosen) if self._folded and self._board.chosen in ids else y + self.scroll_offset.y
        )
        if index >= len(ids) or (self._folded and y):
            if self._blank.cell_length != width:
                self._blank = Strip.blank(width, self.rich_style)
            return self._blank
        place = f"{index + 1}/{len(ids)} " if self._folded else ""
        return self._row(ids[index], width, place)

    def _row(self, id_: str, width: int, place: str) -> Strip:
        board = self._board
        item, pill = board.items.get(id_), board.pill(id_)
        chosen = id_ == board.chosen
        row = self.get_component_rich_style("waiting--chosen" if chosen else "waiting--row")
        cursor = "▸" if chosen else " "
        mark = "●" if id_ in board.marked else " "
        risk = "⚠" if board.risky(id_) else " "
        name = inline(item.prompt.action) if item else inline(id_)
        left = pill.words or (clock(item.seconds_left(datetime.now(UTC))) if item else "")
        tail = clip(Visible(left), max(6, width - 16))
        room = width - cells(tail) - 6 - len(place)
        name = clip(name, max(4, room))
        gap = max(0, room - cells(name))
        style = row + self.get_component_rich_style(_TONES[pill.tone]) if pill.words else row
        segments = [
            Segment(f"{cursor}{mark}{place}", row),
            Segment(name, row + Style(bold=chosen)),
            Segment(" " * gap + " ", row),
            Segment(tail, style),
            Segment(f" {risk} ", row + self.get_component_rich_style("waiting--warn")),
        ]
        return Strip(segments).adjust_cell_length(width, row)

    def _empty(self, y: int, width: int) -> Strip:
        words = ("", "  nothing matches" if self._board.filter else "  nothing waits")
        text = words[y] if y < len(words) else ""
        style = self.get_component_rich_style("waiting--quiet")
        return Strip([Segment(text, style)]).adjust_cell_length(width, self.rich_style)

    def on_click(self, event: events.Click) -> None:
        """Looks at the request under the mouse; a click never answers."""
        ids = self._board.visible
        index = event.get_content_offset(self)
        if index is not None and not self._folded and (row := index.y + self.scroll_offset.y) < len(ids):
            self.post_message(self.Picked(ids[row]))

"""The list of requests. Only the lines on screen are drawn, and the cursor sits on a request, not on a row."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from aileron_tui.console.board import Board, Tone
from aileron_tui.console.widgets.still import Still, Turn
from aileron_tui.console.widgets.time_left import ago, clock
from aileron_tui.core.decision import moment
from aileron_tui.core.text import Visible, cells, clip, inline
from aileron_tui.core.values import dataclass

if TYPE_CHECKING:
    from aileron_tui.runtime.items import Item

_TONES = {
    Tone.QUIET: "waiting--quiet",
    Tone.GOOD: "waiting--good",
    Tone.WARN: "waiting--warn",
    Tone.BAD: "waiting--bad",
}


_ROOM_FOR_SOURCE = 18
_NAME = 16
_END = 3


def _time(item: "Item", now: datetime) -> str:
    """How long it still waits; of one that waits without end, how long it has waited."""
    if item.expires_at:
        return clock(item.seconds_left(now))
    try:
        return ago((now - moment(item.requested_at)).total_seconds()).removesuffix(" ago")
    except ValueError:
        return ""


class WaitingList(ScrollView, Still, can_focus=True):
    """Requests, oldest first."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "waiting--row",
        "waiting--chosen",
        "waiting--quiet",
        "waiting--good",
        "waiting--warn",
        "waiting--bad",
    }

    @dataclass()
    class Picked(Message):
        """A request was clicked."""

        id: str

    def __init__(self, board: Board, *, several: bool = False) -> None:
        super().__init__()
        self._board = board
        self._several = several
        self._folded = False
        self._pressed = ""
        self._followed: tuple[str, int] = ("", -1)
        self._blank = Strip.blank(0)
        self._looks: dict[str, Style] = {}
        self._times: dict[str, str] = {}

    def notify_style_update(self) -> None:
        """Other colours: what was kept is drawn anew."""
        super().notify_style_update()
        self._blank = Strip.blank(0)
        self._looks.clear()

    def _look(self, name: str) -> Style:
        """The style of a part, looked up once."""
        if name not in self._looks:
            self._looks[name] = self.get_component_rich_style(name)
        return self._looks[name]

    def _tinted(self, row: Style, name: str) -> Style:
        """The style of a row in the colour of a part; the ground stays that of the row."""
        return row + Style(color=self._look(name).color)

    def tick(self) -> None:
        """A second has passed: only times that read differently now are drawn."""
        now, end = datetime.now(UTC), self.scrollable_content_region.width - _END
        turns: list[Turn] = []
        for y, key in enumerate(self._shown):
            was, item = self._times.get(key), self._board.items.get(key)
            if was and item and (time := _time(item, now)) != was:
                self._times[key] = time
                turns.append(Turn(end - len(time), y, was, time))
        self.turn(turns)

    def update(self, *, folded: bool = False) -> None:
        """Draws the board anew; `folded` shows only the request that is looked at, on one line."""
        self._folded = folded
        self._times.clear()
        count = 1 if folded else len(self._board.visible)
        self.virtual_size = Size(self.scrollable_content_region.width, count)
        if not folded and self._board.chosen in self._board.visible:
            self._follow(self._board.visible.index(self._board.chosen))
        self.refresh()

    def _follow(self, row: int) -> None:
        """The request that is looked at stays in sight; what was scrolled by the wheel stays, unless it moves."""
        if (self._board.chosen, row) != self._followed:
            self._followed = (self._board.chosen, row)
            self.scroll_to_region(Region(0, row, 1, 1), animate=False, force=True)

    def on_resize(self) -> None:
        """Another size: rows are as wide as the list, never wider, and the one that is looked at is in sight."""
        self._followed = ("", -1)
        self.update(folded=self._folded)

    @property
    def _shown(self) -> list[str]:
        """The requests on screen, line by line."""
        ids, top = self._board.visible, self.scroll_offset.y
        if self._folded and self._board.chosen in ids:
            return [self._board.chosen]
        return ids[top : top + (1 if self._folded else self.size.height)]

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        ids = self._board.visible
        if not ids:
            return self._empty(y, width)
        shown = self._shown
        if y >= len(shown):
            return self._nothing(width)
        return self._row(shown[y], width, f"{ids.index(shown[y]) + 1}/{len(ids)} " if self._folded else "")

    def _row(self, key: str, width: int, place: str) -> Strip:
        board = self._board
        item, pill = board.items.get(key), board.pill(key)
        chosen = key == board.chosen
        row = self._look("waiting--chosen" if chosen else "waiting--row")
        cursor = "▸" if chosen else " "
        mark = "●" if key in board.marked else " "
        risk = "⚠" if board.risky(key) else " "
        name = inline(item.prompt.action) if item else inline(key)
        self._times[key] = "" if pill.words or not item else _time(item, datetime.now(UTC))
        most = max(6, width - _NAME)
        words = pill.words if cells(pill.words) <= most else pill.short
        tail = clip(Visible(words or self._times[key]), most)
        room = width - cells(tail) - 3 - _END - len(place)
        source, stale = self._source(item, room)
        room -= cells(source) + bool(source)
        name = clip(name, max(4, room))
        gap = max(0, room - cells(name))
        style = self._tinted(row, _TONES[pill.tone]) if pill.words else row
        quiet = self._tinted(row, "waiting--warn" if stale else "waiting--quiet")
        segments = [
            Segment(f"{cursor}{mark}{place}", row),
            Segment(name, row + Style(bold=chosen)),
            Segment(" " * gap + " ", row),
            *([Segment(source, quiet), Segment(" ", row)] if source else []),
            Segment(tail, style),
            Segment(f" {risk} ", self._tinted(row, "waiting--warn")),
        ]
        return Strip(segments).adjust_cell_length(width, row)

    def _source(self, item: "Item | None", room: int) -> tuple[str, bool]:
        """Where a request comes from, if there are several sources and room to say it, and whether that is silent."""
        if item is None or not self._several or room < _ROOM_FOR_SOURCE:
            return "", False
        stale = item.source in self._board.queue.stale
        return f"{'○ ' if stale else ''}{clip(inline(item.source), max(8, room // 3))}", stale

    def _empty(self, y: int, width: int) -> Strip:
        if y != 1:
            return self._nothing(width)
        text = "  nothing matches" if self._board.filter else "  nothing waits"
        style = self._look("waiting--quiet")
        return Strip([Segment(text if self._board.heard else "  connecting…", style)]).adjust_cell_length(
            width, self.rich_style
        )

    def _nothing(self, width: int) -> Strip:
        if self._blank.cell_length != width:
            self._blank = Strip.blank(width, self.rich_style)
        return self._blank

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """What the pointer comes down on is what is meant, even if the list moves before it is let go."""
        self._pressed = self._under(event)

    def on_click(self, event: events.Click) -> None:
        """Looks at the request under the mouse, of a folded list at the next one; a click never answers."""
        if self._pressed and self._pressed == self._under(event):
            self.post_message(self.Picked(self._pressed))

    def _under(self, event: events.MouseEvent) -> str:
        ids, offset = self._board.visible, event.get_content_offset(self)
        if not ids or offset is None or event.button != 1:
            return ""
        if self._folded:
            return ids[(ids.index(self._board.chosen) + 1) % len(ids)] if self._board.chosen in ids else ids[0]
        row = offset.y + self.scroll_offset.y
        return ids[row] if row < len(ids) else ""

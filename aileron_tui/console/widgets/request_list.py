"""The list of requests. Only the lines on screen are drawn, and the cursor sits on a request, not on a row."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from aileron_tui.console.widgets.cached_widget import CachedWidget, TextChange
from aileron_tui.console.widgets.time_left import ago, clock
from aileron_tui.core.times import moment
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import Visible, cells, clip, inline
from aileron_tui.surface.board import Board, Pill, Tone

if TYPE_CHECKING:
    from aileron_tui.runtime.request_reader import Item

_TONES = {
    Tone.QUIET: "waiting--quiet",
    Tone.GOOD: "waiting--good",
    Tone.WARN: "waiting--warn",
    Tone.BAD: "waiting--bad",
}


_ROOM_FOR_SOURCE = 18
_NAME = 16
_END = 3
_KEPT = 500


class RequestLine(NamedTuple):
    """Everything that the line of a request tells."""

    key: str
    name: str
    place: str
    chosen: bool
    marked: bool
    risky: bool
    pill: Pill
    time: str
    source: str
    stale: bool


def _time(item: "Item", now: datetime) -> str:
    """How long it still waits; of one that waits without end, how long it has waited."""
    if item.expires_at:
        return clock(item.seconds_left(now))
    try:
        return ago((now - moment(item.requested_at)).total_seconds()).removesuffix(" ago")
    except ValueError:
        return ""


class RequestList(ScrollView, CachedWidget, can_focus=True, inherit_bindings=False):
    """Requests, oldest first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("home", "edge(-1)", "to the first", show=False),
        Binding("end", "edge(1)", "to the last", show=False),
    ]
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

    @dataclass()
    class Leapt(Message):
        """So many requests on, or back."""

        steps: int

    def __init__(self, board: Board, *, several: bool = False) -> None:
        super().__init__()
        self._board = board
        self._several = several
        self._folded = False
        self._pressed = ""
        self._followed: tuple[str, int] = ("", -1)
        self._blank = Strip.blank(0)
        self._looks: dict[str, Style] = {}
        self._drawn: dict[int, RequestLine | str] = {}
        self._strips: dict[tuple[RequestLine, int], Strip] = {}

    def notify_style_update(self) -> None:
        """Other colours: what was kept is drawn anew."""
        super().notify_style_update()
        self._blank = Strip.blank(0)
        self._looks.clear()
        self._strips.clear()

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
        turns: list[TextChange] = []
        for y, row in self._drawn.items():
            item = self._board.items.get(row.key) if isinstance(row, RequestLine) and row.time else None
            if isinstance(row, RequestLine) and item and (time := _time(item, now)) != row.time:
                self._drawn[y] = row._replace(time=time)
                turns.append(TextChange(end - len(time), y, row.time, time))
        self.turn(turns)

    def update(self, *, folded: bool = False) -> None:
        """Draws what is different on the board; `folded` shows only the request that is looked at, on one line."""
        self._folded = folded
        width, height = self.scrollable_content_region.size
        self._grow(Size(width, 1 if folded else len(self._board.visible)), height)
        if not folded and self._board.chosen in self._board.visible:
            self._follow(self._board.visible.index(self._board.chosen))
        now = datetime.now(UTC)
        stale = [y for y in range(height) if self._drawn.get(y) != self._line(y, now)]
        if stale:
            self.refresh(Region(0, stale[0], width, stale[-1] - stale[0] + 1))

    def _grow(self, size: Size, height: int) -> None:
        """Has room for so many rows. Textual would draw every line for that, and lay the whole screen out anew."""
        before = self.virtual_size
        if size == before:
            return
        self.set_reactive(Widget.virtual_size, size)
        if (
            size.width != before.width
            or size.height < before.height
            or (size.height > height) != self.show_vertical_scrollbar
        ):
            self._scroll_update(size)  # which Textual leaves out if only the number of rows is another
            self.refresh(repaint=False, layout=True)
        elif self.show_vertical_scrollbar:
            self.vertical_scrollbar.window_virtual_size = size.height

    def _follow(self, row: int) -> None:
        """The request that is looked at stays in sight; what was scrolled by the wheel stays, unless it moves."""
        if (self._board.chosen, row) != self._followed:
            self._followed = (self._board.chosen, row)
            self.scroll_to_region(Region(0, row, 1, 1), animate=False, force=True)

    def on_resize(self) -> None:
        """Another size: rows are as wide as the list, never wider, and the one that is looked at is in sight."""
        self._followed = ("", -1)
        self._drawn.clear()
        self.update(folded=self._folded)

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        line = self._drawn[y] = self._line(y, datetime.now(UTC))
        if isinstance(line, RequestLine):
            return self._kept_row(line, width)
        return self._notice(line, width) if line else self._nothing(width)

    def _line(self, y: int, now: datetime) -> RequestLine | str:
        """What a line of the screen tells: a request, or a few words, or nothing."""
        board, ids = self._board, self._board.visible
        if not ids and y == 1:
            words = "nothing matches" if board.filter else "nothing waits"
            return words if board.heard else "connecting…"
        at = y + self.scroll_offset.y
        if self._folded and board.chosen in ids:
            at = ids.index(board.chosen)
        if at >= len(ids) or (self._folded and y > 0):
            return ""
        key, place = ids[at], f"{at + 1}/{len(ids)} " if self._folded else ""
        item, pill = board.items.get(key), board.pill(key)
        time = "" if pill.words or not item else _time(item, now)
        source = item.source if item and self._several else ""
        stale = source in board.queue.stale
        name = item.prompt.action if item else key
        chosen, marked, risky = key == board.chosen, key in board.marked, board.risky(key)
        return RequestLine(key, name, place, chosen, marked, risky, pill, time, source, stale)

    def _kept_row(self, line: RequestLine, width: int) -> Strip:
        """A row, which is made once as long as it tells the same, also if it comes to stand on another line."""
        if (line, width) not in self._strips:
            if len(self._strips) >= _KEPT:
                self._strips.clear()
            self._strips[line, width] = self._row(line, width)
        return self._strips[line, width]

    def _row(self, line: RequestLine, width: int) -> Strip:
        pill = line.pill
        row = self._look("waiting--chosen" if line.chosen else "waiting--row")
        cursor = "▸" if line.chosen else " "
        mark = "●" if line.marked else " "
        risk = "⚠" if line.risky else " "
        most = max(6, width - _NAME)
        words = pill.words if cells(pill.words) <= most else pill.short
        tail = clip(Visible(words or line.time), most)
        room = width - cells(tail) - 3 - _END - len(line.place)
        source = self._source(line, room)
        room -= cells(source) + bool(source)
        name = clip(inline(line.name), max(4, room))
        gap = max(0, room - cells(name))
        style = self._tinted(row, _TONES[pill.tone]) if pill.words else row
        quiet = self._tinted(row, "waiting--warn" if line.stale else "waiting--quiet")
        segments = [
            Segment(f"{cursor}{mark}{line.place}", row),
            Segment(name, row + Style(bold=line.chosen)),
            Segment(" " * gap + " ", row),
            *([Segment(source, quiet), Segment(" ", row)] if source else []),
            Segment(tail, style),
            Segment(f" {risk} ", self._tinted(row, "waiting--warn")),
        ]
        return Strip(segments).adjust_cell_length(width, row)

    def _source(self, line: RequestLine, room: int) -> str:
        """Where a request comes from, if there are several sources and room to say it; marked if that is silent."""
        if not line.source or room < _ROOM_FOR_SOURCE:
            return ""
        return f"{'○ ' if line.stale else ''}{clip(inline(line.source), max(8, room // 3))}"

    def _notice(self, words: str, width: int) -> Strip:
        text = Segment(f"  {words}", self._look("waiting--quiet"))
        return Strip([text]).adjust_cell_length(width, self.rich_style)

    def _nothing(self, width: int) -> Strip:
        if self._blank.cell_length != width:
            self._blank = Strip.blank(width, self.rich_style)
        return self._blank

    def action_page(self, pages: int) -> None:
        """By what fits on the screen, with a row kept for the eye; one that shows a single request has no pages."""
        if self._folded:
            raise SkipAction
        self.post_message(self.Leapt(pages * max(1, self.size.height - 1)))

    def action_edge(self, side: int) -> None:
        """To the first or the last."""
        self.post_message(self.Leapt(side * len(self._board.visible)))

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

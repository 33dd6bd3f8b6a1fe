"""The list of waiting requests. It reads the board and draws only the lines on screen."""

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.actions import SkipAction
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_table import bindings
from aileron_tui.console.textual_internals import update_scrollbars
from aileron_tui.console.widgets.cached_widget import CachedWidget, TextChange
from aileron_tui.core.time_words import ago, minutes_and_seconds
from aileron_tui.core.times import moment, utc_now
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import Visible, cells, clip, quoted, short
from aileron_tui.surface.board import Board, Pill, Tone

if TYPE_CHECKING:
    from aileron_tui.core.prompt import Prompt
    from aileron_tui.core.request import Request

_TONES = {
    Tone.QUIET: "waiting--quiet",
    Tone.GOOD: "waiting--good",
    Tone.WARN: "waiting--warn",
    Tone.BAD: "waiting--bad",
}


_MIN_WIDTH_FOR_SOURCE = 18
_MIN_WIDTH_ONE_LINE = 56
_MIN_SUMMARY_WIDTH = 8
_SUMMARY_INDENT = 4
_NAME_WIDTH = 16
_END_WIDTH = 3
_BESIDE_TIME = " · "
_COMPARED_ROWS = 20
_LONGEST_NAME = 200


class RowSummary(NamedTuple):
    """The summary of a request, and that of the row above which it is compared with."""

    values: tuple[str, ...]
    previous: tuple[str, ...]

    def text(self, width: int) -> str:
        """The summary as one line of at most this width."""
        from aileron_tui.core.summary import summary_line  # noqa: PLC0415  # not needed in the first frame

        return summary_line(self.values, width, self.previous)


class RequestLine(NamedTuple):
    """Everything that is shown on the line of a request. `summary` is None if it has a line of its own.

    `reading` says who is reading it at another surface, from the longest form to the shortest.
    """

    key: str
    name: str
    requests: int
    position: str
    selected: bool
    marked: bool
    high_risk: bool
    pill: Pill
    time: str
    reading: tuple[str, ...]
    source: str
    stale: bool
    summary: RowSummary | None


class SummaryLine(NamedTuple):
    """The second line of a request, in a list that is too narrow for one line."""

    key: str
    selected: bool
    summary: RowSummary


def _time(request: "Request", now: datetime) -> str:
    """The time left to answer, or the time since it was asked if there is no limit."""
    if request.expires_at:
        return minutes_and_seconds(request.seconds_left(now))
    try:
        return ago((now - moment(request.requested_at)).total_seconds()).removesuffix(" ago")
    except ValueError:
        return ""


def _reading(line: RequestLine, width: int, max_tail: int) -> str:
    """Who is reading the request elsewhere, before the time, in the longest form that leaves room for the name."""
    room = min(max(_MIN_SUMMARY_WIDTH, width // 3), max_tail - len(line.time) - len(_BESIDE_TIME))
    fitting = (form for form in line.reading if cells(form) <= room)
    return next((f"{form}{_BESIDE_TIME}" for form in fitting), "")


def _name(line: RequestLine, width: int) -> Visible:
    """The name of the action; in quotes if it could look like a name and a count."""
    return clip(quoted(line.name[:_LONGEST_NAME]), width) if "×" in line.name else short(line.name, width)


class RequestList(ScrollView, CachedWidget, can_focus=True, inherit_bindings=False):
    """The requests on the board, oldest first.

    The widget holds no requests of its own: it reads the board whenever it draws. It only caches the lines on screen,
    to redraw those that changed. The cursor is the board's selection, so it stays on its request when rows move.

    Each request has a summary: on a second line, or on its only line if the list is wide or folded. It is compared with
    that of the most similar older request near it of the same action, so that it shows what differs. That request is
    chosen when the row is first drawn, and no row changes because another one arrives or ends.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.REQUEST_LIST)]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "waiting--row",
        "waiting--chosen",
        "waiting--summary",
        "waiting--count",
        "waiting--quiet",
        "waiting--good",
        "waiting--warn",
        "waiting--bad",
    }

    @dataclass()
    class Picked(Message):
        """A request was clicked."""

        key: str

    @dataclass()
    class RowOpened(Message):
        """A key was pressed that gives each request of the selected row a row of its own, or folds them again."""

        opened: bool

    @dataclass()
    class MoveRequested(Message):
        """A key was pressed that moves the selection by this many requests."""

        steps: int

    def __init__(self, board: Board, *, show_source: bool = False) -> None:
        super().__init__()
        self._board = board
        self._show_source = show_source
        self._folded = False
        self._pressed_key = ""
        self._last_selected: tuple[str, int] = ("", -1)
        self._blank = Strip.blank(0)
        self._style_cache: dict[str, Style] = {}
        self._lines_on_screen: dict[int, RequestLine | SummaryLine | str] = {}
        self._strips_on_screen: dict[tuple[RequestLine | SummaryLine, int], Strip] = {}
        self._summaries: dict[str, tuple[Prompt, RowSummary]] = {}

    def notify_style_update(self) -> None:
        """Clears the caches when the colours change."""
        super().notify_style_update()
        self._blank = Strip.blank(0)
        self._style_cache.clear()
        self._strips_on_screen.clear()

    def _style(self, component: str) -> Style:
        """The style of a component class, looked up once."""
        if component not in self._style_cache:
            self._style_cache[component] = self.get_component_rich_style(component)
        return self._style_cache[component]

    def _with_colour(self, row: Style, component: str) -> Style:
        """The style of a row with the text colour of a component class."""
        return row + Style(color=self._style(component).color)

    def tick(self) -> None:
        """Updates the times whose text changed in the last second."""
        now, end = utc_now(), self.scrollable_content_region.width - _END_WIDTH
        changes: list[TextChange] = []
        for y, line in self._lines_on_screen.items():
            if not isinstance(line, RequestLine) or not line.time:
                continue
            if (time := self._time_left(line.key, now)) != line.time:
                self._lines_on_screen[y] = line._replace(time=time)
                changes.append(TextChange(end - len(time), y, line.time, time))
        self.replace_text(changes)

    def _time_left(self, key: str, now: datetime) -> str:
        """The time left of a row: that of the request that expires first."""
        row = (self._board.requests.get(one) for one in self._board.row(key))
        requests = [request for request in row if request]
        return _time(min(requests, key=lambda request: request.expires_at), now) if requests else ""

    def update(self, *, folded: bool = False) -> None:
        """Redraws the lines that differ from the board; a folded list shows only the selected request, on one line."""
        self._folded = folded
        width, height = self.scrollable_content_region.size
        rows, selected = self._board.rows, self._board.row_key(self._board.selected)
        self._resize_content(Size(width, 1 if folded else len(rows) * self._lines_per_row), height)
        if not folded and selected in rows:
            self._keep_selected_in_view(rows.index(selected))
        now = utc_now()
        changed = [y for y in range(height) if self._lines_on_screen.get(y) != self._line(y, now)]
        if changed:
            self.refresh(Region(0, changed[0], width, changed[-1] - changed[0] + 1))

    @property
    def _lines_per_row(self) -> int:
        """How many lines each request has."""
        return 1 if self._folded or self.scrollable_content_region.width >= _MIN_WIDTH_ONE_LINE else 2

    def _resize_content(self, size: Size, height: int) -> None:
        """Sets the number of rows without redrawing every line and updating the layout, as Textual would."""
        before = self.virtual_size
        if size == before:
            return
        self.set_reactive(Widget.virtual_size, size)
        if (
            size.width != before.width
            or size.height < before.height
            or (size.height > height) != self.show_vertical_scrollbar
        ):
            update_scrollbars(self, size)  # Textual does not, if only the number of rows changed
            self.refresh(repaint=False, layout=True)
        elif self.show_vertical_scrollbar:
            self.vertical_scrollbar.window_virtual_size = size.height

    def _keep_selected_in_view(self, row: int) -> None:
        """Scrolls to the selected request if it or its row changed; otherwise keeps the position of the mouse wheel."""
        if (self._board.selected, row) != self._last_selected:
            self._last_selected = (self._board.selected, row)
            lines = self._lines_per_row
            self.scroll_to_region(Region(0, row * lines, 1, lines), animate=False, force=True)

    def on_resize(self) -> None:
        """Draws everything at the new width, with the selected request in view."""
        self._last_selected = ("", -1)
        self._lines_on_screen.clear()
        self.update(folded=self._folded)

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        line = self._lines_on_screen[y] = self._line(y, utc_now())
        if isinstance(line, RequestLine | SummaryLine):
            return self._cached_row(line, width)
        return self._message(line, width) if line else self._blank_line(width)

    def _line(self, y: int, now: datetime) -> RequestLine | SummaryLine | str:
        """What belongs on a line of the screen, read from the board: a request, its summary, a message, or nothing."""
        board, keys, lines = self._board, self._board.rows, self._lines_per_row
        chosen = board.row_key(board.selected)
        if not keys and y == 1:
            words = "nothing matches" if board.filter else "nothing waiting"
            return words if board.has_reports else "connecting…"
        index, part = divmod(y + self.scroll_offset.y, lines)
        if self._folded and chosen in keys:
            index = keys.index(chosen)
        if index >= len(keys) or (self._folded and y > 0):
            return ""
        key, position = keys[index], f"{index + 1}/{len(keys)} " if self._folded else ""
        request, selected = board.requests.get(key), key == chosen
        shown = self._summary(index, request) if request else RowSummary((), ())
        if part:
            return SummaryLine(key, selected, shown)
        pill = board.pill(key)
        time = "" if pill.words or not request else self._time_left(key, now)
        source = request.source if request and self._show_source else ""
        stale = source in board.queue.stale
        name = request.prompt.action if request else key
        row = board.row(key)
        marked, high_risk = board.marked.issuperset(row), board.is_high_risk(key)
        beside = shown if lines == 1 else None
        reading = board.reading_elsewhere(key) if time else ()
        return RequestLine(
            key, name, len(row), position, selected, marked, high_risk, pill, time, reading, source, stale, beside
        )

    def _summary(self, index: int, request: "Request") -> RowSummary:
        """The summary of a row, made once for each prompt."""
        kept = self._summaries.get(request.key)
        if kept is None or kept[0] is not request.prompt:
            from aileron_tui.core.summary import summary  # noqa: PLC0415  # not needed in the first frame

            values = summary(request.prompt)
            previous = kept[1].previous if kept else self._previous(index, values, request.prompt.action)
            kept = request.prompt, RowSummary(values, previous)
            if len(self._summaries) > 2 * len(self._board.requests) + self.size.height:
                self._summaries = {key: one for key, one in self._summaries.items() if key in self._board.requests}
            self._summaries[request.key] = kept
        return kept[1]

    def _previous(self, index: int, values: tuple[str, ...], action: str) -> tuple[str, ...]:
        """The most similar summary of the nearest rows above that have the same action, () if there are none."""
        from aileron_tui.core.summary import similarity, summary  # noqa: PLC0415  # not needed in the first frame

        keys, requests = self._board.rows, self._board.requests
        above = (requests.get(keys[row]) for row in range(index - 1, max(-1, index - 1 - _COMPARED_ROWS), -1))
        same = [one for one in above if one and one.prompt.action == action]
        drawn = [self._summaries.get(one.key) for one in same]
        others = [kept[1].values if kept else summary(one.prompt) for kept, one in zip(drawn, same, strict=True)]
        return max(others, key=partial(similarity, values), default=())

    def _cached_row(self, line: RequestLine | SummaryLine, width: int) -> Strip:
        """A line of a request, drawn once while its text stays the same, even if it moves."""
        if (line, width) not in self._strips_on_screen:
            if len(self._strips_on_screen) > 2 * self.size.height:
                self._drop_strips_off_screen()
            drawn = self._row(line, width) if isinstance(line, RequestLine) else self._second_line(line, width)
            self._strips_on_screen[line, width] = drawn
        return self._strips_on_screen[line, width]

    def _drop_strips_off_screen(self) -> None:
        on_screen = set(self._lines_on_screen.values())
        self._strips_on_screen = {key: strip for key, strip in self._strips_on_screen.items() if key[0] in on_screen}

    def _row(self, line: RequestLine, width: int) -> Strip:
        pill = line.pill
        row = self._style("waiting--chosen" if line.selected else "waiting--row")
        cursor = "▸" if line.selected else " "
        mark = "●" if line.marked else " "
        risk = "⚠" if line.high_risk else " "
        max_tail = max(6, width - _NAME_WIDTH)
        words = pill.words if cells(pill.words) <= max_tail else pill.short
        tail = clip(Visible(words or f"{_reading(line, width, max_tail)}{line.time}"), max_tail)
        room = width - cells(tail) - 3 - _END_WIDTH - len(line.position)
        source = self._source(line, room)
        count = f" ×{line.requests:,}" if line.requests > 1 else ""
        room -= cells(source) + bool(source) + cells(count)
        column = max(_NAME_WIDTH, width // 5) - cells(count)
        name, beside = self._name_and_summary(line, max(4, room), column)
        gap = max(0, room - cells(name) - cells(beside))
        tail_style = self._with_colour(row, _TONES[pill.tone]) if pill.words else row
        source_style = self._with_colour(row, "waiting--warn" if line.stale else "waiting--quiet")
        segments = [
            Segment(f"{cursor}{mark}{line.position}", row),
            Segment(name, row + Style(bold=line.selected)),
            *([Segment(count, self._with_colour(row, "waiting--count") + Style(bold=True))] if count else []),
            *([Segment(beside, self._with_colour(row, "waiting--summary"))] if beside else []),
            Segment(" " * gap + " ", row),
            *([Segment(source, source_style), Segment(" ", row)] if source else []),
            Segment(tail, tail_style),
            Segment(f" {risk} ", self._with_colour(row, "waiting--warn")),
        ]
        return Strip(segments).adjust_cell_length(width, row)

    @staticmethod
    def _name_and_summary(line: RequestLine, room: int, column: int) -> tuple[str, str]:
        """The name, and the summary that follows it on the same line; in a list, names are in a `column`."""
        if line.summary is None or not line.summary.values:
            return _name(line, room), ""
        name = _name(line, column if room - column - 2 >= _MIN_SUMMARY_WIDTH else room)
        padding = 2 if line.position else max(0, column - cells(name)) + 2
        left = room - cells(name) - padding - 1
        text = line.summary.text(left) if left >= _MIN_SUMMARY_WIDTH else ""
        return name, f"{' ' * padding}{text}" if text else ""

    def _second_line(self, line: SummaryLine, width: int) -> Strip:
        """The summary on a line of its own. It begins further right than any name, so it cannot look like a row."""
        row = self._style("waiting--chosen" if line.selected else "waiting--row")
        text = line.summary.text(width - _SUMMARY_INDENT - 1)
        words = Segment(f"{' ' * _SUMMARY_INDENT}{text}", self._with_colour(row, "waiting--summary"))
        return Strip([words]).adjust_cell_length(width, row)

    def _source(self, line: RequestLine, room: int) -> str:
        """The source of a request if there is room for it, marked if it is not connected."""
        if not line.source or room < _MIN_WIDTH_FOR_SOURCE:
            return ""
        return f"{'○ ' if line.stale else ''}{short(line.source, max(8, room // 3))}"

    def _message(self, words: str, width: int) -> Strip:
        text = Segment(f"  {words}", self._style("waiting--quiet"))
        return Strip([text]).adjust_cell_length(width, self.rich_style)

    def _blank_line(self, width: int) -> Strip:
        if self._blank.cell_length != width:
            self._blank = Strip.blank(width, self.rich_style)
        return self._blank

    def action_page(self, pages: int) -> None:
        """Moves by pages; a page is one row less than the screen. A folded list has no pages."""
        if self._folded:
            raise SkipAction
        self.post_message(self.MoveRequested(pages * max(1, self.size.height // self._lines_per_row - 1)))

    def action_edge(self, side: int) -> None:
        """Moves to the first or the last request."""
        self.post_message(self.MoveRequested(side * len(self._board.rows)))

    def action_open_row(self, opened: int) -> None:
        """Shows the requests of the selected row one by one, or as one row again."""
        self.post_message(self.RowOpened(bool(opened)))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Remembers the request under the pointer, because the list may move before the button is released."""
        self._pressed_key = self._key_at(event)

    def on_click(self, event: events.Click) -> None:
        """Selects the clicked request, or the next one in a folded list; a click never answers."""
        if self._pressed_key and self._pressed_key == self._key_at(event):
            self.post_message(self.Picked(self._pressed_key))

    def _key_at(self, event: events.MouseEvent) -> str:
        keys, offset = self._board.rows, event.get_content_offset(self)
        selected = self._board.row_key(self._board.selected)
        if not keys or offset is None or event.button != 1:
            return ""
        if self._folded:
            return keys[(keys.index(selected) + 1) % len(keys)] if selected in keys else keys[0]
        row = (offset.y + self.scroll_offset.y) // self._lines_per_row
        return keys[row] if row < len(keys) else ""

"""The list of past requests. Only the lines on screen are drawn, however many are loaded."""

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import ClassVar, Final

from textual import events
from textual.binding import BindingType
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual
from textual.widget import Widget

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_table import bindings
from aileron_tui.console.render import MUTED, STRONG, foreign_line, trusted
from aileron_tui.core.outcomes import ending
from aileron_tui.core.states import RequestState
from aileron_tui.core.summary import summary_line
from aileron_tui.core.time_words import span
from aileron_tui.core.times import utc_now
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import Visible, short
from aileron_tui.surface.history_records import SourcedRecord, parse_local_time

MIN_WIDTH_ONE_LINE: Final = 92

# Widths of the columns.
_WHEN, _OUTCOME, _TOOK, _SURFACE, _SIGNED, _SOURCE = 11, 17, 10, 9, 10, 10
_OUTCOME_ON_TWO_LINES: Final = 40
_MIN_SUMMARY_WIDTH: Final = 8
_REMEMBERED: Final = 256
"""A few screens of rows: their texts may be long, and a console that is open all day shows thousands of rows."""

_OUTCOME_STYLES: Final = {
    RequestState.EXECUTED: "$text-success",
    RequestState.FAILED: "$text-error",
    RequestState.INTERRUPTED: "$text-warning",
    RequestState.UNKNOWN: "$text-warning",
    RequestState.EXPIRED: "$text-warning",
    RequestState.PENDING: "$text-primary",
    RequestState.WITHDRAWN: MUTED,
}


def outcome(record: SourcedRecord, width: int = _OUTCOME) -> Content:
    """The outcome as a glyph and a word."""
    glyph, word = ending(record, utc_now())
    style = _OUTCOME_STYLES.get(RequestState(record.outcome), "") if record.outcome in set(RequestState) else ""
    return trusted(f"{glyph} ", style) + _text(word, width - 2, style)


def _answered_by(record: SourcedRecord) -> str:
    """Where the request was answered, or that a rule did it."""
    return "by a rule" if record.rule else record.surface


def short_time(time: str, now: datetime | None = None) -> Content:
    """A time from a source, in local time: only the time of day if it is today."""
    at = parse_local_time(time)
    if at is None:
        return _text(time, _WHEN)
    today = (now or datetime.now().astimezone()).date()
    if at.date() == today:
        return trusted(f"{at:%H:%M}".rjust(_WHEN))
    return trusted(f"{at:%m-%d %H:%M}" if at.year == today.year else f"{at:%Y-%m-%d}".rjust(_WHEN))


def _cell(content: Content, width: int) -> Content:
    return content.truncate(width, ellipsis=True).pad_right(max(0, width - content.cell_length))


@lru_cache(maxsize=_REMEMBERED)
def _clipped(text: str, width: int) -> Visible:
    """Cached, because a row is drawn again whenever it scrolls, and its text may be long."""
    return short(text, max(1, width))


def _text(text: str, width: int, style: str = "") -> Content:
    return foreign_line(_clipped(text, width), style)


def _named(record: SourcedRecord, width: int, style: str) -> Content:
    """The action, and its summary where there is room for it."""
    name = _text(record.action, width, style)
    room = width - name.cell_length - 2
    text = _summary(record.summary, room) if room >= _MIN_SUMMARY_WIDTH else ""
    return name + trusted("  ") + foreign_line(text, MUTED) if text else name


@lru_cache(maxsize=_REMEMBERED)
def _summary(values: tuple[str, ...], width: int) -> Visible:
    return summary_line(values, width)


def columns(width: int, *, show_source: bool = False) -> tuple[int, int]:
    """The widths of the action and agent columns; `show_source` leaves room for the source."""
    room = width - 2 - (_WHEN + _OUTCOME + _TOOK + _SURFACE + _SIGNED) - 2 * 6 - (_SOURCE + 2 if show_source else 0)
    action = max(12, room * 3 // 5, room - 16)
    return action, room - action


class Columns(Widget):
    """The names of the columns, above requests that take one line each."""

    DEFAULT_CSS = "Columns { height: 1; padding: 0 1 0 0; }"

    def __init__(self, *, show_source: bool = False) -> None:
        super().__init__()
        self._show_source = show_source

    def render(self) -> Content:
        action, agent = columns(self.content_size.width, show_source=self._show_source)
        names = (
            ("when".rjust(_WHEN), _WHEN),
            ("action", action),
            *((("source", _SOURCE),) if self._show_source else ()),
            ("outcome", _OUTCOME),
            ("decided in".rjust(_TOOK), _TOOK),
            ("surface", _SURFACE),
            ("agent", agent),
            ("signature", _SIGNED),
        )
        return trusted("  ") + trusted("  ").join([_cell(trusted(name, MUTED), width) for name, width in names])


class HistoryTable(ScrollView, can_focus=True, inherit_bindings=False):
    """Past requests, newest first: one line each on a wide screen, else two."""

    DEFAULT_CSS = (
        "HistoryTable { height: 1fr; overflow-x: hidden; scrollbar-gutter: stable; scrollbar-size-vertical: 1; }"
    )
    COMPONENT_CLASSES: ClassVar[set[str]] = {"history--cursor"}
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.HISTORY_TABLE)]

    @dataclass()
    class Highlighted(Message):
        """The cursor is on another request, or on none."""

        record: SourcedRecord | None

    @dataclass()
    class Chosen(Message):
        """The request that was already under the cursor was clicked."""

        record: SourcedRecord

    @dataclass()
    class LinesChanged(Message):
        """The number of lines per request changed."""

        lines: int

    class NewSeen(Message):
        """New requests that were above the screen have been scrolled into view."""

    class EndNeared(Message):
        """The last loaded request is on screen or close to it."""

        def can_replace(self, message: Message) -> bool:
            """One queued message is enough."""
            return isinstance(message, HistoryTable.EndNeared)

    def __init__(self, *, show_source: bool = False) -> None:
        super().__init__()
        self._show_source = show_source
        self.records: list[SourcedRecord] = []
        self._cursor = 0
        self._end_note = trusted("")
        self._new_above = 0

    @property
    def current(self) -> SourcedRecord | None:
        """The request under the cursor."""
        return self.records[self._cursor] if self.records else None

    def show(self, records: Sequence[SourcedRecord]) -> None:
        """Shows these requests instead. The cursor stays on its request if that is still listed."""
        before = self.current
        self.records = list(records)
        self._new_above = 0
        indexes = {record.key: index for index, record in enumerate(self.records)}
        self._cursor = indexes.get(before.key, 0) if before else 0
        self._update_size()
        self._scroll_to_cursor()
        if self.current != before:
            self.post_message(self.Highlighted(self.current))

    def extend(self, records: Sequence[SourcedRecord]) -> None:
        """Adds requests below; nothing on screen moves."""
        first = not self.records
        self.records.extend(records)
        self._update_size()
        if first and self.records:
            self.post_message(self.Highlighted(self.current))

    def update(self, newest: Sequence[SourcedRecord], changed: Sequence[SourcedRecord]) -> None:
        """Adds new requests above and replaces those that changed. The cursor stays on its request.

        The list keeps its place on screen if it is scrolled, or if the cursor would leave the screen.
        """
        indexes = {record.key: index for index, record in enumerate(self.records)}
        new = [record for record in newest if record.key not in indexes]
        before = self.current
        for record in (*newest, *changed):
            if record.key in indexes:
                self.records[indexes[record.key]] = record
        self.records[:0] = new
        self._cursor += len(new) if before else 0
        self._update_size()
        lines, top = self._lines, self.scroll_offset.y
        if new and (top or (self._cursor + 1) * lines > self.size.height):
            self._new_above += len(new)
            self.scroll_to(y=top + len(new) * lines, animate=False, force=True)
        if self.current != before:
            self.post_message(self.Highlighted(self.current))

    @property
    def new_above(self) -> int:
        """The number of new requests that have not been on screen."""
        return self._new_above

    def show_end_note(self, note: Content) -> None:
        """Shows this line below the last request."""
        self._end_note = note
        self.refresh()

    def move(self, steps: int) -> None:
        """Moves the cursor, at most to the first or last request."""
        if not self.records:
            return
        target = min(max(self._cursor + steps, 0), len(self.records) - 1)
        if target != self._cursor:
            self._cursor = target
            self.post_message(self.Highlighted(self.current))
            self.refresh()
        self._scroll_to_cursor()
        self._check_for_end()

    def action_page(self, pages: int) -> None:
        """Moves the cursor by a screen."""
        self.move(pages * max(1, self.size.height // self._lines - 1))

    @property
    def _lines(self) -> int:
        room = self.scrollable_content_region.width - (_SOURCE + 2 if self._show_source else 0)
        return 1 if room >= MIN_WIDTH_ONE_LINE else 2

    def _update_size(self) -> None:
        width = self.scrollable_content_region.width
        self.virtual_size = Size(width, len(self.records) * self._lines + 1)
        self.refresh()

    def _scroll_to_cursor(self) -> None:
        lines = self._lines
        tail = self._cursor == len(self.records) - 1
        self.scroll_to_region(Region(0, self._cursor * lines, 1, lines + tail), animate=False, force=True)

    def _check_for_end(self) -> None:
        below = self.virtual_size.height - self.scroll_offset.y - self.size.height
        if below < self.size.height:
            self.post_message(self.EndNeared())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if self.is_mounted:
            self._check_for_end()
            if self._new_above > (above := int(new_value) // self._lines):
                self._new_above = above
                self.post_message(self.NewSeen())

    def on_resize(self) -> None:
        """Adapts the number of lines per request to the width, and keeps the cursor in view."""
        self._update_size()
        self.post_message(self.LinesChanged(self._lines))
        self.call_after_refresh(self._scroll_to_cursor)

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        lines = self._lines
        index, line = divmod(y + self.scroll_offset.y, lines)
        if index >= len(self.records):
            tail = trusted("  ") + self._end_note if index == len(self.records) and line == 0 else trusted("")
            return self._strip(tail.truncate(width, ellipsis=True), width)
        record = self.records[index]
        cursor = index == self._cursor
        if lines == 1:
            content = self._one_line(record, width, cursor=cursor)
        elif line == 0:
            content = self._first_line(record, width, cursor=cursor)
        else:
            content = self._second_line(record, width)
        return self._strip(content, width, "history--cursor" if cursor else "")

    def _strip(self, content: Content, width: int, component: str = "") -> Strip:
        style = self.get_visual_style(component) if component else self.visual_style
        strips = Visual.to_strips(self, content, width, 1, style, apply_selection=False, pad=True)
        return strips[0].adjust_cell_length(width, style.rich_style) if strips else Strip.blank(width)

    def _one_line(self, record: SourcedRecord, width: int, *, cursor: bool) -> Content:
        action, agent = columns(width, show_source=self._show_source)
        took = "" if record.took is None else span(record.took)
        cells = (
            _cell(short_time(record.asked), _WHEN),
            _cell(_named(record, action, STRONG if cursor else ""), action),
            *((_cell(_text(record.source, _SOURCE, MUTED), _SOURCE),) if self._show_source else ()),
            _cell(outcome(record), _OUTCOME),
            _cell(trusted(took.rjust(_TOOK)), _TOOK),
            _cell(_text(_answered_by(record), _SURFACE, MUTED), _SURFACE),
            _cell(_text(record.asked_by, agent, MUTED), agent),
            _cell(trusted(record.signature, MUTED), _SIGNED),
        )
        return trusted("▸ " if cursor else "  ") + trusted("  ").join(cells)

    def _first_line(self, record: SourcedRecord, width: int, *, cursor: bool) -> Content:
        time = short_time(record.asked)
        room = width - 2 - time.cell_length - 2
        action = _cell(_named(record, room, STRONG), room)
        return trusted("▸ " if cursor else "  ") + action + trusted(" ") + time + trusted(" ")

    def _second_line(self, record: SourcedRecord, width: int) -> Content:
        parts = [outcome(record, _OUTCOME_ON_TWO_LINES)]
        if record.took is not None:
            parts.append(trusted(f"in {span(record.took)}", MUTED))
        # The id of a rule, and that a denial was not signed, is in the details.
        answered = record.surface if record.unsigned_denial else record.answered.partition(" (")[0]
        named = (record.source if self._show_source else "", answered, record.asked_by)
        parts.extend(_text(text, 24, MUTED) for text in named if text)
        if record.signature:
            parts.append(trusted(record.signature, MUTED))
        line = trusted("    ")
        shown = 0
        for part in parts:
            longer = line + trusted(" · ", MUTED) + part if shown else line + part
            if longer.cell_length > width - 2:
                break
            line, shown = longer, shown + 1
        return line + trusted(" …", MUTED) if shown < len(parts) else line

    def on_click(self, event: events.Click) -> None:
        """Moves the cursor to the request under the mouse; a second click opens it."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        index = (offset.y + self.scroll_offset.y) // self._lines
        if index >= len(self.records):
            return
        if index == self._cursor:
            self.post_message(self.Chosen(self.records[index]))
        else:
            self.move(index - self._cursor)

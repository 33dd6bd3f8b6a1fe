"""The list of past requests. Only the lines on screen are drawn, however many requests were loaded."""

from collections.abc import Sequence
from datetime import UTC, datetime
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
from aileron_tui.console.render import MUTED, STRONG, foreign_line, own
from aileron_tui.core.outcomes import ending
from aileron_tui.core.states import RequestState
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import Visible, clip, inline
from aileron_tui.surface.history_records import SourcedRecord, local, span

ONE_LINE_FROM: Final = 92

_WHEN, _OUTCOME, _TOOK, _SURFACE, _SIGNED, _SOURCE = 11, 17, 10, 9, 10, 10
_WHOLE: Final = 40
_TONES: Final = {
    RequestState.EXECUTED: "$text-success",
    RequestState.FAILED: "$text-error",
    RequestState.INTERRUPTED: "$text-warning",
    RequestState.EXPIRED: "$text-warning",
    RequestState.PENDING: "$text-primary",
    RequestState.WITHDRAWN: MUTED,
}


def outcome(request: SourcedRecord, width: int = _OUTCOME) -> Content:
    """How it ended, as a glyph and a word."""
    glyph, word = ending(request, datetime.now(UTC))
    style = _TONES.get(RequestState(request.outcome), "") if request.outcome in set(RequestState) else ""
    return own(f"{glyph} ", style) + _text(word, width - 2, style)


def when(time: str, now: datetime | None = None) -> Content:
    """A time of the gate, short: today only the hour."""
    at = local(time)
    if at is None:
        return _text(time, _WHEN)
    today = (now or datetime.now().astimezone()).date()
    if at.date() == today:
        return own(f"{at:%H:%M}".rjust(_WHEN))
    return own(f"{at:%m-%d %H:%M}" if at.year == today.year else f"{at:%Y-%m-%d}".rjust(_WHEN))


def _cell(content: Content, width: int) -> Content:
    return content.truncate(width, ellipsis=True).pad_right(max(0, width - content.cell_length))


@lru_cache(maxsize=2048)
def _clipped(text: str, width: int) -> Visible:
    """Kept, because a row is drawn anew whenever it scrolls, and its text may be long."""
    return clip(inline(text), max(1, width))


def _text(text: str, width: int, style: str = "") -> Content:
    return foreign_line(_clipped(text, width), style)


def columns(width: int, *, several: bool = False) -> tuple[int, int]:
    """How wide the action and the agent are when a request takes one line; `several` leaves room for the source."""
    room = width - 2 - (_WHEN + _OUTCOME + _TOOK + _SURFACE + _SIGNED) - 2 * 6 - (_SOURCE + 2 if several else 0)
    action = max(12, room * 3 // 5)
    return action, room - action


class Columns(Widget):
    """The names of the columns, above requests that take one line each."""

    DEFAULT_CSS = "Columns { height: 1; padding: 0 1 0 0; }"

    def __init__(self, *, several: bool = False) -> None:
        super().__init__()
        self._several = several

    def render(self) -> Content:
        action, agent = columns(self.content_size.width, several=self._several)
        names = (
            ("when".rjust(_WHEN), _WHEN),
            ("action", action),
            *((("source", _SOURCE),) if self._several else ()),
            ("outcome", _OUTCOME),
            ("decided in".rjust(_TOOK), _TOOK),
            ("surface", _SURFACE),
            ("agent", agent),
            ("signature", _SIGNED),
        )
        return own("  ") + own("  ").join([_cell(own(name, MUTED), width) for name, width in names])


class HistoryTable(ScrollView, can_focus=True, inherit_bindings=False):
    """Past requests, newest first: one line each where there is room, else two."""

    DEFAULT_CSS = (
        "HistoryTable { height: 1fr; overflow-x: hidden; scrollbar-gutter: stable; scrollbar-size-vertical: 1; }"
    )
    COMPONENT_CLASSES: ClassVar[set[str]] = {"history--cursor"}
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.HISTORY_TABLE)]

    @dataclass()
    class Highlighted(Message):
        """The cursor is on another request, or on none."""

        request: SourcedRecord | None

    @dataclass()
    class Chosen(Message):
        """A request was clicked that was under the cursor already."""

        request: SourcedRecord

    @dataclass()
    class Reshaped(Message):
        """Requests take another number of lines."""

        lines: int

    class EndNeared(Message):
        """The last loaded request is on screen, or nearly."""

        def can_replace(self, message: Message) -> bool:
            """Many of these mean no more than one."""
            return isinstance(message, HistoryTable.EndNeared)

    def __init__(self, *, several: bool = False) -> None:
        super().__init__()
        self._several = several
        self.requests: list[SourcedRecord] = []
        self._cursor = 0
        self._tail = own("")

    @property
    def current(self) -> SourcedRecord | None:
        """The request under the cursor."""
        return self.requests[self._cursor] if self.requests else None

    def show(self, requests: Sequence[SourcedRecord]) -> None:
        """Other requests instead. The cursor stays on its request if that is among them."""
        before = self.current
        self.requests = list(requests)
        places = {request.key: place for place, request in enumerate(self.requests)}
        self._cursor = places.get(before.key, 0) if before else 0
        self._measure()
        self._follow()
        if self.current != before:
            self.post_message(self.Highlighted(self.current))

    def extend(self, requests: Sequence[SourcedRecord]) -> None:
        """More requests below; nothing that is on screen moves."""
        first = not self.requests
        self.requests.extend(requests)
        self._measure()
        if first and self.requests:
            self.post_message(self.Highlighted(self.current))

    def end(self, words: Content) -> None:
        """What the line below the last request says."""
        self._tail = words
        self.refresh()

    def move(self, steps: int) -> None:
        """Moves the cursor; it stops at the ends."""
        if not self.requests:
            return
        target = min(max(self._cursor + steps, 0), len(self.requests) - 1)
        if target != self._cursor:
            self._cursor = target
            self.post_message(self.Highlighted(self.current))
            self.refresh()
        self._follow()
        self._look_ahead()

    def action_page(self, pages: int) -> None:
        """Moves the cursor by what fits on the screen."""
        self.move(pages * max(1, self.size.height // self._lines - 1))

    @property
    def _lines(self) -> int:
        room = self.scrollable_content_region.width - (_SOURCE + 2 if self._several else 0)
        return 1 if room >= ONE_LINE_FROM else 2

    def _measure(self) -> None:
        width = self.scrollable_content_region.width
        self.virtual_size = Size(width, len(self.requests) * self._lines + 1)
        self.refresh()

    def _follow(self) -> None:
        lines = self._lines
        tail = self._cursor == len(self.requests) - 1
        self.scroll_to_region(Region(0, self._cursor * lines, 1, lines + tail), animate=False, force=True)

    def _look_ahead(self) -> None:
        below = self.virtual_size.height - self.scroll_offset.y - self.size.height
        if below < self.size.height:
            self.post_message(self.EndNeared())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if self.is_mounted:
            self._look_ahead()

    def on_resize(self) -> None:
        """Another width may take another number of lines; the cursor stays in view."""
        self._measure()
        self.post_message(self.Reshaped(self._lines))
        self.call_after_refresh(self._follow)

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        lines = self._lines
        place, line = divmod(y + self.scroll_offset.y, lines)
        if place >= len(self.requests):
            tail = own("  ") + self._tail if place == len(self.requests) and line == 0 else own("")
            return self._strip(tail.truncate(width, ellipsis=True), width)
        request = self.requests[place]
        cursor = place == self._cursor
        if lines == 1:
            content = self._one_line(request, width, cursor=cursor)
        elif line == 0:
            content = self._first(request, width, cursor=cursor)
        else:
            content = self._second(request, width)
        return self._strip(content, width, "history--cursor" if cursor else "")

    def _strip(self, content: Content, width: int, component: str = "") -> Strip:
        style = self.get_visual_style(component) if component else self.visual_style
        strips = Visual.to_strips(self, content, width, 1, style, apply_selection=False, pad=True)
        return strips[0].adjust_cell_length(width, style.rich_style) if strips else Strip.blank(width)

    def _one_line(self, request: SourcedRecord, width: int, *, cursor: bool) -> Content:
        action, agent = columns(width, several=self._several)
        took = "" if request.took is None else span(request.took)
        cells = (
            _cell(when(request.asked), _WHEN),
            _cell(_text(request.action, action, STRONG if cursor else ""), action),
            *((_cell(_text(request.source, _SOURCE, MUTED), _SOURCE),) if self._several else ()),
            _cell(outcome(request), _OUTCOME),
            _cell(own(took.rjust(_TOOK)), _TOOK),
            _cell(_text(request.surface, _SURFACE, MUTED), _SURFACE),
            _cell(_text(request.agent, agent, MUTED), agent),
            _cell(own(request.signature, MUTED), _SIGNED),
        )
        return own("▸ " if cursor else "  ") + own("  ").join(cells)

    def _first(self, request: SourcedRecord, width: int, *, cursor: bool) -> Content:
        time = when(request.asked)
        room = width - 2 - time.cell_length - 2
        action = _cell(_text(request.action, room, STRONG), room)
        return own("▸ " if cursor else "  ") + action + own(" ") + time + own(" ")

    def _second(self, request: SourcedRecord, width: int) -> Content:
        parts = [outcome(request, _WHOLE)]
        if request.took is not None:
            parts.append(own(f"in {span(request.took)}", MUTED))
        named = (request.source if self._several else "", request.surface, request.agent)
        parts.extend(_text(text, 24, MUTED) for text in named if text)
        if request.signature:
            parts.append(own(request.signature, MUTED))
        line = own("    ")
        shown = 0
        for part in parts:
            longer = line + own(" · ", MUTED) + part if shown else line + part
            if longer.cell_length > width - 2:
                break
            line, shown = longer, shown + 1
        return line + own(" …", MUTED) if shown < len(parts) else line

    def on_click(self, event: events.Click) -> None:
        """Goes to the request under the mouse; a second click opens it."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        place = (offset.y + self.scroll_offset.y) // self._lines
        if place >= len(self.requests):
            return
        if place == self._cursor:
            self.post_message(self.Chosen(self.requests[place]))
        else:
            self.move(place - self._cursor)

"""The prompt: everything the operator is shown about a request."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_table import bindings
from aileron_tui.console.render import MUTED, STRONG, trusted
from aileron_tui.console.widgets import prompt_words as words
from aileron_tui.console.widgets.cached_widget import CachedWidget
from aileron_tui.console.widgets.fields import Fields, common_label_width, with_remarks
from aileron_tui.console.widgets.line_widget import LineWidget
from aileron_tui.console.widgets.lookalike_scan import LookalikeScan, LookalikesFound
from aileron_tui.console.widgets.prompt_content import ORIGINS, PromptContent
from aileron_tui.console.widgets.prompt_quotes import PromptQuotes
from aileron_tui.console.widgets.prompt_scroll import PromptScroll
from aileron_tui.console.widgets.quote import Quote
from aileron_tui.console.widgets.quote_text import QuoteText
from aileron_tui.console.widgets.reading_progress import PromptPart, ReadingProgress, Unread
from aileron_tui.console.widgets.reading_recorder import ReadingRecorder, ShownVersion
from aileron_tui.console.widgets.time_left import time_left
from aileron_tui.console.widgets.two_sided_line import TwoSidedLine
from aileron_tui.core.daemon_kinds import FILLED_IN
from aileron_tui.core.prompt import Prompt
from aileron_tui.core.prompt_facts import preview_age
from aileron_tui.core.request import Request
from aileron_tui.core.skeletons import KnownNames
from aileron_tui.core.times import utc_now
from aileron_tui.core.visible_text import cells

_LOW_HEIGHT: Final = 16
_FOOT_GAP: Final = 2
_PARTS: Final = 5
_EMPTY: Final = Content("")
_NO_AGE: Final = (None, "")
_FOLDABLE: Final = frozenset({"asker", "asker-details", "runs", "runs-details"})


class PromptView(CachedWidget, can_focus=True):
    """One request, scrollable. An update of the same request keeps the position; another request starts at the top.

    What the decision is about comes first: what was fetched, then what the agent sent. Who asks and what would run are
    one line each, which opens to show the details. Long texts follow, each with who wrote it.
    """

    DEFAULT_CSS = """
    PromptView { layout: vertical; height: 1fr; width: 1fr; }
    PromptView PromptScroll { height: 1fr; padding: 0 1 0 0; scrollbar-gutter: stable; scrollbar-size-vertical: 1; }
    PromptView Static { height: auto; width: 1fr; }
    PromptView Quote { margin: 1 0 0 0; }
    PromptView QuoteText, PromptView Quote WarningLines { margin: 0 0 0 2; }
    PromptView #prompt-cautions { display: none; }
    PromptView .quotes-end { display: none; }
    PromptView .section { margin: 1 0 0 0; }
    PromptView #prompt-empty { height: 1fr; content-align: center middle; text-align: center; display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.PROMPT)]
    DWELL_SECONDS: ClassVar = 0.2
    """How long a line must stay on screen to count as read."""

    class Ready(Message):
        """The view is mounted and can show a request."""

    class LinesRead(Message):
        """More lines of the prompt have been on screen, or some must be read again."""

    class ReadToEnd(Message):
        """Every line that must be read before an approval has been on screen."""

    def __init__(self, seen: KnownNames | None = None, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        """`seen` has the hosts and addresses that look-alikes are compared with, and gets those that are shown."""
        super().__init__(id=id)
        self._is_built = False
        self._progress = ReadingProgress()
        self._recorder = ReadingRecorder(self, self._progress, self._shown_version, self._report_progress)
        self._reported: tuple[str, Unread, bool] = ("", Unread(0), False)
        self._lookalikes = LookalikeScan(self, seen)
        self._show_when_ready: tuple[Request | None, Content | None] = (None, None)
        self._last_shown: tuple[Request | None, Content | None] = (None, None)
        self._request: Request | None = None
        self._content = PromptContent()
        self._opened = self._has_warning = False
        self._version = ""
        self._now = utc_now()
        self._cautions = _EMPTY
        self._title: tuple[Prompt | None, bool, Content] = (None, True, _EMPTY)
        self._age: tuple[Request | None, str] = _NO_AGE
        self._quotes = PromptQuotes()
        self._reading: tuple[str, ...] = ()

    def compose(self) -> ComposeResult:
        """A fixed title, and below it the scrolling body."""
        yield Static(id="prompt-empty")
        yield TwoSidedLine(id="prompt-title")
        yield TwoSidedLine(id="prompt-note")
        with PromptScroll(id="prompt-body"):
            yield TwoSidedLine(id="prompt-risk")
            yield TwoSidedLine(id="prompt-cautions")
            yield TwoSidedLine(id="prompt-unavailable", classes="section")
            yield TwoSidedLine(id="fetched-head", classes="section")
            yield Fields(id="fetched")
            yield TwoSidedLine(id="sent-head", classes="section")
            yield Fields(id="sent")
            yield TwoSidedLine(id="filled-head", classes="section")
            yield Fields(id="filled")
            yield Fields(id="asker", classes="section")
            yield Fields(id="asker-details")
            yield Fields(id="runs")
            yield Fields(id="runs-details")
            yield Fields(id="runs-rows")
            yield from (Static(id=f"{name}-quotes-end", classes="quotes-end") for name in ORIGINS)
        yield TwoSidedLine(id="prompt-foot")

    def on_mount(self) -> None:
        """Starts to watch the scroll position, and shows the request that was set before mounting."""
        if len(self.children) < _PARTS:
            return  # the console is being closed while it is still being built
        for attribute in ("scroll_y", "virtual_size"):
            self.watch(self._body, attribute, self._update_progress, init=False)
        self._is_built = True
        request, note = self._show_when_ready
        self.show(request, note=note)
        self.post_message(self.Ready())

    def on_resize(self) -> None:
        """Adapts the layout to the new size."""
        # The outer size, because the padding depends on this class; a banner takes its first line.
        height = self.outer_size.height + self.screen.has_class("-banner")
        self.set_class(height < _LOW_HEIGHT, "low")
        self._fit_to_size()

    def show_reading(self, forms: Sequence[str]) -> None:
        """Says below the request who is reading it at another surface, in the longest form that fits. Nothing moves."""
        if tuple(forms) != self._reading:
            self._reading = tuple(forms)
            if self.ready:
                self._update_progress()

    def show(self, request: Request | None, *, note: Content | None = None) -> None:
        """Shows this request, or that none is waiting; for an edited request, also what was changed."""
        if not self.ready:
            self._show_when_ready = (request, note)
            return
        before = self._request
        last_request, last_note = self._last_shown
        self._last_shown = (request, note)
        if request is not None and request is last_request:
            if not (note or _EMPTY).is_same(last_note or _EMPTY):
                self._show_if_any("prompt-note", note or _EMPTY)
                self.call_after_refresh(self._update_progress)
            return
        same = request is not None and before is not None and request.key == before.key
        version = _version(request) if request else ""
        changed = version != self._version or (request and before and request.fetching != before.fetching)
        self._request = request
        self._now = utc_now()
        if changed:
            self._version = version
            self._content = PromptContent(request)
            self._lookalikes.start(list(self._content.texts()))
            if not same:
                self._opened = False
                self._progress.restart()
                self._body.scroll_to(y=0, animate=False)
        self._draw(note)

    @property
    def ready(self) -> bool:
        """Whether the prompt can be shown: it is built, and not being closed."""
        return self._is_built and len(self.children) == _PARTS

    @property
    def request(self) -> Request | None:
        """The request that is shown."""
        return self._request

    # reading

    @property
    def read_to_end(self) -> bool:
        """Whether every line that must be read before an approval has been on screen."""
        return self._is_final and not self.unread.lines

    @property
    def unread(self) -> Unread:
        """How many lines must still be on screen before an approval."""
        return self._progress.unread(self._required_parts()) if self.ready and self._request else Unread(0)

    @property
    def has_warning(self) -> bool:
        """Whether there is a warning about the request that is shown."""
        return self._request is not None and self._has_warning

    def read_on(self) -> None:
        """Scrolls to the first lines that have not been on screen and must be."""
        if found := self._progress.next_unread(self._required_parts()):
            self._body.scroll_to_row(*found)

    @property
    def is_settled(self) -> bool:
        """Whether everything on screen has been there long enough to count as read."""
        return self._recorder.is_settled

    @property
    def _is_final(self) -> bool:
        """Whether nothing is being fetched or scanned that could add to the prompt."""
        return self._request is not None and not self._request.fetching and not self._lookalikes.is_running

    def _shown_version(self) -> ShownVersion | None:
        request = self._request
        return ShownVersion(self._version, not request.fetching, self.DWELL_SECONDS) if request else None

    def _parts(self) -> dict[PromptPart, object]:
        """Everything in the body that can be read, from top to bottom, and what it says."""
        parts: dict[PromptPart, object] = {}
        for child in self._body.displayed_children:
            if isinstance(child, Quote):
                parts |= child.parts
            elif isinstance(child, LineWidget):
                parts[child] = child.content
        return parts

    def _required_parts(self) -> list[PromptPart]:
        """What must be read before an approval: everything but the details that the lines above them sum up.

        At low and normal risk, the line about what would run need not be read either if it adds nothing.
        """
        optional = {"asker-details"} if self._content.details_required else {"asker-details", "runs-details"}
        if self._content.run_line_is_optional and not self._has_warning:
            optional.add("runs")
        return [part for part in self._parts() if part.id not in optional]

    def _report_progress(self) -> None:
        before, now = self._reported, (self._version, self.unread, self.read_to_end)
        if now == before:
            return
        self._reported = now
        self.post_message(self.LinesRead())
        if now[2] and (before[0], before[2]) != (now[0], True):
            self.post_message(self.ReadToEnd())

    def _update_progress(self) -> None:
        """Shows how much is below, and records what is on screen now."""
        body = self._body
        if self._request is None or not body.size.height:
            return
        below, counted = body.below, self._quotes.are_counted
        text = f"{'' if counted else 'at least '}{below:,} more line{'' if below == 1 else 's'} ↓" if below else ""
        room = self._line("prompt-foot").size.width - len(text) - _FOOT_GAP
        fitting = (form for form in self._reading if cells(form) <= room)
        self._line("prompt-foot").show(trusted(next(fitting, ""), MUTED), trusted(text, STRONG))
        self._recorder.check_after_refresh()

    # scrolling and folding

    def scroll_rows(self, rows: int, *, pages: bool = False) -> None:
        """Scrolls by rows (or pages) through the whole prompt."""
        self._body.scroll_rows(rows, pages=pages)

    def action_travel(self, rows: int) -> None:
        """Scrolls by rows."""
        self.scroll_rows(rows)

    def action_page(self, pages: int) -> None:
        """Scrolls by pages; a page is one row less than the screen."""
        self.scroll_rows(pages, pages=True)

    def action_enter_outline(self) -> None:
        """Focuses the first JSON in view, where the left and right keys fold."""
        for quote in self._shown_quotes():
            if quote.body.outline is not None and self._body.can_view_partial(quote.body):
                quote.body.focus(scroll_visible=False)
                return

    def action_leave_outline(self) -> None:
        """Focuses the prompt as a whole."""
        self.focus(scroll_visible=False)

    @property
    def quote_in_view(self) -> Quote | None:
        """The quote that is on screen, or else the first one; None if there is none, or if the console is closing."""
        body = next(iter(self.query(PromptScroll)), None)
        return self._quotes.in_view(body) if body is not None and self.ready and self._request else None

    def toggle_details(self) -> None:
        """Shows or hides the details of who asks and what would run."""
        if self._request is not None:
            self._opened = not self._opened
            self._arrange()

    def on_click(self, event: events.Click) -> None:
        """Opens or closes the details of the line that is clicked."""
        if event.widget is not None and event.widget.id in _FOLDABLE:
            self.toggle_details()

    @on(QuoteText.CursorMoved)
    def _cursor_moved(self, event: QuoteText.CursorMoved) -> None:
        event.stop()
        self._body.keep_in_view(event.text, event.row)

    @on(Quote.RowsChanged)
    def _quote_rows_changed(self, event: Quote.RowsChanged) -> None:
        event.stop()
        self._body.call_after_refresh(self._body.keep_position)
        self._update_progress()

    # drawing

    @on(PromptScroll.Resized)
    def _body_resized(self, event: PromptScroll.Resized) -> None:
        event.stop()
        self._fit_to_size()

    def _fit_to_size(self) -> None:
        if self._request is not None:
            self._age = _NO_AGE
            self._draw_times(self._request)
        self._arrange()

    def tick(self, now: datetime) -> None:
        """Updates everything that depends on the time."""
        self._now = now
        if self._request is not None:
            self._draw_times(self._request)
            if self._draw_cautions(self._request):
                self._arrange()
            if not self.read_to_end:
                self._update_progress()

    @property
    def _body(self) -> PromptScroll:
        return self.query_one("#prompt-body", PromptScroll)

    def _line(self, id_: str) -> TwoSidedLine:
        return self.query_one(f"#{id_}", TwoSidedLine)

    def _shown_quotes(self) -> Iterator[Quote]:
        return iter(self._quotes)

    @on(LookalikesFound)
    def _lookalikes_found(self, event: LookalikesFound) -> None:
        event.stop()
        if self._lookalikes.finish(event):
            self._quotes.warn(self._content, self._lookalikes)
            self._arrange()

    def _draw(self, note: Content | None) -> None:
        request = self._request
        empty = self.query_one("#prompt-empty", Static)
        for child in self.children:
            if child.id != "prompt-note":
                child.display = (child is empty) is (request is None)
        if request is None:
            hint = trusted("\nRequests from agents appear here.", MUTED)
            empty.update(note or Content.assemble(trusted("No requests waiting.", STRONG), hint))
            self._show_if_any("prompt-note", _EMPTY)
            return
        self._show_if_any("prompt-note", note or _EMPTY)
        self._line("prompt-risk").show(words.risk(request.prompt))
        sections = self._content.sections
        self._show_if_any("sent-head", words.sent_heading(request, has_fields=bool(sections["sent"].fields)))
        self._show_if_any("filled-head", trusted(FILLED_IN, STRONG) if sections["filled"].fields else _EMPTY)
        self._show_if_any("prompt-unavailable", words.unavailable(request))
        self._draw_cautions(request)
        self._draw_times(request)
        self._quotes.fill(self._body, self._content)
        self._quotes.warn(self._content, self._lookalikes)
        self._arrange()

    def _draw_cautions(self, request: Request) -> bool:
        """Shows the cautions; returns whether they changed."""
        cautions = words.caution_lines(request, self._now)
        if cautions.is_same(self._cautions):
            return False
        self._cautions = cautions
        self._show_if_any("prompt-cautions", cautions)
        return True

    def _show_if_any(self, id_: str, content: Content) -> None:
        line = self._line(id_)
        line.display = bool(content)
        line.show(content)

    def _draw_times(self, request: Request) -> None:
        prompt, asks = request.prompt, request.state.decidable
        if prompt is not self._title[0] or asks is not self._title[1]:
            self._title = (prompt, asks, words.title(request, asks=asks))
        self._line("prompt-title").show(self._title[2], time_left(request, self._now, self.size.width))
        age, reserved = preview_age(request, self._now)
        if request is self._age[0] and age == self._age[1]:
            return
        self._age = (request, age)
        head, heading = self._line("fetched-head"), words.fetched_heading(request)
        head.display = bool(heading)
        head.content_to_read = heading.plain  # the age changes every second
        room = self._body_width - len(" · ") - max(len(age), reserved)
        if age and heading.cell_length > room:
            heading = words.fetched_heading(request, brief=True)
        if age and heading.cell_length <= room:
            head.show(Content.assemble(heading, trusted(f" · {age}", MUTED)))
        else:
            head.show(heading, trusted(age.rjust(reserved), MUTED))

    def _arrange(self) -> None:
        """Gives each section its fields and its width."""
        width = self._body_width
        if self._request is None or width <= 0:
            return
        fields = self._content.fields(opened=self._opened)
        label_width = common_label_width([field for part in fields.values() for field in part], width)
        for id_, part in fields.items():
            fields[id_] = tuple(with_remarks(field, self._lookalikes.remarks_for(field.value)) for field in part)
            self.query_one(f"#{id_}", Fields).show(fields[id_], label_width)
        self._has_warning = (
            any(field.warnings for part in fields.values() for field in part)
            or bool(self._cautions)
            or self._line("prompt-unavailable").display
            or self._quotes.have_warnings
        )
        self._progress.expect(self._parts())
        self.call_after_refresh(self._update_progress)

    @property
    def _body_width(self) -> int:
        """The width of the body, or the width it will have if there is no layout yet."""
        body = self._body
        if body.size:
            return body.scrollable_content_region.width
        return max(0, self.size.width - body.gutter.width - body.styles.scrollbar_size_vertical)


def _version(request: Request) -> str:
    """Identifies what is shown for a request; it changes whenever that does."""
    return f"{request.key} {request.digest} {request.edited_from.digest if request.edited_from else ''}"

"""The prompt: everything the operator is shown about a request."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from time import monotonic
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_table import bindings
from aileron_tui.console.render import MUTED, STRONG, trusted
from aileron_tui.console.textual_internals import painted_regions
from aileron_tui.console.timers import call_after
from aileron_tui.console.widgets import prompt_words as words
from aileron_tui.console.widgets.cached_widget import CachedWidget
from aileron_tui.console.widgets.fields import Field, Fields, common_label_width
from aileron_tui.console.widgets.line_widget import LineWidget
from aileron_tui.console.widgets.lookalike_scan import LookalikeScan, LookalikesFound
from aileron_tui.console.widgets.prompt_scroll import PromptScroll
from aileron_tui.console.widgets.prompt_sections import Block, Section, section
from aileron_tui.console.widgets.quote import Quote
from aileron_tui.console.widgets.quote_heights import share_height
from aileron_tui.console.widgets.reading_progress import Painted, PromptPart, ReadingProgress, Unread
from aileron_tui.console.widgets.time_left import time_left
from aileron_tui.console.widgets.two_sided_line import TwoSidedLine
from aileron_tui.core.daemon_kinds import FILLED_IN
from aileron_tui.core.prompt import Prompt
from aileron_tui.core.request import Request
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.step_rows import step_rows
from aileron_tui.core.times import utc_now

_QUOTE_INDENT: Final = 2
_LOW_HEIGHT: Final = 16
_EMPTY: Final = Content("")
_NO_AGE: Final = (None, "")
# Facts about the call that need not be read at low and normal risk, unless there is a warning.
_CLAIMS: Final = frozenset({"claims"})
_ABOUT_THE_CALL: Final = _CLAIMS | {"runs"}


class PromptView(CachedWidget, can_focus=True):
    """One request, scrollable. An update of the same request keeps the position; another request starts at the top."""

    DEFAULT_CSS = """
    PromptView { layout: vertical; height: 1fr; width: 1fr; }
    PromptView PromptScroll { height: 1fr; padding: 0 1 0 0; scrollbar-gutter: stable; scrollbar-size-vertical: 1; }
    PromptView Static { height: auto; width: 1fr; }
    PromptView Quote { margin: 0 0 1 2; }
    PromptView #prompt-cautions { display: none; }
    PromptView #prompt-last { display: none; }
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

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.ready = False
        self._progress = ReadingProgress()
        self._reported: tuple[str, Unread, bool] = ("", Unread(0), False)
        self._recording = False
        self._has_warning = False
        self._sends_only_inputs = False
        self._lookalikes = LookalikeScan(self)
        self._show_when_ready: tuple[Request | None, Content | None] = (None, None)
        self._last_shown: tuple[Request | None, Content | None] = (None, None)
        self._request: Request | None = None
        self._version = ""
        self._now = utc_now()
        self._cautions = _EMPTY
        self._sent = self._filled = self._fetched = self._runs = Section()
        self._painted: tuple[str, Painted] | None = None
        self._painted_at = 0.0
        self._dwell_timer: Timer | None = None
        self._title: tuple[Prompt | None, bool, Content] = (None, True, _EMPTY)
        self._age: tuple[Request | None, str] = _NO_AGE
        self._quotes: dict[str, list[Quote]] = {"sent": [], "filled": [], "fetched": [], "runs": [], "long": []}

    def compose(self) -> ComposeResult:
        """A fixed title, and below it the scrolling body."""
        yield Static(id="prompt-empty")
        yield TwoSidedLine(id="prompt-title")
        yield TwoSidedLine(id="prompt-note")
        with PromptScroll(id="prompt-body"):
            yield TwoSidedLine(id="prompt-risk")
            yield TwoSidedLine(id="prompt-cautions")
            yield Fields(id="asker")
            yield TwoSidedLine(id="sent-head", classes="section")
            yield Fields(id="sent")
            yield TwoSidedLine(id="filled-head", classes="section")
            yield Fields(id="filled")
            yield TwoSidedLine(id="prompt-unavailable", classes="section")
            yield TwoSidedLine(id="fetched-head", classes="section")
            yield Fields(id="fetched")
            yield Fields(trusted("agent says", STRONG), id="claims", classes="section")
            yield Fields(trusted("would run", STRONG), id="runs", classes="section")
            yield Static(id="prompt-last")
        yield TwoSidedLine(id="prompt-foot")

    def on_mount(self) -> None:
        """Starts to watch the scroll position, and shows the request that was set before mounting."""
        if len(self.query("#prompt-body, #prompt-foot")) < 2:
            return  # the console is being closed while it is still being built
        for attribute in ("scroll_y", "virtual_size"):
            self.watch(self._body, attribute, self._scrolled, init=False)
        self.ready = True
        request, note = self._show_when_ready
        self.show(request, note=note)
        self.post_message(self.Ready())

    def on_resize(self) -> None:
        """Adapts the layout to the new size."""
        # The outer size, because the padding depends on this class; a banner takes its first line.
        height = self.outer_size.height + self.screen.has_class("-banner")
        self.set_class(height < _LOW_HEIGHT, "low")
        self._fit_to_size()

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
                self._show_note(note)
                self._share_height()
            return
        same = request is not None and before is not None and request.key == before.key
        version = _version(request) if request else ""
        changed = version != self._version or (request and before and request.fetching != before.fetching)
        self._request = request
        self._now = utc_now()
        if changed:
            self._version = version
            self._make_sections(request)
            if not same:
                self._progress.restart()
                self._body.scroll_to(y=0, animate=False)
                for quote in self._shown_quotes():
                    quote.body.scroll_to(y=0, animate=False)
        self._draw(note)

    @property
    def request(self) -> Request | None:
        """The request that is shown."""
        return self._request

    @property
    def read_to_end(self) -> bool:
        """Whether every line that must be read before an approval has been on screen."""
        return self._is_final and not self.unread.lines

    @property
    def unread(self) -> Unread:
        """How many lines must still be on screen before an approval."""
        return self._progress.unread(self._required_parts()) if self.ready and self._request else Unread(0)

    def read_on(self) -> None:
        """Scrolls to the first lines that have not been on screen and must be."""
        if found := self._progress.next_unread(self._required_parts()):
            self._body.scroll_to_row(*found)

    @property
    def _is_final(self) -> bool:
        """Whether nothing is being fetched or scanned that could add to the prompt."""
        return self._request is not None and not self._request.fetching and not self._lookalikes.is_running

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
        """What must be read before an approval: everything if the risk is high or there is a warning.

        What would run need not be read if it only repeats what the agent sent.
        """
        request = self._request
        parts = list(self._parts())
        if request is None or self._has_warning or request.prompt.risk.level is RiskLevel.HIGH:
            return parts
        optional = _ABOUT_THE_CALL if self._sends_only_inputs else _CLAIMS
        return [part for part in parts if part.id not in optional]

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

    def scroll_rows(self, rows: int, *, pages: bool = False) -> None:
        """Scrolls by rows (or pages) through the whole prompt, including its quotes."""
        self._body.scroll_rows(rows, list(self._shown_quotes()), pages=pages)

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
    def _body(self) -> PromptScroll:
        return self.query_one("#prompt-body", PromptScroll)

    def _line(self, id_: str) -> TwoSidedLine:
        return self.query_one(f"#{id_}", TwoSidedLine)

    def _shown_quotes(self) -> Iterator[Quote]:
        for quotes in self._quotes.values():
            yield from (quote for quote in quotes if quote.display)

    def _make_sections(self, request: Request | None) -> None:
        """Sorts values into fields and quotes, and scans them for look-alikes."""
        self._sent = self._filled = self._fetched = self._runs = Section()
        self._sends_only_inputs = request is not None and words.sends_only_inputs(request.prompt)
        if request is not None:
            old = request.edited_from
            sent, filled = words.rows_by_origin(request, request.prompt)
            old_sent, old_filled = words.rows_by_origin(request, old) if old else (None, None)
            self._sent, self._filled = section(sent, old_sent), section(filled, old_filled)
            if request.prompt.preview is not None:
                old_rows = old.preview.rows if old and old.preview and not old.preview.unavailable else None
                self._fetched = section(request.prompt.preview.rows, old_rows)
            old_steps = step_rows(old.steps, old.args) if old else None
            self._runs = section(step_rows(request.prompt.steps, request.prompt.args), old_steps)
        sections = (self._sent, self._filled, self._fetched, self._runs)
        texts = [field.value for part in sections for field in part.fields if field.value]
        self._lookalikes.start(texts + [block.text for part in sections for block in part.blocks])

    @on(LookalikesFound)
    def _lookalikes_found(self, event: LookalikesFound) -> None:
        event.stop()
        if self._lookalikes.finish(event):
            self._warn_in_quotes()
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
            self._show_note(None)
            return
        self._show_note(note)
        self._line("prompt-risk").show(words.risk(request.prompt))
        self._line("sent-head").show(words.sent_heading(request))
        filled = self._filled.fields or self._filled.blocks
        self._show_if_any("filled-head", trusted(FILLED_IN, STRONG) if filled else _EMPTY)
        self._show_if_any("prompt-unavailable", words.unavailable(request))
        self._draw_cautions(request)
        self._draw_times(request)
        self._fill_quotes("sent", self._sent.blocks, before="filled-head")
        self._fill_quotes("filled", self._filled.blocks, before="prompt-unavailable")
        self._fill_quotes("fetched", self._fetched.blocks, before="claims")
        self._fill_quotes("runs", self._runs.blocks, before="prompt-last")
        self._fill_quotes("long", words.long_texts(request), before="prompt-last")
        self._arrange()

    def _draw_cautions(self, request: Request) -> bool:
        """Shows the cautions; returns whether they changed."""
        cautions = words.caution_lines(request, self._now)
        if cautions.is_same(self._cautions):
            return False
        self._cautions = cautions
        self._show_if_any("prompt-cautions", cautions)
        return True

    def _show_note(self, note: Content | None) -> None:
        self._show_if_any("prompt-note", note or _EMPTY)

    def _show_if_any(self, id_: str, content: Content) -> None:
        line = self._line(id_)
        line.display = bool(content)
        line.show(content)

    def _draw_times(self, request: Request) -> None:
        prompt, asks = request.prompt, request.state.decidable
        if prompt is not self._title[0] or asks is not self._title[1]:
            self._title = (prompt, asks, words.title(request, asks=asks))
        self._line("prompt-title").show(self._title[2], time_left(request, self._now, self.size.width))
        age = words.preview_age(request, self._now)
        if request is self._age[0] and age == self._age[1]:
            return
        self._age, room = (request, age), self._body_size.width
        head, heading = self._line("fetched-head"), words.fetched_heading(request)
        head.display = bool(heading)
        head.content_to_read = heading.plain  # the age changes every second
        width, left = words.preview_age_width(request), room - heading.cell_length - len(" · ")
        brief = age.replace("just now", "now").removesuffix(" ago")
        if age and width - len(" ago") <= left:
            head.show(Content.assemble(heading, trusted(f" · {age if width <= left else brief}", MUTED)))
        else:
            head.show(heading, trusted(age and age.rjust(width), MUTED))

    def _fill_quotes(self, section_: str, blocks: Sequence[Block], before: str = "") -> None:
        """Fills the quotes of a section. Quotes are reused, so that moving through the list mounts no widgets.

        They are mounted before the widget with the id `before`, by default at the end.
        """
        quotes = self._quotes[section_]
        new = [Quote() for _ in range(len(blocks) - len(quotes))]
        quotes += new
        if new:
            self._body.mount_all(new, before=f"#{before}" if before else None)
        for index, quote in enumerate(quotes):
            quote.display = index < len(blocks)
            if quote.display:
                block = blocks[index]
                quote.show(block.label, block.text, note=block.note, is_diff=block.is_diff, is_list=block.is_list)
        self._warn_in_quotes()

    def _warn_in_quotes(self) -> None:
        parts = {"sent": self._sent, "filled": self._filled, "fetched": self._fetched, "runs": self._runs}
        for name, part in parts.items():
            for quote, block in zip(self._quotes[name], part.blocks, strict=False):
                found = self._lookalikes.remarks_for(block.text)
                quote.warn(found.warnings, found.notes)

    def _fields(self) -> dict[str, tuple[Field, ...]]:
        request = self._request
        if request is None:
            return {}
        return {
            "sent": tuple(self._with_warnings(field) for field in self._sent.fields),
            "filled": tuple(self._with_warnings(field) for field in self._filled.fields),
            "fetched": (
                *(self._with_warnings(field) for field in self._fetched.fields),
                *words.not_shown_fields(request),
            ),
            "asker": words.asker_fields(request.prompt),
            "claims": words.claim_fields(request.prompt),
            "runs": (*words.connector_fields(request.prompt), *map(self._with_warnings, self._runs.fields)),
        }

    def _with_warnings(self, field: Field) -> Field:
        found = self._lookalikes.remarks_for(field.value)
        if not found.warnings and not found.notes:
            return field
        return Field(field.label, field.value, field.placeholder, field.old, field.edited, found.warnings, found.notes)

    def _arrange(self) -> None:
        """Gives each section its width, then each quote its height."""
        width = self._body_size.width
        if self._request is None or width <= 0:
            return
        fields = self._fields()
        label_width = common_label_width([field for part in fields.values() for field in part], width)
        for id_, part in fields.items():
            self.query_one(f"#{id_}", Fields).show(part, label_width)
        warned = any(field.warnings for part in fields.values() for field in part)
        self._has_warning = (
            warned
            or bool(self._cautions)
            or self._line("prompt-unavailable").display
            or any(quote.has_warning for quote in self._shown_quotes())
        )
        self._progress.expect(self._parts())
        self._share_height()

    def _share_height(self) -> None:
        """Gives each quote its share of the height."""
        width, height = self._body_size
        if width <= 0:
            return
        quotes = list(self._shown_quotes())
        taken = sum(self._height(child, width) for child in self._body.displayed_children)
        needs = [quote.body.rows_at(width - _QUOTE_INDENT, height) for quote in quotes]
        for quote, rows in zip(quotes, share_height(needs, height - taken, height), strict=True):
            quote.body.styles.height = rows
        self.call_after_refresh(self._update_progress)

    @property
    def _body_size(self) -> Size:
        """The size of the body, or the size it will have if there is no layout yet."""
        body = self._body
        if body.size:
            return body.scrollable_content_region.size.with_height(body.size.height)
        others = sum(self._height(child, self.size.width) for child in self.displayed_children if child is not body)
        width = self.size.width - body.gutter.width - body.styles.scrollbar_size_vertical
        return Size(max(0, width), max(0, self.size.height - others))

    def _height(self, child: Widget, width: int) -> int:
        """The rows a widget will take, even before there is a layout; for a quote, only the rows around its text."""
        if isinstance(child, Quote):
            return child.rows_around_text(width - _QUOTE_INDENT)
        frame, margin = child.gutter, child.styles.margin
        inner = child.get_content_height(self.size, self.size, width - frame.width - margin.width)
        return inner + frame.height + margin.height

    def _scrolled(self) -> None:
        self._update_progress()

    @on(Quote.RowsChanged)
    def _quote_rows_changed(self, event: Quote.RowsChanged) -> None:
        event.stop()
        self._update_progress()

    def _update_progress(self) -> None:
        """Records what is on screen now, and shows how much is below."""
        body, request = self._body, self._request
        if request is None or not body.size.height:
            return
        rows = body.virtual_size.height
        # Not max_scroll_y, which Textual updates some time after the number of rows.
        below = max(0, round(rows - body.size.height - body.scroll_y))
        text = f"{below:,} more line{'' if below == 1 else 's'} ↓" if below else ""
        self._line("prompt-foot").show(_EMPTY, trusted(text, STRONG))
        if not self._recording:
            self._recording = True
            self.call_after_refresh(self._check_painted)

    def _check_painted(self) -> None:
        """Records what is on screen once it stayed there for a moment, so that no frame of a changing layout counts.

        The moment begins again while another screen covers the prompt, and until the preview is there: it could push
        lines off the screen that were there only briefly.
        """
        self._recording = False
        if self._dwell_timer is not None:
            self._dwell_timer.stop()
            self._dwell_timer = None
        if self._request is None:
            return
        counts = self.app.screen is self.screen and not self._request.fetching
        painted = (self._version, self._progress.painted(painted_regions(self.screen)) if counts else {})
        if not counts or painted != self._painted:
            self._painted, self._painted_at = painted, monotonic()
        if (left := self._painted_at + self.DWELL_SECONDS - monotonic()) > 0:
            self._dwell_timer = call_after(self, left, self._check_painted)
        else:
            self._progress.record(painted[1])
        self._report_progress()

    def _report_progress(self) -> None:
        before, now = self._reported, (self._version, self.unread, self.read_to_end)
        if now == before:
            return
        self._reported = now
        self.post_message(self.LinesRead())
        if now[2] and (before[0], before[2]) != (now[0], True):
            self.post_message(self.ReadToEnd())

    @property
    def is_settled(self) -> bool:
        """Whether everything on screen has been there long enough to count as read."""
        return not self._recording and self._dwell_timer is None


def _version(request: Request) -> str:
    """Identifies what is shown for a request; it changes whenever that does."""
    return f"{request.key} {request.digest} {request.edited_from.digest if request.edited_from else ''}"

"""Everything that was asked, decided and done: search, chart, detail, export.

Opening costs one page however long the history is; older pages are loaded as one scrolls.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import ClassVar, Final

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input, Static

from aileron_tui.console import history_words as words
from aileron_tui.console.actions import KeyScope, bindings, hints
from aileron_tui.console.render import MUTED, own
from aileron_tui.console.timers import call_after
from aileron_tui.console.widgets.chart import MOST_DAYS, Chart
from aileron_tui.console.widgets.history_table import Columns, HistoryTable
from aileron_tui.console.widgets.key_line import KeyLine
from aileron_tui.console.widgets.request_detail import RequestDetail
from aileron_tui.core.errors import AileronError
from aileron_tui.core.outcomes import OUTCOMES
from aileron_tui.core.request import Request
from aileron_tui.core.visible_text import inline
from aileron_tui.files.paths import bundled
from aileron_tui.runtime.errors import NoGate, NoReply
from aileron_tui.surface.history_query import LONGEST, HistoryQuery, Query, SearchError
from aileron_tui.surface.history_reader import HistoryReader
from aileron_tui.surface.history_records import HistoryPage, ShownPrompt, SourcedRecord, local, tally, typical

TYPING: Final = 0.25
LOOKING: Final = 0.15
RETRY: Final = 5.0
SIDE_BY_SIDE: Final = 110
STACKED: Final = 60
LOW: Final = 24


class HistoryScreen(Screen[None]):
    """The past of all sources. One that fails is named, and the others are shown all the same."""

    CSS_PATH = str(bundled("styles") / "history.tcss")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.HISTORY)]
    SCOPE: ClassVar = KeyScope.HISTORY
    AUTO_FOCUS = "HistoryTable"

    class Loaded(Message):
        """A page is here."""

        def __init__(self, turn: int, page: HistoryPage, *, first: bool) -> None:
            super().__init__()
            self.turn = turn
            self.page = page
            self.first = first

    class Failed(Message):
        """A page did not come."""

        def __init__(self, turn: int, error: AileronError, *, first: bool) -> None:
            super().__init__()
            self.turn = turn
            self.error = error
            self.first = first

    class Counted(Message):
        """What the chart shows is here."""

        def __init__(self, page: HistoryPage) -> None:
            super().__init__()
            self.page = page

    class Found(Message):
        """What was shown for a request is here, or why it is not."""

        def __init__(self, request: SourcedRecord, shown: ShownPrompt, item: Request | None) -> None:
            super().__init__()
            self.request = request
            self.shown = shown
            self.item = item

    def __init__(self, archive: HistoryReader, *, keymap: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._archive = archive
        self._keymap = keymap
        self._wanted = HistoryQuery()
        self._turn = 0
        self._older: int | None = None
        self._busy = False
        self._said = own("")
        self._trouble: AileronError | None = None
        self._missing: Mapping[str, AileronError] = {}
        self._found: HistoryScreen.Found | None = None
        self._chart_wanted: bool | None = None
        self._typing: Timer | None = None
        self._looking: Timer | None = None
        self._retry: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="history-title")
        with Horizontal(id="history-search"):
            yield Static(own("/", MUTED), id="history-slash")
            yield Input(
                placeholder="search, such as recap since:7d", id="history-words", compact=True, max_length=LONGEST
            )
            yield Static(id="history-outcome")
        yield Static(id="history-trouble")
        yield Chart()
        with Container(id="history-panes"):
            with Vertical(id="history-list"):
                yield Columns(several=self._archive.several)
                yield HistoryTable(several=self._archive.several)
                yield Static(id="history-empty")
            yield RequestDetail()
        yield KeyLine(partial(hints, KeyScope.HISTORY, overrides=self._keymap))

    def on_mount(self) -> None:
        """Asks for the newest page, then for what the chart needs."""
        self._arrange(self.app.size.width, self.app.size.height)
        self._tell()
        self.action_reload()

    def on_resize(self, event: events.Resize) -> None:
        """Panes side by side, one above the other, or one at a time."""
        self._arrange(event.size.width, event.size.height)

    def _arrange(self, width: int, height: int) -> None:
        self.set_class(width >= SIDE_BY_SIDE, "-side")
        self.set_class(width < STACKED or height < LOW, "-single")
        chart = self._chart_wanted if self._chart_wanted is not None else height >= LOW
        self.set_class(chart, "-chart")

    # loading

    def _load(self, *, first: bool) -> None:
        try:
            query = self._wanted.query(datetime.now(UTC))
        except SearchError as error:
            self._trouble = error
            self._tell()
            return
        if first:
            self._turn += 1
        self._busy = True
        if self._retry:
            self._retry.stop()
        self._tell()
        self._fetch(self._turn, query, None if first else self._older)

    @work(thread=True, exit_on_error=False, group="pages")
    def _fetch(self, turn: int, query: Query, before: int | None) -> None:
        try:
            page = self._archive.page(query, before)
        except AileronError as error:
            self.post_message(self.Failed(turn, error, first=before is None))
        else:
            self.post_message(self.Loaded(turn, page, first=before is None))

    def on_history_screen_loaded(self, event: Loaded) -> None:
        """Shows the page, unless something else was searched meanwhile."""
        if event.turn != self._turn:
            return
        self._busy = False
        self._trouble = None
        self._missing = event.page.missing
        self._older = event.page.older
        table = self.query_one(HistoryTable)
        if event.first:
            table.show(event.page.requests)
        else:
            table.extend(event.page.requests)
        self._tell()

    def on_history_screen_failed(self, event: Failed) -> None:
        """Says so and keeps what is there; a gate that cannot be reached is tried again."""
        if event.turn != self._turn:
            return
        self._busy = False
        self._trouble = event.error
        if isinstance(event.error, NoGate | NoReply):
            self._retry = call_after(self, RETRY, lambda: self._load(first=event.first))
        self._tell()

    def on_history_table_reshaped(self, event: HistoryTable.Reshaped) -> None:
        """Columns have names where there are columns."""
        self.set_class(event.lines == 1, "-columns")

    def on_history_table_end_neared(self) -> None:
        """Loads the next page before it is needed."""
        if self._older is not None and not self._busy and self._trouble is None:
            self._load(first=False)

    @work(thread=True, exit_on_error=False, group="chart")
    def _count(self) -> None:
        try:
            page = self._archive.sample(MOST_DAYS + 1)
        except AileronError:
            return  # the list says what is wrong
        self.post_message(self.Counted(page))

    def on_history_screen_counted(self, event: Counted) -> None:
        """Draws the chart."""
        today = datetime.now().astimezone().date()
        note = f"of the newest {len(event.page.requests):,} requests" if event.page.older is not None else ""
        days = tally(event.page.requests, today, MOST_DAYS)
        if note and event.page.requests and (oldest := local(event.page.requests[-1].asked)):
            # Days that were not loaded must not look as if nothing had been decided on them.
            days = tuple(day for day in days if day.day >= oldest.date()) or days[-1:]
        self.query_one(Chart).show(days, typical(event.page.requests), note)

    # words

    def _tell(self) -> None:
        """Title, state, and what the list says where it is empty or ends."""
        table = self.query_one(HistoryTable)
        trouble_ = self._trouble is not None or bool(self._missing)
        state = words.HistoryListState(len(table.requests), self._older is not None, self._busy, trouble_, self._wanted)
        trouble = self.query_one("#history-trouble", Static)
        trouble.display = self._trouble is not None or bool(self._missing)
        if self._trouble:
            trouble.update(words.explained(self._trouble))
        elif self._missing:
            trouble.update(words.incomplete(self._missing))
        table.end(words.tail(state))
        self.query_one("#history-title", Static).update(words.title(state, self._said))
        self.query_one("#history-empty", Static).update(words.nothing(state))
        self.query_one("#history-outcome", Static).update(words.chosen(self._wanted.outcome))
        self.set_class(not table.requests, "-empty")
        self.set_class(not table.requests and self._wanted.all, "-blank")

    # search

    @on(Input.Changed, "#history-words")
    def _typed(self) -> None:
        if self._typing:
            self._typing.stop()
        self._typing = call_after(self, TYPING, self._search)

    @on(Input.Submitted, "#history-words")
    def _submitted(self) -> None:
        self._search()
        self.query_one(HistoryTable).focus()

    def _search(self, outcome: str | None = None) -> None:
        if self._typing:
            self._typing.stop()
        text = self.query_one("#history-words", Input).value
        wanted = HistoryQuery(text, self._wanted.outcome if outcome is None else outcome)
        if wanted != self._wanted or isinstance(self._trouble, SearchError):
            self._wanted, self._trouble, self._said = wanted, None, own("")
            self._load(first=True)

    def action_search(self) -> None:
        """Into the field."""
        self.query_one("#history-words", Input).focus()

    @on(events.Click, "#history-slash")
    def _slash_clicked(self) -> None:
        self.action_search()

    @on(events.Click, "#history-outcome")
    def action_outcome(self) -> None:
        """The next outcome."""
        choices = ["", *OUTCOMES]
        place = choices.index(self._wanted.outcome)
        self._search(choices[(place + 1) % len(choices)])

    # moving

    def action_down(self) -> None:
        """The next request, or further down in the detail."""
        self._step(1)

    def action_up(self) -> None:
        """The request before, or further up in the detail."""
        self._step(-1)

    def _step(self, steps: int) -> None:
        detail = self.query_one(RequestDetail)
        if detail.has_focus:
            detail.scroll_relative(y=steps, animate=False)
        else:
            self.query_one(HistoryTable).move(steps)

    def action_first(self) -> None:
        """The newest."""
        self.query_one(HistoryTable).move(-len(self.query_one(HistoryTable).requests))

    def action_last(self) -> None:
        """The oldest that is loaded."""
        self.query_one(HistoryTable).move(len(self.query_one(HistoryTable).requests))

    def action_next_pane(self) -> None:
        """Search, list, detail."""
        self.focus_next()

    # detail

    def action_open(self) -> None:
        """Shows the detail, or hides it."""
        if self.query_one(HistoryTable).current is None:
            return
        self.set_class(not self.has_class("-detail"), "-detail")
        if self.has_class("-detail"):
            self._show_detail()
            if self.has_class("-single"):
                self.query_one(RequestDetail).focus()
        else:
            self.query_one(HistoryTable).focus()

    def on_history_table_highlighted(self) -> None:
        """The open detail follows the cursor, once it rests."""
        if self.has_class("-detail"):
            if self._looking:
                self._looking.stop()
            self._looking = call_after(self, LOOKING, self._show_detail)

    def on_history_table_chosen(self) -> None:
        """A second click opens."""
        self.action_open()

    def _show_detail(self) -> None:
        request = self.query_one(HistoryTable).current
        self._found = None
        if request is None:
            self.remove_class("-detail")
            return
        self.query_one(RequestDetail).show(request, None, note=own("looking up what was shown…", MUTED))
        self.query_one(RequestDetail).scroll_home(animate=False)
        self._look_up(request)

    # With a description of its own Textual does not write out the whole request as one.
    @work(thread=True, exit_on_error=False, group="detail", exclusive=True, description="look up")
    def _look_up(self, request: SourcedRecord) -> None:
        self.post_message(self.Found(request, *self._archive.look_up(request)))

    def on_history_screen_found(self, event: Found) -> None:
        """Adds what was shown."""
        request = self.query_one(HistoryTable).current
        if request is not None and request.key == event.request.key:
            self._found = event
            self.query_one(RequestDetail).show(request, event.shown, raw=event.item is not None)

    @property
    def _item(self) -> Request | None:
        """The request under the cursor, if it was looked up; never the one where the cursor was before."""
        request = self.query_one(HistoryTable).current
        return self._found.item if self._found and request and self._found.request.key == request.key else None

    # the rest

    def action_reload(self) -> None:
        """The newest page and the chart, again."""
        self._said = own("")
        self._load(first=True)
        self._count()

    def action_chart(self) -> None:
        """Shows or hides the chart."""
        self._chart_wanted = not self.has_class("-chart")
        self.set_class(self._chart_wanted, "-chart")

    def action_copy(self) -> None:
        """Id, and digest if it is known."""
        request = self.query_one(HistoryTable).current
        if request:
            digest = f" {self._item.digest}" if self._item else ""
            self.app.copy_to_clipboard(f"{inline(request.id)}{digest}")  # a newline would run what is pasted
            self._said = own("id and digest copied" if digest else "id copied", MUTED)
            self._tell()

    def action_raw(self) -> None:
        """The exact call, if the gate still has it."""
        from aileron_tui.console.screens.raw import RawScreen  # noqa: PLC0415  # screens load when opened

        if self._item:
            self.app.push_screen(RawScreen(self._item, keymap=self._keymap))
        else:
            self._said = own(
                "open the detail first" if not self.has_class("-detail") else "not at hand any more", MUTED
            )
            self._tell()

    def action_export(self) -> None:
        """Everything the search finds, to a file."""
        from aileron_tui.console.screens.export import ExportScreen  # noqa: PLC0415

        try:
            query = self._wanted.query(datetime.now(UTC))
        except SearchError:
            return

        def ended(said: Content | None) -> None:
            self._said = said or own("")
            self._tell()

        name = f"aileron-history-{datetime.now().astimezone():%Y%m%d-%H%M}.jsonl"
        self.app.push_screen(ExportScreen(lambda: self._archive.pages(query), name), ended)

    def action_help(self) -> None:
        """The keys of this screen."""
        from aileron_tui.console.screens.help import HelpScreen  # noqa: PLC0415

        self.app.push_screen(HelpScreen(KeyScope.HISTORY, keymap=self._keymap))

    def action_back(self) -> None:
        """Closes the detail, then clears the search, then leaves."""
        field = self.query_one("#history-words", Input)
        if field.has_focus:
            field.value = ""
            self._search()
            self.query_one(HistoryTable).focus()
        elif self.has_class("-detail"):
            self.action_open()
        elif not self._wanted.all:
            field.value = ""
            self._search("")
        else:
            self.dismiss()

    def why_not(self, action: str) -> str:
        """Why an action cannot be done now, or ""."""
        if action in ("history.open", "copy", "raw") and self.query_one(HistoryTable).current is None:
            return "there is no request"
        if action == "raw" and self._item is None:
            return "the detail is not open, or the gate has it no more at hand"
        return ""

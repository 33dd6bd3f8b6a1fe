"""The history: everything that was asked, decided and done, with search, chart, details and export.

Opening it loads one page, however long the history is; older pages are loaded while scrolling.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Static

from aileron_tui.console import history_words as words
from aileron_tui.console.history_loader import HistoryLoader, PageFailed, PageLoaded, PageUpdated, RequestKey
from aileron_tui.console.history_overview import ChartLoaded, HistoryOverview, PaceLoaded
from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_hints import footer
from aileron_tui.console.key_reasons import KeyState
from aileron_tui.console.key_table import BY_ID, bindings
from aileron_tui.console.render import MUTED, trusted
from aileron_tui.console.timers import call_after
from aileron_tui.console.widgets.chart import Chart
from aileron_tui.console.widgets.history_search import HistorySearch
from aileron_tui.console.widgets.history_table import Columns, HistoryTable
from aileron_tui.console.widgets.key_line import KeyLine
from aileron_tui.console.widgets.request_detail import RequestDetail
from aileron_tui.core.request import Request
from aileron_tui.core.times import utc_now
from aileron_tui.core.visible_text import inline
from aileron_tui.files.paths import bundled
from aileron_tui.surface.history_query import SearchError
from aileron_tui.surface.history_reader import HistoryReader
from aileron_tui.surface.history_records import (
    ShownPrompt,
    SourcedRecord,
)

if TYPE_CHECKING:
    from textual.signal import Signal

    from aileron_tui.runtime.source_events import SourceEvent

DETAIL_DELAY: Final = 0.15
MIN_WIDTH_SIDE_BY_SIDE: Final = 110
MIN_WIDTH_STACKED: Final = 60
LOW_HEIGHT: Final = 24


class HistoryScreen(Screen[None]):
    """The history of all sources. A source that fails is named, and the others are still shown.

    `events` publishes the events of the sources, which keep the list up to date. `signer` returns the fingerprint of
    the operator's key, "" while it is locked.
    """

    CSS_PATH = str(bundled("styles") / "history.tcss")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.HISTORY)]
    SCOPE: ClassVar = KeyScope.HISTORY
    AUTO_FOCUS = "HistoryTable"

    class DetailLoaded(Message):
        """The prompt of a request is loaded, or the reason why it is not available."""

        def __init__(self, record: SourcedRecord, shown: ShownPrompt, request: Request | None) -> None:
            super().__init__()
            self.record = record
            self.shown = shown
            self.request = request

    def __init__(
        self,
        reader: HistoryReader,
        *,
        keymap: Mapping[str, str] | None = None,
        heading: str = "History",
        events: "Signal[Sequence[SourceEvent]] | None" = None,
        signer: Callable[[], str] = str,
    ) -> None:
        super().__init__()
        self._heading = heading
        self._reader = reader
        self._keymap = keymap
        self._events = events
        self._pace = ""
        self._overview = HistoryOverview(self, reader, signer)
        self._loader = HistoryLoader(self, reader, self._update_texts, self._listed)
        self._message = trusted("")
        self._detail: HistoryScreen.DetailLoaded | None = None
        self._chart_chosen: bool | None = None
        self._detail_timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="history-title")
        yield HistorySearch()
        yield Static(id="history-trouble")
        yield Chart()
        with Container(id="history-panes"):
            with Vertical(id="history-list"):
                yield Columns(show_source=self._reader.several)
                yield HistoryTable(show_source=self._reader.several)
                yield Static(id="history-empty")
            yield RequestDetail()
        yield KeyLine(partial(footer, KeyScope.HISTORY, overrides=self._keymap))

    def on_mount(self) -> None:
        """Loads the newest page and the chart."""
        self._arrange(self.app.size.width, self.app.size.height)
        self._update_texts()
        self.action_reload()
        if self._events:
            self._events.subscribe(self, self._loader.events_received)

    def on_unmount(self) -> None:
        """Unsubscribes, because the signal would keep the closed screen in memory."""
        if self._events:
            self._events.unsubscribe(self)

    def on_resize(self, event: events.Resize) -> None:
        """Shows the panes side by side, one above the other, or one at a time."""
        self._arrange(event.size.width, event.size.height)

    def _arrange(self, width: int, height: int) -> None:
        self.set_class(width >= MIN_WIDTH_SIDE_BY_SIDE, "-side")
        self.set_class(width < MIN_WIDTH_STACKED or height < LOW_HEIGHT, "-single")
        chart = self._chart_chosen if self._chart_chosen is not None else height >= LOW_HEIGHT
        self.set_class(chart, "-chart")
        if self.is_mounted:
            self._update_texts()

    # loading

    @on(PageLoaded)
    def _page_loaded(self, event: PageLoaded) -> None:
        """Shows the page, unless another search was started since."""
        if not self._loader.finish(event):
            return
        table = self.query_one(HistoryTable)
        if event.first:
            table.show(event.page.requests)
        else:
            table.extend(event.page.requests)
        self._update_texts()

    @on(PageFailed)
    def _page_failed(self, event: PageFailed) -> None:
        """Shows the error and keeps what is loaded."""
        if self._loader.fail(event):
            self._update_texts()

    def on_history_table_lines_changed(self, event: HistoryTable.LinesChanged) -> None:
        """Shows the column names if each request takes one line."""
        self.set_class(event.lines == 1, "-columns")

    def on_history_table_end_neared(self) -> None:
        """Loads the next page before it is needed."""
        self._loader.load_older()

    def _listed(self) -> Iterator[RequestKey]:
        return (record.key for record in self.query_one(HistoryTable).records)

    @on(PageUpdated)
    def _page_updated(self, event: PageUpdated) -> None:
        """Adds what is new above the list; the cursor stays on its request."""
        if self._loader.is_current(event):
            if event.has_gap:
                self._message = trusted("many new requests; press r to load them", MUTED)
            self.query_one(HistoryTable).update(() if event.has_gap else event.page.requests, event.changed)
            self._update_texts()
            self._overview.load_pace()

    def on_history_table_new_seen(self) -> None:
        """Counts only what is still above the screen."""
        self._update_texts()

    @on(ChartLoaded)
    def _chart_loaded(self, event: ChartLoaded) -> None:
        self.query_one(Chart).show(event.days, event.typical_seconds, event.note)

    @on(PaceLoaded)
    def _pace_loaded(self, event: PaceLoaded) -> None:
        self._pace = event.words
        self._update_texts()

    # texts

    def _update_texts(self) -> None:
        """Updates the title, the error, and the text for an empty list or its end."""
        table, loader = self.query_one(HistoryTable), self._loader
        has_error = loader.error is not None or bool(loader.incomplete)
        state = words.HistoryListState(
            len(table.records),
            loader.has_older,
            loader.is_loading,
            has_error,
            loader.query,
            table.new_above,
            self._pace,
        )
        error = self.query_one("#history-trouble", Static)
        error.display = has_error
        if loader.error:
            error.update(words.error_line(loader.error))
        elif loader.incomplete:
            error.update(words.incomplete_line(loader.incomplete))
        table.show_end_note(words.end_note(state))
        self.query_one("#history-title", Static).update(
            words.title(state, self._message, self._heading, self.size.width - 2)
        )
        self.query_one("#history-empty", Static).update(words.empty_text(state))
        self.set_class(not table.records, "-empty")
        self.set_class(not table.records and loader.query.all, "-blank")

    def _show_message(self, message: Content) -> None:
        self._message = message
        self._update_texts()

    # search

    def on_history_search_asked(self, event: HistorySearch.Asked) -> None:
        """Starts the search, unless its results are on screen already."""
        if event.query != self._loader.query or isinstance(self._loader.error, SearchError):
            self._message = trusted("")
            self._loader.search(event.query)
        if event.submitted:
            self.query_one(HistoryTable).focus()

    def action_search(self) -> None:
        """Focuses the search field."""
        self.query_one(HistorySearch).start_typing()

    def action_outcome(self, steps: int) -> None:
        """Filters the list by the next outcome, or by the one before."""
        self.query_one(HistorySearch).step_outcome(steps)

    # moving

    def action_down(self) -> None:
        """Moves to the next request, or scrolls the details down."""
        self._step(1)

    def action_up(self) -> None:
        """Moves to the previous request, or scrolls the details up."""
        self._step(-1)

    def _step(self, steps: int) -> None:
        detail = self.query_one(RequestDetail)
        if detail.has_focus:
            detail.scroll_relative(y=steps, animate=False)
        else:
            self.query_one(HistoryTable).move(steps)

    def action_first(self) -> None:
        """Moves to the newest request."""
        self.query_one(HistoryTable).move(-len(self.query_one(HistoryTable).records))

    def action_last(self) -> None:
        """Moves to the oldest request that is loaded."""
        self.query_one(HistoryTable).move(len(self.query_one(HistoryTable).records))

    def action_next_pane(self) -> None:
        """Focuses the next of search field, list and details."""
        self.focus_next()

    # detail

    def action_open(self) -> None:
        """Shows or hides the details."""
        if self._unavailable("history.open"):
            return
        self.set_class(not self.has_class("-detail"), "-detail")
        if self.has_class("-detail"):
            self._show_detail()
            if self.has_class("-single"):
                self.query_one(RequestDetail).focus()
        else:
            self.query_one(HistoryTable).focus()

    def on_history_table_highlighted(self) -> None:
        """Updates open details once the cursor has stopped moving."""
        record, detail = self.query_one(HistoryTable).current, self._detail
        if record and detail and record.key == detail.record.key:
            self._load_detail(record)  # the same request, with another outcome
        elif self.has_class("-detail"):
            if self._detail_timer:
                self._detail_timer.stop()
            self._detail_timer = call_after(self, DETAIL_DELAY, self._show_detail)

    def on_history_table_chosen(self) -> None:
        """Opens the details after a second click."""
        self.action_open()

    def _show_detail(self) -> None:
        record = self.query_one(HistoryTable).current
        self._detail = None
        if record is None:
            self.remove_class("-detail")
            return
        self.query_one(RequestDetail).show(record, None, note=trusted("loading the prompt…", MUTED))
        self.query_one(RequestDetail).scroll_home(animate=False)
        self._load_detail(record)

    # Without a description Textual would format the whole request as one.
    @work(thread=True, exit_on_error=False, group="detail", exclusive=True, description="look up")
    def _load_detail(self, record: SourcedRecord) -> None:
        self.post_message(self.DetailLoaded(record, *self._reader.look_up(record)))

    def on_history_screen_detail_loaded(self, event: DetailLoaded) -> None:
        """Adds the prompt that was shown."""
        record = self.query_one(HistoryTable).current
        if record is not None and record.key == event.record.key:
            self._detail = event
            self.query_one(RequestDetail).show(record, event.shown, raw=event.request is not None)

    @property
    def _request(self) -> Request | None:
        """The full request under the cursor, if its details are loaded."""
        record, detail = self.query_one(HistoryTable).current, self._detail
        return detail.request if detail and record and detail.record.key == record.key else None

    # other actions

    def action_reload(self) -> None:
        """Loads the newest page and the chart again."""
        self._message = trusted("")
        self._loader.load(first=True)
        self._overview.load()

    def action_chart(self) -> None:
        """Shows or hides the chart."""
        self._chart_chosen = not self.has_class("-chart")
        self.set_class(self._chart_chosen, "-chart")

    def action_copy(self) -> None:
        """Copies the id, and the digest if it is known."""
        record = self.query_one(HistoryTable).current
        if not self._unavailable("copy") and record:
            digest = f" {self._request.digest}" if self._request else ""
            self.app.copy_to_clipboard(f"{inline(record.id)}{digest}")  # a newline would run what is pasted
            self._show_message(trusted("id and digest copied" if digest else "id copied", MUTED))

    def action_raw(self) -> None:
        """Shows the exact call, if the source still has it."""
        from aileron_tui.console.screens.raw import RawScreen  # noqa: PLC0415  # screens load when opened

        if not self._unavailable("raw") and self._request:
            self.app.push_screen(RawScreen(self._request, keymap=self._keymap))

    def action_export(self) -> None:
        """Writes everything the search finds to a file."""
        from aileron_tui.console.screens.export import ExportScreen  # noqa: PLC0415

        try:
            query = self._loader.query.query(utc_now())
        except SearchError:
            return

        def closed(message: Content | None) -> None:
            self._show_message(message or trusted(""))

        name = f"aileron-history-{datetime.now().astimezone():%Y%m%d-%H%M}.jsonl"
        self.app.push_screen(ExportScreen(lambda: self._reader.pages(query), name), closed)

    def action_help(self) -> None:
        """Shows the keys of this screen."""
        from aileron_tui.console.screens.help import HelpScreen  # noqa: PLC0415

        self.app.push_screen(HelpScreen(KeyScope.HISTORY, keymap=self._keymap))

    def action_back(self) -> None:
        """Closes the details, then clears the search, then closes the screen."""
        search = self.query_one(HistorySearch)
        if search.is_typing:
            search.clear(outcome=False)
            self.query_one(HistoryTable).focus()
        elif self.has_class("-detail"):
            self.action_open()
        elif not self._loader.query.all:
            search.clear(outcome=True)
        else:
            self.dismiss()

    @property
    def key_state(self) -> KeyState:
        """What decides which keys can be used now."""
        return KeyState(
            has_request=self.query_one(HistoryTable).current is not None,
            details_open=self.has_class("-detail"),
            details_loaded=self._request is not None,
        )

    def _unavailable(self, id_: str) -> bool:
        """Whether a key cannot be used now; if so, shows why."""
        why = BY_ID[id_].why_not(self.key_state)
        if why:
            self._show_message(trusted(why, MUTED))
        return bool(why)

"""A long text of a prompt on the full screen, with a search."""

from collections.abc import Mapping
from functools import partial
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_hints import footer
from aileron_tui.console.key_reasons import KeyState
from aileron_tui.console.key_table import bindings
from aileron_tui.console.render import MUTED, STRONG, WARNING, foreign_short, trusted
from aileron_tui.console.widgets.key_line import KeyLine
from aileron_tui.console.widgets.limited_input import LimitedInput
from aileron_tui.console.widgets.prompt_scroll import PromptScroll
from aileron_tui.console.widgets.prompt_sections import Block
from aileron_tui.console.widgets.quote import Quote
from aileron_tui.console.widgets.quote_text import QuoteText
from aileron_tui.console.widgets.text_search import MAX_FOUND, MAX_QUERY, TextSearch, search_pattern
from aileron_tui.console.widgets.two_sided_line import TwoSidedLine
from aileron_tui.files.paths import bundled

_SEARCH_SECONDS: Final = 0.008
_INTERVAL: Final = 1 / 30
_NAME_WIDTH: Final = 60
_QUERY_WIDTH: Final = 24


class BodyScreen(Screen[None]):
    """Shows one text as it was when the screen opened. What is read here does not count as read in the prompt."""

    CSS_PATH = str(bundled("styles") / "body.tcss")
    SHOWS_REQUEST: ClassVar = True
    """Whoever reads this reads the request below it."""
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.BODY)]
    SCOPE: ClassVar = KeyScope.BODY
    AUTO_FOCUS = ""

    def __init__(self, action: str, block: Block, origin: str, *, keymap: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._action = action
        self._block = block
        self._origin = origin
        self._keymap = keymap
        self._query = ""
        self._search: TextSearch | None = None
        self._row = -1
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield TwoSidedLine(id="body-title")
        with PromptScroll(id="body-scroll"):
            yield Quote(self._block, self._origin)
        yield TwoSidedLine(id="body-foot")
        yield LimitedInput(placeholder="search", id="body-words", compact=True, max_length=MAX_QUERY)
        yield KeyLine(partial(footer, KeyScope.BODY, overrides=self._keymap))

    def on_mount(self) -> None:
        """Hides the search field until it is needed."""
        self.query_one("#body-words").display = False
        self._text.focus(scroll_visible=False)
        name = foreign_short(self._action, _NAME_WIDTH, STRONG)
        self.query_one("#body-title", TwoSidedLine).show(name, trusted("approve in the prompt, not here", MUTED))
        for attribute in ("scroll_y", "virtual_size"):
            self.watch(self._scroll, attribute, self._show_foot, init=False)
        self._timer = self.set_interval(_INTERVAL, self._go_on, pause=True)

    @property
    def key_state(self) -> KeyState:
        """What decides which keys can be used now."""
        return KeyState()

    @property
    def _scroll(self) -> PromptScroll:
        return self.query_one(PromptScroll)

    @property
    def _text(self) -> QuoteText:
        return self.query_one(QuoteText)

    # searching

    def action_search(self) -> None:
        """Shows and focuses the search field."""
        words = self.query_one("#body-words", Input)
        words.display = True
        words.focus()

    def action_back(self) -> None:
        """Closes the search field, then clears the search, then closes the screen."""
        words = self.query_one("#body-words", Input)
        if words.display:
            words.display = False
            self._text.focus(scroll_visible=False)
        elif self._query:
            self._start("")
        else:
            self.dismiss()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        self.query_one("#body-words").display = False
        self._text.focus(scroll_visible=False)
        self._start(event.value)

    def action_find(self, direction: int) -> None:
        """Goes to the next match, or to the previous one."""
        if self._search is None:
            self.action_search()
        else:
            self._go_to(self._search.after(self._row) if direction > 0 else self._search.before(self._row))

    def _start(self, query: str) -> None:
        pattern = search_pattern(query)
        self._query, self._row = (query if pattern else ""), -1
        self._text.unfold_all()
        self._search = TextSearch(self._text.long_text, pattern) if pattern else None
        self._text.highlight(pattern)
        self._go_on()

    def _go_on(self) -> None:
        """Searches a little further; starts again if the rows changed."""
        search = self._search
        if search is not None and (search.text is not self._text.long_text or not search.is_current):
            search = self._search = TextSearch(self._text.long_text, search.pattern)
            self._row = -1
        if search is not None:
            search.go_on(_SEARCH_SECONDS)
            if self._row < 0 and search.found:
                self._go_to(search.found[0])
        if self._timer is not None:
            (self._timer.pause if search is None or search.is_complete else self._timer.resume)()
        self._show_foot()

    def _go_to(self, row: int | None) -> None:
        if row is not None and self._search is not None:
            self._row = row
            self._text.highlight(self._search.pattern, row)
            self._scroll.scroll_to_row(self._text, row)
        self._show_foot()

    @on(Quote.RowsChanged)
    def _rows_changed(self, event: Quote.RowsChanged) -> None:
        event.stop()
        self._scroll.call_after_refresh(self._scroll.keep_position)
        self._go_on()

    def _show_foot(self) -> None:
        """Shows how many matches there are, and how much is below."""
        below, counted = self._scroll.below, self._text.long_text.counted
        lines = f"{'' if counted else 'at least '}{below:,} more line{'' if below == 1 else 's'} ↓" if below else ""
        self.query_one("#body-foot", TwoSidedLine).show(self._found_words(), trusted(lines, STRONG))

    def _found_words(self) -> Content:
        search = self._search
        if search is None:
            return Content("")
        query = Content.assemble(foreign_short(self._query, _QUERY_WIDTH, STRONG), "  ")
        if not search.found:
            return Content.assemble(query, trusted("not found" if search.is_complete else "searching…", WARNING))
        count = len(search.found)
        most = "" if search.is_complete and count < MAX_FOUND else "at least "
        place = search.found.index(self._row) + 1 if self._row in search.found else 0
        return Content.assemble(query, trusted(f"{place:,} of {most}{count:,}", MUTED))

    # scrolling

    def action_travel(self, rows: int) -> None:
        """Scrolls by rows."""
        self._scroll.scroll_rows(rows)

    def action_page(self, pages: int) -> None:
        """Scrolls by pages; a page is one row less than the screen."""
        self._scroll.scroll_rows(pages, pages=True)

    @on(QuoteText.CursorMoved)
    def _cursor_moved(self, event: QuoteText.CursorMoved) -> None:
        event.stop()
        self._scroll.keep_in_view(event.text, event.row)

    def action_help(self) -> None:
        """Shows the keys of this screen."""
        from aileron_tui.console.screens.help import HelpScreen  # noqa: PLC0415  # screens load when opened

        self.app.push_screen(HelpScreen(KeyScope.BODY, keymap=self._keymap))

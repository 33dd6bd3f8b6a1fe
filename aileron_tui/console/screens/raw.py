"""The raw view: the exact call and preview of a request as JSON, with the values that a decision is bound to."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar, Final

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static

from aileron_tui.console.key_actions import KeyScope
from aileron_tui.console.key_hints import footer
from aileron_tui.console.key_reasons import KeyState
from aileron_tui.console.key_table import BY_ID, bindings
from aileron_tui.console.render import MUTED, STRONG, WARNING, foreign_line, trusted
from aileron_tui.console.widgets.json_view import JsonView, json_text
from aileron_tui.console.widgets.key_line import KeyLine
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json
from aileron_tui.core.request import Request
from aileron_tui.core.visible_text import inline, short
from aileron_tui.files.paths import bundled
from aileron_tui.surface.raw_request import raw_fields

MAX_COPIED: Final = 1024 * 1024
_MAX_NOTE: Final = 200


class RawScreen(Screen[None]):
    """Shows one request as it was when the screen opened."""

    CSS_PATH = str(bundled("styles") / "raw.tcss")
    SHOWS_REQUEST: ClassVar = True
    """Whoever reads this reads the request below it."""
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.RAW)]
    SCOPE: ClassVar = KeyScope.RAW
    AUTO_FOCUS = "JsonView"

    class TextReady(Message):
        """The text is ready."""

        def __init__(self, text: str, note: str = "") -> None:
            super().__init__()
            self.text = text
            self.note = note

    def __init__(
        self,
        request: Request,
        *,
        keymap: Mapping[str, str] | None = None,
        load: Callable[[], Json] | None = None,
    ) -> None:
        super().__init__()
        self._request = request
        self._load = load
        self._keymap = keymap
        self._text = ""

    def compose(self) -> ComposeResult:
        yield Static(id="raw-title")
        yield JsonView()
        yield KeyLine(partial(footer, KeyScope.RAW, overrides=self._keymap))

    def on_mount(self) -> None:
        """Starts to make the text in a thread, because it may be long."""
        self._show_title("loading…")
        self._make_text()

    @work(thread=True, exit_on_error=False)
    def _make_text(self) -> None:
        note = "fetching the rest…" if self._load else ""
        self.post_message(self.TextReady(json_text(raw_fields(self._request)), note))
        if self._load is None:
            return
        try:
            text, note = json_text(raw_fields(self._request, self._load())), "with everything that was fetched just now"
        except AileronError as error:
            text, note = json_text(raw_fields(self._request)), f"the rest cannot be fetched: {inline(str(error))}"
        self.post_message(self.TextReady(text, note))

    def on_raw_screen_text_ready(self, event: TextReady) -> None:
        """Shows the text."""
        self._text = event.text
        self.query_one(JsonView).show(event.text)
        size = f"{len(event.text):,} characters"
        self._show_title(f"{size}, {short(event.note, _MAX_NOTE)}" if event.note else size)

    def _show_title(self, words: str, style: str = MUTED) -> None:
        name = foreign_line(short(self._request.prompt.action, 40), STRONG)
        self.query_one("#raw-title", Static).update(trusted("Raw  ", MUTED) + name + trusted(f"  {words}", style))

    def action_copy(self) -> None:
        """Copies the whole text to the clipboard."""
        if why := BY_ID["copy"].why_not(self.key_state):
            self._show_title(why, WARNING)
        else:
            self.app.copy_to_clipboard(self._text)
            self._show_title("copied")

    def action_help(self) -> None:
        """Shows the keys of this screen."""
        from aileron_tui.console.screens.help import HelpScreen  # noqa: PLC0415  # screens load when opened

        self.app.push_screen(HelpScreen(KeyScope.RAW, keymap=self._keymap))

    def action_back(self) -> None:
        """Closes the screen."""
        self.dismiss()

    @property
    def key_state(self) -> KeyState:
        """What decides which keys can be used now."""
        return KeyState(text_loaded=bool(self._text), text_fits_clipboard=len(self._text) <= MAX_COPIED)

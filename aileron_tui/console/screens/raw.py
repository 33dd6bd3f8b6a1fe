"""The exact call and preview of a request as JSON, with what binds a decision to them."""

from collections.abc import Mapping
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
from aileron_tui.console.render import MUTED, STRONG, WARNING, foreign_line, own
from aileron_tui.console.widgets.json_view import JsonView, spelled
from aileron_tui.console.widgets.key_line import KeyLine
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.request import Request
from aileron_tui.core.visible_text import clip, inline
from aileron_tui.files.paths import bundled

MOST_COPIED: Final = 1024 * 1024


def fields(item: Request) -> JsonObject:
    """What is shown, the call first."""
    prompt = item.prompt
    preview: Json = prompt.preview.fields() if prompt.preview else None
    shown = prompt.fields()
    told: JsonObject = {name: value for name, value in item.fields.items() if name != "inputs"} if item.daemon else {}
    return {
        "action": prompt.action,
        "args": prompt.args,
        **({"edit": item.edit} if item.edit else {}),
        "preview": "fetching" if item.fetching else preview,
        "id": item.id,
        **({"source": item.source} if item.source else {}),
        "digest": item.digest,
        "head": item.head,
        "instance": item.instance,
        "connector": shown["connector"],
        "asker": shown["asker"],
        "risk": shown["risk"],
        "state": item.state,
        "revision": item.revision,
        "requested_at": item.requested_at,
        "expires_at": item.expires_at,
    } | ({"kind": prompt.kind, "as the daemon told it": told} if told else {})


class RawScreen(Screen[None]):
    """One request. It does not change while one reads it."""

    CSS_PATH = str(bundled("styles") / "raw.tcss")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.RAW)]
    SCOPE: ClassVar = KeyScope.RAW
    AUTO_FOCUS = "JsonView"

    class Spelled(Message):
        """The text is ready."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, item: Request, *, keymap: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._shown = item
        self._keymap = keymap
        self._text = ""

    def compose(self) -> ComposeResult:
        yield Static(id="raw-title")
        yield JsonView()
        yield KeyLine(partial(footer, KeyScope.RAW, overrides=self._keymap))

    def on_mount(self) -> None:
        """Spells it in a thread: it may be long."""
        self._title("reading…")
        self._spell()

    @work(thread=True, exit_on_error=False)
    def _spell(self) -> None:
        self.post_message(self.Spelled(spelled(fields(self._shown))))

    def on_raw_screen_spelled(self, event: Spelled) -> None:
        """Shows it."""
        self._text = event.text
        self.query_one(JsonView).show(event.text)
        self._title(f"{len(event.text):,} characters")

    def _title(self, words: str, style: str = MUTED) -> None:
        name = foreign_line(clip(inline(self._shown.prompt.action), 40), STRONG)
        self.query_one("#raw-title", Static).update(own("Raw  ", MUTED) + name + own(f"  {words}", style))

    def action_copy(self) -> None:
        """All of it to the clipboard, exactly."""
        if why := BY_ID["copy"].why_not(self.key_state):
            self._title(why, WARNING)
        else:
            self.app.copy_to_clipboard(self._text)
            self._title("copied")

    def action_help(self) -> None:
        """The keys of this screen."""
        from aileron_tui.console.screens.help import HelpScreen  # noqa: PLC0415  # screens load when opened

        self.app.push_screen(HelpScreen(KeyScope.RAW, keymap=self._keymap))

    def action_back(self) -> None:
        """Leaves."""
        self.dismiss()

    @property
    def key_state(self) -> KeyState:
        """What decides which keys can be used now."""
        return KeyState(text_loaded=bool(self._text), text_fits_clipboard=len(self._text) <= MOST_COPIED)

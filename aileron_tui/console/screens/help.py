"""The help: every key and what it does, from the key table and the user's keymap."""

import textwrap
from collections.abc import Iterator, Mapping
from functools import partial
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, Static

from aileron_tui.console.key_actions import KeyAction, KeyGroup, KeyScope
from aileron_tui.console.key_hints import footer
from aileron_tui.console.key_names import display
from aileron_tui.console.key_table import MOUSE, SEARCH, bindings, keys_of, of
from aileron_tui.console.render import ACCENT, MUTED, STRONG, trusted
from aileron_tui.console.widgets.key_line import KeyLine
from aileron_tui.console.widgets.limited_input import LimitedInput
from aileron_tui.files.paths import bundled

_MIN_WIDTH_FOR_COLUMNS: Final = 56
_KEYS_WIDTH: Final = 10
_LABEL_WIDTH: Final = 18


class KeyTable(Widget):
    """The keys that match the search: first those of one scope, then all others."""

    DEFAULT_CSS = "KeyTable { height: auto; }"

    def __init__(self, scope: KeyScope, keymap: Mapping[str, str] | None) -> None:
        super().__init__()
        self._scopes = (scope, *(other for other in KeyScope if other is not scope))
        self._keymap = keymap
        self._words: list[str] = []

    def search(self, text: str) -> None:
        """Shows only keys whose text contains every word."""
        self._words = text.lower().split()
        self.refresh(layout=True)

    def render(self) -> Content:
        lines = [line for scope in self._scopes for line in self._scope_lines(scope)] + list(self._other_lines())
        return trusted("\n").join(lines[1:]) if lines else trusted("No matching keys.", MUTED)

    def _scope_lines(self, scope: KeyScope) -> Iterator[Content]:
        found = [action for action in of(scope) if action.in_help and self._matches(action)]
        if not found:
            return
        yield trusted("")
        yield trusted(scope.value, ACCENT)
        for group in KeyGroup:
            members = [action for action in found if action.group is group]
            if members:
                yield trusted(group.value, MUTED)
            for action in members:
                yield from self._row(self._keys(action), action.label, action.tooltip)

    def _other_lines(self) -> Iterator[Content]:
        for heading, rows in (("Search in the history", SEARCH), ("Mouse", MOUSE)):
            found = [(what, does) for what, does in rows if self._contains_words(f"{heading} {what} {does}")]
            if found:
                yield trusted("")
                yield trusted(heading, ACCENT)
            for what, does in found:
                yield from self._row("", what, does)

    def _matches(self, action: KeyAction) -> bool:
        return self._contains_words(f"{self._keys(action)} {action.label} {action.tooltip} {action.id}")

    def _contains_words(self, text: str) -> bool:
        return all(word in text.lower() for word in self._words)

    def _keys(self, action: KeyAction) -> str:
        return " ".join(display(key) for key in keys_of(action, self._keymap))

    def _row(self, keys: str, label: str, does: str) -> Iterator[Content]:
        width = self.size.width
        if width < _MIN_WIDTH_FOR_COLUMNS:
            yield trusted(f"  {keys}  " if keys else "  ", STRONG) + trusted(label)
            yield from (trusted(f"    {line}", MUTED) for line in textwrap.wrap(does, max(10, width - 5)))
            return
        left = _KEYS_WIDTH + _LABEL_WIDTH + 4
        first, *rest = textwrap.wrap(does, max(10, width - left)) or [""]
        yield (
            trusted(f"  {keys:<{_KEYS_WIDTH}} ", STRONG) + trusted(f"{label:<{_LABEL_WIDTH}} ") + trusted(first, MUTED)
        )
        yield from (trusted(" " * left + line, MUTED) for line in rest)


class HelpScreen(ModalScreen[None]):
    """A sheet on top of the screen from which it was opened."""

    CSS_PATH = str(bundled("styles") / "help.tcss")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyScope.HELP)]
    SCOPE: ClassVar = KeyScope.HELP
    AUTO_FOCUS = "#help-keys"

    def __init__(self, scope: KeyScope = KeyScope.MAIN, *, keymap: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._scope = scope
        self._keymap = keymap

    def compose(self) -> ComposeResult:
        with Vertical(id="help-sheet"):
            yield Static(
                trusted("Keys", STRONG) + trusted("  Enter and space never answer a request.", MUTED), id="help-title"
            )
            yield LimitedInput(placeholder="search", id="help-words", compact=True, max_length=60)
            with VerticalScroll(id="help-keys"):
                yield KeyTable(self._scope, self._keymap)
            yield KeyLine(partial(footer, KeyScope.HELP, overrides=self._keymap))

    def on_mount(self) -> None:
        """Hides the search field until it is needed."""
        self.query_one("#help-words").display = False

    def action_search(self) -> None:
        """Shows and focuses the search field."""
        words = self.query_one("#help-words", Input)
        words.display = True
        words.focus()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        self.query_one(KeyTable).search(event.value)
        self.query_one("#help-keys").scroll_home(animate=False)

    @on(Input.Submitted)
    def _submitted(self) -> None:
        self.query_one("#help-keys").focus()

    def action_scroll(self, lines: int) -> None:
        """Scrolls by lines."""
        self.query_one("#help-keys").scroll_relative(y=lines, animate=False)

    def action_back(self) -> None:
        """Clears the search, then closes the sheet."""
        words = self.query_one("#help-words", Input)
        if words.display:
            words.value = ""
            words.display = False
            self.query_one("#help-keys").focus()
        else:
            self.dismiss()

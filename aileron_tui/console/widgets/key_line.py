"""The line at the bottom of a screen that says which keys do something there."""

from collections.abc import Mapping

from textual.content import Content
from textual.widget import Widget

from aileron_tui.console.actions import GAP, Scope, hints
from aileron_tui.console.render import ACCENT, own


class KeyLine(Widget):
    """One line, always there, as long as the width allows."""

    DEFAULT_CSS = "KeyLine { height: 1; dock: bottom; padding: 0 1; }"

    def __init__(self, scope: Scope, keymap: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._scope = scope
        self._keymap = keymap

    def render(self) -> Content:
        parts = hints(self._scope, self.content_size.width, self._keymap)
        return own(GAP).join([own(hint.key, ACCENT) + own(f" {hint.label}" if hint.label else "") for hint in parts])

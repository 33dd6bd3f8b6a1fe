"""The bottom lines: whether an answer counts now, if not why, and the keys. On screen however long the prompt is."""

from collections.abc import Mapping

from textual.content import Content
from textual.widget import Widget

from aileron_tui.console.actions import GAP, Scope, hints
from aileron_tui.console.render import MUTED


class AnswerBar(Widget):
    """Two lines at the bottom."""

    DEFAULT_CSS = "AnswerBar { height: 2; dock: bottom; }"

    def __init__(self, keymap: Mapping[str, str], *, leave_out: tuple[str, ...] = ()) -> None:
        super().__init__()
        self._keymap = keymap
        self._leave_out = leave_out
        self._state: tuple[str, str] = ("", "")

    def show(self, words: str, style: str = MUTED) -> None:
        """What to say about answering now, in our own words."""
        if (words, style) != self._state:
            self._state = (words, style)
            self.refresh()

    def render(self) -> Content:
        width = self.size.width - 2
        words, style = self._state
        state = Content.assemble(" ", (words, style)).truncate(width + 2, ellipsis=True)
        parts = [
            Content.assemble((hint.key, "bold $primary"), f" {hint.label}" if hint.label else "")
            for hint in hints(Scope.MAIN, width, self._keymap, leave_out=self._leave_out)
        ]
        return Content("\n").join([state, Content(" ") + Content(GAP).join(parts)])

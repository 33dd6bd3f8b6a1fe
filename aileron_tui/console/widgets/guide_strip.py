"""The strip above the keys in which a guide speaks: two lines, or one on small screens. Its height never changes."""

from collections.abc import Mapping
from typing import Final

from aileron_tui.console.guide import GuideLine
from aileron_tui.console.key_hints import KeyHint, hint
from aileron_tui.console.render import ACCENT, MUTED, trusted
from aileron_tui.console.widgets.key_line import KeyLine, LinePart
from aileron_tui.core.visible_text import cells

GUIDE_KEY: Final = "guide"
"""The id of the key that hides the guide and shows it again."""


class GuideStrip(KeyLine):
    """Shows one step of a guide, and the key that hides it."""

    DEFAULT_CSS = """
    GuideStrip { height: 2; dock: none; padding: 0 1; background: $panel; }
    GuideStrip.-brief { height: 1; }
    """

    def __init__(self, keymap: Mapping[str, str]) -> None:
        super().__init__(lambda _: ())
        self._hide: KeyHint = hint(GUIDE_KEY, keymap, label="hide")
        self._line = GuideLine("", "", "")

    def show(self, line: GuideLine, *, brief: bool) -> None:
        """Shows a step; the prompt moves only if the window changed."""
        if brief != self.has_class("-brief"):
            self.set_class(brief, "-brief")
        elif line == self._line:
            return
        self._line = line
        self.refresh()

    def rows_at(self, width: int) -> list[list[LinePart]]:
        """The heading with the key, and the text below it; or a short text with the key."""
        line = self._line
        if self.has_class("-brief"):
            return [self._with_key(line.brief, MUTED, width)]
        text = line.text if cells(line.text) <= width else line.brief
        return [self._with_key(line.heading, ACCENT, width), [trusted(text)]]

    def _with_key(self, words: str, style: str, width: int) -> list[LinePart]:
        room = max(1, width - cells(self._hide.text) - 1)
        shown = trusted(words, style).truncate(room, ellipsis=True)
        return [shown, trusted(" " * (room - shown.cell_length + 1)), self._hide]

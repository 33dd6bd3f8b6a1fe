"""JSON of any length as rows of a screen; only the rows on screen are drawn."""

import json
import re
from bisect import bisect_right
from itertools import accumulate
from typing import Final

from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from aileron_tui.console.render import GUTTER, foreign_line, own
from aileron_tui.core import character_table
from aileron_tui.core.jsontext import Json, plain

_PORTION: Final = 64 * 1024
_ODD: Final = re.compile(f"[^{character_table.PLAIN}]")
_GUTTER: Final = 2


def spelled(fields: dict[str, Json]) -> str:
    """The fields as JSON in their order, of which nothing is hidden: what does not stand on its own is escaped.

    So text that is cut into rows looks the same as whole, and what is copied is still exact.
    """
    parts = [f'  "{name}": {_value(value)}' for name, value in fields.items()]
    text = "{\n" + ",\n".join(parts) + "\n}"
    # In portions, because one long substitution would keep the screen waiting.
    portions = (text[start : start + _PORTION] for start in range(0, len(text), _PORTION))
    return "".join([_ODD.sub(_escape, portion) for portion in portions])


def _value(value: Json) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return plain(value).replace("\n", "\n  ")


def _escape(odd: re.Match[str]) -> str:
    return json.dumps(odd[0])[1:-1] if odd[0] != "\x7f" else "\\u007f"


class JsonView(ScrollView, can_focus=True):
    """A text of `spelled`, cut at the width. A `▎` begins each line, a `┆` each row that continues one."""

    # Room for the scrollbar is kept: one that appears would make rows narrower than they were cut for.
    DEFAULT_CSS = "JsonView { height: 1fr; overflow-x: hidden; scrollbar-gutter: stable; }"

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[str] = []
        self._ends: list[int] = []
        self._width = 0

    def show(self, text: str) -> None:
        """Another text."""
        self._lines = text.split("\n")
        self._width = 0
        self._lay()

    def on_resize(self) -> None:
        """Cuts anew at another width."""
        self._lay()

    def _lay(self) -> None:
        width = max(4, self.scrollable_content_region.width - _GUTTER)
        if width != self._width:
            self._width = width
            self._ends = list(accumulate(max(1, -(-len(line) // self._step(line))) for line in self._lines))
        self.virtual_size = Size(width + _GUTTER, self._ends[-1] if self._ends else 0)
        self.refresh()

    def _step(self, line: str) -> int:
        """How many characters of a line fit in a row, whatever they are: none is wider than two columns."""
        return self._width if line.isascii() else self._width // 2

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        row = y + self.scroll_offset.y
        style = self.visual_style
        if not self._ends or row >= self._ends[-1]:
            return Strip.blank(width, style.rich_style)
        place = bisect_right(self._ends, row)
        line = self._lines[place]
        within = row - (self._ends[place - 1] if place else 0)
        step = self._step(line)
        content = own("┆ " if within else "▎ ", GUTTER) + foreign_line(line[within * step : (within + 1) * step])
        strips = Visual.to_strips(self, content, width, 1, style, apply_selection=False, pad=True)
        return strips[0].adjust_cell_length(width, style.rich_style)

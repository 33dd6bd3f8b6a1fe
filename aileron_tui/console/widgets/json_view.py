"""Shows JSON of any length; only the rows on screen are drawn."""

import json
import re
from bisect import bisect_right
from itertools import accumulate
from typing import Final

from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from aileron_tui.console.render import GUTTER_STYLE, foreign_line, trusted
from aileron_tui.core import character_table
from aileron_tui.core.jsontext import Json, plain

_CHUNK: Final = 64 * 1024
_NOT_PLAIN: Final = re.compile(f"[^{character_table.PLAIN}]")
_GUTTER_WIDTH: Final = 2


def json_text(fields: dict[str, Json]) -> str:
    """The fields as JSON, in order, with every character escaped that could be invisible or mistaken for another.

    This way the text looks the same however it is split into rows, and copied text is still exact.
    """
    parts = [f'  "{name}": {_value(value)}' for name, value in fields.items()]
    text = "{\n" + ",\n".join(parts) + "\n}"
    # In chunks, because one long substitution would block the screen.
    chunks = (text[start : start + _CHUNK] for start in range(0, len(text), _CHUNK))
    return "".join([_NOT_PLAIN.sub(_escape, chunk) for chunk in chunks])


def _value(value: Json) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return plain(value).replace("\n", "\n  ")


def _escape(character: re.Match[str]) -> str:
    return json.dumps(character[0])[1:-1] if character[0] != "\x7f" else "\\u007f"


class JsonView(ScrollView, can_focus=True):
    """A text from `json_text`, wrapped at the width. `▎` marks the start of a line, `┆` a row that continues one."""

    # Room for the scrollbar is reserved: if it appeared later, rows would be wider than the view.
    DEFAULT_CSS = "JsonView { height: 1fr; overflow-x: hidden; scrollbar-gutter: stable; }"

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[str] = []
        self._row_ends: list[int] = []
        self._width = 0

    def show(self, text: str) -> None:
        """Shows another text."""
        self._lines = text.split("\n")
        self._width = 0
        self._update_rows()

    def on_resize(self) -> None:
        """Wraps the text at the new width."""
        self._update_rows()

    def _update_rows(self) -> None:
        width = max(4, self.scrollable_content_region.width - _GUTTER_WIDTH)
        if width != self._width:
            self._width = width
            self._row_ends = list(accumulate(max(1, -(-len(line) // self._row_length(line))) for line in self._lines))
        self.virtual_size = Size(width + _GUTTER_WIDTH, self._row_ends[-1] if self._row_ends else 0)
        self.refresh()

    def _row_length(self, line: str) -> int:
        """How many characters of a line fit in a row; no character is wider than two columns."""
        return self._width if line.isascii() else self._width // 2

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        row = y + self.scroll_offset.y
        style = self.visual_style
        if not self._row_ends or row >= self._row_ends[-1]:
            return Strip.blank(width, style.rich_style)
        index = bisect_right(self._row_ends, row)
        line = self._lines[index]
        row_in_line = row - (self._row_ends[index - 1] if index else 0)
        length = self._row_length(line)
        text = foreign_line(line[row_in_line * length : (row_in_line + 1) * length])
        content = trusted("┆ " if row_in_line else "▎ ", GUTTER_STYLE) + text
        strips = Visual.to_strips(self, content, width, 1, style, apply_selection=False, pad=True)
        return strips[0].adjust_cell_length(width, style.rich_style)

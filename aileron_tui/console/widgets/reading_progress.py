"""How much of a prompt has been on screen."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from textual.geometry import Region
from textual.widget import Widget

from aileron_tui.console.widgets.line_widget import LineWidget
from aileron_tui.console.widgets.quote_text import QuoteText
from aileron_tui.console.widgets.seen_rows import SeenRows

PromptPart: TypeAlias = LineWidget | QuoteText
"""A widget of a prompt whose rows must be read."""


class PaintedRows(NamedTuple):
    """The rows of a part that are on screen, from `first` up to but not including `last`, and the size of the part.

    The height of a quoted text is 0, because it grows at its end while its rows are counted.
    """

    first: int
    last: int
    width: int
    height: int


Painted: TypeAlias = "dict[PromptPart, PaintedRows]"


class Unread(NamedTuple):
    """The number of lines that have not been on screen, whether it may be higher, and whether some of them changed."""

    lines: int
    at_least: bool = False
    changed: bool = False


class _SeenPart:
    """What has been on screen of one widget while its content stayed the same."""

    def __init__(self, content: object, *, changed: bool) -> None:
        self.content = content
        self.changed = changed
        self.is_complete = False
        self.rows = SeenRows()
        self.width = 0


class ReadingProgress:
    """Records which rows of a prompt have been painted.

    A part whose content changes must be read again. At another width, a part that was seen completely stays read.
    """

    def __init__(self) -> None:
        self._parts: dict[PromptPart, _SeenPart] = {}

    def restart(self) -> None:
        """Starts over for another request."""
        for part in self._parts:
            if isinstance(part, QuoteText):
                part.forget_seen()
        self._parts.clear()

    def expect(self, contents: Mapping[PromptPart, object]) -> None:
        """Sets the parts of the prompt and what each of them says."""
        known = self._parts
        self._parts = {
            part: known[part]
            if part in known and known[part].content == content
            else _SeenPart(content, changed=part in known)
            for part, content in contents.items()
        }

    def painted(self, regions: Mapping[Widget, tuple[Region, Region]]) -> Painted:
        """The rows of each part that are on screen; `regions` gives the region of each widget and how it is clipped."""
        return {part: rows for part in self._parts if part in regions and (rows := _rows_in(part, *regions[part]))}

    def record(self, painted: Painted) -> None:
        """Records the rows that are on screen."""
        for part, rows in painted.items():
            seen = self._parts.get(part)
            if seen is None or seen.is_complete:
                continue
            if isinstance(part, QuoteText):
                part.rows_painted(rows.first, rows.last)
                seen.is_complete = part.is_seen
            elif part.has_current_height:
                if seen.width != rows.width:
                    seen.width = rows.width
                    seen.rows.clear()
                seen.rows.add(rows.first, rows.last)
                seen.is_complete = not seen.rows.unseen(rows.height)

    def unread(self, parts: Iterable[PromptPart]) -> Unread:
        """How much of these parts has not been on screen."""
        lines, at_least, changed = 0, False, False
        for part in parts:
            seen = self._parts.get(part)
            if seen is None or not seen.is_complete:
                lines += _unread_lines(part, seen)
                at_least = at_least or (isinstance(part, QuoteText) and not part.long_text.counted)
                changed = changed or (seen is not None and seen.changed)
        return Unread(lines, at_least, changed)

    def next_unread(self, parts: Iterable[PromptPart]) -> tuple[PromptPart, int] | None:
        """The first of these parts that is unread, and its first unread row."""
        for part in parts:
            seen = self._parts.get(part)
            if seen is None or not seen.is_complete:
                row = part.first_unseen if isinstance(part, QuoteText) else seen.rows.first_unseen if seen else 0
                return part, row
        return None


def _unread_lines(part: PromptPart, seen: _SeenPart | None) -> int:
    if isinstance(part, QuoteText):
        return max(1, part.unseen)
    rows = seen.rows if seen and seen.width == part.size.width else SeenRows()
    return max(1, rows.unseen(part.size.height))


def _rows_in(part: PromptPart, region: Region, clip: Region) -> PaintedRows | None:
    visible = region.intersection(clip)
    if not visible.height or not visible.width:
        return None
    height = 0 if isinstance(part, QuoteText) else region.height
    return PaintedRows(visible.y - region.y, visible.bottom - region.y, region.width, height)

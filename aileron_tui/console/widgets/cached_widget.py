"""Widgets that are drawn once and kept until something about them changes."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip

from aileron_tui.console.textual_internals import RepaintHook

_NOTHING: Final = range(0)


class TextChange(NamedTuple):
    """Other letters at a place of a widget's content, in as much room and with the same looks, as a clock shows."""

    x: int
    y: int
    old: str
    new: str


class CachedWidget(RepaintHook):
    """Keeps the lines it was drawn in, and draws only those anew that changed. The last among the bases of a widget.

    For one digit on the screen Textual asks every widget that could lie there for all of its lines.
    """

    _crop: Region | None = None
    _kept: list[Strip]
    _stale: range = _NOTHING

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines as they were drawn, as far as nothing has changed since."""
        if crop != self._crop:
            self._crop, self._kept = crop, _shared(super().render_lines(crop))
        elif lines := range(max(self._stale.start, crop.y), min(self._stale.stop, crop.bottom)):
            drawn = super().render_lines(Region(crop.x, lines.start, crop.width, len(lines)))
            self._kept[lines.start - crop.y : lines.stop - crop.y] = drawn
        self._stale = _NOTHING
        return self._kept

    def turn(self, turns: Iterable[TextChange]) -> None:
        """Puts letters in the place of others; draws everything anew if the old ones are not found there."""
        stale, changed = self._stale, list(turns)
        if not changed:
            return
        self.refresh(*(Region(turn.x, turn.y, len(turn.new), 1) for turn in changed))
        self._stale = stale
        if not all(map(self._put, changed)):
            self.refresh()

    def _put(self, turn: TextChange) -> bool:
        """Puts the letters into the line that is kept, if the old ones stand there."""
        offset, crop = self.content_offset, self._crop
        y = turn.y + offset.y
        if crop is None or crop.x or y not in crop.line_range:
            return False
        line = _turned(self._kept[y - crop.y], turn.x + offset.x, turn.old, turn.new)
        if line is not None:
            self._kept[y - crop.y] = line
        return line is not None

    def repaint_needed(self, regions: tuple[Region, ...]) -> None:
        """Forgets the kept lines that must be drawn again."""
        if regions:
            lines = (region.translate(self.content_offset).line_range for region in regions)
            self._stale = _around([self._stale, *lines])
        else:
            self._crop = None


def _shared(lines: Iterable[Strip]) -> list[Strip]:
    """The same lines; one that is like the one above it is the same thing, so that Textual cuts it up only once."""
    shared: list[Strip] = []
    for line in lines:
        shared.append(shared[-1] if shared and line == shared[-1] else line)
    return shared


def _around(ranges: Iterable[range]) -> range:
    some = [one for one in ranges if one]
    return range(min(one.start for one in some), max(one.stop for one in some)) if some else _NOTHING


def _turned(line: Strip, x: int, old: str, new: str) -> Strip | None:
    """The line with other letters at a column, if the old ones stand there in one piece, each in one cell."""
    segments, start = list(line), line.cell_length
    for index in reversed(range(len(segments))):
        text, style, control = segments[index]
        start -= segments[index].cell_length
        if start > x:
            continue
        at, end = x - start, x - start + len(old)
        if text[at:end] != old or segments[index].cell_length != len(text) or not new.isascii() or len(new) != len(old):
            return None
        segments[index] = Segment(text[:at] + new + text[end:], style, control)
        return Strip(segments, line.cell_length)
    return None

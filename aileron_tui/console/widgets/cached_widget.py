"""Widgets that keep the lines they drew and redraw only what changed."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip

from aileron_tui.console.textual_internals import RepaintHook

_NO_LINES: Final = range(0)


class TextChange(NamedTuple):
    """Characters to replace with the same number of others in the same style, such as the digits of a clock."""

    x: int
    y: int
    old: str
    new: str


class CachedWidget(RepaintHook):
    """Keeps the lines it drew and redraws only those that changed. Must be the last base class of a widget.

    Without this, changing one digit makes Textual render all lines of every widget in that place.
    """

    _crop: Region | None = None
    _cached_lines: list[Strip]
    _stale_lines: range = _NO_LINES

    def render_lines(self, crop: Region) -> list[Strip]:
        """Returns the cached lines, after redrawing those that changed."""
        if crop != self._crop:
            self._crop, self._cached_lines = crop, _share_equal(super().render_lines(crop))
        elif lines := range(max(self._stale_lines.start, crop.y), min(self._stale_lines.stop, crop.bottom)):
            redrawn = super().render_lines(Region(crop.x, lines.start, crop.width, len(lines)))
            self._cached_lines[lines.start - crop.y : lines.stop - crop.y] = redrawn
        self._stale_lines = _NO_LINES
        return self._cached_lines

    def replace_text(self, changes: Iterable[TextChange]) -> None:
        """Replaces characters in the cached lines; redraws everything if the old ones are not there."""
        stale_lines, changes = self._stale_lines, list(changes)
        if not changes:
            return
        self.refresh(*(Region(change.x, change.y, len(change.new), 1) for change in changes))
        self._stale_lines = stale_lines
        if not all(map(self._replace_in_cache, changes)):
            self.refresh()

    def _replace_in_cache(self, change: TextChange) -> bool:
        """Replaces characters in a cached line; returns False if the old ones are not there."""
        offset, crop = self.content_offset, self._crop
        y = change.y + offset.y
        if crop is None or crop.x or y not in crop.line_range:
            return False
        line = _with_replaced_text(self._cached_lines[y - crop.y], change.x + offset.x, change.old, change.new)
        if line is not None:
            self._cached_lines[y - crop.y] = line
        return line is not None

    def repaint_needed(self, regions: tuple[Region, ...]) -> None:
        """Marks the cached lines that must be drawn again."""
        if regions:
            lines = (region.translate(self.content_offset).line_range for region in regions)
            self._stale_lines = _smallest_range_around([self._stale_lines, *lines])
        else:
            self._crop = None


def _share_equal(lines: Iterable[Strip]) -> list[Strip]:
    """The same lines, with equal neighbours sharing one object, so that Textual processes it only once."""
    shared: list[Strip] = []
    for line in lines:
        shared.append(shared[-1] if shared and line == shared[-1] else line)
    return shared


def _smallest_range_around(ranges: Iterable[range]) -> range:
    nonempty = [lines for lines in ranges if lines]
    if not nonempty:
        return _NO_LINES
    return range(min(lines.start for lines in nonempty), max(lines.stop for lines in nonempty))


def _with_replaced_text(line: Strip, x: int, old: str, new: str) -> Strip | None:
    """The line with characters replaced; None unless the old ones are in one segment at that column, one cell each."""
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

"""Which parts of a prompt have been on screen."""

from collections.abc import Callable

from textual.widget import Widget

from aileron_tui.console.widgets.quote import Quote


class ReadingProgress:
    """Records which parts of a prompt have been on screen since it last changed.

    The parts are the scrolling body of the prompt and each quote in it. The prompt counts as read once the end of every
    part has been on screen, and also the start of every part that changed while it was scrolled down.
    """

    def __init__(self) -> None:
        self.is_complete = False
        self._seen_ends: set[Widget] = set()
        self._unseen_starts: set[Widget] = set()
        self._row_count = 0

    def restart(self, unseen_starts: set[Widget]) -> None:
        """Starts over for a new prompt; `unseen_starts` are parts whose start must be seen again."""
        self.is_complete = False
        self._seen_ends.clear()
        self._unseen_starts = unseen_starts

    def has_unseen_start(self, parts: set[Widget]) -> bool:
        """Whether one of these parts changed and its start has not been on screen since."""
        return not self._unseen_starts.isdisjoint(parts)

    def row_count_changed(self, rows: int) -> bool:
        """Whether the body's number of rows changed. If so, forgets which ends were seen: they may have moved."""
        if rows == self._row_count:
            return False
        self.is_complete = self.is_complete and rows < self._row_count
        self._row_count = rows
        self._seen_ends.clear()
        return True

    def record(self, body: Widget, parts: set[Widget], *, body_at_end: bool, layout_done: Callable[[], bool]) -> bool:
        """Records what is on screen now; returns whether this completed the prompt."""
        missing = parts - self._seen_ends
        ends = {part for part in missing if (body_at_end if part is body else _end_on_screen(part, body))}
        starts = {part for part in self._unseen_starts if at_start(part) and _start_on_screen(part, body)}
        if missing and not ends and not starts:
            return False
        if not layout_done():
            return False
        self._seen_ends |= ends
        self._unseen_starts -= starts
        self.is_complete = missing == ends and not self.has_unseen_start(parts)
        return self.is_complete


def at_start(part: Widget) -> bool:
    """Whether a part is scrolled to its start."""
    return not (part.body.above if isinstance(part, Quote) else round(part.scroll_y))


def _start_on_screen(part: Widget, body: Widget) -> bool:
    text = part.body.region if isinstance(part, Quote) else part.region
    return bool(text.height) and body.region.contains(text.x, text.y)


def _end_on_screen(part: Widget, body: Widget) -> bool:
    if not isinstance(part, Quote) or not part.at_end:
        return False
    text = part.body.region
    return bool(text.height) and body.region.contains(text.x, text.bottom - 1)

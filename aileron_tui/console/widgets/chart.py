"""Decisions per day and the median time to decide, in block characters."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from textual.content import Content
from textual.widget import Widget

from aileron_tui.console.render import MUTED, STRONG, trusted
from aileron_tui.core.time_words import span
from aileron_tui.surface.history_records import DayTally

MAX_DAYS: Final = 28
ROWS: Final = 3

_EIGHTHS: Final = " ▁▂▃▄▅▆▇█"
_MIN_WIDTH_SIDE_BY_SIDE: Final = 80
_MIN_HEIGHT_SIDE_BY_SIDE: Final = 28


class _Series(NamedTuple):
    """One value per day (None if there is none) and a summary."""

    name: str
    values: Sequence[float | None]
    summary: str
    style: str


def bars(values: Sequence[float | None], rows: int, gap: str = " ") -> list[str]:
    """The values as columns of `rows` lines, top line first. Every value above zero is visible."""
    highest = max((value for value in values if value), default=0.0)
    steps = [max(1, round(value / highest * rows * 8)) if value else 0 for value in values]
    return [gap.join(_EIGHTHS[min(8, max(0, step - row * 8))] for step in steps) for row in range(rows - 1, -1, -1)]


class Chart(Widget):
    """Two small charts: side by side on a large screen, else one line each."""

    DEFAULT_CSS = "Chart { height: auto; }"

    def __init__(self) -> None:
        super().__init__()
        self._days: tuple[DayTally, ...] = ()
        self._median: float | None = None
        self._note = ""

    def show(self, days: Sequence[DayTally], median: float | None, note: str = "") -> None:
        """Shows these days, oldest first, and the median of all; `note` is trusted text on what is included."""
        self._days = tuple(days)
        self._median = median
        self._note = note
        self.refresh(layout=True)

    def render(self) -> Content:
        width = self.content_size.width
        if not any(day.decisions for day in self._days):
            return trusted("no decisions in the last four weeks", MUTED)
        wide = width >= _MIN_WIDTH_SIDE_BY_SIDE and self.app.size.height >= _MIN_HEIGHT_SIDE_BY_SIDE
        return self._side_by_side(width) if wide else self._two_lines(width)

    def _series(self, days: Sequence[DayTally]) -> tuple[_Series, _Series]:
        decisions = sum(day.decisions for day in days)
        counts = [day.decisions or None for day in days]
        times = [day.typical for day in days]
        median = "unknown" if self._median is None else span(self._median)
        return (
            _Series("decisions per day", counts, f"{decisions:,} · today {days[-1].decisions:,}", "$primary"),
            _Series("median time to decide", times, median, "$secondary"),
        )

    def _side_by_side(self, width: int) -> Content:
        half = (width - 4) // 2
        days = self._days[-min(MAX_DAYS, half // 2) :]
        blocks = [self._block(series, days, half) for series in self._series(days)]
        return trusted("\n").join(
            [left.pad_right(max(0, half + 4 - left.cell_length)) + right for left, right in zip(*blocks, strict=True)]
        )

    def _block(self, series: _Series, days: Sequence[DayTally], width: int) -> list[Content]:
        title = trusted(series.name, STRONG) + trusted(f"  {series.summary}", MUTED)
        plot_width = len(days) * 2 - 1
        first, last = f"{days[0].day:%m-%d}", "today"
        axis = trusted(first + last.rjust(plot_width - len(first)), MUTED)
        lines = [trusted(line, series.style) for line in bars(series.values, ROWS)]
        note = trusted(f"  {self._note}", MUTED) if self._note else trusted("")
        return [title.truncate(width, ellipsis=True), *lines, (axis + note).truncate(width, ellipsis=True)]

    def _two_lines(self, width: int) -> Content:
        name_width = 10
        max_days = max(7, min(MAX_DAYS, width - name_width - 14))
        days = self._days[-max_days:]
        lines = []
        for series, name in zip(self._series(days), ("decisions", "time taken"), strict=True):
            line = trusted(f"{name:<{name_width}} ", MUTED) + trusted(bars(series.values, 1, "")[0], series.style)
            lines.append((line + trusted(f"  {series.summary}", MUTED)).truncate(width, ellipsis=True))
        return trusted("\n").join(lines)

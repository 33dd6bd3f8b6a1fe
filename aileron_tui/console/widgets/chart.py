"""Decisions per day and the median time to decide, in block characters."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from textual.content import Content
from textual.widget import Widget

from aileron_tui.console.render import MUTED, STRONG, own
from aileron_tui.core.time_spans import span_text
from aileron_tui.surface.history_records import DayTally

MOST_DAYS: Final = 28
ROWS: Final = 3

_EIGHTHS: Final = " ▁▂▃▄▅▆▇█"
_WIDE: Final = 80
_PLOT_WIDEST: Final = MOST_DAYS * 2


class _Series(NamedTuple):
    """One value per day, None where there is nothing to show, and what is said of all of them."""

    name: str
    values: Sequence[float | None]
    words: str
    style: str


def bars(values: Sequence[float | None], rows: int, gap: str = " ") -> list[str]:
    """The values as columns `rows` lines high, the top line first. Whatever is more than nothing can be seen."""
    most = max((value for value in values if value), default=0.0)
    steps = [max(1, round(value / most * rows * 8)) if value else 0 for value in values]
    return [gap.join(_EIGHTHS[min(8, max(0, step - row * 8))] for step in steps) for row in range(rows - 1, -1, -1)]


class Chart(Widget):
    """Two small charts side by side where there is room, else two lines."""

    DEFAULT_CSS = "Chart { height: auto; }"

    def __init__(self) -> None:
        super().__init__()
        self._days: tuple[DayTally, ...] = ()
        self._typical: float | None = None
        self._note = ""

    def show(self, days: Sequence[DayTally], typical: float | None, note: str = "") -> None:
        """The days, the oldest first, and the median over all; `note` says in our own words what they leave out."""
        self._days = tuple(days)
        self._typical = typical
        self._note = note
        self.refresh(layout=True)

    def render(self) -> Content:
        width = self.content_size.width
        if not any(day.decisions for day in self._days):
            return own("no decisions in the last four weeks", MUTED)
        wide = width >= _WIDE and self.app.size.height >= 28
        return self._wide(width) if wide else self._narrow(width)

    def _series(self, days: Sequence[DayTally]) -> tuple[_Series, _Series]:
        decisions = sum(day.decisions for day in days)
        counts = [day.decisions or None for day in days]
        times = [day.typical for day in days]
        typical = "unknown" if self._typical is None else span_text(self._typical)
        return (
            _Series("decisions per day", counts, f"{decisions:,} · today {days[-1].decisions:,}", "$primary"),
            _Series("median time to decide", times, typical, "$secondary"),
        )

    def _wide(self, width: int) -> Content:
        half = (width - 4) // 2
        days = self._days[-min(MOST_DAYS, half // 2) :]
        blocks = [self._block(series, days, half) for series in self._series(days)]
        return own("\n").join(
            [left.pad_right(max(0, half + 4 - left.cell_length)) + right for left, right in zip(*blocks, strict=True)]
        )

    def _block(self, series: _Series, days: Sequence[DayTally], width: int) -> list[Content]:
        title = own(series.name, STRONG) + own(f"  {series.words}", MUTED)
        plot = len(days) * 2 - 1
        first, last = f"{days[0].day:%m-%d}", "today"
        axis = own(first + last.rjust(plot - len(first)), MUTED)
        lines = [own(line, series.style) for line in bars(series.values, ROWS)]
        note = own(f"  {self._note}", MUTED) if self._note else own("")
        return [title.truncate(width, ellipsis=True), *lines, (axis + note).truncate(width, ellipsis=True)]

    def _narrow(self, width: int) -> Content:
        names = 10
        room = max(7, min(MOST_DAYS, width - names - 14))
        days = self._days[-room:]
        lines = []
        for series, name in zip(self._series(days), ("decisions", "time taken"), strict=True):
            line = own(f"{name:<{names}} ", MUTED) + own(bars(series.values, 1, "")[0], series.style)
            lines.append((line + own(f"  {series.words}", MUTED)).truncate(width, ellipsis=True))
        return own("\n").join(lines)

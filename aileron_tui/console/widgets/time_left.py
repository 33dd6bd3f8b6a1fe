"""The time left to answer a request, as a bar and a number."""

from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Final

from textual.content import Content

from aileron_tui.console.render import MUTED, WARNING, trusted
from aileron_tui.core.time_words import LONGEST_AGO, ago, minutes_and_seconds
from aileron_tui.core.times import moment

if TYPE_CHECKING:
    from aileron_tui.core.request import Request

_BAR_CELLS: Final = 12
_GAP: Final = 2
_MIN_WIDTH_FOR_BAR: Final = 56
_WARNING_SECONDS: Final = 30
# Room for the longest text, so that nothing moves when the text gets longer.
_WIDTH: Final = len("⚠ time is up")
_ASKED_WIDTH: Final = len("asked ") + LONGEST_AGO


def time_left(request: "Request", now: datetime, width: int) -> Content:
    """The bar and the number; only the number on a narrow screen. While the request waits, the width is the same."""
    if not request.state.decidable:
        return trusted("")
    if not request.expires_at:
        return _padded(trusted(_asked(request, now), MUTED), _ASKED_WIDTH)
    shows_bar = width >= _MIN_WIDTH_FOR_BAR
    return _padded(_countdown(request, now, shows_bar=shows_bar), _WIDTH + (_BAR_CELLS + _GAP) * shows_bar)


def _padded(content: Content, width: int) -> Content:
    return trusted(" " * max(0, width - content.cell_length)) + content


def _countdown(request: "Request", now: datetime, *, shows_bar: bool) -> Content:
    left = request.seconds_left(now)
    if left <= 0:
        return trusted("⚠ time is up", WARNING)
    urgent = left < _WARNING_SECONDS
    style = WARNING if urgent else MUTED
    number = trusted(f"{'⚠ ' if urgent else ''}{minutes_and_seconds(left)} left", style)
    if not shows_bar:
        return number
    return _bar(round(_fraction_left(request, left) * _BAR_CELLS * 2), WARNING if urgent else "$primary") + number


@cache
def _bar(half_cells: int, style: str) -> Content:
    """The bar, with this many half cells filled, and a gap after it."""
    bar = "━" * (half_cells // 2) + "╸" * (half_cells % 2)
    return Content.assemble(trusted(bar, style), trusted("─" * (_BAR_CELLS - len(bar)), "$foreground 20%"), " " * _GAP)


def _asked(request: "Request", now: datetime) -> str:
    try:
        return f"asked {ago((now - moment(request.requested_at)).total_seconds())}"
    except ValueError:
        return "no time limit"


def _fraction_left(request: "Request", left: float) -> float:
    try:
        whole = (moment(request.expires_at) - moment(request.requested_at)).total_seconds()
    except ValueError:
        return 0.0
    return min(1.0, left / whole) if whole > 0 else 0.0

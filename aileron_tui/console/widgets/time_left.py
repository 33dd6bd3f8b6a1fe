"""The time left to answer a request, as a bar and a number."""

from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Final

from textual.content import Content

from aileron_tui.console.render import MUTED, WARNING, trusted
from aileron_tui.core.time_words import LONGEST_AGE, ago, minutes_and_seconds
from aileron_tui.core.times import moment

if TYPE_CHECKING:
    from aileron_tui.core.request import Request

_BAR_CELLS: Final = 12
_GAP: Final = 2
_MIN_WIDTH_FOR_BAR: Final = 56
_WARNING_SECONDS: Final = 30
_TIME_IS_UP: Final = "⚠ time is up"
_NUMBER_WIDTH: Final = len(_TIME_IS_UP)
_ASKED_WIDTH: Final = len("asked ") + LONGEST_AGE


def time_left(request: "Request", now: datetime, width: int) -> Content:
    """The bar and the number; only the number on a narrow screen. Always takes the same room, so that nothing moves."""
    if not request.state.decidable:
        return trusted("")
    if not request.expires_at:
        return trusted(_asked(request, now).rjust(_ASKED_WIDTH), MUTED)
    left = request.seconds_left(now)
    has_bar = width >= _MIN_WIDTH_FOR_BAR
    if left <= 0:
        return trusted(_TIME_IS_UP.rjust(_NUMBER_WIDTH + (_BAR_CELLS + 2) * has_bar), WARNING)
    urgent = left < _WARNING_SECONDS
    style = WARNING if urgent else MUTED
    number = trusted(f"{'⚠ ' if urgent else ''}{minutes_and_seconds(left)} left", style)
    free = trusted(" " * (_NUMBER_WIDTH - len(number)))
    if not has_bar:
        return free + number
    bar = _bar(round(_fraction_left(request, left) * _BAR_CELLS * 2), WARNING if urgent else "$primary")
    return free + bar + number


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

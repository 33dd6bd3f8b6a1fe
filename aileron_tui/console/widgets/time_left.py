"""How long a request still waits, as a bar and a number."""

from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Final

from textual.content import Content

from aileron_tui.console.render import MUTED, WARNING, own
from aileron_tui.core.times import moment

if TYPE_CHECKING:
    from aileron_tui.runtime.request_reader import Item

_CELLS: Final = 12
_ROOMY: Final = 56
_HURRY: Final = 30


def time_left(item: "Item", now: datetime, width: int) -> Content:
    """The bar and the number; the number alone where there is little room."""
    if not item.state.decidable:
        return own("")
    if not item.expires_at:
        return own(_asked(item, now), MUTED)
    left = item.seconds_left(now)
    if left <= 0:
        return own("⚠ time is up", WARNING)
    hurried = left < _HURRY
    style = WARNING if hurried else MUTED
    number = own(f"{'⚠ ' if hurried else ''}{clock(left)} left", style)
    if width < _ROOMY:
        return number
    return _bar(round(_share(item, left) * _CELLS * 2), WARNING if hurried else "$primary") + number


@cache
def _bar(full: int, style: str) -> Content:
    """Filled up to so many halves of a cell, and a gap."""
    bar = "━" * (full // 2) + "╸" * (full % 2)
    return Content.assemble(own(bar, style), own("─" * (_CELLS - len(bar)), "$foreground 20%"), "  ")


def _asked(item: "Item", now: datetime) -> str:
    try:
        return f"asked {ago((now - moment(item.requested_at)).total_seconds())}"
    except ValueError:
        return "no time limit"


def clock(seconds: float) -> str:
    """Minutes and seconds, with hours where there are any."""
    whole = int(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def ago(seconds: float) -> str:
    """How long ago, as exactly as it matters: what is older changes less often."""
    if seconds < 1:
        return "just now"
    if seconds < 60:
        step = 1 if seconds < 10 else 10
        return f"{int(seconds // step) * step} s ago"
    if seconds < 3600:
        return f"{int(seconds // 60)} min ago"
    return f"{int(seconds // 3600)} h ago"


def _share(item: "Item", left: float) -> float:
    try:
        whole = (moment(item.expires_at) - moment(item.requested_at)).total_seconds()
    except ValueError:
        return 0.0
    return min(1.0, left / whole) if whole > 0 else 0.0

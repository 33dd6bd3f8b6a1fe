"""Times and durations in words, for every surface."""

from datetime import datetime
from typing import Final

LONGEST_AGE: Final = len("59 min ago")
"""The room that the words of `ago` need during the first weeks."""


def minutes_and_seconds(seconds: float) -> str:
    """A countdown: `4:05`, or `1:00:07` for an hour or more."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def ago(seconds: float) -> str:
    """How long ago something happened. The longer ago, the less exact, so that it changes less often on screen."""
    if seconds < 1:
        return "just now"
    if seconds < 60:
        step = 1 if seconds < 10 else 10
        return f"{int(seconds // step) * step} s ago"
    if seconds < 3600:
        return f"{int(seconds // 60)} min ago"
    return f"{int(seconds // 3600)} h ago"


def span(seconds: float) -> str:
    """A duration: `0.4 s`, `12 s`, `3.5 min`."""
    for limit, unit, size in ((60, "s", 1), (3600, "min", 60), (86400, "h", 3600)):
        if seconds < limit:
            return f"{seconds / size:.1f} {unit}" if seconds < 10 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86400:.0f} d"


def local_time(time: datetime, now: datetime) -> str:
    """A time in the local time zone: `10:15` if it is today, else with the date."""
    local = time.astimezone()
    return f"{local:%H:%M}" if local.date() == now.astimezone().date() else f"{local:%Y-%m-%d %H:%M}"

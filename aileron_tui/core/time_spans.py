"""Spans of time as people write them (`7d`) and as we show them (`1.5 min`)."""

import re
from datetime import datetime, timedelta
from typing import Final

_SPAN: Final = re.compile(r"(\d{1,5})([mhdw])", re.ASCII)
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def read_span(text: str) -> timedelta | None:
    """A span such as 30m, 12h, 7d or 2w; None if this is not one."""
    found = _SPAN.fullmatch(text)
    return timedelta(**{_UNITS[found[2]]: int(found[1])}) if found else None


def read_time(text: str, now: datetime) -> datetime:
    """A span before now, or a date or time, local where it names no zone. Raises ValueError."""
    try:
        span = read_span(text)
        return (datetime.fromisoformat(text) if span is None else now - span).astimezone()
    except OverflowError as error:
        raise ValueError(str(error)) from None


def span_text(seconds: float) -> str:
    """A span for people: 0.4 s, 12 s, 3.5 min."""
    for limit, unit, size in ((60, "s", 1), (3600, "min", 60), (86400, "h", 3600)):
        if seconds < limit:
            return f"{seconds / size:.1f} {unit}" if seconds < 10 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86400:.0f} d"

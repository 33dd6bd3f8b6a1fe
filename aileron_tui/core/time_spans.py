"""Time spans as users write them, such as `7d`."""

import re
from datetime import datetime, timedelta
from typing import Final

_SPAN: Final = re.compile(r"(\d{1,5})([mhdw])", re.ASCII)
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def read_span(text: str) -> timedelta | None:
    """Parses a span such as 30m, 12h, 7d or 2w; returns None for any other text."""
    found = _SPAN.fullmatch(text)
    return timedelta(**{_UNITS[found[2]]: int(found[1])}) if found else None


def read_time(text: str, now: datetime) -> datetime:
    """Parses a time: a span before now, or a date or time, local if it has no time zone. Raises ValueError."""
    try:
        span = read_span(text)
        return (datetime.fromisoformat(text) if span is None else now - span).astimezone()
    except OverflowError as error:
        raise ValueError(str(error)) from None

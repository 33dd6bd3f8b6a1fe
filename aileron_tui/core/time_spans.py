"""Times and time spans as users write them, such as `tuesday` or `7d`."""

import re
from datetime import date, datetime, time, timedelta
from typing import Final

DAYS: Final = ("today", "yesterday")
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_SHORTEST_WEEKDAY: Final = 3
_SPAN: Final = re.compile(r"(\d{1,5})([mhdw])", re.ASCII)
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def read_span(text: str) -> timedelta | None:
    """Parses a span such as 30m, 12h, 7d or 2w; returns None for any other text."""
    found = _SPAN.fullmatch(text)
    return timedelta(**{_UNITS[found[2]]: int(found[1])}) if found else None


def read_day(text: str, today: date) -> date | None:
    """Parses `today`, `yesterday` or a weekday (`tue` or longer); returns None for any other text.

    A weekday is the last one: today, if today is that day.
    """
    word = text.lower()
    if word in DAYS:
        return today - timedelta(days=DAYS.index(word))
    for number, name in enumerate(WEEKDAYS):
        if len(word) >= _SHORTEST_WEEKDAY and name.startswith(word):
            return today - timedelta(days=(today.weekday() - number) % 7)
    return None


def read_time(text: str, now: datetime) -> datetime:
    """Parses a time: a span before now, the start of a day, or a date or time. Raises ValueError.

    Days, dates and times without a time zone are local.
    """
    try:
        if (span := read_span(text)) is not None:
            return (now - span).astimezone()
        day = read_day(text, now.astimezone().date())
        return datetime.fromisoformat(text).astimezone() if day is None else start_of(day)
    except OverflowError as error:
        raise ValueError(str(error)) from None


def read_end(text: str) -> datetime:
    """Parses when something ends: a date, which means the end of that day, or a date and a time. Raises ValueError.

    Without a time zone they are local.
    """
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = None
    try:
        return datetime.fromisoformat(text).astimezone() if day is None else start_of(day + timedelta(days=1))
    except OverflowError as error:
        raise ValueError(str(error)) from None


def start_of(day: date) -> datetime:
    """The first moment of a day in the local time zone, also where the clocks are changed at midnight."""
    both = [datetime.combine(day, time(fold=fold)).astimezone() for fold in (0, 1)]
    return min((at for at in both if at.date() == day), default=both[0])

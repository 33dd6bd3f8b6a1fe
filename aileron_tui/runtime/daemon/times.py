"""Converts the times in a daemon's JSON to the format of the ledger."""

import re
from datetime import datetime
from typing import Final

from aileron_tui.core.jsontext import Json
from aileron_tui.core.times import moment, timestamp

_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,6})\d{0,12})?(?:([Zz])|([+-]\d\d:\d\d))", re.ASCII
)
_EARLIEST: Final = "1970"


def utc_time(value: Json) -> str:
    """A daemon's time (RFC 3339, any offset, up to nanoseconds) as ledger entries write it; "" if it is not valid."""
    found = _TIME.fullmatch(value) if isinstance(value, str) else None
    if not found:
        return ""
    day, clock, fraction, _, offset = found.groups()
    try:
        text = timestamp(datetime.fromisoformat(f"{day}T{clock}.{(fraction or '0').ljust(6, '0')}{offset or '+00:00'}"))
    except (ValueError, OverflowError):
        return ""
    return text if text >= _EARLIEST else ""


def time_of(value: Json) -> datetime | None:
    """A daemon's time, or None if it is not valid."""
    text = utc_time(value)
    return moment(text) if text else None

"""Times in the format of decisions, ledger entries and the protocol."""

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)


def utc_now() -> datetime:
    """The current time by the system's clock, in UTC."""
    return datetime.now(UTC)


def timestamp(moment: datetime) -> str:
    """Formats a time as decisions and ledger entries contain it: UTC, microseconds, `Z`."""
    in_utc = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return f"{in_utc.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


@lru_cache(maxsize=4096)
def moment(text: str) -> datetime:
    """Parses a time. Raises ValueError. Other ISO 8601 formats than that of `timestamp` take longer."""
    if TIME.fullmatch(text):
        year, month, day, hour, minute, second, micro = map(int, re.split("[-T:.]", text[:-1]))
        return datetime(year, month, day, hour, minute, second, micro, UTC)
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)

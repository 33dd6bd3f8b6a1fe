"""Points in time."""

from datetime import UTC, datetime


def utc_now() -> datetime:
    """The current time in UTC."""
    return datetime.now(UTC)

"""A clock for tests that need times in a known order."""

from datetime import datetime, timedelta


class SteppingClock:
    """Moves one second each time it is read."""

    def __init__(self, start: datetime) -> None:
        self.now = start

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

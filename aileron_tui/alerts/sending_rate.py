"""How often somebody is told about single requests, so that a flood of requests does not become a flood of alerts."""

from collections import deque


class SendingRate:
    """At most `most` times in any `seconds`."""

    def __init__(self, most: int, seconds: float) -> None:
        self._most = most
        self._seconds = seconds
        self._times: deque[float] = deque(maxlen=most)

    def allows(self, now: float) -> bool:
        """Whether one more is allowed at this time."""
        return len(self._times) < self._most or now - self._times[0] >= self._seconds

    def count(self, now: float) -> None:
        """Counts one."""
        self._times.append(now)

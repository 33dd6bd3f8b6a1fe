"""How much the doors take in before they refuse, and how fast."""

import math
import time
from collections.abc import Callable

from aileron_tui.core import jsontext
from aileron_tui.core.values import dataclass


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """The bounds of the HTTP doors; how many requests may wait is the service's own matter.

    Inputs may be nested less deeply than JSON in general, because an item carries them several levels down.
    """

    call_bytes: int = 1024 * 1024
    decision_bytes: int = 3 * 1024 * 1024
    batch_bytes: int = 8 * 1024 * 1024
    session_bytes: int = 16 * 1024
    depth: int = 32
    values: int = 20_000
    body_seconds: float = 10.0
    longest_wait: int = 300
    calls_per_second: float = 100.0
    burst: int = 1000
    writes_per_second: float = 2.0  # what is recorded and decides nothing, of one session
    writes_burst: int = 120
    watchers: int = 64
    heartbeat_seconds: float = 15.0
    send_seconds: float = 20.0

    def json(self, size: int) -> jsontext.JsonLimits:
        """The bounds for one JSON body of at most this size."""
        return jsontext.JsonLimits(size, self.depth, self.values)


class TokenBucket:
    """A token bucket: `burst` calls at once, then `rate` per second."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._left = float(burst)
        self._filled = clock()

    def take(self) -> int:
        """0 if a call may pass, else the whole seconds after which it is worth trying again."""
        if seconds := self.empty():
            return seconds
        self._left -= 1
        return 0

    def empty(self) -> int:
        """The same without taking anything."""
        now = self._clock()
        self._left = min(self._burst, self._left + max(0.0, now - self._filled) * self._rate)
        self._filled = now
        return 0 if self._left >= 1 else max(1, math.ceil((1 - self._left) / self._rate))

    def charge(self, count: int) -> None:
        """Takes what was not known before to be taken; what is not there is owed, up to another burst."""
        self._left = max(-float(self._burst), self._left - count)

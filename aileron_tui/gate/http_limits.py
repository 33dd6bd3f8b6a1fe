"""Size and rate limits of the HTTP API."""

import math
import time
from collections.abc import Callable

from aileron_tui.core import jsontext
from aileron_tui.core.values import dataclass


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """The limits of the HTTP API; `GateLimits` limits how many requests may wait.

    Inputs may be nested less deeply than other JSON, because responses contain them several levels down.
    """

    call_bytes: int = 1024 * 1024
    decision_bytes: int = 3 * 1024 * 1024
    batch_bytes: int = 8 * 1024 * 1024
    session_bytes: int = 16 * 1024
    depth: int = 32
    values: int = 20_000
    body_seconds: float = 10.0
    max_wait_seconds: int = 300
    calls_per_second: float = 100.0
    burst: int = 1000
    writes_per_second: float = 2.0  # per session, for ledger entries that decide nothing
    writes_burst: int = 120
    watchers: int = 64
    heartbeat_seconds: float = 15.0
    send_seconds: float = 20.0

    def json(self, size: int) -> jsontext.JsonLimits:
        """Returns the JSON limits for a body of at most this size."""
        return jsontext.JsonLimits(size, self.depth, self.values)


class TokenBucket:
    """A token bucket: `burst` calls at once, then `rate` per second."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._tokens = float(burst)
        self._updated_at = clock()

    def take(self) -> int:
        """Takes a token and returns 0; if none is available, returns the seconds to wait."""
        if seconds := self.wait_seconds():
            return seconds
        self._tokens -= 1
        return 0

    def wait_seconds(self) -> int:
        """Returns the seconds until a token is available, 0 if one is available now. Takes no token."""
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + max(0.0, now - self._updated_at) * self._rate)
        self._updated_at = now
        return 0 if self._tokens >= 1 else max(1, math.ceil((1 - self._tokens) / self._rate))

    def charge(self, count: int) -> None:
        """Takes tokens after the fact. The count may become negative, down to minus `burst`."""
        self._tokens = max(-float(self._burst), self._tokens - count)

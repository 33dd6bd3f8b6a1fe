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
    calls_per_second: float = 100.0  # for those who send several HTTP requests without waiting for a response
    burst: int = 1000
    requests_per_second: float = 30.0  # gated calls, which each cost a preview and a place in the list
    requests_burst: int = 100
    writes_per_second: float = 2.0  # per session, for ledger entries that decide nothing
    writes_burst: int = 120
    watchers: int = 64
    viewers: int = 16  # that watch
    heartbeat_seconds: float = 15.0
    send_seconds: float = 20.0

    # Connections. A client sends its headers at once; a few seconds are enough for a slow network. Agents get what
    # approvers and unknown callers leave, each at most a quarter of it. An open connection costs less than closing it
    # and accepting the next one.
    header_seconds: float = 5.0
    connections: int = 16_384
    unknown_connections: int = 128
    approver_connections: int = 128
    agent_minimum_connections: int = 16

    # One agent: how fast its HTTP requests are read, refused or not, so that refusing costs little; how many of them
    # are worked on at a time; how many bytes of calls it may send; and how much it may leave unread.
    reads_per_second: float = 100.0
    reads_burst: int = 100
    crowd_cost: int = 4  # reads that one counts as while those of a whole second wait already
    turns: int = 4
    body_bytes_per_second: float = 256.0 * 1024  # reading, checking and hashing 1 MiB takes about 15 ms
    body_bytes_burst: int = 8 * 1024 * 1024
    unread_bytes: int = 32 * 1024 * 1024

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

    @property
    def is_full(self) -> bool:
        """Whether nothing was taken recently."""
        self._refill()
        return self._tokens >= self._burst

    def take(self, count: int = 1) -> int:
        """Takes tokens and returns 0; if there are too few, returns the seconds to wait."""
        if seconds := self.wait_seconds(count):
            return seconds
        self._tokens -= count
        return 0

    def reserve(self, count: int = 1) -> float:
        """Takes tokens in any case; returns the seconds to wait before they may be used."""
        self._refill()
        self._tokens -= count
        return max(0.0, -self._tokens / self._rate)

    @property
    def debt_seconds(self) -> float:
        """How long it takes until what was reserved may be used, 0 if that is now."""
        self._refill()
        return max(0.0, -self._tokens / self._rate)

    def give_back(self, count: int) -> None:
        """Returns tokens that were reserved and will not be used."""
        self._tokens = min(self._burst, self._tokens + count)

    def wait_seconds(self, count: int = 1) -> int:
        """Returns the seconds until this many tokens are available, 0 if they are available now. Takes none."""
        self._refill()
        return 0 if self._tokens >= count else max(1, math.ceil((count - self._tokens) / self._rate))

    def _refill(self) -> None:
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + max(0.0, now - self._updated_at) * self._rate)
        self._updated_at = now

    def charge(self, count: int) -> None:
        """Takes tokens after the fact. The count may become negative, down to minus `burst`."""
        self._tokens = max(-float(self._burst), self._tokens - count)


class AgentBuckets:
    """A token bucket for each agent; those that are full again are forgotten."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = burst
        self._buckets: dict[str, TokenBucket] = {}

    def of(self, agent: str) -> TokenBucket:
        """The bucket of an agent."""
        bucket = self._buckets.get(agent)
        if bucket is None:
            self._buckets = {name: other for name, other in self._buckets.items() if not other.is_full}
            bucket = self._buckets[agent] = TokenBucket(self._rate, self._burst)
        return bucket

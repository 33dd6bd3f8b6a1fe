"""Who uses which connections. Each agent has a share, approvers have their own, and so do unknown callers.

A connection belongs to nobody until its first HTTP request has a valid token. The connections of unknown callers are
few: a new one closes the one that has been idle longest, so that idle connections keep nobody out.
"""

import resource
from collections.abc import Iterable
from contextlib import suppress
from typing import Final, Protocol

from aileron_tui.core.values import dataclass
from aileron_tui.gate.agent_shares import AgentShares, Share
from aileron_tui.gate.http_limits import HttpLimits, TokenBucket

APPROVER: Final = "approver"
VIEWERS: Final = "viewers"
"""All viewers together have the share of one agent."""
NOBODY: Final = ""

_MOST_DESCRIPTORS: Final = 65_536
_RESERVED_DESCRIPTORS: Final = 256
"""Descriptors for the ledger, the connectors' own connections and the gate's files."""

_FEWEST_CONNECTIONS: Final = 64
_CROWD_SECONDS: Final = 1.0


class PooledConnection(Protocol):
    """A connection as the pools see it."""

    on_socket: bool
    owner: str
    reserved_reads: tuple[TokenBucket, int] | None

    @property
    def is_idle(self) -> bool:
        """Whether no complete HTTP request is being answered."""

    @property
    def unsent_bytes(self) -> int:
        """How much of a response the client has not read."""

    def abort(self) -> None:
        """Closes the connection at once."""


@dataclass(frozen=True, slots=True)
class PoolSizes:
    """How many connections each kind of caller may have; `agents` is shared by all agents.

    The lobby has those that have sent nothing yet. They cost little, so there may be many.
    """

    lobby: int
    unknown: int
    approvers: int
    agents: Share

    @classmethod
    def within(cls, limits: HttpLimits, descriptors: int) -> "PoolSizes":
        """Divides the descriptors of this process.

        Approvers have a pool on the port and one on the Unix socket; unknown callers also have a lobby on each.
        """
        usable = max(_FEWEST_CONNECTIONS, min(limits.connections, descriptors - _RESERVED_DESCRIPTORS))
        unknown = min(limits.unknown_connections, usable // 16)
        approvers = min(limits.approver_connections, usable // 8)
        lobby = usable // 8
        agents = usable - 2 * (lobby + unknown + approvers)
        minimum = min(limits.agent_minimum_connections, agents // 8)
        return cls(lobby, unknown, approvers, Share(agents, max(1, agents // 4), minimum))


def raise_descriptor_limit() -> int:
    """Raises the limit on open files as far as this user is allowed to; returns the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MOST_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return _MOST_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft


class ConnectionPools:
    """All connections of a gate by owner, each with the longest unused first.

    An owner is an agent, `APPROVER`, `VIEWERS` or `NOBODY`.
    """

    def __init__(self, limits: HttpLimits, sizes: PoolSizes) -> None:
        self._limits = limits
        self.sizes = sizes
        self._pools: dict[tuple[bool, str], dict[PooledConnection, None]] = {}
        self._agents = AgentShares(sizes.agents)
        self._paces: dict[tuple[bool, str], TokenBucket] = {}
        self._stalled: dict[str, dict[PooledConnection, None]] = {}

    def opened(self, connection: PooledConnection) -> None:
        """Adds a new connection, whose owner is not known yet."""
        pool = self._pool(connection)
        if len(pool) >= self.sizes.unknown:
            evicted = _longest_idle(pool) or next(iter(pool))
            self._remove(evicted)
            evicted.abort()
            pool = self._pool(connection)
        pool[connection] = None

    def closed(self, connection: PooledConnection) -> None:
        """Removes a connection. What it made its agent wait for is not read."""
        self.resumed(connection)
        if connection.reserved_reads:
            pace, count = connection.reserved_reads
            pace.give_back(count)
        self._remove(connection)

    def used(self, connection: PooledConnection) -> None:
        """Notes that a connection is used now, so that others are closed before it."""
        pool = self._pool(connection)
        if pool.pop(connection, self) is None:
            pool[connection] = None

    def identify(self, connection: PooledConnection, owner: str) -> str:
        """Gives a connection to its owner; returns why not if the owner has too many connections."""
        if owner in (connection.owner, NOBODY):
            return ""
        if refused := self._make_room(connection.on_socket, owner):
            return refused
        self._remove(connection)
        connection.owner = owner
        self._pool(connection)[connection] = None
        if owner not in (NOBODY, APPROVER):
            self._agents.add(owner)
        return ""

    def delay(self, connection: PooledConnection, owner: str) -> float:
        """How many seconds to leave the next HTTP request unread; approvers never wait.

        An agent whose requests never end gets less than one that only makes many: as soon as the requests of a whole
        second wait, more of them are read more slowly.
        """
        connection.reserved_reads = None
        if owner == APPROVER:
            return 0.0
        key = (connection.on_socket, owner)
        pace = self._paces.get(key)
        if pace is None:
            self._paces = {key: bucket for key, bucket in self._paces.items() if not bucket.is_full}
            pace = self._paces[key] = TokenBucket(self._limits.reads_per_second, self._limits.reads_burst)
        count = self._limits.crowd_cost if pace.debt_seconds >= _CROWD_SECONDS else 1
        if seconds := pace.reserve(count):
            connection.reserved_reads = pace, count
        return seconds

    def stalled(self, connection: PooledConnection) -> None:
        """Notes that a client is not reading its response; aborts the oldest if an agent leaves too much unread."""
        waiting = self._stalled.setdefault(connection.owner, {})
        waiting[connection] = None
        if connection.owner == APPROVER:
            return
        unsent = sum(other.unsent_bytes for other in waiting)
        for other in tuple(waiting):
            if unsent <= self._limits.unread_bytes:
                break
            unsent -= other.unsent_bytes
            del waiting[other]
            other.abort()

    def resumed(self, connection: PooledConnection) -> None:
        """Notes that a client is reading again, or is gone."""
        waiting = self._stalled.get(connection.owner, {})
        waiting.pop(connection, None)
        if not waiting:
            self._stalled.pop(connection.owner, None)

    def close_idle(self) -> None:
        """Closes the connection that has been idle longest, because there are no descriptors left."""
        unknown_first = sorted(self._pools.items(), key=lambda item: item[0][1] != NOBODY)
        for (_, owner), pool in unknown_first:
            if owner != APPROVER and (idle := _longest_idle(pool)):
                self._remove(idle)
                idle.abort()
                return

    def _make_room(self, on_socket: bool, owner: str) -> str:
        pool = self._pools.get((on_socket, owner), {})
        if owner == APPROVER:
            full, many = len(pool) >= self.sizes.approvers, "approvers have"
        else:
            full, many = not self._agents.fits(owner), "viewers have" if owner == VIEWERS else "this agent has"
        if not full:
            return ""
        if idle := _longest_idle(pool):
            self._remove(idle)
            idle.abort()
            return ""
        if owner != APPROVER and not self._agents.exceeds_own(owner):
            return "all agents together have too many open connections; close one and try again"
        return f"{many} {len(pool):,} open connections; close one and try again"

    def _pool(self, connection: PooledConnection) -> dict[PooledConnection, None]:
        return self._pools.setdefault((connection.on_socket, connection.owner), {})

    def _remove(self, connection: PooledConnection) -> None:
        key = (connection.on_socket, connection.owner)
        pool = self._pools.get(key, {})
        if pool.pop(connection, self) is not None:
            return
        if connection.owner not in (NOBODY, APPROVER):
            self._agents.remove(connection.owner)
        if not pool:
            del self._pools[key]


def _longest_idle(pool: Iterable[PooledConnection]) -> PooledConnection | None:
    return next((connection for connection in pool if connection.is_idle), None)

"""Turns: only a few calls of one agent are worked on at a time, so that a burst does not delay anyone else.

A turn ends with its call, or earlier with `end_turn`, when the call only waits from then on.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import field

from aileron_tui.core.values import dataclass


@dataclass(slots=True)
class _Queue:
    """The calls of one agent: how many have their turn, and those that wait for one."""

    active: int = 0
    waiting: "list[asyncio.Future[None]]" = field(default_factory=list)


class _Turn:
    """The turn of one call."""

    def __init__(self, turns: "AgentTurns", agent: str) -> None:
        self._turns: AgentTurns | None = turns
        self._agent = agent

    def end(self) -> None:
        """Lets the next call begin; does nothing the second time."""
        if self._turns is not None:
            turns, self._turns = self._turns, None
            turns.release(self._agent)


_current: ContextVar[_Turn | None] = ContextVar("turn", default=None)


def end_turn() -> None:
    """Ends the turn of the current call, which from now on waits for an answer or for its op."""
    if turn := _current.get():
        turn.end()


class AgentTurns:
    """Gives each agent `at_once` turns at a time, in the order of its calls."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._queues: dict[str, _Queue] = {}

    @asynccontextmanager
    async def turn(self, agent: str) -> AsyncIterator[None]:
        """Waits for a turn of this agent and keeps it during the block."""
        queue = self._queues.setdefault(agent, _Queue())
        if queue.active < self._at_once:
            queue.active += 1
        else:
            await self._wait(agent, queue)
        turn = _Turn(self, agent)
        token = _current.set(turn)
        try:
            yield
        finally:
            _current.reset(token)
            turn.end()

    async def _wait(self, agent: str, queue: _Queue) -> None:
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.waiting.append(ready)
        try:
            await ready
        except asyncio.CancelledError:
            if ready.done() and not ready.cancelled():
                self.release(agent)
            else:
                queue.waiting.remove(ready)
            raise

    def release(self, agent: str) -> None:
        """Gives the turn of a call that ended to the next one."""
        queue = self._queues[agent]
        while queue.waiting:
            ready = queue.waiting.pop(0)
            if not ready.done():
                ready.set_result(None)
                return
        queue.active -= 1
        if not queue.active:
            del self._queues[agent]

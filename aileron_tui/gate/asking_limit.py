"""How often each agent may ask: nobody can answer an agent well that asks all the time."""

import math
import time
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

WINDOW_SECONDS: Final = 600
"""The limit is for this time."""


class AskedTooOften(NamedTuple):
    """An agent may ask again after these seconds; `first` if it has not been refused since it last asked."""

    seconds: int
    first: bool


class AskingLimit:
    """Counts the requests that each agent made in the last ten minutes. With a limit of 0, every agent may ask."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.most = most
        self._clock = clock
        self._asked: dict[str, deque[float]] = {}
        self._refused: set[str] = set()

    def ask(self, agent: str) -> AskedTooOften | None:
        """Counts a request, or returns that the agent has asked too often."""
        if not self.most:
            return None
        now = self._clock()
        asked = self._asked.get(agent)
        if asked is None:
            self._forget_quiet(now)
            asked = self._asked[agent] = deque()
        while asked and now - asked[0] >= WINDOW_SECONDS:
            asked.popleft()
        if len(asked) >= self.most:
            first = agent not in self._refused
            self._refused.add(agent)
            return AskedTooOften(max(1, math.ceil(asked[0] + WINDOW_SECONDS - now)), first)
        self._refused.discard(agent)
        asked.append(now)
        return None

    def _forget_quiet(self, now: float) -> None:
        """Forgets agents that have not asked for a while."""
        quiet = [agent for agent, asked in self._asked.items() if not asked or now - asked[-1] >= WINDOW_SECONDS]
        for agent in quiet:
            del self._asked[agent]
            self._refused.discard(agent)

"""The sessions of agents' programs that the gate hears from, so that a door that fell silent is noticed.

A hook can be switched off while its session goes on. Then nothing is asked any more, and nothing says so. What shows it
is the session's transcript, which keeps growing without any sign of the hook.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from aileron_tui.core.values import dataclass

SILENCE: Final = timedelta(minutes=2)
"""How long after the last sign of life a transcript must have grown. A long answer without tools is silent, too."""

_MOST: Final = 100
"""How many sessions of one agent are known, so that none can push out those of another."""

_MOST_CHECKED: Final = 20
"""How many transcripts of one agent are looked at each time."""

_GROWTHS: Final = 2
"""How often a transcript must be seen to grow in silence before that is reported."""


@dataclass(frozen=True, slots=True)
class DoorSession:
    """One session of an agent's program. `modified` is when its transcript was last seen to change, in seconds.

    `growths` counts how often it was seen to grow since the door was last heard.
    """

    agent: str
    door: str
    session: str
    heard: datetime
    transcript: str = ""
    modified: float = 0.0
    growths: int = 0


class DoorSessions:
    """The sessions that are open, the one that was heard last at the end."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._sessions: dict[tuple[str, str], DoorSession] = {}

    def heard(self, agent: str, door: str, session: str, transcript: str = "") -> None:
        """A door of this session was heard."""
        if not session:
            return
        known = self._sessions.pop((agent, session), None)
        path = transcript or (known.transcript if known else "")
        self._sessions[agent, session] = DoorSession(agent, door, session, self._clock(), path)
        own = [key for key in self._sessions if key[0] == agent]
        if len(own) > _MOST:
            del self._sessions[own[0]]

    def ended(self, agent: str, session: str) -> None:
        """A session has ended."""
        self._sessions.pop((agent, session), None)

    def knows(self, agent: str, session: str) -> bool:
        """Whether a door of this session was heard before."""
        return (agent, session) in self._sessions

    def _to_check(self) -> Iterator[DoorSession]:
        """The sessions that have not been heard for a while, those heard last first, some of each agent."""
        long_ago = self._clock() - SILENCE
        checked: Counter[str] = Counter()
        for known in reversed(list(self._sessions.values())):
            if known.transcript and known.heard < long_ago and checked[known.agent] < _MOST_CHECKED:
                checked[known.agent] += 1
                yield known

    async def silent(self, modified: Callable[[str, str], Awaitable[float]]) -> list[DoorSession]:
        """The sessions that go on although their door is not heard any more; each is returned once.

        `modified` returns when a file of an agent was last changed, in seconds since 1970, 0 if that is not known.
        """
        found: list[DoorSession] = []
        for known in self._to_check():
            at = await modified(known.agent, known.transcript)
            key = known.agent, known.session
            if self._sessions.get(key) is not known or at in (0.0, known.modified):
                continue
            grew = at > (known.heard + SILENCE).timestamp()
            now = replace(known, modified=at, growths=known.growths + grew)
            self._sessions[key] = now
            if grew and now.growths == _GROWTHS:
                found.append(now)
        return found

"""The sessions of agents' programs that the gate hears from, so that a door that fell silent can be noticed."""

from collections.abc import Callable
from typing import Final

from aileron_tui.core.values import dataclass

_MOST: Final = 1000


@dataclass(frozen=True, slots=True)
class DoorSession:
    """One session of an agent's program: when it was last heard, on a clock that nobody can set, and its transcript."""

    agent: str
    door: str
    session: str
    heard: float
    transcript: str = ""


class DoorSessions:
    """The sessions that are open, the one that was heard last at the end."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._sessions: dict[tuple[str, str], DoorSession] = {}

    def heard(self, agent: str, door: str, session: str, transcript: str = "") -> None:
        """A door of this session was heard."""
        if not session:
            return
        known = self._sessions.pop((agent, session), None)
        path = transcript or (known.transcript if known else "")
        self._sessions[agent, session] = DoorSession(agent, door, session, self._clock(), path)
        if len(self._sessions) > _MOST:
            del self._sessions[next(iter(self._sessions))]

    def ended(self, agent: str, session: str) -> None:
        """A session has ended."""
        self._sessions.pop((agent, session), None)

    def knows(self, agent: str, session: str) -> bool:
        """Whether a door of this session was heard before."""
        return (agent, session) in self._sessions

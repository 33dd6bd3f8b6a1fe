"""Which agents asked too often, as their gates report it."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from aileron_tui.core.visible_text import short
from aileron_tui.surface.arming import elapsed

if TYPE_CHECKING:
    from aileron_tui.runtime.source_events import SourceEvent

LIMITED: Final = "limited"
"""The event of a gate that refuses the calls of an agent for a while."""

_SHOWN_AT_LEAST: Final = 60.0
_SHOWN_AT_MOST: Final = 600.0
_LONGEST_NAME: Final = 20
_MOST: Final = 100


class LimitedAgents:
    """The agents whose calls are refused, by source and name, until they may ask again."""

    def __init__(self, clock: Callable[[], float] = elapsed) -> None:
        self._clock = clock
        self._until: dict[tuple[str, str], float] = {}

    def receive(self, events: "Iterable[SourceEvent]") -> list[str]:
        """Notes what the sources reported; returns the names of agents that asked too often, made visible."""
        found: list[str] = []
        for event in events:
            agent, seconds = event.data.get("agent"), event.data.get("seconds")
            if event.name != LIMITED or not isinstance(agent, str) or not isinstance(seconds, int):
                continue
            shown = max(_SHOWN_AT_LEAST, min(_SHOWN_AT_MOST, seconds))
            self._until[event.source, agent] = self._clock() + shown
            found.append(short(agent, _LONGEST_NAME))
        while len(self._until) > _MOST:
            del self._until[next(iter(self._until))]
        return found

    @property
    def names(self) -> list[str]:
        """The agents that may not ask yet, made visible."""
        now = self._clock()
        self._until = {who: until for who, until in self._until.items() if until > now}
        return [short(agent, _LONGEST_NAME) for _, agent in self._until]

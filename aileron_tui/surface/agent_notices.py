"""What gates report about agents: that one asked too often, ran a tool without asking, or is no longer heard."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import short
from aileron_tui.surface.arming import elapsed

if TYPE_CHECKING:
    from aileron_tui.runtime.source_events import SourceEvent


@dataclass(frozen=True, slots=True)
class NoticeWords:
    """What is said about an agent: `brief` stays in the header for a while, `sentence` is shown once."""

    brief: str
    sentence: str


NOTICES: Final = {
    "limited": NoticeWords("asked too often", "asked too often: its calls are refused for now"),
    "unasked": NoticeWords("ran a tool unasked", "ran a tool without asking; check its hooks: aileron-tui doctor"),
    "silent": NoticeWords("hooks silent", "works on, but its hooks are not heard; check them: aileron-tui doctor"),
}
"""The words for each event of a gate that is about an agent."""

_SHOWN_AT_LEAST: Final = 60.0
_SHOWN_AT_MOST: Final = 600.0
_LONGEST_NAME: Final = 20
_MOST: Final = 100


class AgentNotices:
    """The agents that something is said about, by source, name and event, until it is no longer shown."""

    def __init__(self, clock: Callable[[], float] = elapsed) -> None:
        self._clock = clock
        self._until: dict[tuple[str, str, str], float] = {}

    def receive(self, events: "Iterable[SourceEvent]") -> list[str]:
        """Notes what the sources reported; returns a sentence for each report, made visible."""
        found: list[str] = []
        for event in events:
            words, agent = NOTICES.get(event.name), event.data.get("agent")
            seconds = event.data.get("seconds")
            if words is None or not isinstance(agent, str) or not isinstance(seconds, int):
                continue
            shown = max(_SHOWN_AT_LEAST, min(_SHOWN_AT_MOST, seconds))
            self._until[event.source, agent, event.name] = self._clock() + shown
            found.append(f"{short(agent, _LONGEST_NAME)} {words.sentence}")
        while len(self._until) > _MOST:
            del self._until[next(iter(self._until))]
        return found

    @property
    def notes(self) -> list[str]:
        """What the header says, one note for each kind of report, made visible."""
        now = self._clock()
        self._until = {who: until for who, until in self._until.items() if until > now}
        notes: list[str] = []
        for name, words in NOTICES.items():
            agents = [agent for _, agent, event in self._until if event == name]
            if agents:
                who = short(agents[0], _LONGEST_NAME) if len(agents) == 1 else f"{len(agents)} agents"
                notes.append(f"{who} {words.brief}")
        return notes

"""What the console knows: the queue as the gate tells it, and what this console is doing about each request.

Pure bookkeeping, no Textual. Widgets show slices of it; only the app changes it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from aileron_tui.core.prompt import Prompt
from aileron_tui.core.queue import Arrived, Changed, Event, Forgotten, Lost, Queue, Request, Snapshot, apply_all
from aileron_tui.core.risk import Level
from aileron_tui.core.states import State
from aileron_tui.core.text import inline
from aileron_tui.runtime.feed import Happening
from aileron_tui.runtime.items import Item

ENDED_STAY: Final = 60.0


class Tone(StrEnum):
    """How a pill is meant."""

    QUIET = "quiet"
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Pill:
    """A few words about where a request stands."""

    words: str
    tone: Tone = Tone.QUIET


PILLS = {
    State.PENDING: Pill(""),
    State.APPROVED: Pill("running…"),
    State.RUNNING: Pill("running…"),
    State.EXECUTED: Pill("done ✓", Tone.GOOD),
    State.FAILED: Pill("failed ✗", Tone.BAD),
    State.DENIED: Pill("denied"),
    State.EXPIRED: Pill("nobody answered", Tone.WARN),
    State.WITHDRAWN: Pill("withdrawn"),
    State.INTERRUPTED: Pill("interrupted: outcome unknown", Tone.WARN),
}


@dataclass(slots=True)
class Board:
    """The requests in the order of asking, what is marked, what is filtered, and which one is looked at."""

    queue: Queue = field(default_factory=Queue)
    items: dict[str, Item] = field(default_factory=dict)
    marked: set[str] = field(default_factory=set)
    answered_here: set[str] = field(default_factory=set)
    filter: str = ""
    chosen: str = ""
    last_event: int = 0
    _pills: dict[str, Pill] = field(default_factory=dict)
    _visible: list[str] | None = None
    _ended_at: dict[str, float] = field(default_factory=dict)
    _words: dict[str, tuple[Prompt, str]] = field(default_factory=dict)

    def hear(self, happenings: Iterable[Happening]) -> list[str]:
        """Takes in what the gate told; returns the ids of requests that are new."""
        before = self.queue.requests.keys()
        events: list[Event] = []
        for happening in happenings:
            self.last_event = happening.id or self.last_event
            for item in happening.items:
                self._keep(item)
            if happening.name == "snapshot":
                events.append(Snapshot(tuple(item.request for item in happening.items)))
            elif happening.name == "pending":
                events.extend(Arrived(item.request) for item in happening.items)
            elif happening.name == "updated":
                events.extend(
                    Arrived(item.request) if item.state.decidable else Changed(item.id, item.state, item.reason)
                    for item in happening.items
                )
        self.queue = apply_all(self.queue, events)
        self._visible = None
        new = [id_ for id_ in self.queue.requests.keys() - before if self.queue.requests[id_].state.decidable]
        if not self.chosen or self.chosen not in self.queue.requests:
            waiting = self.visible
            self.chosen = waiting[0] if waiting else ""
        return new

    def lose(self, since: str) -> None:
        """The gate cannot be heard."""
        self.queue = apply_all(self.queue, [Lost(since)])

    def say(self, id_: str, words: str, tone: Tone = Tone.QUIET) -> None:
        """What this console is doing about a request; "" for nothing any more."""
        if words:
            self._pills[id_] = Pill(words, tone)
        else:
            self._pills.pop(id_, None)

    def pill(self, id_: str) -> Pill:
        """Where a request stands: what we do about it, else what the gate says."""
        request = self.queue.requests.get(id_)
        if id_ in self._pills and (request is None or request.state.decidable):
            return self._pills[id_]
        if request is None:
            return Pill("gone")
        pill = PILLS[request.state]
        if request.state is State.FAILED and (error := self._error(id_)):
            pill = Pill(f"{pill.words} {error}", pill.tone)
        if request.state is State.WITHDRAWN and request.note:
            return Pill("answered elsewhere" if "not seen here" in request.note else "withdrawn")
        if request.state is State.DENIED and id_ not in self.answered_here:
            return Pill("answered elsewhere: denied")
        if request.state in (State.RUNNING, State.EXECUTED) and id_ not in self.answered_here:
            return Pill(f"answered elsewhere: {pill.words}", pill.tone)
        return pill

    @property
    def visible(self) -> list[str]:
        """The ids to list, oldest first: waiting ones and those that ended while one looked on."""
        if self._visible is None:
            needle = self.filter.casefold()
            self._visible = [
                id_ for id_, request in self.queue.requests.items() if not needle or needle in self._searched(request)
            ]
        return self._visible

    def _searched(self, request: Request) -> str:
        """The words that the filter looks at, put together once for each prompt."""
        kept = self._words.get(request.id)
        if kept is None or kept[0] is not request.prompt:
            kept = self._words[request.id] = (request.prompt, _words(request.prompt))
        return kept[1]

    def narrow(self, text: str) -> None:
        """Shows only requests that contain these words."""
        self.filter = text
        self._visible = None

    def move(self, step: int) -> None:
        """Looks at another request. Nothing else moves the choice."""
        ids = self.visible
        if not ids:
            return
        at = ids.index(self.chosen) if self.chosen in ids else -1
        self.chosen = ids[max(0, min(len(ids) - 1, at + step))]

    def dismiss_ended(self, now: float) -> bool:
        """Clears requests that ended a while ago from the list, except the one that is looked at."""
        ended: list[Forgotten] = []
        for id_, request in self.queue.requests.items():
            if not request.state.decidable and now - self._ended_at.setdefault(id_, now) > ENDED_STAY:
                ended.append(Forgotten(id_))
        ended = [gone for gone in ended if gone.id != self.chosen]
        if not ended:
            return False
        self.queue = apply_all(self.queue, ended)
        for gone in ended:
            self.items.pop(gone.id, None)
            self._pills.pop(gone.id, None)
            self._words.pop(gone.id, None)
            del self._ended_at[gone.id]
        self._visible = None
        return True

    @property
    def item(self) -> Item | None:
        """The request that is looked at."""
        return self.items.get(self.chosen)

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return len(self.queue.waiting)

    def waits(self, id_: str) -> bool:
        """Whether a request can still be answered."""
        request = self.queue.requests.get(id_)
        return request is not None and request.state.decidable

    def risky(self, id_: str) -> bool:
        """Whether a request is of high risk."""
        item = self.items.get(id_)
        return item is not None and item.prompt.risk.level is Level.HIGH

    def _error(self, id_: str) -> str:
        item = self.items.get(id_)
        error = item.fields.get("error") if item else ""
        return inline(error) if isinstance(error, str) else ""

    def _keep(self, item: Item) -> None:
        known = self.items.get(item.id)
        if known is None or item.revision >= known.revision:
            self.items[item.id] = item


def _words(prompt: Prompt) -> str:
    rows = [*prompt.inputs, *(prompt.preview.rows if prompt.preview else ())]
    parts = [prompt.action, prompt.asker.agent, *(row.value[:500] for row in rows)]
    return inline(" ".join(parts)).casefold()

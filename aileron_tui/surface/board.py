"""What the console knows: the queue as the sources tell it, and what this console is doing about each request.

Pure bookkeeping, no Textual. Widgets show slices of it; only the app changes it. A request goes by its key, which has
the name of its source in it, so that sources cannot meddle with one another's.
"""

from collections.abc import Callable, Iterable
from dataclasses import field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from aileron_tui.core.outcomes import QUIET, SHELL, UNDER_WAY, clock
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.states import RequestState
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import clip, inline
from aileron_tui.core.waiting import Arrived, Changed, Event, Forgotten, Lost, Queue, Request, Snapshot, apply_all

if TYPE_CHECKING:
    from aileron_tui.core.prompt import Prompt
    from aileron_tui.runtime.request_reader import Item
    from aileron_tui.runtime.source_events import SourceEvent

ENDED_STAY: Final = 60.0
FETCHED_ONCE: Final = "its preview was fetched once, before it was asked"
NO_LOCK: Final = "not locked: this key has no passphrase to unlock it with"
NO_LOG: Final = "there is a log only in the demo, and where the gate runs in this window"

_LONGEST_NOTE: Final = 300
_ANSWERED: Final = frozenset({RequestState.RUNNING, RequestState.EXECUTED, RequestState.DENIED})


class Tone(StrEnum):
    """How a pill is meant."""

    QUIET = "quiet"
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Pill:
    """A few words about where a request stands; `brief` says it where there is no room for all of them."""

    words: str
    tone: Tone = Tone.QUIET
    brief: str = ""

    @property
    def short(self) -> str:
        """As few words as there are."""
        return self.brief or self.words


PILLS = {
    RequestState.PENDING: Pill(""),
    RequestState.APPROVED: Pill("running…"),
    RequestState.RUNNING: Pill("running…"),
    RequestState.EXECUTED: Pill("done ✓", Tone.GOOD),
    RequestState.FAILED: Pill("failed ✗", Tone.BAD),
    RequestState.DENIED: Pill("denied"),
    RequestState.EXPIRED: Pill("nobody answered", Tone.WARN),
    RequestState.WITHDRAWN: Pill("withdrawn"),
    RequestState.INTERRUPTED: Pill("interrupted: outcome unknown", Tone.WARN, "interrupted"),
}


# A shell gets its answer from the daemon and tells nobody what came of it.
_ALLOWED = Pill("allowed ✓, its end is not told", brief="allowed ✓")


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class Board:
    """The requests in the order of asking, what is marked, what is filtered, and which one is looked at."""

    now: Callable[[], datetime] = _now
    queue: Queue = field(default_factory=Queue)
    items: "dict[str, Item]" = field(default_factory=dict)
    marked: set[str] = field(default_factory=set)
    answered_here: set[str] = field(default_factory=set)
    filter: str = ""
    chosen: str = ""
    heard: bool = False
    _unread: dict[str, int] = field(default_factory=dict)
    _pills: dict[str, Pill] = field(default_factory=dict)
    _visible: list[str] | None = None
    _ended_at: dict[str, float] = field(default_factory=dict)
    _looked_at: Queue | None = None
    _counted: tuple[Queue | None, int] = (None, 0)
    _words: "dict[str, tuple[Prompt, str]]" = field(default_factory=dict)
    _since: dict[str, datetime] = field(default_factory=dict)
    _quiet: set[str] = field(default_factory=set)
    _edited: "dict[str, Item]" = field(default_factory=dict)

    def hear(self, happenings: Iterable["SourceEvent"]) -> list[str]:
        """Takes in what the sources told; returns the keys of requests that wait and did not before."""
        self.heard = True
        before = self.queue.requests
        waits: dict[str, bool] = {}
        events: list[Event] = []
        for happening in happenings:
            items = [item for item in happening.items if item.source == happening.source]
            for item in items:
                known = before.get(item.key)
                waited = waits.get(item.key, known is None or known.state.decidable)
                waits[item.key] = item.state.decidable
                if not item.state.decidable:
                    self._since[item.key] = self.now()
                elif item.reason or happening.name == "pending" or (item.daemon and not waited):
                    self._waits_after_all(item.key)
                self._keep(item)
            if happening.name == "unreadable":
                count = happening.data.get("count")
                self._unread[happening.source] = count if isinstance(count, int) else 1
            elif happening.name == "snapshot":
                self._unread.pop(happening.source, None)
                certain = any(item.daemon for item in items)
                events.append(Snapshot(tuple(item.request for item in items), happening.source, certain))
            elif happening.name == "pending":
                events.extend(Arrived(item.request, item.daemon) for item in items)
            elif happening.name == "updated":
                events.extend(map(_update, items))
        self.queue = apply_all(self.queue, events)
        self._visible = None
        self.marked = {key for key in self.marked if self.waits(key)}
        new = [key for key in waits if self.waits(key) and not (key in before and before[key].state.decidable)]
        if not self.chosen or self.chosen not in self.queue.requests:
            waiting = self.visible
            self.chosen = waiting[0] if waiting else ""
        return new

    def lose(self, since: str, source: str = "") -> None:
        """A source cannot be heard."""
        self.queue = apply_all(self.queue, [Lost(since, source)])

    def say(self, key: str, words: str, tone: Tone = Tone.QUIET, *, brief: str = "") -> None:
        """What this console is doing about a request; "" for nothing any more."""
        if words:
            self._pills[key] = Pill(words, tone, brief)
        else:
            self._pills.pop(key, None)

    def pill(self, key: str) -> Pill:
        """Where a request stands: what we do about it, else what its source says."""
        request = self.queue.requests.get(key)
        if key in self._pills and (request is None or request.state.decidable):
            return self._pills[key]
        if request is None:
            return Pill("gone")
        if request.state in UNDER_WAY and request.note:
            return Pill(clip(inline(request.note), _LONGEST_NOTE), Tone.WARN)
        pill, item = self._under_way(key) if request.state in UNDER_WAY else PILLS[request.state], self.items.get(key)
        if item is not None and item.edited_from and not request.state.decidable:
            pill = Pill(f"{pill.words} (edited)", pill.tone, f"{pill.short} (edited)")
        if request.state is RequestState.FAILED and (error := self._error(key)):
            pill = Pill(f"{pill.words} {error}", pill.tone, pill.words)
        if request.unseen:
            return Pill("no longer waits")
        ours = key in self.answered_here or key in self._pills  # our answer may be told of before it is replied to
        if request.state in _ANSWERED and not ours:
            return Pill(f"answered elsewhere: {pill.words}", pill.tone, f"elsewhere: {pill.short}")
        return pill

    def _under_way(self, key: str) -> Pill:
        """What there is to say between an approval and an end, of which a daemon may never tell."""
        item = self.items.get(key)
        if item is None or not item.daemon:
            return PILLS[RequestState.RUNNING]
        if item.prompt.kind == SHELL:
            return _ALLOWED
        since, now = self._since.get(key), self.now()
        if since is None or now - since <= QUIET:
            return PILLS[RequestState.RUNNING]
        return Pill(f"approved, no news since {clock(since, now)}", brief="approved, no news")

    def _is_under_way(self, key: str) -> bool:
        request = self.queue.requests.get(key)
        return request is not None and request.state in UNDER_WAY

    def fell_quiet(self) -> bool:
        """Whether a request has become one of which nothing more is heard, since the last time this was asked."""
        now = self.now()
        quiet = {key for key, since in self._since.items() if now - since > QUIET and self._is_under_way(key)}
        fresh = quiet - self._quiet
        self._quiet = quiet
        return bool(fresh)

    def remark(self, key: str) -> Pill:
        """What there is to say about a request: its pill, else what its source says of it while it waits."""
        pill, request = self.pill(key), self.queue.requests.get(key)
        if pill.words or request is None or not request.note:
            return pill
        return Pill(clip(inline(request.note), _LONGEST_NOTE), Tone.WARN)

    @property
    def visible(self) -> list[str]:
        """The keys to list, oldest first: waiting ones and those that ended while one looked on."""
        if self._visible is None:
            needle = self.filter.casefold()
            self._visible = [
                key for key, request in self.queue.requests.items() if not needle or needle in self._searched(request)
            ]
        return self._visible

    def _searched(self, request: Request) -> str:
        """The words that the filter looks at, put together once for each prompt."""
        kept = self._words.get(request.id)
        if kept is None or kept[0] is not request.prompt:
            kept = self._words[request.id] = (request.prompt, _words(request))
        return kept[1]

    def narrow(self, text: str) -> None:
        """Shows only requests that contain these words."""
        self.filter = text
        self._visible = None

    def move(self, step: int) -> None:
        """Looks at another request. Nothing else moves the choice."""
        keys = self.visible
        if not keys:
            return
        at = keys.index(self.chosen) if self.chosen in keys else -1
        self.chosen = keys[max(0, min(len(keys) - 1, at + step))]

    def dismiss_ended(self, now: float) -> bool:
        """Clears requests that ended a while ago from the list, except the one that is looked at."""
        if self._looked_at is not self.queue:
            over = [key for key, request in self.queue.requests.items() if not request.state.decidable]
            self._ended_at = {key: self._ended_at.get(key, now) for key in over}
            self._looked_at = self.queue
        gone = [key for key, at in self._ended_at.items() if now - at > ENDED_STAY and key != self.chosen]
        if not gone:
            return False
        self.queue = apply_all(self.queue, [Forgotten(key) for key in gone])
        for key in gone:
            self.items.pop(key, None)
            self._pills.pop(key, None)
            self._words.pop(key, None)
            self._since.pop(key, None)
            self._edited.pop(key, None)
        self._visible = None
        return True

    @property
    def item(self) -> "Item | None":
        """The request that is looked at."""
        return self.items.get(self.chosen)

    @property
    def waiting(self) -> int:
        """How many requests wait; counted once for each queue."""
        if self._counted[0] is not self.queue:
            self._counted = self.queue, len(self.queue.waiting)
        return self._counted[1]

    @property
    def unread(self) -> int:
        """How many requests wait that cannot be shown, because they cannot be read."""
        return sum(self._unread.values())

    def waits(self, key: str) -> bool:
        """Whether a request can still be answered."""
        request = self.queue.requests.get(key)
        return request is not None and request.state.decidable

    def risky(self, key: str) -> bool:
        """Whether a request is of high risk."""
        item = self.items.get(key)
        return item is not None and item.prompt.risk.level is RiskLevel.HIGH

    def _error(self, key: str) -> str:
        item = self.items.get(key)
        error = item.fields.get("error") if item else ""
        return clip(inline(error), _LONGEST_NOTE) if isinstance(error, str) else ""

    def _keep(self, item: "Item") -> None:
        known = self.items.get(item.key)
        if known is None or (item.source == known.source and item.revision >= known.revision):
            self.items[item.key] = self._as_approved(item)

    def approved_edited(self, item: "Item") -> None:
        """An edited call was approved: it is what is shown from now on, also before its source tells of it."""
        self._edited[item.key] = item
        if (known := self.items.get(item.key)) is not None:
            self.items[item.key] = self._as_approved(known)

    def _as_approved(self, item: "Item") -> "Item":
        """A request with the edited call that was approved here, if its source does not tell of that itself."""
        edited = self._edited.get(item.key)
        if edited is None or item.edited_from is not None:
            return item
        return replace(edited, state=item.state, reason=item.reason, revision=item.revision, fields=item.fields)

    def _waits_after_all(self, key: str) -> None:
        """A source says that a request waits: an answer of ours that was thought taken did not arrive."""
        self._since.pop(key, None)
        self._ended_at.pop(key, None)
        self._edited.pop(key, None)
        if key in self.answered_here:
            self.answered_here.discard(key)
            self._pills.pop(key, None)


def _update(item: "Item") -> Event:
    if item.state.decidable:
        return Arrived(item.request, item.daemon)
    # The reason that goes with an answer says nothing about how it is carried out.
    answered = item.state in UNDER_WAY and item.fields.get("reason") == item.reason
    return Changed(item.key, item.state, "" if answered else item.reason, item.source, item.revision)


def _words(request: Request) -> str:
    prompt = request.prompt
    rows = [*prompt.inputs, *(prompt.preview.rows if prompt.preview else ())]
    parts = [prompt.action, prompt.asker.agent, request.source, *(row.value[:500] for row in rows)]
    return inline(" ".join(parts)).casefold()

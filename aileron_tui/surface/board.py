"""What a surface knows: the requests its sources report, and what it is doing about each of them.

Widgets show slices of the board; only the app changes it. A request is identified by its key, which contains the name
of its source, so that no source can affect another's requests.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from aileron_tui.core.call_kinds import NOT_RUN_HERE
from aileron_tui.core.outcomes import QUIET, UNDER_WAY
from aileron_tui.core.request import Request
from aileron_tui.core.request_queue import (
    Arrived,
    Changed,
    EditApproved,
    Forgotten,
    Lost,
    Queue,
    QueueEvent,
    Snapshot,
    apply_all,
)
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.state_words import STATE_WORDS
from aileron_tui.core.states import RequestState
from aileron_tui.core.surface_words import FirstAnswer, answer_words, brief_place, reading_words
from aileron_tui.core.time_words import local_time
from aileron_tui.core.times import utc_now
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline, short
from aileron_tui.surface.other_surfaces import OtherSurfaces
from aileron_tui.surface.read_prompts import ReadPrompts
from aileron_tui.surface.request_rows import RequestRows

if TYPE_CHECKING:
    from aileron_tui.core.prompt import Prompt
    from aileron_tui.runtime.source_events import SourceEvent

ENDED_SHOWN_SECONDS: Final = 60.0

_LONGEST_NOTE: Final = 300
_ANSWERED: Final = frozenset(
    {RequestState.RUNNING, RequestState.HANDED_OVER, RequestState.EXECUTED, RequestState.DENIED}
)


class Tone(StrEnum):
    """The tone of a status message."""

    QUIET = "quiet"
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Pill:
    """A few words about the state of a request; `brief` is for places with little room."""

    words: str
    tone: Tone = Tone.QUIET
    brief: str = ""

    @property
    def short(self) -> str:
        """The shortest form."""
        return self.brief or self.words


_TONES: Final = {
    RequestState.EXECUTED: Tone.GOOD,
    RequestState.FAILED: Tone.BAD,
    RequestState.EXPIRED: Tone.WARN,
    RequestState.INTERRUPTED: Tone.WARN,
    RequestState.UNKNOWN: Tone.WARN,
}
_PILLS: Final = {
    state: Pill(words.full_status, _TONES.get(state, Tone.QUIET), words.status if words.detail else "")
    for state, words in STATE_WORDS.items()
} | {RequestState.PENDING: Pill("")}

_NO_EFFECT: Final = Pill("no effect: nobody was waiting for the answer", Tone.WARN, "no effect")
_NOT_FETCHED: Final = Pill("approved, waiting for its program", brief="approved")
_ALLOWED_WITHOUT_END = Pill("allowed ✓, outcome not reported", brief="allowed ✓")


@dataclass(slots=True)
class Board:
    """The requests in the order they were asked; which are marked, which are listed, and which one is selected.

    `answered_here` has the digest of each prompt that was answered here, by the key of its request.
    """

    now: Callable[[], datetime] = utc_now
    queue: Queue = field(default_factory=Queue)
    marked: set[str] = field(default_factory=set)
    answered_here: dict[str, str] = field(default_factory=dict)
    read_prompts: ReadPrompts = field(default_factory=ReadPrompts)
    others: OtherSurfaces = field(default_factory=OtherSurfaces)
    filter: str = ""
    selected: str = ""
    has_reports: bool = False
    _unreadable: dict[str, int] = field(default_factory=dict)
    _pills: dict[str, Pill] = field(default_factory=dict)
    _listed: list[str] | None = None
    _rows: RequestRows = field(default_factory=RequestRows)
    _ended_at: dict[str, float] = field(default_factory=dict)
    _ended_in: Queue | None = None
    _counted: tuple[Queue | None, int] = (None, 0)
    _counted_listed: tuple[Queue | None, str, int] = (None, "", 0)
    _searchable: "dict[str, tuple[Prompt, str]]" = field(default_factory=dict)
    _approved_since: dict[str, datetime] = field(default_factory=dict)
    _silent: set[str] = field(default_factory=set)
    _approved_edits: dict[str, Request] = field(default_factory=dict)

    @property
    def requests(self) -> Mapping[str, Request]:
        """Every request by key: those that wait, and those that ended a moment ago."""
        return self.queue.requests

    def receive(self, source_events: Iterable["SourceEvent"]) -> list[str]:
        """Applies what the sources reported; returns the keys of requests that wait now and did not before."""
        self.has_reports = True
        source_events = tuple(source_events)
        self.others.receive(source_events)
        before = self.requests
        waits: dict[str, bool] = {}
        events: list[QueueEvent] = []
        for source_event in source_events:
            requests = []
            for request in source_event.requests:
                if request.source != source_event.source:
                    continue
                key, known = request.key, before.get(request.key)
                waited = waits.get(key, known is None or known.state.decidable)
                waits[key] = request.state.decidable
                if not request.state.decidable:
                    self._approved_since[key] = self.now()
                elif request.reason or source_event.name == "pending" or (request.daemon and not waited):
                    self._still_waits(key)
                requests.append(self._with_approved_edit(request))
            match source_event.name:
                case "unreadable":
                    count = source_event.data.get("count")
                    self._unreadable[source_event.source] = count if isinstance(count, int) else 1
                case "snapshot":
                    self._unreadable.pop(source_event.source, None)
                    certain = any(request.daemon for request in requests)
                    events.append(Snapshot(tuple(requests), source_event.source, certain))
                case "pending":
                    events.extend(Arrived(request, request.daemon) for request in requests)
                case "updated":
                    events.extend(map(_update, requests))
        self._apply(*events)
        for key in waits.keys() - self.requests.keys():
            self._approved_since.pop(key, None)
        self.read_prompts.keep(self.requests)
        self.others.keep(self.requests)
        self.marked = {key for key in self.marked if self.is_waiting(key)}
        if self.selected not in self.requests:
            self.selected = next(iter(self.listed), "")
        return [key for key in waits if self.is_waiting(key) and not (key in before and before[key].state.decidable)]

    def source_lost(self, since: str, source: str = "") -> None:
        """A source can no longer be reached."""
        self.others.source_lost(source)
        self._apply(Lost(since, source))

    def _apply(self, *events: QueueEvent) -> None:
        before = self.requests
        self.queue = apply_all(self.queue, events)
        self._rows.note_events(events, before, self.requests)
        added = dict.fromkeys(event.request.key for event in events if isinstance(event, Arrived))
        if self._listed is None or not self._rows.is_current or len(added) < len(events) or before.keys() & added:
            self._listed = None
            self._rows.reset()
            return
        new = [key for key in added if self.is_listed(key)]  # they come last, so the rest of the list stays
        self._listed = [*self._listed, *new]
        self._rows.append(new, self.requests, self._pill_words)

    def _pill_words(self, key: str) -> str:
        return self.pill(key).words

    def set_pill(self, key: str, words: str, tone: Tone = Tone.QUIET, *, brief: str = "") -> None:
        """Shows what this surface is doing about a request."""
        self.show_pill(key, Pill(words, tone, brief))

    def show_pill(self, key: str, pill: Pill) -> bool:
        """Shows what this surface is doing about a request; returns whether that is new."""
        before, self._pills[key] = self._pills.get(key), pill
        if pill != before:
            self._rows.pill_changed(key)
        return pill != before

    def clear_pill(self, key: str) -> None:
        """This surface is no longer doing anything about a request."""
        self._pills.pop(key, None)
        self._rows.pill_changed(key)

    def pill(self, key: str) -> Pill:
        """The state of a request: what this surface is doing about it, else what its source reports."""
        request = self.requests.get(key)
        if key in self._pills and (request is None or request.state.decidable):
            return self._pills[key]
        if request is None:
            return Pill("gone")
        under_way = request.state in UNDER_WAY
        if under_way and request.reason:
            return Pill(short(request.reason, _LONGEST_NOTE), Tone.WARN)
        pill = self._under_way(request) if under_way else _PILLS[request.state]
        if request.edited_from and not request.state.decidable:
            pill = Pill(f"{pill.words} (edited)", pill.tone, f"{pill.short} (edited)")
        if request.state is RequestState.FAILED and (error := _error(request)):
            pill = Pill(f"{pill.words} {error}", pill.tone, pill.words)
        elif request.state is RequestState.EXECUTED and (error := _error(request)):
            pill = Pill(f"{pill.words} {error}", Tone.WARN, pill.words)
        elif request.state is RequestState.UNKNOWN and (error := _error(request)):
            pill = _NO_EFFECT if request.abandoned else Pill(f"{pill.words}: {error}", pill.tone, pill.words)
        if request.vanished:
            return Pill("no longer waiting")
        if request.fields.get("rule") and not request.daemon and request.state in _ANSWERED:
            verb = "denied" if request.state is RequestState.DENIED else "allowed"
            outcome = "" if verb == "denied" else f": {pill.words}"
            return Pill(f"{verb} by a rule{outcome}", pill.tone, f"{verb} by a rule")
        if (first := self.others.first(key)) and not request.state.decidable and not self._is_ours(request):
            return _answered_elsewhere(request, first, pill)
        if request.state in _ANSWERED and not self._is_ours(request):
            denied_because = request.state is RequestState.DENIED and short(request.reason, _LONGEST_NOTE)
            words = f"answered elsewhere: {pill.words}{f': {denied_because}' if denied_because else ''}"
            return Pill(words, pill.tone, f"elsewhere: {pill.short}")
        return pill

    def reading_elsewhere(self, key: str) -> tuple[str, ...]:
        """Who is reading a request of this row at other surfaces, from the longest form to the shortest."""
        waiting = (one for one in self.row(key) if self.is_waiting(one))
        return reading_words(next(filter(None, map(self.others.readers, waiting)), ()))

    def _is_ours(self, request: Request) -> bool:
        """Whether the answer to exactly this prompt was given here."""
        answered = self.answered_here.get(request.key)
        if answered is None:
            return request.key in self._pills  # the event may arrive before the reply to our answer
        return answered == request.digest

    def _under_way(self, request: Request) -> Pill:
        """The state between an approval and its outcome, which a daemon may never report."""
        if not request.daemon:
            return approved_pill(request)
        if not request.reports_end:
            return _ALLOWED_WITHOUT_END
        since, now = self._approved_since.get(request.key), self.now()
        if since is None or now - since <= QUIET:
            return _PILLS[RequestState.RUNNING]
        return Pill(f"approved, no news since {local_time(since, now)}", brief="approved, no news")

    def newly_silent(self) -> bool:
        """Whether another approved request has gone too long without news since the last call."""
        now = self.now()
        silent = {
            key
            for key, since in self._approved_since.items()
            if now - since > QUIET and key in self.requests and self.requests[key].state in UNDER_WAY
        }
        newly = silent - self._silent
        self._silent = silent
        return bool(newly)

    def remark(self, key: str) -> Pill:
        """The pill of a request, else what its source says about it while it waits."""
        pill, request = self.pill(key), self.requests.get(key)
        if pill.words or request is None or not request.reason:
            return pill
        return Pill(short(request.reason, _LONGEST_NOTE), Tone.WARN)

    @property
    def listed(self) -> list[str]:
        """The keys that match the filter, oldest first: waiting requests and those that ended a moment ago."""
        if self._listed is None:
            wanted = self.filter.casefold()
            self._listed = [
                key for key, request in self.requests.items() if not wanted or wanted in self._searchable_text(request)
            ]
        return self._listed

    @property
    def rows(self) -> list[str]:
        """The first request of each row. Identical requests that were asked one after another share a row."""
        return self._rows.compute(self.listed, self.requests, self._pill_words)

    def row_key(self, key: str) -> str:
        """The first request of the row that a request is in."""
        return self._rows.first(key) if self.rows else key

    def row(self, key: str) -> tuple[str, ...]:
        """All requests in the row of this one."""
        return self._rows.all(key) if self.rows else (key,)

    def open_row(self, key: str, *, opened: bool) -> bool:
        """Gives identical requests a row each, or one row again; returns whether that changed anything."""
        return self._rows.open(key, opened=opened)

    def is_listed(self, key: str) -> bool:
        """Whether the filter lists a request."""
        request, wanted = self.requests.get(key), self.filter.casefold()
        return request is not None and (not wanted or wanted in self._searchable_text(request))

    def was_read(self, request: Request) -> bool:
        """Whether everything that must be read of exactly this prompt has been on screen."""
        return self.read_prompts.contains(request, self.now())

    def record_read(self, request: Request) -> None:
        """Records that everything that must be read of this prompt has been on screen."""
        self.read_prompts.record(request, self.now())

    def _searchable_text(self, request: Request) -> str:
        """The text the filter searches, built once for each prompt."""
        kept = self._searchable.get(request.key)
        if kept is None or kept[0] is not request.prompt:
            kept = self._searchable[request.key] = (request.prompt, _searchable_text(request))
        return kept[1]

    def set_filter(self, text: str) -> None:
        """Lists only requests that contain this text."""
        self.filter = text
        self._listed = None
        self._rows.reset()

    def move(self, step: int) -> None:
        """Selects another request. Nothing else moves the selection."""
        keys, selected = self.rows, self.row_key(self.selected)
        if not keys:
            return
        at = keys.index(selected) if selected in keys else -1
        self.selected = keys[max(0, min(len(keys) - 1, at + step))]

    def remove_ended(self, now: float) -> bool:
        """Removes requests that ended a while ago from the list, except the selected one."""
        if self._ended_in is not self.queue:
            ended = [key for key, request in self.requests.items() if not request.state.decidable]
            self._ended_at = {key: self._ended_at.get(key, now) for key in ended}
            self._ended_in = self.queue
        gone = [key for key, at in self._ended_at.items() if now - at > ENDED_SHOWN_SECONDS and key != self.selected]
        if not gone:
            return False
        self._apply(*map(Forgotten, gone))
        for key in gone:
            self._pills.pop(key, None)
            self._searchable.pop(key, None)
            self._approved_since.pop(key, None)
            self._approved_edits.pop(key, None)
            self.answered_here.pop(key, None)
        self.read_prompts.keep(self.requests)
        self.others.keep(self.requests)
        return True

    @property
    def current(self) -> Request | None:
        """The selected request."""
        return self.requests.get(self.selected)

    @property
    def waiting_count(self) -> int:
        """How many requests wait; counted once for each queue."""
        if self._counted[0] is not self.queue:
            self._counted = self.queue, len(self.queue.waiting)
        return self._counted[1]

    @property
    def listed_waiting_count(self) -> int:
        """How many waiting requests the filter lists; counted once for each queue and filter."""
        if not self.filter:
            return self.waiting_count
        if self.waiting_count == len(self.requests):
            return len(self.listed)
        if self._counted_listed[0] is not self.queue or self._counted_listed[1] != self.filter:
            self._counted_listed = self.queue, self.filter, sum(map(self.is_waiting, self.listed))
        return self._counted_listed[2]

    @property
    def unreadable_count(self) -> int:
        """How many waiting requests cannot be read, and so cannot be shown."""
        return sum(self._unreadable.values())

    def is_waiting(self, key: str) -> bool:
        """Whether a request can still be answered."""
        request = self.requests.get(key)
        return request is not None and request.state.decidable

    def is_high_risk(self, key: str) -> bool:
        """Whether a request is high risk."""
        request = self.requests.get(key)
        return request is not None and request.prompt.risk.level is RiskLevel.HIGH

    def record_answer(self, request: Request) -> None:
        """The source accepted an answer that was given here to exactly this prompt."""
        self.answered_here[request.key] = request.digest
        self._rows.pill_changed(request.key)

    def record_approved_edit(self, request: Request) -> None:
        """An edited call was approved here. Shows it from now on, even before its source reports it."""
        self._approved_edits[request.key] = request
        if (known := self.requests.get(request.key)) is not None:
            self._apply(EditApproved(self._with_approved_edit(known)))

    def _with_approved_edit(self, request: Request) -> Request:
        """The request with the edited call that was approved here, if its source does not report the edit itself."""
        edited = self._approved_edits.get(request.key)
        if edited is None or edited.edited_from is None or request.edited_from is not None:
            return request
        if request.digest not in (edited.digest, edited.edited_from.digest):
            return request  # not the call that was edited
        return replace(
            edited, state=request.state, reason=request.reason, revision=request.revision, fields=request.fields
        )

    def _still_waits(self, key: str) -> None:
        """A source reports that a request waits, so an answer that seemed to be accepted did not arrive."""
        self._approved_since.pop(key, None)
        self._ended_at.pop(key, None)
        self._approved_edits.pop(key, None)
        if key in self.answered_here:
            del self.answered_here[key]
            self._pills.pop(key, None)
            self._rows.pill_changed(key)


def approved_pill(request: Request) -> Pill:
    """What is shown once an approval is accepted. The gate does not run a tool call: its program fetches the answer."""
    waits_for_program = request.prompt.kind in NOT_RUN_HERE and not request.daemon
    return _NOT_FETCHED if waits_for_program else _PILLS[RequestState.RUNNING]


def _answered_elsewhere(request: Request, first: FirstAnswer, pill: Pill) -> Pill:
    """Who was first, and what became of the request since."""
    who, where = answer_words(first), brief_place(first.surface)
    if request.state is RequestState.DENIED:
        reason = short(request.reason, _LONGEST_NOTE)
        return Pill(f"{who}: {reason}" if reason else who, pill.tone, f"{where}: denied")
    if pill == _NOT_FETCHED:
        return Pill(f"{who}, waiting for its program", pill.tone, f"{where}: approved")
    return Pill(f"{who}: {pill.words}", pill.tone, f"{where}: {pill.short}")


def _update(request: Request) -> QueueEvent:
    if request.state.decidable:
        return Arrived(request, request.daemon)
    # The reason given with an answer says nothing about how the call is carried out.
    if request.state in UNDER_WAY and request.reason and request.fields.get("reason") == request.reason:
        request = replace(request, reason="")
    return Changed(request)


def _error(request: Request) -> str:
    error = request.fields.get("error")
    return short(error, _LONGEST_NOTE) if isinstance(error, str) else ""


def _searchable_text(request: Request) -> str:
    prompt = request.prompt
    rows = [*prompt.inputs, *(prompt.preview.rows if prompt.preview else ())]
    parts = [prompt.action, prompt.agent, prompt.says, request.source, *(row.value for row in rows)]
    return inline(" ".join(part[:500] for part in parts)).casefold()

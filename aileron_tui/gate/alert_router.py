"""Alerts people to waiting requests: the first surface that is there, and the next ones if nobody reacts.

One task does it for all requests, in rounds. A round handles what is due, however much that is: surfaces are told in
one event for many requests, and channels group what they send. What goes wrong in a round is logged and reported, and
the requests it was about are looked at again. `core/alert_routing.py` decides; this carries it out and records it.
"""

import asyncio
import heapq
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from aileron_tui.core.alert_routing import (
    ATTACHED,
    NEVER,
    PROMPT,
    AlertOrder,
    AlertRoute,
    AlertStep,
    next_step,
    remaining,
)
from aileron_tui.core.alerts import AlertChannel
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline
from aileron_tui.gate.alert_announcements import AlertAnnouncements
from aileron_tui.gate.alert_channels import AlertChannels
from aileron_tui.gate.gate_request import GateRequest
from aileron_tui.gate.gate_state import GateState, log
from aileron_tui.ledger.store import EntryDraft

START_SECONDS: Final = 3.0
"""How long after its start a gate waits for surfaces to connect again before it alerts anybody else."""

_JUST_STARTED: Final = "the gate has just started"
_BATCH: Final = 100
_CLOSE_SECONDS: Final = 2.0
_MOST_STALE: Final = 1000
_MOST_UNRECORDED: Final = 10_000
_RETRY_SECONDS: Final = 5.0


@dataclass(slots=True, eq=False)
class _Routed:
    """A waiting request and its route. `first` is the first step until it is recorded; `due` is the valid due time."""

    request: GateRequest
    route: AlertRoute
    due: float = NEVER
    first: AlertStep | None = None


class AlertRouter:
    """Routes the alerts of one gate. Must only be used from its event loop."""

    def __init__(self, gate_state: GateState) -> None:
        surfaces = gate_state.setup.config.surfaces
        self._gate_state = gate_state
        self._order = AlertOrder.of(surfaces.order, surfaces.share)
        self._channels = AlertChannels((), gate_state)
        self._announcements = AlertAnnouncements(gate_state.feed.publish)
        self._unset = {name: f"no {name} is set up" for name in self._order.surfaces if name not in ATTACHED}
        self._routes: dict[str, _Routed] = {}
        self._due: list[tuple[float, str]] = []
        self._unrecorded: list[EntryDraft] = []
        self._woken = asyncio.Event()
        self._waits_until = NEVER
        self._record_at = 0.0
        self._everything = False
        self._settled_at = NEVER
        gate_state.presence.changed = self._presence_changed
        gate_state.presence.read = self._read

    def use_channels(self, channels: Iterable[AlertChannel]) -> None:
        """Sends alerts to these channels too, if the configuration does not leave them out."""
        used = [channel for channel in channels if channel.name in self._order.surfaces]
        self._channels = AlertChannels(used, self._gate_state)

    def started(self) -> None:
        """The gate is being started: its surfaces will connect again."""
        self._settled_at = self._now() + START_SECONDS

    async def close(self) -> None:
        """Records what is not recorded yet, if the ledger lets it, and takes back what the channels have sent."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._record()
        await self._channels.close()

    # what happens to requests

    def opened(self, request: GateRequest) -> None:
        """A request waits now. A surface that is there is alerted at once."""
        routed = self._routes[request.id] = _Routed(request, AlertRoute((), self._now()))
        self._first_step(routed)
        if not routed.route.alerted:
            self._look_at(routed, 0.0)

    def settled(self, id_: str) -> None:
        """A request does not wait any more."""
        if self._routes.pop(id_, None) is not None:
            self._announcements.settled(id_)
            if self._channels.settled(id_):
                self._woken.set()

    def extended(self, id_: str) -> None:
        """Somebody has extended the deadline of a request."""
        self._read(id_, self._gate_state.presence.is_read(id_))

    def shown(self, request: GateRequest) -> JsonObject:
        """What the entry about showing a request says about the first alert, if no entry has said that yet."""
        routed = self._routes.get(request.id)
        if routed is None:
            return {}
        self._first_step(routed)
        first, routed.first = routed.first, None
        if first is None:
            return {}
        return {"alerted": first.to, **({"alert_reason": first.reason} if first.reason else {})}

    def not_shown(self, requests: Iterable[GateRequest]) -> None:
        """No entry says that these requests were shown, so an entry of its own says who was alerted."""
        for request in requests:
            routed = self._routes.get(request.id)
            if routed and routed.first:
                self._note(routed, routed.first)
                routed.first = None
                self._woken.set()

    def alerted_at(self, surface: str) -> frozenset[str]:
        """The waiting requests that a surface has been alerted to."""
        return frozenset(id_ for id_, routed in self._routes.items() if surface in routed.route.alerted)

    # rounds

    async def work(self) -> None:
        """Waits until something is due or has happened, and handles it."""
        await self._wait()
        due = self._taken()
        try:
            for start in range(0, len(due), _BATCH):
                await self._handle(due[start : start + _BATCH])
                await asyncio.sleep(0)
        except BaseException:
            for routed in due:
                if routed.due == NEVER:
                    self._look_at(routed, _RETRY_SECONDS)
            raise
        await self._channels.clear_settled()
        await self._record()

    async def _wait(self) -> None:
        """Waits until the first request is due, or until something has happened."""
        first = self._due[0][0] if self._due else NEVER
        self._waits_until = min(first, self._record_at) if self._unrecorded else first
        seconds = None if self._waits_until == NEVER else self._waits_until - self._now()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        self._woken.clear()

    def _taken(self) -> list[_Routed]:
        """The requests to look at now: those that are due, or all of them if other surfaces are there than before."""
        now, taken = self._now(), list[_Routed]()
        if self._everything or len(self._due) > 2 * len(self._routes) + _MOST_STALE:
            self._due = [] if self._everything else self._live_due()
            heapq.heapify(self._due)
        if self._everything:
            self._everything, taken = False, list(self._routes.values())
        while self._due and self._due[0][0] <= now:
            due, id_ = heapq.heappop(self._due)
            routed = self._routes.get(id_)
            if routed and routed.due == due:
                taken.append(routed)
        for routed in taken:
            routed.due = NEVER
        return taken

    def _live_due(self) -> list[tuple[float, str]]:
        return [(routed.due, id_) for id_, routed in self._routes.items() if routed.due != NEVER]

    async def _handle(self, batch: Sequence[_Routed]) -> None:
        """Takes the next step of each request that has one now. The steps to one surface are taken together."""
        steps: dict[str, list[tuple[_Routed, AlertRoute, AlertStep]]] = {}
        for routed in batch:
            self._decide(routed, steps)
        for surface in self._order.surfaces:
            found = steps.pop(surface, [])
            if found and surface in self._channels and await self._channels.unavailable(surface):
                for routed, _, _ in found:
                    self._decide(routed, steps)
                continue
            taken = [routed for routed, route, step in found if self._take(routed, route, step)]
            if taken and surface in self._channels:
                await self._channels.alert(surface, [routed.request for routed in taken])
        for routed, _, _ in (one for found in steps.values() for one in found):
            self._look_at(routed, 0.0)  # a surface came back while a channel was asked

    def _decide(self, routed: _Routed, steps: dict[str, list[tuple[_Routed, AlertRoute, AlertStep]]]) -> None:
        """Adds the next step of a request to `steps`, or notes when to look at it again."""
        absent = self._absent()
        step = self._next(routed, absent)
        if isinstance(step, AlertStep):
            steps.setdefault(step.to, []).append((routed, routed.route, step))
        else:
            routed.route = remaining(routed.route, absent)
            self._look_at(routed, step)

    def _take(self, routed: _Routed, decided_on: AlertRoute, step: AlertStep) -> bool:
        """Takes a step, unless the request was answered or somebody reacted while a channel was asked."""
        if self._routes.get(routed.request.id) is not routed:
            return False
        if routed.route is not decided_on:
            self._look_at(routed, 0.0)
            return False
        if routed.first:
            self._note(routed, routed.first)
            routed.first = None
        routed.route = step.taken(routed.route, self._absent(), self._now())
        self._announcements.add(routed.request.id, step)
        self._note(routed, step)
        self._look_again(routed)
        return True

    def _first_step(self, routed: _Routed) -> None:
        """Alerts the first surface if it is one that people have open; channels are for the next round."""
        if routed.route.alerted:
            return
        absent = self._absent()
        step = self._next(routed, absent)
        if isinstance(step, AlertStep) and step.to in ATTACHED:
            routed.route, routed.first = step.taken(routed.route, absent, self._now()), step
            self._announcements.add(routed.request.id, step)
            self._look_again(routed)

    def _next(self, routed: _Routed, absent: Mapping[str, str]) -> AlertStep | float:
        now, left = self._now(), self._gate_state.seconds_left(routed.request)
        step = next_step(self._order, routed.route, absent, now, left)
        if isinstance(step, AlertStep):
            return step
        if now < self._settled_at < NEVER:
            step = min(step, self._settled_at - now)
        return min(step, self._channels.recheck_seconds(routed.route.alerted))

    def _look_again(self, routed: _Routed) -> None:
        step = self._next(routed, self._absent())
        self._look_at(routed, 0.0 if isinstance(step, AlertStep) else step)

    def _look_at(self, routed: _Routed, seconds: float) -> None:
        """Looks at a request again after some time."""
        if seconds == NEVER:
            routed.due = NEVER
            return
        routed.due = self._now() + seconds
        heapq.heappush(self._due, (routed.due, routed.request.id))
        if routed.due < self._waits_until:
            self._woken.set()

    def _absent(self) -> Mapping[str, str]:
        """Why nobody can be alerted, for each surface where nobody can."""
        absent = {**self._unset, **self._gate_state.presence.absent}
        for name in self._channels:
            absent[name] = self._channels.absence(name)
        if self._now() < self._settled_at < NEVER:
            absent |= {name: _JUST_STARTED for name in self._order.surfaces if name == PROMPT or name not in ATTACHED}
        return absent

    def _presence_changed(self) -> None:
        self._everything = True
        self._woken.set()

    def _read(self, id_: str, is_read: bool) -> None:
        if routed := self._routes.get(id_):
            routed.route = routed.route.reacted(self._now(), is_read=is_read)
            if routed.route.alerted:
                self._look_again(routed)

    # the ledger

    def _note(self, routed: _Routed, step: AlertStep) -> None:
        body: JsonObject = {"from": step.before, "to": step.to, "reason": step.reason}
        self._unrecorded.append(EntryDraft(EntryKind.FELL_BACK, body, routed.request.id))

    async def _record(self) -> None:
        """Records the steps, many with one commit. What cannot be recorded now is tried again."""
        while self._unrecorded:
            batch = self._unrecorded[:_BATCH]
            try:
                await self._gate_state.recorder.record(*batch)
            except AileronError as error:
                log.error("it could not be recorded who was alerted: %s", inline(str(error)))
                self._record_at = self._now() + _RETRY_SECONDS
                del self._unrecorded[:-_MOST_UNRECORDED]
                return
            del self._unrecorded[: len(batch)]

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

"""Alerts people to the requests of daemons and of opencode, which alert nobody themselves.

`core/alert_routing.py` decides, as in a gate. Here the surfaces are this console and the channels: a daemon has no page
and no prompt. Each step is recorded in our own ledger of the daemon.
"""

import asyncio
import heapq
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from aileron_tui.core.alert_routing import (
    CONSOLE,
    NEVER,
    PAGE,
    PROMPT,
    AlertOrder,
    AlertRoute,
    AlertStep,
    absence,
    next_step,
    remaining,
)
from aileron_tui.core.alerts import Alert, AlertChannel
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.times import utc_now
from aileron_tui.core.values import dataclass
from aileron_tui.surface.arming import elapsed
from aileron_tui.surface.operator_presence import PresenceReport
from aileron_tui.surface.source import LeavesAlerts
from aileron_tui.surface.source_listener import ConnectionState

if TYPE_CHECKING:
    from aileron_tui.console.announcer import Announcer
    from aileron_tui.console.port import ConsolePort
    from aileron_tui.core.request import Request
    from aileron_tui.runtime.source_events import SourceEvent
    from aileron_tui.surface.held_approval import Stoppable
    from aileron_tui.surface.source import Source

MakeChannels: TypeAlias = Callable[[Callable[[str], Coroutine[Any, Any, None]]], Sequence[AlertChannel]]
"""Makes the channels; gets the function that denies a request from a notification."""

_NO_DEADLINE: Final = 300.0
_SHORTEST_FOR_REMINDER: Final = 20.0
_TRUST_SECONDS: Final = 5.0
_RECHECK_SECONDS: Final = 30.0
_CALL_SECONDS: Final = 10.0
_BUSY_SECONDS: Final = 5.0
_JUST_AFTER: Final = 0.02
_SUMMARY_WIDTH: Final = 160
_NAME_WIDTH: Final = 60
_DENIED: Final = "denied in a notification"
_NO_PROMPT: Final = "a daemon has no prompt"

_log: Final = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Routed:
    """A waiting request and its route. `due` is when to look at it again, `remind_at` when to announce it again."""

    key: str
    route: AlertRoute
    due: float = NEVER
    remind_at: float = NEVER


@dataclass(slots=True, eq=False)
class _Known:
    """A channel, and why it could not be used when it was asked last."""

    channel: AlertChannel
    why: str = ""
    asked_at: float = -NEVER
    is_asked: bool = False


class DaemonAlerts:
    """The alerts of one console. Used only from its event loop, except for `first_alert`."""

    def __init__(
        self,
        port: "ConsolePort",
        announcer: "Announcer",
        deny: "Callable[[Request, str], None]",
        order: AlertOrder | None = None,
        channels: MakeChannels | None = None,
    ) -> None:
        self._port = port
        self._announcer = announcer
        self._deny = deny
        order = order or AlertOrder()
        self._order = replace(order, surfaces=tuple(name for name in order.surfaces if name != PAGE))
        self._make_channels = channels
        self._channels: dict[str, _Known] | None = None
        self._presence = PresenceReport()
        self._routes: dict[str, _Routed] = {}
        self._due: list[tuple[float, str]] = []
        self._timer: tuple[float, Stoppable] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._unrecorded: dict[str, list[tuple[str, AlertStep]]] = {}
        self._first = self._first_fields()

    # what happens

    def first_alert(self) -> JsonObject:
        """What the ledger says about the first alert to a request that arrives now. May be called in any thread."""
        return self._first

    def connected(self, source: "Source") -> None:
        """In a listener's thread: a source was connected to."""
        if isinstance(source, LeavesAlerts):
            source.first_alert = self.first_alert

    def presence_changed(self, presence: PresenceReport) -> None:
        """Somebody came to this console, left it, or reads another request."""
        before, self._presence = self._presence, presence
        self._first = self._first_fields()
        if before.reading != presence.reading:
            self._reacted(before.reading, is_read=False)
            self._reacted(presence.reading, is_read=True)
        if before.awake is not presence.awake:
            self._look_at(self._routes.values(), 0.0)

    def receive(self, events: "Sequence[SourceEvent]", new: Iterable[str]) -> None:
        """Notes what sources reported; `new` has the requests that wait now and did not before."""
        board = self._port.board
        for key in new:
            if (request := board.requests[key]).daemon:
                self._add(key, request)
        if not self._routes:
            return
        for event in events:
            keys = self._routes if event.name == "snapshot" else (request.key for request in event.requests)
            for key in [key for key in keys if key in self._routes and not board.is_waiting(key)]:
                self._settle(key)
        self._work()

    def _add(self, key: str, request: "Request") -> None:
        now = elapsed()
        left = self._seconds_left(request)
        remind_at = now + left / 2 if request.expires_at and left > _SHORTEST_FOR_REMINDER else NEVER
        routed = self._routes[key] = _Routed(key, AlertRoute((), now), remind_at=remind_at)
        self._look_at([routed], 0.0)

    def _settle(self, key: str) -> None:
        del self._routes[key]
        for known in (self._channels or {}).values():
            self._start(known.channel.clear(key))

    def _reacted(self, key: str, *, is_read: bool) -> None:
        if routed := self._routes.get(key):
            routed.route = routed.route.reacted(elapsed(), is_read=is_read)
            self._look_at([routed], 0.0)

    async def close(self) -> None:
        """Takes back what the channels have sent."""
        known, self._channels = self._channels or {}, {}
        for one in known.values():
            await self._called(one.channel.close())

    # steps

    def _look_at(self, routes: Iterable[_Routed], seconds: float) -> None:
        at = elapsed() + seconds
        for routed in routes:
            routed.due = at
            if (soonest := min(at, routed.remind_at)) < NEVER:
                heapq.heappush(self._due, (soonest, routed.key))
        self._schedule()

    def _schedule(self) -> None:
        if not self._due or (self._timer and self._timer[0] <= self._due[0][0]):
            return
        if self._timer:
            self._timer[1].stop()
        at = self._due[0][0]
        self._timer = None
        if at < NEVER:
            seconds = max(0.0, at - elapsed()) + _JUST_AFTER
            self._timer = at, self._port.call_after(seconds, self._time_over)

    def _time_over(self) -> None:
        self._timer = None
        self._work()

    def _work(self) -> None:
        """Takes the steps that are due. What this console is alerted to is announced together."""
        now, count = elapsed(), 0
        while self._due and self._due[0][0] <= now:
            routed = self._routes.get(heapq.heappop(self._due)[1])
            if routed is None:
                continue
            if routed.remind_at <= now:
                routed.remind_at = NEVER
                count += CONSOLE in routed.route.alerted
                self._look_at([routed], routed.due - elapsed())
            if routed.due <= now:
                routed.due = NEVER
                count += self._decide(routed)
        self._announcer.announce(count)
        self._record()
        self._schedule()

    def _decide(self, routed: _Routed) -> bool:
        """Takes the next step of a request, or notes when to look again; returns whether this console is alerted."""
        request = self._port.board.requests.get(routed.key)
        if request is None or self._port.statuses[request.source].state is not ConnectionState.LIVE:
            return False  # the next snapshot says whether it still waits
        if self._port.board.pill(routed.key).words:
            self._look_at([routed], _BUSY_SECONDS)  # it is being answered here
            return False
        absent, now = self._absent(), elapsed()
        step = next_step(self._order, routed.route, absent, now, self._seconds_left(request))
        if not isinstance(step, AlertStep):
            routed.route = remaining(routed.route, absent)
            self._look_at([routed], min(step, self._recheck_seconds()))
            return False
        known = self._known.get(step.to)
        if known and now - known.asked_at > _TRUST_SECONDS:
            self._ask(known)
            self._look_at([routed], _CALL_SECONDS)  # sooner if it answers sooner
            return False
        routed.route = step.taken(routed.route, absent, now)
        self._unrecorded.setdefault(request.source, []).append((request.id, step))
        self._look_at([routed], 0.0)
        if known:
            self._announcer.alerts.alerted_elsewhere(routed.key)
            self._start(known.channel.alert(self._alert(request)))
        return step.to == CONSOLE and self._announcer.alerts.alerted_here(routed.key, self._port.board.requests)

    def _absent(self) -> Mapping[str, str]:
        """Why nobody can be alerted, for each surface where nobody can."""
        now = elapsed()
        absent = {name: f"no {name} is set up" for name in self._order.surfaces if name not in self._known}
        absent |= {CONSOLE: "" if self._presence.awake else absence(CONSOLE, is_open=True), PROMPT: _NO_PROMPT}
        for name, known in self._known.items():
            absent[name] = known.why if now - known.asked_at < _RECHECK_SECONDS else ""
        return absent

    def _first_fields(self) -> JsonObject:
        """The fields of a first alert to this console. A channel must be asked first whether it can be used."""
        is_first = self._order.surfaces[0] == CONSOLE and self._presence.awake
        return {"alerted": CONSOLE} if is_first else {}

    @staticmethod
    def _seconds_left(request: "Request") -> float:
        return request.seconds_left(utc_now()) if request.expires_at else _NO_DEADLINE

    def _record(self) -> None:
        unrecorded, self._unrecorded = self._unrecorded, {}
        for name, steps in unrecorded.items():
            self._port.run_blocking("alerts", name, partial(self._record_steps, name, steps))

    def _record_steps(self, name: str, steps: list[tuple[str, AlertStep]]) -> None:
        """In a thread: records who was alerted."""
        source: object = self._port.source(name)
        if not isinstance(source, LeavesAlerts):
            return
        try:
            for id_, step in steps:
                source.record_alert(id_, before=step.before, to=step.to, reason=step.reason)
        except AileronError as error:
            _log.warning("it could not be recorded who was alerted: %s", error)

    # channels

    @property
    def _known(self) -> dict[str, _Known]:
        """The channels, which are made when the first request of a daemon arrives."""
        if self._channels is None:
            made = self._make_channels(self._deny_by_key) if self._make_channels else ()
            self._channels = {one.name: _Known(one) for one in made if one.name in self._order.surfaces}
        return self._channels

    def _recheck_seconds(self) -> float:
        asked = [known.asked_at for known in self._known.values() if known.why]
        return max(0.0, min(asked) + _RECHECK_SECONDS - elapsed()) if asked else NEVER

    def _ask(self, known: _Known) -> None:
        if not known.is_asked:
            known.is_asked = True
            self._start(self._asked(known))

    async def _asked(self, known: _Known) -> None:
        try:
            async with asyncio.timeout(_CALL_SECONDS):
                known.why = await known.channel.unavailable()
        except Exception as error:  # noqa: BLE001  # a channel must not stop the others
            known.why = f"it failed: {type(error).__name__}"
        known.is_asked, known.asked_at = False, elapsed()
        self._look_at(self._routes.values(), 0.0)

    def _start(self, work: "Coroutine[Any, Any, None]") -> None:
        task = asyncio.get_running_loop().create_task(self._called(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @staticmethod
    async def _called(work: "Coroutine[Any, Any, None]") -> None:
        try:
            async with asyncio.timeout(2 * _CALL_SECONDS):
                await work
        except Exception as error:  # noqa: BLE001  # a channel must not stop the console
            _log.warning("a channel failed: %s", type(error).__name__)

    async def _deny_by_key(self, key: str) -> None:
        """Denies a request from its notification, signed as any answer of this console."""
        request = self._port.board.requests.get(key)
        if request and request.state.decidable and not self._port.answer_problem(request):
            self._deny(request, _DENIED)

    def _alert(self, request: "Request") -> Alert:
        from aileron_tui.core.summary import summary, summary_line  # noqa: PLC0415  # few requests get this far
        from aileron_tui.core.visible_text import clip, inline  # noqa: PLC0415

        prompt = request.prompt
        return Alert(
            request.key,
            summary_line(summary(prompt), _SUMMARY_WIDTH),
            clip(inline(prompt.agent or prompt.says), _NAME_WIDTH),
            prompt.risk.level,
            request.expires_at,
            self._port.board.waiting_count,
            "",
            clip(inline(prompt.action), _NAME_WIDTH),
        )

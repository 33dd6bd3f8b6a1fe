"""Tells gates whether somebody is at the console and which request they read. Never blocks, and never too often."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.request import request_key
from aileron_tui.runtime.errors import Rejected
from aileron_tui.surface.arming import elapsed
from aileron_tui.surface.operator_presence import OperatorPresence, PresenceReport
from aileron_tui.surface.source import TakesPresence
from aileron_tui.surface.source_listener import ConnectionState

if TYPE_CHECKING:
    from aileron_tui.console.port import ConsolePort
    from aileron_tui.surface.held_approval import Stoppable

_PAUSE: Final = 1.0
_PAUSE_AFTER_FAILURE: Final = 10.0
_JUST_AFTER: Final = 0.05
_TEMPORARY: Final = frozenset({401, 408, 429})
_UNTOLD: Final = PresenceReport()
"""What a gate assumes about a console that has connected and said nothing."""


class PresenceReporter:
    """Sends a report to a gate when it differs from the last one, at most one a second.

    A gate that does not take reports is not asked again until the next connection. `is_covered` says whether a screen
    that is not about the request hides it, and `changed` is called when the report changes, whoever is told.
    """

    def __init__(
        self,
        port: "ConsolePort",
        presence: OperatorPresence,
        is_covered: Callable[[], bool],
        changed: Callable[[PresenceReport], None],
        clock: Callable[[], float] = elapsed,
    ) -> None:
        self._port = port
        self._presence = presence
        self._is_covered = is_covered
        self._changed = changed
        self._last = _UNTOLD
        self._clock = clock
        self._told: dict[str, PresenceReport] = {}
        self._being_sent: dict[str, PresenceReport] = {}
        self._not_before: dict[str, float] = {}
        self._without_route: set[str] = set()
        self._timer: tuple[float, Stoppable] | None = None

    def connected(self, name: str) -> None:
        """A new connection to a source was made, so it knows nothing."""
        self._told[name] = _UNTOLD
        self._without_route.discard(name)
        self._not_before.pop(name, None)
        self.update()

    def update(self) -> None:
        """Sends what has changed. Cheap, so it may be called for every key."""
        report, now = self._presence.report(locked=self._cannot_answer), self._clock()
        if report.reading and self._is_covered():
            report = report._replace(reading="")
        if report != self._last:
            self._last = report
            self._changed(report)
        waits = [self._presence.seconds_until_change()]
        for name, status in self._port.statuses.items():
            if status.state is not ConnectionState.LIVE or name in self._without_route or name in self._being_sent:
                continue
            own = report._replace(reading=self._id_at(name, report.reading))
            if own == self._told.get(name, _UNTOLD):
                continue
            if (wait := self._not_before.get(name, 0.0) - now) > 0:
                waits.append(wait)
            else:
                self._send(name, own)
        self._update_after(min((wait for wait in waits if wait is not None), default=None))

    @property
    def _cannot_answer(self) -> bool:
        return self._port.is_locked or self._port.read_only

    def _id_at(self, name: str, key: str) -> str:
        """The id of a request at this source, "" if it is one of another."""
        request = self._port.board.requests.get(key)
        return request.id if request is not None and request.source == name and request.state.decidable else ""

    def _update_after(self, seconds: float | None) -> None:
        """Calls `update` then. A timer that fires sooner stays, because it will start the next one."""
        if seconds is None:
            return
        at = self._clock() + seconds
        if self._timer is not None and self._timer[0] <= at + _JUST_AFTER:
            return
        if self._timer is not None:
            self._timer[1].stop()
        self._timer = at, self._port.call_after(seconds + _JUST_AFTER, self._time_over)

    def _time_over(self) -> None:
        self._timer = None
        self.update()

    def _send(self, name: str, report: PresenceReport) -> None:
        self._being_sent[name] = report
        self._not_before[name] = self._clock() + _PAUSE
        self._note_own()
        self._port.run_blocking("presence", name, partial(self._tell, name, report))

    def _tell(self, name: str, report: PresenceReport) -> None:
        """In a thread: sends a report."""
        source: object = self._port.source(name)
        taken, has_route = False, source is None or isinstance(source, TakesPresence)
        try:
            if isinstance(source, TakesPresence):
                source.report_presence(awake=report.awake, reading=report.reading)
                taken = True
        except Rejected as error:
            has_route = error.status in _TEMPORARY or error.status >= 500
        except AileronError:
            pass  # if the connection is lost, its status says so
        finally:
            self._port.report(self._sent, name, report, taken, has_route)

    def _sent(self, name: str, report: PresenceReport, taken: bool, has_route: bool) -> None:
        self._being_sent.pop(name, None)
        if taken:
            self._told[name] = report
        elif has_route:
            self._not_before[name] = self._clock() + _PAUSE_AFTER_FAILURE
        else:
            self._without_route.add(name)
        self._note_own()
        self.update()

    def _note_own(self) -> None:
        """Notes which requests a gate lists as read because this console said so."""
        told = (*self._told.items(), *self._being_sent.items())
        self._port.board.others.own = {request_key(name, report.reading) for name, report in told if report.reading}

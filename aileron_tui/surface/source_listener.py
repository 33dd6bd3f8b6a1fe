"""Listens to one source in its own thread, and reconnects when the connection is lost."""

import random
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.values import dataclass
from aileron_tui.runtime.errors import NoGate, NoReply, NotAllowed
from aileron_tui.surface.source import OperatorKey, Source, SourceSpec

if TYPE_CHECKING:
    from aileron_tui.runtime.source_events import SourceEvent
    from aileron_tui.signing.key_store import UnlockedKey

_LONGEST_REASON: Final = 1000
_LONGEST_FULL_TEXT: Final = 120
_LOCKED: Final = "unlock the console to reconnect"
_CLOSED: Final = "the connection was closed"


class ConnectionState(StrEnum):
    """The state of the connection to a source. STALE means that it was live and was lost."""

    CONNECTING = "connecting"
    LIVE = "live"
    STALE = "stale"
    OFFLINE = "offline"


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """The connection status of a source: when the connection was lost, and why. The reasons are foreign text.

    `problem` is why a connected source cannot do its work, as it says itself.
    """

    state: ConnectionState = ConnectionState.CONNECTING
    since: str = ""
    why: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class SourceLost:
    """The connection to a source was lost; `refused` means that the source rejected our key or token.

    `error` is None if the source closed the connection normally. `final` means that the listener gave up.
    """

    since: str
    why: str
    refused: bool = False
    error: AileronError | None = None
    final: bool = False


@dataclass(frozen=True, slots=True)
class Reconnecting:
    """How a listener reconnects: pauses in seconds, which grow from `shortest` to `longest`.

    With `tries` it gives up after that many failures in a row, after an error that another try would not fix, and when
    the source closes the connection. With `resume` it asks only for events after the last one it received.
    """

    shortest: float = 0.3
    longest: float = 8.0
    tries: int | None = None
    resume: bool = False


FOREVER: Final = Reconnecting()


class SourceListener:
    """Listens to one source. Events wait in order until they are taken; `on_report` is called from the thread."""

    def __init__(
        self,
        spec: SourceSpec,
        key: OperatorKey,
        on_report: Callable[[], None],
        reconnecting: Reconnecting | None = None,
        connected: Callable[[Source], None] | None = None,
    ) -> None:
        """`connected` is called from the thread with each new connection, before anything is read from it."""
        self.name = spec.name
        self._connected = connected
        self.kind = spec.kind
        self.status = SourceStatus()
        self.source: Source | None = None
        self._connect = spec.connect
        self._key = key
        self._on_report = on_report
        self._reconnecting = reconnecting or FOREVER
        self._last_event = 0
        self._failures = 0
        self._stop = threading.Event()
        self._reports: deque[SourceEvent | SourceLost] = deque()
        # A daemon thread: a read that never returns must not keep the program alive.
        self._thread = threading.Thread(target=self._listen, name=f"listener {self.name}".rstrip(), daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stops listening and closes the connection."""
        self._stop.set()
        self.disconnect()

    def take_events(self) -> "list[SourceEvent]":
        """The events since the last call; afterwards `status` is up to date."""
        return [report for report in self.take_reports() if not isinstance(report, SourceLost)]

    def take_reports(self) -> "Iterator[SourceEvent | SourceLost]":
        """The events and lost connections since the last call, in order."""
        while self._reports:
            report = self._reports.popleft()
            self.status = _status_after(self.status, report)
            yield report

    def _listen(self) -> None:
        pause = self._reconnecting.shortest
        while not self._stop.is_set():
            if (key := self._key.key) is None:
                pause = self._reconnecting.shortest  # reconnect soon after unlocking
            elif self._listen_once(key):
                return
            elif self._failures == 1:
                pause = self._reconnecting.shortest
            self._stop.wait(pause * random.uniform(0.7, 1.3))  # noqa: S311  # spreads reconnects, no secret
            pause = min(self._reconnecting.longest, pause * 1.6)

    def _listen_once(self, key: "UnlockedKey") -> bool:
        """Receives events until the connection is lost; returns whether to give up."""
        tries = self._reconnecting.tries
        final = tries is not None
        try:
            self._receive(key)
        except AileronError as error:
            self._failures += 1
            if isinstance(error, (NoReply, NoGate)) and self._failures != tries:
                final = False
            self._report_lost(_brief(error), error, final=final)
        except Exception as error:  # noqa: BLE001  # a source that failed must not look live
            self._failures += 1
            fault = AileronError("cannot listen to the source", f"{type(error).__name__}: {error}")
            self._report_lost(str(fault), fault, final=final)
        else:
            self._failures += 1
            self._report_lost(_CLOSED, final=final)
        finally:
            self.disconnect()
        return final

    def _receive(self, key: "UnlockedKey") -> None:
        self.source = self._connect(key)
        if self._connected is not None:
            self._connected(self.source)
        for event in self.source.watch(self._last_event if self._reconnecting.resume else 0):
            if self._stop.is_set():
                return
            self._failures = 0
            if event is not None:
                self._last_event = event.id
                self._report(self._named(event))

    def _named(self, event: "SourceEvent") -> "SourceEvent":
        """The event with the operator's name for this source, whatever name the source gives itself."""
        name = self.name
        if event.source == name and all(request.source == name for request in event.requests):
            return event
        return replace(event, source=name, requests=tuple(replace(request, source=name) for request in event.requests))

    def _report_lost(self, why: str, error: AileronError | None = None, *, final: bool = False) -> None:
        if not self._stop.is_set():
            if self._key.key is None:
                why = f"{why}; {_LOCKED}"
            refused = isinstance(error, NotAllowed)
            since = f"{datetime.now().astimezone():%H:%M:%S}"
            self._report(SourceLost(since, why[:_LONGEST_REASON], refused, error, final))

    def _report(self, report: "SourceEvent | SourceLost") -> None:
        self._reports.append(report)
        self._on_report()

    def disconnect(self) -> None:
        """Closes the connection; a new one is made as soon as there is a key."""
        source, self.source = self.source, None
        if source is not None:
            with suppress(AileronError, RuntimeError):
                source.close()


def _brief(error: AileronError) -> str:
    """The error in a line or two; `doctor` prints all of it."""
    text = str(error)
    return text if not error.detail or len(text) <= _LONGEST_FULL_TEXT else f"{error.title}; run doctor"


def _status_after(before: SourceStatus, report: "SourceEvent | SourceLost") -> SourceStatus:
    if not isinstance(report, SourceLost):
        problem = before.problem if report.problem is None else report.problem[:_LONGEST_REASON]
        after = SourceStatus(ConnectionState.LIVE, problem=problem)
        return before if after == before else after
    known = before.state in (ConnectionState.LIVE, ConnectionState.STALE)
    state = ConnectionState.STALE if known and not report.refused else ConnectionState.OFFLINE
    return SourceStatus(state, before.since or report.since, report.why)

"""A source that lists its waiting requests, reports changes as events, and is answered by request id.

`watch` runs in the caller's thread, and only that thread applies lists and events to the tracker. Two other threads
send it messages: one reads events, the other polls for what the source does not report.
"""

import logging
import queue
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol, Self

from aileron_tui.core.decision import Statement, Verdict, read_statement
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from aileron_tui.core.values import dataclass
from aileron_tui.ledger.errors import LedgerError
from aileron_tui.runtime.daemon.answer_lock import AnswerLock
from aileron_tui.runtime.daemon.answer_sender import AnswerSender, without_effect
from aileron_tui.runtime.daemon.daemon_ledger import DaemonLedger
from aileron_tui.runtime.daemon.event_reader import EventReader
from aileron_tui.runtime.daemon.list_reader import MOST_WAITING
from aileron_tui.runtime.daemon.listed_client import DaemonResult, ListedClient
from aileron_tui.runtime.daemon.poller import FetchedList, FetchedResult, Poller
from aileron_tui.runtime.daemon.tracker import Tracker
from aileron_tui.runtime.errors import NoGate, NoReply, NotFound, RuntimeFault
from aileron_tui.runtime.no_rules import NoRules
from aileron_tui.runtime.source_events import SourceEvent
from aileron_tui.runtime.sse import SseFrame
from aileron_tui.signing.approvers import Approver
from aileron_tui.signing.envelope import Envelope
from aileron_tui.signing.key_store import UnlockedKey

LOOKUPS_AT_ONCE: Final = 20

_log: Final = logging.getLogger(__name__)


class RequestLister(Protocol):
    """Reads the requests in the source's lists and events."""

    def read_all(self, values: Iterable[Json]) -> tuple[list[Request], int]:
        """The requests that can be read, and the number of those that cannot."""

    def find(self, values: Iterable[Json], id_: str) -> Request | None:
        """The request with this id, or None if it is not listed."""


@dataclass(frozen=True, slots=True)
class _AnswerOutcome:
    """The outcome of an answer given here: the source accepted it, or somebody else answered first."""

    id: str
    result: DaemonResult


Message = SseFrame | FetchedList | FetchedResult | _AnswerOutcome | RuntimeFault | None


class ListedSource(NoRules, ABC):
    """One connection to one source. `folder` holds our own ledger of it; `tracker` comes from an earlier connection.

    `make_reader` makes the reader of requests; it gets a function that returns the head of the ledger.
    """

    def __init__(  # noqa: PLR0913  # everything that describes a source
        self,
        client: ListedClient,
        key: UnlockedKey,
        folder: Path,
        make_reader: "Callable[[Callable[[], str]], RequestLister]",
        *,
        name: str,
        instance: str,
        surface: str,
        tracker: Tracker,
        list_every: float,
        clock: Callable[[], datetime],
        check_again: Callable[[Request], None] | None = None,
    ) -> None:
        self.name = name
        self.instance = instance
        self.first_alert: Callable[[], JsonObject] = dict
        self._surface = surface
        self._tracker = tracker
        self._inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._stream_opened_at = 0
        self._unreadable_count = 0
        self._maybe_waiting: set[str] = set()
        self._postponed: set[str] = set()
        self._closed = False
        self._last_list: dict[str, Request] = {}
        self._listed_client = client
        self._ledger = DaemonLedger(folder, key, clock=clock)
        self._reader = make_reader(lambda: self._ledger.head)
        self._event_reader = EventReader(client, self._inbox.put, self._inbox.qsize)
        self._poller = Poller(client, self._tracker.tick, self._inbox.put, list_every)
        self._answer_sender = AnswerSender(
            client,
            self._ledger,
            self._tracker,
            key,
            AnswerLock(folder),
            surface=surface,
            clock=clock,
            report=lambda id_, result: self._inbox.put(_AnswerOutcome(id_, result)),
            follow=self._poller.follow,
            check_again=check_again,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection and the ledger."""
        if self._closed:
            return
        self._closed = True
        self._inbox.put(NoReply("the connection was closed"))
        self._event_reader.close()
        self._poller.close()
        self._listed_client.close()
        self._ledger.close()

    # requests

    def waiting(self) -> tuple[Request, ...]:
        """The waiting requests, oldest first. Records them as shown."""
        requests, _ = self._reader.read_all(self._listed_client.waiting())
        self._ledger.record_requests(requests, self._surface)
        self._last_list = {request.id: request for request in requests}
        return tuple(requests)

    def item(self, id_: str) -> Request:
        """One request in its current state."""
        if request := self._reader.find(self._listed_client.waiting(), id_):
            self._ledger.record_requests([request], self._surface)
            return request
        result = self._without_effect(id_, self._result(id_))
        known = self._tracker.find(id_) or self._last_list.get(id_)
        if known is None:
            raise NotFound(404, {}, peer=self._listed_client.peer)
        with suppress(LedgerError):  # the outcome is valid even if it cannot be recorded
            self._record_end(id_, result)
        fields = known.fields | {"error": result.error} if result.error else known.fields
        return replace(known, state=result.state, reason=result.note or result.reason, fields=fields)

    @abstractmethod
    def _result(self, id_: str) -> DaemonResult:
        """The state of a request that is not listed; raises NotFound if the source does not know it."""

    def extend(self, request: Request) -> Request:
        """Fails, because the deadlines of such a source cannot be changed."""
        raise AileronError("the deadline was not extended", request.why_not_extendable)

    def watch(self, after: int = 0) -> Iterator[SourceEvent | None]:
        """Yields every change as it happens; raises when the connection is lost. `after` is ignored."""
        del after
        asked_at = self._tracker.tick()
        yield from self._contained(self._apply_first_list(FetchedList(self._listed_client.waiting(), asked_at)))
        for id_, request in tuple(self._tracker.stopped_waiting.items()):
            if not request.state.final:
                self._poller.follow(id_)
        self._stream_opened_at = self._tracker.tick()
        self._event_reader.start()
        self._poller.start()
        while True:
            message = self._inbox.get()
            if isinstance(message, RuntimeFault):
                raise message
            yield from self._contained(self._apply(message))

    def _apply(self, message: Message) -> Iterator[SourceEvent | None]:
        match message:
            case None:
                yield None
            case SseFrame():
                yield from self._apply_event(message)
            case FetchedList():
                yield from self._apply_list(message)
            case FetchedResult(id_, result):
                if id_ not in self._answer_sender.in_flight:  # otherwise the answer sender handles it
                    yield from self._apply_result(id_, result)
            case _AnswerOutcome(id_, result):
                yield from self._apply_end(id_, result)

    def _contained(self, events: Iterator[SourceEvent | None]) -> Iterator[SourceEvent | None]:
        """The events that a message causes. One that cannot be applied counts as unreadable, and the watch goes on."""
        try:
            applied = list(events)
        except AileronError:
            raise
        except Exception as error:  # noqa: BLE001  # no message from a source may end the watch
            _log.warning("a message from a source was ignored: %.500r", f"{type(error).__name__}: {error}")
            yield self._snapshot_event()
            yield from self._unreadable_event(1)
        else:
            yield from applied

    # messages, processed in the caller's thread

    def _apply_first_list(self, listed: FetchedList) -> Iterator[SourceEvent]:
        """Applies the first list of a connection, after reporting the outcome of requests that are no longer listed."""
        requests, unreadable = self._reader.read_all(listed.items)
        _, vanished = self._tracker.apply_list(requests, listed.asked_at)
        self._postponed = self._ledger.record_requests(requests, self._surface, self.first_alert())
        for request in vanished[:LOOKUPS_AT_ONCE]:
            with suppress(RuntimeFault):  # its outcome is looked up later
                yield from self._apply_result(request.id, self._listed_client.outcome(request.id))
        yield self._snapshot_event()
        yield from self._unreadable_event(unreadable)

    def _apply_list(self, listed: FetchedList) -> Iterator[SourceEvent]:
        requests, unreadable = self._reader.read_all(listed.items)
        stopped = set(self._tracker.stopped_waiting)
        arrived, vanished = self._tracker.apply_list(requests, listed.asked_at)
        waiting = self._tracker.waiting
        postponed = [waiting[id_] for id_ in self._postponed if id_ in waiting]
        self._postponed = self._ledger.record_requests([*postponed, *arrived], self._surface, self.first_alert())
        lost, self._maybe_waiting = self._maybe_waiting - self._tracker.waiting.keys(), set()
        if lost or any(request.id in stopped for request in arrived):
            yield self._snapshot_event()  # an arrival event does not bring back a request that ended
        else:
            yield from map(self._arrival_event, arrived)
        for request in vanished:
            if request.id not in self._answer_sender.in_flight:
                self._poller.follow(request.id)
        yield from self._unreadable_event(unreadable)

    @abstractmethod
    def _apply_event(self, frame: SseFrame) -> Iterator[SourceEvent | None]:
        """The events that follow from one event of the source."""

    def _apply_arrival(self, value: Json) -> Iterator[SourceEvent]:
        requests, unreadable = self._reader.read_all([value])
        for request in requests:
            if len(self._tracker.waiting) >= MOST_WAITING:
                unreadable += 1
            elif self._tracker.apply_arrival(request):
                self._postponed |= self._ledger.record_requests([request], self._surface, self.first_alert())
                yield self._arrival_event(request)
            elif (known := self._tracker.waiting.get(request.id)) and known.digest != request.digest:
                unreadable += 1  # the id was used for two different requests: the list decides
        if unreadable:
            self._poller.list_soon()

    def _apply_end(self, id_: str, result: DaemonResult) -> Iterator[SourceEvent]:
        self._tracker.apply_answer(id_)
        yield from self._apply_result(id_, result)
        if not result.state.final:
            self._poller.follow(id_)

    def _apply_result(self, id_: str, result: DaemonResult) -> Iterator[SourceEvent]:
        if result.state is RequestState.PENDING:
            if id_ in self._tracker.stopped_waiting:
                # It is still waiting, or can no longer be read: the next list shows which.
                self._maybe_waiting.add(id_)
                self._poller.list_soon()
            return
        result = self._without_effect(id_, result)
        own = self._answer_sender.is_own_outcome(id_, result)
        elsewhere = self._answer_sender.is_answered_elsewhere(id_, result)
        if result.state is RequestState.WITHDRAWN and (own or self._tracker.is_unconfirmed(id_)):
            result = replace(result, state=RequestState.INTERRUPTED)  # we answered it, and its outcome is unknown
        # The reason given with an approval says nothing about how the call runs.
        reason = "" if result.state is RequestState.RUNNING else result.reason
        request = self._tracker.apply_state(id_, result.state, result.note or reason, result.error)
        if request is not None:
            self._record_report(id_, result, elsewhere=elsewhere)
            yield SourceEvent(0, "updated", request.fields | {"state": request.state}, (request,), self.name)

    def _without_effect(self, id_: str, result: DaemonResult) -> DaemonResult:
        """The result. If nobody is left to run an approved call, the daemon would report it as running forever."""
        known = self._tracker.find(id_) or self._last_list.get(id_)
        return without_effect(result) if known is not None and known.abandoned else result

    def _snapshot_event(self) -> SourceEvent:
        self._unreadable_count = 0
        waiting = tuple(self._tracker.waiting.values())
        return SourceEvent(0, "snapshot", {"items": [request.fields for request in waiting]}, waiting, self.name)

    def _arrival_event(self, request: Request) -> SourceEvent:
        return SourceEvent(0, "pending", request.fields, (request,), self.name)

    def _unreadable_event(self, unreadable: int) -> Iterator[SourceEvent]:
        if unreadable != self._unreadable_count:
            self._unreadable_count = unreadable
            yield SourceEvent(0, "unreadable", {"count": unreadable}, (), self.name)

    # answers and history

    def statement(
        self, request: Request, verdict: Verdict, *, reason: str = "", edits: JsonObject | None = None
    ) -> Statement:
        """What is to be signed to answer exactly what the request shows."""
        return self._answer_sender.statement(request, verdict, reason, edits)

    def _decide(self, request: Request, verdict: Verdict, reason: str, edits: JsonObject | None) -> RequestState:
        """Sends a decision on exactly what the request shows, once. If it fails, looks up the state before raising."""
        return self._sent(lambda: self._answer_sender.decide(request, verdict, reason, edits))

    def decide_signed(self, request: Request, envelope: Envelope, approver: Approver) -> RequestState:
        """Sends a decision that another key has signed, once. If it fails, looks up the state before raising."""
        signed = read_statement(envelope.payload)
        self._check_answer(request, signed.verdict, signed.edits)
        return self._sent(lambda: self._answer_sender.decide_signed(request, envelope, approver))

    @abstractmethod
    def _check_answer(self, request: Request, verdict: Verdict, edits: JsonObject | None) -> None:
        """Raises if this answer cannot be sent any more."""

    def _sent(self, send: Callable[[], RequestState]) -> RequestState:
        try:
            return send()
        except NoGate as fault:
            self._inbox.put(fault)  # nobody listens any more, even if the stream is still open
            raise

    def _record_end(self, id_: str, result: DaemonResult) -> None:
        if result.state.final:
            elsewhere = self._answer_sender.is_answered_elsewhere(id_, result)
            self._record_report(id_, result, elsewhere=elsewhere)

    def _record_report(self, id_: str, result: DaemonResult, *, elsewhere: bool) -> None:
        self._ledger.record_report(
            id_,
            result.state,
            elsewhere=elsewhere,
            decided_here=id_ in self._tracker.own_answers,
            reason=result.reason,
            error=result.error,
        )

    def record_alert(self, id_: str, *, before: str, to: str, reason: str) -> None:
        """Records that a surface was alerted to a request after another one, unless that is already recorded."""
        self._ledger.record_alert(id_, before=before, to=to, reason=reason)

    def past(self, id_: str) -> JsonObject:
        """Everything our ledger has about one request."""
        found = self._ledger.past(id_)
        if found is None:
            raise NotFound(404, {}, peer="ledger")
        return found

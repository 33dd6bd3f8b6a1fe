"""The requests of one daemon, assembled from lists and events that may be late, repeated or missing.

The daemon's list is authoritative, but it takes time to arrive: an event that arrives after the list was requested is
newer. So the tracker counts events (ticks) and remembers, for each request, the tick of the last event about it.
"""

from collections.abc import Iterable
from dataclasses import field, replace
from typing import Final

from aileron_tui.core.decision import Verdict
from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from aileron_tui.core.values import dataclass

REMEMBERED: Final = 4096
"""How many requests that stopped waiting are remembered, so that a late event does not bring them back."""


@dataclass(slots=True)
class OwnAnswer:
    """This console's answer to one request. It is not tied to a connection: it may arrive after a reconnect.

    `taken` is the verdict that the daemon took, `unconfirmed` that of an answer that was sent without a reply.
    `edited` is the edited request, if that is what was approved.
    """

    taken: Verdict | None = None
    unconfirmed: Verdict | None = None
    edited: Request | None = None


@dataclass(slots=True)
class Tracker:
    """Tracks requests across connections, so that those that end while the daemon is unreachable are not forgotten.

    `waiting` has the waiting requests. `stopped_waiting` has those that stopped waiting recently; their state is
    PENDING until the daemon reports what happened to them. `own_answers` has every request for which a decision was
    recorded here, whether or not the daemon took it.
    """

    waiting: dict[str, Request] = field(default_factory=dict)
    stopped_waiting: dict[str, Request] = field(default_factory=dict)
    own_answers: dict[str, OwnAnswer] = field(default_factory=dict)
    _tick: int = 0
    _last_event: dict[str, int] = field(default_factory=dict)

    def tick(self) -> int:
        """The number of events so far. Save it before requesting a list, and pass it to `apply_list`."""
        return self._tick

    def apply_list(self, requests: Iterable[Request], asked_at: int) -> tuple[list[Request], list[Request]]:
        """Applies a list that was requested at a tick; returns the new or changed requests, and those that vanished."""
        listed = {request.id: request for request in requests}
        arrived: list[Request] = []
        for id_, request in listed.items():
            if self._last_event.get(id_, -1) > asked_at and id_ not in self.waiting:
                continue  # it ended while the list was on its way
            known = self.waiting.get(id_)
            if known is None or known.digest != request.digest:
                arrived.append(request)
            if known is None:
                self._count_event(id_)
            self._add_waiting(request)
        vanished = [
            request
            for id_, request in self.waiting.items()
            if id_ not in listed and self._last_event.get(id_, -1) <= asked_at
        ]
        for request in vanished:
            self._count_event(request.id)
            self._stop_waiting(request)
        return arrived, vanished

    def apply_arrival(self, request: Request) -> bool:
        """Applies the arrival of a request; returns whether it is new."""
        if request.id in self.waiting or request.id in self.stopped_waiting or request.id in self._last_event:
            return False  # the event was repeated, or came after the answer
        self._count_event(request.id)
        self._add_waiting(request)
        return True

    def apply_change(self, request: Request) -> None:
        """Applies a change of what a waiting request shows."""
        if request.id in self.waiting:
            self._add_waiting(request)

    def apply_answer(self, id_: str) -> Request | None:
        """Applies an answer that somebody gave to a request; returns the request if it was waiting."""
        self._count_event(id_)
        request = self.waiting.get(id_)
        if request is not None:
            self._stop_waiting(request)
        return request

    def apply_state(self, id_: str, state: RequestState, reason: str = "", error: str = "") -> Request | None:
        """Applies the state of a request that stopped waiting; returns the request, or None if nothing changed."""
        request = self.stopped_waiting.get(id_)
        if request is None or (request.state.final and not state.final):
            return None
        fields = request.fields | {"error": error} if error else request.fields
        answer = self.own_answers.get(id_)
        approved = answer.edited if answer and answer.taken else None
        after = replace(approved or request, state=state, reason=reason, fields=fields)
        if (after.state, after.reason, after.fields) == (request.state, request.reason, request.fields):
            return None
        self.stopped_waiting[id_] = after
        return after

    def find(self, id_: str) -> Request | None:
        """A request that is waiting or was waiting recently."""
        return self.waiting.get(id_) or self.stopped_waiting.get(id_)

    # answers of this console

    def answer_recorded(self, id_: str, edited: Request | None) -> None:
        """Notes that a decision was recorded here; `edited` is the edited request that it approves, if any."""
        self._own_answer(id_).edited = edited

    def answer_unconfirmed(self, id_: str, verdict: Verdict) -> None:
        """Notes that our answer was sent without a reply, so it may or may not have arrived."""
        self._own_answer(id_).unconfirmed = verdict

    def answer_rejected(self, id_: str) -> None:
        """Notes that the daemon replied to our answer and did not take it, so it will not take effect later."""
        self._own_answer(id_).unconfirmed = None

    def answer_taken(self, id_: str, verdict: Verdict) -> None:
        """Notes that the daemon took our answer."""
        answer = self._own_answer(id_)
        answer.taken, answer.unconfirmed = verdict, None

    def is_unconfirmed(self, id_: str) -> bool:
        """Whether an answer of ours may have arrived without a reply, or may still arrive."""
        answer = self.own_answers.get(id_)
        return answer is not None and answer.unconfirmed is not None

    def _own_answer(self, id_: str) -> OwnAnswer:
        return self.own_answers.setdefault(id_, OwnAnswer())

    def _add_waiting(self, request: Request) -> None:
        answer, known = self.own_answers.get(request.id), self.find(request.id)
        if answer is not None and known is not None:
            asked = known.edited_from or known.prompt
            if (asked.digest, known.instance) != (request.digest, request.instance):
                del self.own_answers[request.id]  # the id means another call now
            elif request.id not in self.waiting:
                answer.taken = None  # it waits again, so the answer that was taken is lost
        self.stopped_waiting.pop(request.id, None)
        self.waiting[request.id] = request

    def _stop_waiting(self, request: Request) -> None:
        del self.waiting[request.id]
        self.stopped_waiting[request.id] = request
        while len(self.stopped_waiting) > REMEMBERED:
            oldest = next(iter(self.stopped_waiting))
            del self.stopped_waiting[oldest]
            self.own_answers.pop(oldest, None)

    def _count_event(self, id_: str) -> None:
        self._tick += 1
        self._last_event.pop(id_, None)
        self._last_event[id_] = self._tick
        if len(self._last_event) > 2 * (REMEMBERED + len(self.waiting)):
            self._last_event = dict(list(self._last_event.items())[-REMEMBERED - len(self.waiting) :])

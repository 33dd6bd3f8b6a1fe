"""What a daemon has waiting, put together from lists and events that may be late, doubled or missing.

The daemon's list is the truth, but a list takes time: what an event told after it was asked for counts more than the
list. So every fact carries the moment at which it was asked for or heard, counted in events, not in seconds.
"""

from collections.abc import Iterable
from dataclasses import field, replace
from typing import Final

from aileron_tui.core.decision import Verdict
from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from aileron_tui.core.values import dataclass

REMEMBERED: Final = 4096
"""How many requests that no longer wait are remembered, so that a late event does not bring them back."""


@dataclass(slots=True)
class OwnAnswer:
    """What this console answered to one request. It belongs to no connection: an answer may arrive after its own broke.

    `taken` means that the daemon took it. `unconfirmed` is the verdict of an answer that was sent without a reply.
    `edited` is the edited request, if that is what was approved.
    """

    taken: bool = False
    unconfirmed: Verdict | None = None
    edited: Request | None = None


@dataclass(slots=True)
class Tracker:
    """Outlives connections: what waited before a break and waits no more is not forgotten.

    `own_answers` has every request for which a decision was recorded here, whether or not the daemon took it.
    """

    waiting: dict[str, Request] = field(default_factory=dict)
    gone: dict[str, Request] = field(default_factory=dict)
    own_answers: dict[str, OwnAnswer] = field(default_factory=dict)
    _clock: int = 0
    _heard: dict[str, int] = field(default_factory=dict)

    def now(self) -> int:
        """The moment to remember when a list is asked for."""
        return self._clock

    def listed(self, items: Iterable[Request], asked: int) -> tuple[list[Request], list[Request]]:
        """Takes in a list that was asked for at a moment; returns what is new to see and what waits no more."""
        told = {item.id: item for item in items}
        arrived: list[Request] = []
        for id_, item in told.items():
            if self._heard.get(id_, -1) > asked and id_ not in self.waiting:
                continue  # it ended while the list was on its way
            known = self.waiting.get(id_)
            if known is None or known.digest != item.digest:
                arrived.append(item)
            if known is None:
                self._hear(id_)
            self._wait(item)
        vanished = [item for id_, item in self.waiting.items() if id_ not in told and self._heard.get(id_, -1) <= asked]
        for item in vanished:
            self._hear(item.id)
            self._leave(item)
        return arrived, vanished

    def pending(self, item: Request) -> bool:
        """Takes in an arrival; whether it is new."""
        if item.id in self.waiting or item.id in self.gone or item.id in self._heard:
            return False  # told twice, or after its own answer
        self._hear(item.id)
        self._wait(item)
        return True

    def resolved(self, id_: str) -> Request | None:
        """Takes in that a request was answered; the request, if it waited here."""
        self._hear(id_)
        item = self.waiting.get(id_)
        if item is not None:
            self._leave(item)
        return item

    def decided(self, id_: str, edited: Request | None) -> None:
        """Takes in that a decision was recorded here; `edited` is the edited request it approves, if it is one."""
        self._own_answer(id_).edited = edited

    def sent_without_reply(self, id_: str, verdict: Verdict) -> None:
        """Takes in that our answer was sent and that it is not known whether it arrived."""
        self._own_answer(id_).unconfirmed = verdict

    def not_taken(self, id_: str) -> None:
        """Takes in that our answer did not count, and that it will not arrive later either."""
        self._own_answer(id_).unconfirmed = None

    def taken(self, id_: str) -> None:
        """Takes in that the daemon took our answer."""
        answer = self._own_answer(id_)
        answer.taken, answer.unconfirmed = True, None

    def is_unconfirmed(self, id_: str) -> bool:
        """Whether an answer of ours may still arrive, or have arrived without our knowing."""
        answer = self.own_answers.get(id_)
        return answer is not None and answer.unconfirmed is not None

    def _own_answer(self, id_: str) -> OwnAnswer:
        return self.own_answers.setdefault(id_, OwnAnswer())

    def known(self, id_: str) -> Request | None:
        """A request that waits, or lately did."""
        return self.waiting.get(id_) or self.gone.get(id_)

    def became(self, id_: str, state: RequestState, note: str = "", error: str = "") -> Request | None:
        """What became of a request that waits no more; None if that is nothing new."""
        item = self.gone.get(id_)
        if item is None or (item.state.final and not state.final):
            return None
        fields = item.fields | {"error": error} if error else item.fields
        answer = self.own_answers.get(id_)
        approved = answer.edited if answer and answer.taken else None
        after = replace(approved or item, state=state, reason=note, fields=fields)
        if (after.state, after.reason, after.fields) == (item.state, item.reason, item.fields):
            return None
        self.gone[id_] = after
        return after

    def _wait(self, item: Request) -> None:
        self.gone.pop(item.id, None)
        self.waiting[item.id] = item

    def _leave(self, item: Request) -> None:
        del self.waiting[item.id]
        self.gone[item.id] = item
        while len(self.gone) > REMEMBERED:
            oldest = next(iter(self.gone))
            del self.gone[oldest]
            self.own_answers.pop(oldest, None)

    def _hear(self, id_: str) -> None:
        self._clock += 1
        self._heard.pop(id_, None)
        self._heard[id_] = self._clock
        if len(self._heard) > 2 * (REMEMBERED + len(self.waiting)):
            self._heard = dict(list(self._heard.items())[-REMEMBERED - len(self.waiting) :])

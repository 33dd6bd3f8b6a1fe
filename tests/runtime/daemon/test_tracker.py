"""What the operator sees equals what the daemon has, once the two have had time to settle."""

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aileron_tui.core.decision import Verdict
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.request import Request
from aileron_tui.core.request_queue import Arrived, Changed, Queue, QueueEvent, Snapshot, apply_all
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.daemon.request_reader import read_daemon_request
from aileron_tui.runtime.daemon.tracker import REMEMBERED, Tracker

SEEN = datetime(2026, 5, 12, 10, 15, 30, tzinfo=UTC)


def request(id_: str) -> Request:
    value: JsonObject = {"id": id_, "action_name": "send-draft", "args": {}}
    return read_daemon_request(value, source="", instance="i", head="", action=None, session=None, rules=(), seen=SEEN)


class Network:
    """A daemon, and a way to it that loses, doubles, delays and reorders what it tells."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.waiting: dict[str, Request] = {}
        self.tracker = Tracker()
        self.queue = Queue()
        self.on_the_way: list[Callable[[], None]] = []
        self.count = 0

    def step(self) -> None:
        roll = self.random.random()
        if roll < 0.45:
            self._register()
        elif roll < 0.8 and self.waiting:
            self._resolve(self.random.choice(list(self.waiting)))
        elif roll < 0.83:
            self.ask_for_list()
        elif roll < 0.84:
            self._reconnect()
        for _ in range(self.random.randint(0, 2)):
            self._arrive()

    def _register(self) -> None:
        self.count += 1
        item = request(f"act-{self.count}")
        self.waiting[item.id] = item
        self._send(lambda: self._pending(item))

    def _resolve(self, id_: str) -> None:
        del self.waiting[id_]
        self._send(lambda: self._resolved(id_))

    def _send(self, event: Callable[[], None]) -> None:
        roll = self.random.random()
        copies = 0 if roll < 0.1 else 2 if roll < 0.2 else 1
        for _ in range(copies):
            self.on_the_way.append(event)

    def ask_for_list(self) -> None:
        asked, items = self.tracker.tick(), list(self.waiting.values())
        self.on_the_way.append(lambda: self._listed(items, asked))

    def _reconnect(self) -> None:
        """Whatever was on the way is lost, and a list begins anew."""
        self.on_the_way.clear()
        items = list(self.waiting.values())
        self.tracker.apply_list(items, self.tracker.tick())
        self._tell(Snapshot(tuple(self.tracker.waiting.values())))

    def _arrive(self) -> None:
        if self.on_the_way:
            late = self.random.random() < 0.1
            self.on_the_way.pop(self.random.randrange(len(self.on_the_way)) if late else 0)()

    def _pending(self, item: Request) -> None:
        if self.tracker.apply_arrival(item):
            self._tell(Arrived(item))

    def _resolved(self, id_: str) -> None:
        self.tracker.apply_answer(id_)
        self._ended(id_)

    def _listed(self, items: list[Request], asked: int) -> None:
        arrived, vanished = self.tracker.apply_list(items, asked)
        for item in arrived:
            self._tell(Arrived(item))
        for item in vanished:
            self._ended(item.id)

    def _ended(self, id_: str) -> None:
        after = self.tracker.apply_state(id_, RequestState.DENIED)
        if after is not None:
            self._tell(Changed(replace(request(id_), state=RequestState.DENIED)))

    def _tell(self, event: QueueEvent) -> None:
        self.queue = apply_all(self.queue, [event])

    def settle(self) -> None:
        while self.on_the_way:
            self._arrive()
        self.ask_for_list()
        self._arrive()

    @property
    def seen(self) -> set[str]:
        return {request.id for request in self.queue.waiting}


def test_ten_thousand_events_with_faults_settle_on_what_the_daemon_has() -> None:
    network = Network(20260512)
    for _ in range(10_000):
        network.step()
    network.settle()
    assert network.count > 3000
    assert network.seen == network.waiting.keys() == network.tracker.waiting.keys()


@settings(max_examples=60, deadline=None)
@given(st.integers(), st.integers(0, 300))
def test_any_order_settles(seed: int, steps: int) -> None:
    network = Network(seed)
    for _ in range(steps):
        network.step()
    network.settle()
    assert network.seen == network.waiting.keys() == network.tracker.waiting.keys()


def test_a_list_that_was_asked_for_before_an_answer_does_not_bring_the_request_back() -> None:
    tracker = Tracker()
    tracker.apply_list([request("a")], tracker.tick())
    asked = tracker.tick()
    tracker.apply_answer("a")
    assert tracker.apply_list([request("a")], asked) == ([], [])
    assert not tracker.waiting


def test_a_list_that_was_asked_for_before_an_arrival_does_not_take_the_request_away() -> None:
    tracker = Tracker()
    asked = tracker.tick()
    assert tracker.apply_arrival(request("a"))
    assert tracker.apply_list([], asked) == ([], [])
    assert list(tracker.waiting) == ["a"]


def test_a_list_asked_for_later_is_the_truth() -> None:
    tracker = Tracker()
    tracker.apply_arrival(request("a"))
    tracker.apply_answer("a")
    arrived, _ = tracker.apply_list([request("a")], tracker.tick())
    assert [item.id for item in arrived] == ["a"]


def test_an_arrival_after_its_own_answer_is_none() -> None:
    tracker = Tracker()
    tracker.apply_answer("a")
    assert not tracker.apply_arrival(request("a"))


def test_what_became_of_a_request_is_told_once() -> None:
    tracker = Tracker()
    tracker.apply_arrival(request("a"))
    tracker.apply_answer("a")
    first = tracker.apply_state("a", RequestState.FAILED, error="it broke")
    assert first is not None
    assert first.state is RequestState.FAILED
    assert first.fields["error"] == "it broke"
    assert tracker.apply_state("a", RequestState.FAILED, error="it broke") is None


def test_the_past_is_forgotten_in_time() -> None:
    tracker = Tracker()
    item = request("x")
    for number in range(REMEMBERED * 3):
        tracker.apply_arrival(replace(item, id=str(number)))
        tracker.apply_answer(str(number))
    assert len(tracker.stopped_waiting) == REMEMBERED
    assert not tracker.waiting
    assert not tracker.own_answers


def answered(tracker: Tracker, asked: Request, edited: Request | None = None) -> None:
    """The request arrives, and the daemon takes our approval of it."""
    tracker.apply_list([asked], tracker.tick())
    tracker.answer_recorded(asked.id, edited)
    tracker.answer_taken(asked.id, Verdict.APPROVE)
    tracker.apply_answer(asked.id)
    tracker.apply_state(asked.id, RequestState.RUNNING)


@pytest.mark.parametrize("change", ["args", "instance"])
def test_an_answer_does_not_count_for_another_call_under_the_same_id(change: str) -> None:
    tracker, asked = Tracker(), request("a")
    prompt = replace(asked.prompt, args={"to": "everybody"})
    edited = replace(asked, prompt=prompt, digest=prompt.digest, edited_from=asked.prompt)
    answered(tracker, asked, edited)
    another = replace(asked, instance="j") if change == "instance" else replace(edited, edited_from=None)
    tracker.apply_list([another], tracker.tick())
    assert "a" not in tracker.own_answers
    tracker.apply_answer("a")
    ended = tracker.apply_state("a", RequestState.EXECUTED)
    assert ended is not None
    assert ended.edited_from is None


def test_an_unconfirmed_answer_does_not_count_for_a_call_that_replaced_its_own() -> None:
    tracker, asked = Tracker(), request("a")
    tracker.apply_list([asked], tracker.tick())
    tracker.answer_unconfirmed("a", Verdict.APPROVE)
    prompt = replace(asked.prompt, args={"to": "everybody"})
    tracker.apply_list([replace(asked, prompt=prompt, digest=prompt.digest)], tracker.tick())
    assert not tracker.is_unconfirmed("a")


def test_an_answer_is_no_longer_taken_when_its_call_waits_again() -> None:
    tracker, asked = Tracker(), request("a")
    prompt = replace(asked.prompt, args={"to": "everybody"})
    answered(tracker, asked, replace(asked, prompt=prompt, digest=prompt.digest, edited_from=asked.prompt))
    tracker.apply_list([asked], tracker.tick())
    assert tracker.own_answers["a"].taken is None
    tracker.answer_taken("a", Verdict.APPROVE)
    tracker.apply_list([asked], tracker.tick())  # the list is older than the answer
    assert tracker.own_answers["a"].taken is Verdict.APPROVE

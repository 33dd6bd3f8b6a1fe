"""The queue as a pure function of what happened."""

import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.queue import (
    Arrived,
    Changed,
    Event,
    Forgotten,
    Lost,
    Queue,
    Request,
    Snapshot,
    apply,
    apply_all,
)
from aileron_tui.core.states import State
from tests.core.examples import prompt


def request(number: int, revision: int = 0) -> Request:
    return Request(f"act-{number}", prompt(), f"2026-05-12T10:00:{number:02}.000000Z", revision=revision)


def ids(queue: Queue) -> list[str]:
    return [item.id for item in queue.waiting]


def test_requests_arrive_in_order_and_once() -> None:
    queue = apply_all(Queue(), [Arrived(request(1)), Arrived(request(2)), Arrived(request(1))])
    assert ids(queue) == ["act-1", "act-2"]


def test_a_new_prompt_replaces_the_old_and_never_the_other_way() -> None:
    newer = replace(request(1, revision=2), note="preview fetched again")
    queue = apply(apply(Queue(), Arrived(newer)), Arrived(request(1, revision=1)))
    assert queue.requests["act-1"].note == "preview fetched again"


def test_an_answered_request_stays_in_view_until_dismissed() -> None:
    queue = apply_all(Queue(), [Arrived(request(1)), Changed("act-1", State.DENIED, "wrong recipient")])
    assert ids(queue) == []
    assert queue.requests["act-1"].state is State.DENIED
    assert queue.requests["act-1"].note == "wrong recipient"
    assert "act-1" not in apply(queue, Forgotten("act-1")).requests


def test_a_waiting_request_cannot_be_dismissed() -> None:
    assert ids(apply_all(Queue(), [Arrived(request(1)), Forgotten("act-1")])) == ["act-1"]


def test_late_news_never_revives_or_rewinds() -> None:
    queue = apply_all(Queue(), [Arrived(request(1)), Changed("act-1", State.RUNNING), Changed("act-1", State.APPROVED)])
    assert queue.requests["act-1"].state is State.RUNNING
    ended = apply_all(queue, [Changed("act-1", State.EXECUTED), Arrived(request(1)), Changed("act-1", State.FAILED)])
    assert ended.requests["act-1"].state is State.EXECUTED


def test_a_snapshot_replaces_what_waits() -> None:
    queue = apply_all(Queue(), [Arrived(request(2)), Arrived(request(3)), Changed("act-3", State.EXECUTED)])
    queue = apply(queue, Snapshot((request(1), request(4))))
    assert ids(queue) == ["act-1", "act-4"]
    assert queue.requests["act-2"].state is State.WITHDRAWN
    assert queue.requests["act-3"].state is State.EXECUTED


def test_an_old_snapshot_does_not_revive_an_answered_request() -> None:
    queue = apply_all(Queue(), [Arrived(request(1)), Changed("act-1", State.DENIED), Snapshot((request(1),))])
    assert ids(queue) == []


def test_silence_is_marked_from_its_start_until_the_next_snapshot() -> None:
    queue = apply_all(Queue(), [Arrived(request(1)), Lost("10:00"), Lost("10:05")])
    assert (queue.stale_since, ids(queue)) == ("10:00", ["act-1"])
    assert apply(queue, Snapshot((request(1),))).stale_since == ""


def test_the_old_queue_is_untouched() -> None:
    before = apply(Queue(), Arrived(request(1)))
    apply(before, Changed("act-1", State.DENIED))
    assert ids(before) == ["act-1"]


EVENTS = st.one_of(
    st.builds(Arrived, st.integers(0, 5).map(request)),
    st.builds(Changed, st.integers(0, 5).map("act-{}".format), st.sampled_from(State)),
    st.builds(Forgotten, st.integers(0, 5).map("act-{}".format)),
    st.builds(Lost, st.just("10:00")),
    st.builds(Snapshot, st.lists(st.integers(0, 5).map(request), unique_by=lambda item: item.id).map(tuple)),
)


@given(st.lists(EVENTS, max_size=40))
def test_one_by_one_or_together_gives_the_same(events: list[Event]) -> None:
    single = Queue()
    for event in events:
        single = apply(single, event)
    assert single == apply_all(Queue(), events)


@given(st.lists(EVENTS, max_size=20), st.randoms())
def test_a_snapshot_settles_every_history(events: list[Event], chance: random.Random) -> None:
    """Whatever was lost, repeated or shuffled: after a snapshot exactly its undecided requests wait."""
    chance.shuffle(events)
    before = apply_all(Queue(), events)
    last = Snapshot(tuple(request(number) for number in range(6, 9)))
    assert ids(apply(before, last)) == ["act-6", "act-7", "act-8"]

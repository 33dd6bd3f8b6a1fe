"""The queue as a pure function of what happened."""

import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

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
    apply,
    apply_all,
)
from aileron_tui.core.states import RequestState
from tests.core.examples import prompt


def request(number: int, revision: int = 0) -> Request:
    shown = prompt()
    return Request(
        id=f"act-{number}",
        prompt=shown,
        digest=shown.digest,
        state=RequestState.PENDING,
        requested_at=f"2026-05-12T10:00:{number:02}.000000Z",
        expires_at="",
        revision=revision,
        fetching=False,
        instance="gate-1",
        head="",
        asked_again="",
        reason="",
        fields={},
    )


def changed(number: int, state: RequestState, reason: str = "", *, revision: int = 0) -> Changed:
    return Changed(replace(request(number, revision), state=state, reason=reason))


def ids(queue: Queue) -> list[str]:
    return [waiting.key for waiting in queue.waiting]


def test_requests_arrive_in_order_and_once() -> None:
    queue = apply_all(Queue(), [Arrived(request(1)), Arrived(request(2)), Arrived(request(1))])
    assert ids(queue) == ["act-1", "act-2"]


def test_a_new_prompt_replaces_the_old_and_never_the_other_way() -> None:
    newer = replace(request(1, revision=2), reason="preview fetched again")
    queue = apply(apply(Queue(), Arrived(newer)), Arrived(request(1, revision=1)))
    assert queue.requests["act-1"].reason == "preview fetched again"


def test_an_answered_request_stays_in_view_until_dismissed() -> None:
    queue = apply_all(Queue(), [Arrived(request(1)), changed(1, RequestState.DENIED, "wrong recipient")])
    assert ids(queue) == []
    assert queue.requests["act-1"].state is RequestState.DENIED
    assert queue.requests["act-1"].reason == "wrong recipient"
    assert "act-1" not in apply(queue, Forgotten("act-1")).requests


def test_a_waiting_request_cannot_be_dismissed() -> None:
    assert ids(apply_all(Queue(), [Arrived(request(1)), Forgotten("act-1")])) == ["act-1"]


def test_late_news_never_revives_or_rewinds() -> None:
    queue = apply_all(
        Queue(), [Arrived(request(1)), changed(1, RequestState.RUNNING), changed(1, RequestState.APPROVED)]
    )
    assert queue.requests["act-1"].state is RequestState.RUNNING
    ended = apply_all(queue, [changed(1, RequestState.EXECUTED), Arrived(request(1)), changed(1, RequestState.FAILED)])
    assert ended.requests["act-1"].state is RequestState.EXECUTED


def test_only_a_certain_source_brings_back_what_ended() -> None:
    ended = apply_all(Queue(), [Arrived(request(1)), Arrived(request(2)), changed(1, RequestState.DENIED, "no")])
    for told in (Snapshot((request(1), request(2)), certain=True), Arrived(request(1), certain=True)):
        back = apply(ended, told)
        assert ids(back) == ["act-1", "act-2"]
        assert back.requests["act-1"] == request(1)
    assert ids(apply(ended, Snapshot((request(1), request(2))))) == ["act-2"]
    assert ids(apply(ended, Snapshot((request(2),), certain=True))) == ["act-2"]
    assert "act-1" not in ids(apply(ended, Arrived(replace(request(1), source="other"), certain=True)))


def test_a_snapshot_replaces_what_waits() -> None:
    queue = apply_all(Queue(), [Arrived(request(2)), Arrived(request(3)), changed(3, RequestState.EXECUTED)])
    queue = apply(queue, Snapshot((request(1), request(4))))
    assert ids(queue) == ["act-1", "act-4"]
    assert queue.requests["act-2"].state is RequestState.WITHDRAWN
    assert queue.requests["act-3"].state is RequestState.EXECUTED


def test_an_old_snapshot_does_not_revive_an_answered_request() -> None:
    queue = apply_all(Queue(), [Arrived(request(1)), changed(1, RequestState.DENIED), Snapshot((request(1),))])
    assert ids(queue) == []


def test_silence_is_marked_from_its_start_until_the_next_snapshot() -> None:
    queue = apply_all(Queue(), [Arrived(request(1)), Lost("10:00"), Lost("10:05")])
    assert (queue.stale, ids(queue)) == ({"": "10:00"}, ["act-1"])
    assert apply(queue, Snapshot((request(1),))).stale == {}


def test_the_old_queue_is_untouched() -> None:
    before = apply(Queue(), Arrived(request(1)))
    apply(before, changed(1, RequestState.DENIED))
    assert ids(before) == ["act-1"]


def of(source: str, number: int, revision: int = 0) -> Request:
    return replace(request(number, revision), source=source)


def test_a_snapshot_touches_nothing_of_another_source() -> None:
    queue = apply_all(Queue(), [Arrived(of("work", 1)), Arrived(of("home", 1)), Lost("10:00", "home")])
    queue = apply(queue, Snapshot((), "work"))
    assert ids(queue) == ["home act-1"]
    assert queue.requests["work act-1"].vanished
    assert queue.stale == {"home": "10:00"}
    assert apply(queue, Snapshot((of("home", 1),), "home")).stale == {}


def test_a_source_that_uses_the_ids_of_another_is_not_heard() -> None:
    """Whatever it says of them: that they wait, changed, ended or are gone."""
    before = apply(Queue(), Arrived(of("work", 1, revision=3)))
    stolen = replace(of("", 1, revision=9), id="work act-1", reason="approve me")
    assert stolen.key == "work act-1"
    for lie in (
        Arrived(stolen),
        Changed(replace(stolen, state=RequestState.EXECUTED)),
        Snapshot((stolen,), ""),
        Snapshot((of("work", 1, revision=9),), ""),
        Snapshot((of("work", 7),), ""),
        Snapshot((), ""),
        Lost("10:00", ""),
    ):
        after = apply(before, lie)
        assert after.requests == before.requests, lie
        assert "work" not in after.stale


def test_what_vanished_unseen_is_told_later_or_waits_again() -> None:
    queue = apply_all(Queue(), [Arrived(request(1)), Arrived(request(2)), Arrived(request(3)), Snapshot(())])
    assert all(request.vanished and request.state is RequestState.WITHDRAWN for request in queue.requests.values())
    told = apply_all(queue, [changed(1, RequestState.RUNNING), changed(2, RequestState.DENIED, "too late")])
    assert [(one.state, one.reason, one.vanished) for one in told.requests.values()] == [
        (RequestState.RUNNING, "", False),
        (RequestState.DENIED, "too late", False),
        (RequestState.WITHDRAWN, "", True),
    ]
    assert ids(apply(told, Snapshot((request(1), request(2), request(3))))) == ["act-3"]
    assert ids(apply(told, Arrived(request(3)))) == []


def test_the_same_step_may_say_something_new() -> None:
    queue = apply_all(
        Queue(), [Arrived(request(1)), changed(1, RequestState.RUNNING, "the vault is locked", revision=2)]
    )
    assert queue.requests["act-1"].reason == "the vault is locked"
    assert apply(queue, changed(1, RequestState.RUNNING, revision=2)).requests["act-1"].reason == ""
    assert apply(queue, changed(1, RequestState.RUNNING, "old", revision=1)).requests["act-1"].reason != "old"
    ended = apply(queue, changed(1, RequestState.DENIED, "first"))
    assert apply(ended, changed(1, RequestState.DENIED, "second", revision=9)).requests["act-1"].reason == "first"


SOURCES = ("work", "home", "")
NUMBERS = st.integers(0, 5)
SOURCE = st.sampled_from(SOURCES)
OWN = st.builds(of, SOURCE, NUMBERS, st.integers(0, 3))
EVENTS = st.one_of(
    st.builds(Arrived, OWN),
    st.builds(
        lambda request, state, reason: Changed(replace(request, state=state, reason=reason)),
        OWN,
        st.sampled_from(RequestState),
        st.sampled_from(("", "the vault is locked")),
    ),
    st.builds(lambda request: Forgotten(request.key), OWN),
    st.builds(Lost, st.sampled_from(("10:00", "10:05")), SOURCE),
    SOURCE.flatmap(
        lambda source: st.builds(
            Snapshot,
            st.lists(NUMBERS.map(lambda number: of(source, number)), unique_by=lambda one: one.id).map(tuple),
            st.just(source),
        )
    ),
)


@given(st.lists(EVENTS, max_size=40))
def test_one_by_one_or_together_gives_the_same(events: list[QueueEvent]) -> None:
    single = Queue()
    for event in events:
        single = apply(single, event)
    assert single == apply_all(Queue(), events)


@given(st.lists(EVENTS, max_size=20), st.randoms())
def test_a_snapshot_settles_every_history(events: list[QueueEvent], chance: random.Random) -> None:
    """Whatever was lost, repeated or shuffled: after a snapshot exactly its undecided requests wait."""
    events = [*events, *chance.choices(events, k=len(events))] if events else []
    chance.shuffle(events)
    queue = apply_all(Queue(), events)
    for source in SOURCES:
        queue = apply(queue, Snapshot(tuple(of(source, number) for number in range(6, 9)), source))
    assert sorted(ids(queue)) == sorted(
        f"{source} act-{number}".strip() for source in SOURCES for number in range(6, 9)
    )
    assert queue.stale == {}


def speaks_for(event: QueueEvent) -> str:
    """The source whose event this is."""
    match event:
        case Arrived(request) | Changed(request) | EditApproved(request):
            return request.source
        case Forgotten(key):
            return key.rpartition(" ")[0]
        case _:
            return event.source


@given(st.lists(EVENTS, max_size=40))
def test_each_source_fares_as_if_it_were_alone(events: list[QueueEvent]) -> None:
    together = apply_all(Queue(), events)
    for source in SOURCES:
        alone = apply_all(Queue(), [event for event in events if speaks_for(event) == source])
        mine = {id_: request for id_, request in together.requests.items() if request.source == source}
        assert mine == dict(alone.requests)
        assert together.stale.get(source) == alone.stale.get(source)


@given(st.lists(EVENTS, max_size=25), st.lists(EVENTS, max_size=10))
def test_no_lie_about_the_requests_of_another_changes_them(events: list[QueueEvent], lies: list[QueueEvent]) -> None:
    """A source that has got hold of another's ids, and says anything at all about them."""
    told = apply_all(Queue(), [event for event in events if speaks_for(event) != ""])
    after = apply_all(told, [forged(event) for event in lies if not isinstance(event, Forgotten)])
    kept = {id_: request for id_, request in after.requests.items() if id_ in told.requests}
    assert kept == dict(told.requests)
    assert {source: since for source, since in after.stale.items() if source != ""} == dict(told.stale)


def forged(event: QueueEvent) -> QueueEvent:
    """The event as if the unnamed source had sent it, with ids that give the same keys."""

    def stolen(request: Request) -> Request:
        return replace(request, id=request.key, source="")

    match event:
        case Arrived(request):
            return Arrived(stolen(request))
        case Changed(request):
            return Changed(stolen(request))
        case Snapshot(waiting):
            return Snapshot(tuple(map(stolen, waiting)), "")
        case Lost(since):
            return Lost(since, "")
        case _:
            return event

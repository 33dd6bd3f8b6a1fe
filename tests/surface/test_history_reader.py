"""The past of several sources as one list."""

import threading
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.runtime.errors import NoGate, NoReply
from aileron_tui.surface.history_reader import LARGEST_PAGE, PAGE_SIZE, HistoryReader
from aileron_tui.surface.history_records import HistoryPage
from tests.console.history_gate import NOW, HistoryGate, alone, archive, item, record


def past(minutes: list[int]) -> HistoryGate:
    """Requests asked so many minutes ago, newest first."""
    ordered = sorted(minutes)
    count = len(ordered)
    return HistoryGate([record(count - place, NOW - timedelta(minutes=ago)) for place, ago in enumerate(ordered)])


def walked(shelves: HistoryReader, limit: int) -> list[HistoryPage]:
    pages = [shelves.page({}, limit=limit)]
    while pages[-1].older is not None:
        pages.append(shelves.page({}, pages[-1].older, limit))
    return pages


@settings(deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 10_000), max_size=30, unique=True), min_size=2, max_size=3),
    st.integers(1, 12),
)
def test_every_request_is_there_once_and_newest_first(times: list[list[int]], limit: int) -> None:
    gates = {name: past(minutes) for name, minutes in zip(("a", "b", "c"), times, strict=False)}
    pages = walked(archive(**gates), limit)
    requests = [request for page in pages for request in page.requests]
    assert [request.asked for request in requests] == sorted((request.asked for request in requests), reverse=True)
    assert sorted(request.key for request in requests) == sorted(
        (name, str(one["id"])) for name, gate in gates.items() for one in gate.kept
    )
    assert all(len(page.requests) == limit for page in pages[:-1])
    for name, gate in gates.items():
        assert [request.id for request in requests if request.source == name] == [one["id"] for one in gate.kept]


def test_opening_costs_one_page_of_each() -> None:
    gates = {"a": past(list(range(300))), "b": past(list(range(0, 3000, 10)))}
    page = archive(**gates).page({})
    assert len(page.requests) == PAGE_SIZE
    assert [gate.asked for gate in gates.values()] == [[{"limit": PAGE_SIZE}], [{"limit": PAGE_SIZE}]]


def test_a_source_that_fails_is_named_and_the_others_are_shown() -> None:
    gates = {"a": past([1, 3]), "b": past([2, 4])}
    gates["b"].error = NoReply("the connection broke")
    page = archive(**gates, c=None).page({})
    assert [request.source for request in page.requests] == ["a", "a"]
    assert {name: error.title for name, error in page.missing.items()} == {
        "b": "the connection broke",
        "c": "not connected",
    }
    assert page.older is None


def test_a_source_that_fails_later_is_named_from_then_on() -> None:
    gates = {"a": past(list(range(0, 40, 2))), "b": past(list(range(1, 41, 2)))}
    shelves = archive(**gates)
    first = shelves.page({}, limit=5)
    gates["b"].error = NoReply("the connection broke")
    rest: list[HistoryPage] = []
    while (rest[-1] if rest else first).older is not None:
        rest.append(shelves.page({}, (rest[-1] if rest else first).older, 5))
    assert not first.missing
    assert all("b" in page.missing for page in rest)
    shown = [request for page in (first, *rest) for request in page.requests]
    assert sum(request.source == "a" for request in shown) == 20
    # What had been fetched of it before it failed is shown.
    assert sum(request.source == "b" for request in shown) == 5


def test_a_source_that_does_not_answer_keeps_nobody_waiting() -> None:
    gates = {"a": past([1]), "b": past([2])}
    gates["b"].open.clear()
    try:
        page = archive(**gates).page({}, reply_seconds=0.1)
        assert [request.source for request in page.requests] == ["a"]
        assert "no reply yet" in page.missing["b"].title
    finally:
        gates["b"].open.set()


def test_a_source_that_bursts_is_told_like_any_failure() -> None:
    class Bursting(HistoryGate):
        def history(self, **filters: str | int | list[str]) -> JsonObject:
            raise ZeroDivisionError

    page = archive(a=past([1]), b=Bursting()).page({}, reply_seconds=None)
    assert "ZeroDivisionError" in page.missing["b"].detail


def test_one_source_alone_fails_as_it_does() -> None:
    gate = past([1])
    gate.error = NoReply("the connection broke")
    with pytest.raises(NoReply):
        alone(gate).page({})
    with pytest.raises(NoGate):
        HistoryReader(lambda: {"": None}).page({})


def test_an_export_leaves_no_source_out() -> None:
    gates = {"a": past(list(range(3))), "b": past(list(range(3)))}
    shelves = archive(**gates)
    assert sum(len(page.requests) for page in shelves.pages({})) == 6
    assert gates["a"].asked == [{"limit": LARGEST_PAGE}]
    gates["b"].error = NoReply("the connection broke")
    with pytest.raises(AileronError, match="b: the connection broke"):
        list(shelves.pages({}))


def test_a_source_that_goes_round_in_circles_comes_to_an_end() -> None:
    class Circling(HistoryGate):
        def history(self, **filters: str | int | list[str]) -> JsonObject:
            return {"items": [record(1)], "next": 1}

    for shelves in (alone(Circling()), archive(a=Circling(), b=past([]))):
        assert sum(1 for _ in shelves.pages({})) <= 3


def test_words_go_to_each_source_and_a_name_chooses_among_them() -> None:
    gates = {"a": past([1, 3]), "b": past([2, 4])}
    shelves = archive(**gates)
    page = shelves.page({"text": "send*", "source": ["b"]})
    assert {request.source for request in page.requests} <= {"b"}
    assert (gates["a"].asked, gates["b"].asked) == ([], [{"text": "send*", "limit": PAGE_SIZE}])
    shelves.page({"text": "send*"})
    assert gates["a"].asked == [{"text": "send*", "limit": PAGE_SIZE}]
    assert shelves.page({"source": ["nobody"]}).requests == ()


def test_a_source_does_not_say_itself_which_one_it_is() -> None:
    gate = HistoryGate([record(1, changes={"source": "work"})])
    (request,) = archive(home=gate, work=past([])).page({}).requests
    assert request.source == "home"


def test_a_time_that_cannot_be_read_holds_up_nothing() -> None:
    odd = HistoryGate([record(2, changes={"asked": "yesterday\x1b[2J"}), record(1)])
    pages = walked(archive(a=odd, b=past(list(range(10)))), 3)
    assert sum(len(page.requests) for page in pages) == 12


def test_what_was_shown_is_looked_up_where_the_request_was() -> None:
    gates = {"a": past([1]), "b": past([2])}
    gates["a"].items["act-000001"] = item("act-000001", action="of-a")
    gates["b"].entries["act-000001"] = [{"kind": "request.made", "body": {"args": {"kept": "of b"}}}]
    shelves = archive(**gates)
    of_a, of_b = shelves.page({}).requests
    assert (of_a.source, of_b.source) == ("a", "b")
    _, found = shelves.look_up(of_a)
    assert found is not None
    assert (found.prompt.action, found.key) == ("of-a", "a act-000001")
    kept, nothing = shelves.look_up(of_b)
    assert nothing is None
    assert kept.inputs[0].value == "of b"


def test_an_old_place_is_not_taken_for_another() -> None:
    shelves = archive(a=past(list(range(400))), b=past([]))
    first = shelves.page({}, limit=2)
    pages = walked(shelves, 2)
    assert len(pages) == 200
    with pytest.raises(AileronError, match="no longer available"):
        shelves.page({}, first.older, 2)


def test_readings_from_several_threads_do_not_mix() -> None:
    shelves = archive(a=past(list(range(0, 60, 2))), b=past(list(range(1, 61, 2))))
    found: list[list[str]] = []

    def read() -> None:
        found.append([request.asked for page in walked(shelves, 7) for request in page.requests])

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 60

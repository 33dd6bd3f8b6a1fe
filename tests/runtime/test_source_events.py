"""Events from a stream of bytes, however they are cut."""

import json
from collections.abc import Iterator

import pytest

from aileron_tui.core.jsontext import JsonLimits
from aileron_tui.runtime.errors import InvalidReply
from aileron_tui.runtime.source_events import SourceEvent, read_events
from tests.runtime.examples import INSTANCE, item, prompt


def frame(number: int, name: str, data: object) -> bytes:
    return f"id: {number}\nevent: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


STREAM = (
    frame(1, "snapshot", {"items": [item()]})
    + b": heartbeat\n\n"
    + frame(2, "pending", item(prompt(args={"draft_id": "two\nlines\u2028\u0085é"})))
    + frame(3, "resolved", {"id": "act-1", "approved": False, "reason": "a\rb"})
    + frame(4, "something-new", {"x": 1})
)


def cut(data: bytes, size: int) -> Iterator[bytes]:
    return (data[index : index + size] for index in range(0, len(data), size))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000, len(STREAM)])
def test_events_do_not_depend_on_how_they_arrive(size: int) -> None:
    events = list(read_events(cut(STREAM, size), INSTANCE))
    assert events[1] is None
    source_events = [event for event in events if isinstance(event, SourceEvent)]
    assert [(event.id, event.name) for event in source_events] == [
        (1, "snapshot"),
        (2, "pending"),
        (3, "resolved"),
        (4, "something-new"),
    ]
    assert source_events[0].requests[0].prompt == prompt()
    assert source_events[1].requests[0].prompt.args == {"draft_id": "two\nlines\u2028\u0085é"}
    assert source_events[2].data["reason"] == "a\rb"
    assert source_events[3].requests == ()


def test_half_an_event_is_none() -> None:
    assert list(read_events([STREAM[:-1]], INSTANCE))[-1] != SourceEvent(4, "something-new", {"x": 1})


@pytest.mark.parametrize(
    "bad",
    [
        b"data: {\n\n",
        b"data: []\n\n",
        b"event: \xff\ndata: {}\n\n",
        frame(1, "pending", {"id": "act-1"}),
        frame(1, "pending", item(instance="gate-other")),
        frame(1, "snapshot", {"items": [item(digest="sha256:" + "00" * 32)]}),
    ],
    ids=lambda bad: repr(bad)[:40],
)
def test_what_cannot_be_trusted_stops_the_watch(bad: bytes) -> None:
    with pytest.raises(InvalidReply):
        list(read_events([bad], INSTANCE))


def test_a_line_without_end_is_not_gathered_for_ever() -> None:
    with pytest.raises(InvalidReply):
        list(read_events((b"x" * 100 for _ in range(1000)), limits=JsonLimits(size=1000)))


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("snapshot", {"items": []}, ""),
        ("snapshot", {"items": [], "problem": "the disk is full"}, "the disk is full"),
        ("health", {"problem": "the disk is full"}, "the disk is full"),
        ("health", {"problem": ""}, ""),
        ("health", {"problem": ["x"]}, ""),
        ("resolved", {"id": "act-1", "problem": "x"}, None),
    ],
)
def test_what_an_event_says_about_the_gate(name: str, data: dict[str, object], problem: str | None) -> None:
    """An older gate says nothing about itself."""
    (event,) = read_events([frame(1, name, data)], INSTANCE)
    assert event is not None
    assert event.problem == problem

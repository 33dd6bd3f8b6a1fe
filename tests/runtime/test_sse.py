"""Server-sent events, byte by byte."""

from itertools import repeat

import pytest

from aileron_tui.runtime.errors import InvalidReply
from aileron_tui.runtime.sse import SseFrame, read_frames

STREAM = (
    b"event: pending\ndata: one\n\n"
    b": heartbeat\n\n"
    b"data: a\r\ndata:b\r\n\r\n"
    b"id: 7\nevent: x\nretry: 10\nodd\ndata\n\n"
    b"event: nothing\n\n"
    b"data: half"
)
FRAMES = [SseFrame("", "pending", "one"), None, SseFrame("", "message", "a\nb"), SseFrame("7", "x", "")]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
def test_frames_do_not_depend_on_how_they_arrive(size: int) -> None:
    chunks = (STREAM[index : index + size] for index in range(0, len(STREAM), size))
    assert list(read_frames(chunks, 1000)) == FRAMES


@pytest.mark.parametrize("chunk", [b"x", b"data: x\n", b"data:\n", b"field: x\n", b"x: \n"])
def test_an_event_without_end_is_not_gathered_for_ever(chunk: bytes) -> None:
    with pytest.raises(InvalidReply, match="too large"):
        list(read_frames(repeat(chunk), 10_000))


def test_many_events_may_be_more_than_one_may_be() -> None:
    assert len(list(read_frames(repeat(b"data: x\n\n", 5000), 100))) == 5000


@pytest.mark.parametrize("bad", [b"data: \xff\n\n", b"d\xc3\xa4ta: x\n\n"])
def test_what_is_not_text_is_no_event(bad: bytes) -> None:
    with pytest.raises(InvalidReply, match="not text"):
        list(read_frames([bad], 1000))

"""Lines of the MCP proxy: only a newline ends one, and no part of one that is too long counts as another."""

import os
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.doors import mcp_streams
from aileron_tui.doors.mcp_streams import LineReader, LineWriter, output_writer


@given(st.lists(st.binary(max_size=6), max_size=8), st.lists(st.integers(0, 40), max_size=6))
def test_lines_do_not_depend_on_how_they_arrive(lines: list[bytes], cuts: list[int]) -> None:
    data = b"\n".join(lines)
    reader = LineReader()
    found: list[bytes | None] = []
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    for start, end in pairwise(places):
        found += reader.feed(data[start:end])
    assert [*found, reader.rest()] == data.split(b"\n")


def test_nothing_of_a_line_that_is_too_long_is_taken_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_streams, "LONGEST_LINE", 10)
    reader = LineReader()
    assert reader.feed(b"short\n" + b"x" * 11) == [b"short"]
    assert reader.feed(b"tail") == []
    assert reader.feed(b'{"hidden":1}\nnext\nrest') == [None, b"next"]
    assert reader.feed(b"y" * 11) == []
    assert reader.rest() is None
    assert reader.rest() == b""


@pytest.mark.parametrize("is_own", [True, False])
def test_a_writer_never_waits_for_its_reader(is_own: bool) -> None:
    reads, writes = os.pipe()
    writer = LineWriter(writes, is_own=is_own)
    data = os.urandom(300_000)
    writer.add(data)
    writer.add(b"end")
    assert writer.size
    received = b""
    while writer.size:
        received += os.read(reads, 65_536)
        writer.write()
    os.close(writes)
    while part := os.read(reads, 65_536):
        received += part
    assert received == data + b"end"
    os.close(reads)


def test_a_reader_that_is_gone_is_noticed() -> None:
    reads, writes = os.pipe()
    writer = LineWriter(writes, is_own=True)
    os.close(reads)
    writer.add(b"x")
    assert writer.is_closed
    assert writer.is_empty
    writer.close()


def test_the_mode_of_a_pipe_that_was_given_is_not_changed() -> None:
    reads, writes = os.pipe()
    writer = output_writer(writes)
    assert os.get_blocking(writes)
    writer.add(b"x")
    assert os.read(reads, 5) == b"x"
    writer.close()
    for descriptor in {reads, writes} - {writer.descriptor}:
        os.close(descriptor)

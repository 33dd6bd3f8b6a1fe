"""A search in a long text: finds the rows in which the searched words begin, a few at a time."""

import re
import time
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from aileron_tui.console.widgets.long_text import DrawnRow, LongText

MAX_QUERY: Final = 200
MAX_FOUND: Final = 10_000
# What no visible text contains: a wrap inside a line, and the end of a line.
_WRAP, _LINE_END = "\n", "\r"


def search_pattern(query: str) -> re.Pattern[str] | None:
    """Matches these words, also where a line is wrapped; None if there are none. Capitals do not matter."""
    words = query.split()
    if not words:
        return None
    between = rf"[ {_WRAP}]+"
    return re.compile(between.join(f"{_WRAP}?".join(map(re.escape, word)) for word in words), re.IGNORECASE)


def joined_rows(rows: Iterable[DrawnRow]) -> tuple[str, list[int]]:
    """Rows as one text that a pattern can search, and where each of them begins in it."""
    texts: list[str] = []
    starts: list[int] = []
    length = 0
    for row in rows:
        text = "".join(part for part, _ in row.parts)
        if texts:
            texts.append(_LINE_END if row.starts_line else _WRAP)
            length += 1
        starts.append(length)
        texts.append(text)
        length += len(text)
    return "".join(texts), starts


class TextSearch:
    """Searches the rows of a text. `found` has the rows in which a match begins, in ascending order.

    `is_complete` is True once the whole text has been searched, or `MAX_FOUND` rows were found.
    """

    def __init__(self, text: LongText, pattern: re.Pattern[str]) -> None:
        self.text = text
        self.pattern = pattern
        self.width = text.width
        self.found: list[int] = []
        self._next_row = 0

    @property
    def is_current(self) -> bool:
        """Whether the rows are still the same; another width has other rows."""
        return self.text.width == self.width

    @property
    def is_complete(self) -> bool:
        """Whether there is nothing more to search."""
        searched = self.text.counted and self._next_row >= self.text.height
        return searched or len(self.found) >= MAX_FOUND

    def go_on(self, seconds: float) -> None:
        """Searches the rows that are counted so far, until the time is up."""
        deadline = time.perf_counter() + seconds
        while not self.is_complete and self._next_row < self.text.height:
            self._search_chunk()
            if time.perf_counter() >= deadline:
                return

    def after(self, row: int) -> int | None:
        """The first match below a row, or else the first of all."""
        if not self.found:
            return None
        place = bisect_right(self.found, row)
        return self.found[place % len(self.found)]

    def before(self, row: int) -> int | None:
        """The last match above a row, or else the last of all."""
        if not self.found:
            return None
        place = bisect_right(self.found, row - 1)
        return self.found[place - 1]

    def _search_chunk(self) -> None:
        first = self._next_row
        rows, following = self.text.rows_from(first)
        if not rows:
            self._next_row = self.text.height
            return
        text, starts = joined_rows([*rows, *following])
        end = starts[len(rows)] if following else len(text) + 1
        for match in self.pattern.finditer(text):
            if match.start() >= end:
                break
            row = first + bisect_right(starts, match.start()) - 1
            if not self.found or self.found[-1] != row:
                self.found.append(row)
        self._next_row = first + len(rows)


def marked_parts(rows: Sequence[DrawnRow], place: int, pattern: re.Pattern[str]) -> list[tuple[str, bool, bool]]:
    """The parts of the row at a place among its neighbours: text, whether it is a mark, whether it matches."""
    text, starts = joined_rows(rows)
    start = starts[place]
    spans = [(match.start() - start, match.end() - start) for match in pattern.finditer(text)]
    parts: list[tuple[str, bool, bool]] = []
    at = 0
    for part, is_mark in rows[place].parts:
        end = at + len(part)
        cuts = sorted({at, end, *(edge for span in spans for edge in span if at < edge < end)})
        for left, right in pairwise(cuts):
            matches = any(first <= left and right <= last for first, last in spans)
            parts.append((part[left - at : right - at], is_mark, matches))
        at = end
    return parts

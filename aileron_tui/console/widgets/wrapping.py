"""Wraps visible text into rows of a given width, between words where possible."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from aileron_tui.console.render import TextPart
from aileron_tui.console.textual_internals import cell_len
from aileron_tui.core.visible_text import SPACES_AT_END

WrappedRow = tuple[TextPart, ...]

_WORD = re.compile(r"[^ ]+| +")
_MANY_BLANKS = " " * (SPACES_AT_END + 1)


def wrap_parts(line: Iterable[TextPart], width: int) -> list[WrappedRow]:
    """The rows of a line, at least one. Marks are split only if wider than a row.

    One or two blanks at a break are not drawn; more than that are counted, like those at the end of a line.
    """
    parts = tuple(line)
    width = max(1, width)
    if sum(len(text) for text, _ in parts) * 2 <= width:
        return [parts]
    if len(parts) == 1 and not parts[0][1] and can_wrap_as_ascii(parts[0][0]):
        return [((text.rstrip(" ") if len(text) > width else text, False),) for text in wrap_ascii(parts[0][0], width)]
    if sum(cell_len(text) for text, _ in parts) <= width:
        return [parts]
    return list(_fill_rows(parts, width))


def can_wrap_as_ascii(text: str) -> bool:
    """Whether `wrap_ascii` may wrap a line: it does not count blanks at a break."""
    return text.isascii() and _MANY_BLANKS not in text


def wrap_ascii(text: str, width: int) -> list[str]:
    """The rows of one line of plain ASCII."""
    return [text] if len(text) <= width else _row_pattern(width).findall(text)


@lru_cache(maxsize=64)
def _row_pattern(width: int) -> re.Pattern[str]:
    """Matches as many whole words as fit, else a part of a word, and the blanks after them."""
    return re.compile(rf".{{0,{width - 1}}}[^ ](?= |\Z) *|.{{1,{width}}}")


def _fill_rows(parts: Iterable[TextPart], width: int) -> Iterator[WrappedRow]:
    row: list[TextPart] = []
    used = blanks = 0
    for text, is_mark in _units(parts, width):
        if not is_mark and not text.strip(" "):
            blanks += len(text)
            continue
        needed = cell_len(text)
        if used + blanks + needed <= width:
            row.append((" " * blanks, False))
            used += blanks
        else:
            notice = f"⟨{blanks} spaces⟩" if blanks > SPACES_AT_END else ""
            if row and used + len(notice) > width:
                yield _finished(row)
                row, used = [], 0
            if notice:
                row.append((notice, True))
                used += len(notice)
            if row and (not notice or used + needed > width):
                yield _finished(row)
                row, used = [], 0
        blanks = 0
        row.append((text, is_mark))
        used += needed
    yield _finished(row)


def _units(parts: Iterable[TextPart], width: int) -> Iterator[TextPart]:
    """Marks, words and the blanks between them, which are not split, and slices of those that are wider than a row."""
    for text, is_mark in parts:
        for unit in (text,) if is_mark else _WORD.findall(text):
            if cell_len(unit) <= width or not unit.strip(" "):
                yield unit, is_mark
            else:
                yield from ((slice_, is_mark) for slice_ in _slices(unit, width))


def _slices(text: str, width: int) -> Iterator[str]:
    start = used = 0
    for index, character in enumerate(text):
        cells = cell_len(character)
        # A character without a width belongs to the one before it.
        if cells and used + cells > width and index > start:
            yield text[start:index]
            start, used = index, 0
        used += cells
    yield text[start:]


def _finished(row: list[TextPart]) -> WrappedRow:
    """The row with adjacent texts joined and without blanks at its end."""
    joined: list[TextPart] = []
    for text, is_mark in row:
        if joined and not is_mark and not joined[-1][1]:
            joined[-1] = (joined[-1][0] + text, False)
        else:
            joined.append((text, is_mark))
    if joined and not joined[-1][1]:
        joined[-1] = (joined[-1][0].rstrip(" "), False)
    return tuple(joined)

"""Lines of visible text cut into rows of a given width, by words where that is possible."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from aileron_tui.console.render import Part
from aileron_tui.console.textual_internals import cell_len

Row = tuple[Part, ...]

_WORD = re.compile(r"[^ ]+ *| +")


def rows(line: Iterable[Part], width: int) -> list[Row]:
    """The rows that a line takes, at least one. Marks stay whole where they fit; blanks at a break are dropped."""
    parts = tuple(line)
    width = max(1, width)
    if sum(len(text) for text, _ in parts) * 2 <= width:
        return [parts]
    if len(parts) == 1 and not parts[0][1] and parts[0][0].isascii():
        return [((text.rstrip(" ") if len(text) > width else text, False),) for text in ascii_rows(parts[0][0], width)]
    if sum(cell_len(text) for text, _ in parts) <= width:
        return [parts]
    return list(_filled(parts, width))


def ascii_rows(text: str, width: int) -> list[str]:
    """The rows of one line of plain ASCII."""
    return [text] if len(text) <= width else _cutter(width).findall(text)


@lru_cache(maxsize=64)
def _cutter(width: int) -> re.Pattern[str]:
    """As many whole words as fit, else a part of a word; the blanks after them belong to the row."""
    return re.compile(rf".{{0,{width - 1}}}[^ ](?= |\Z) *|.{{1,{width}}}")


def _filled(parts: Iterable[Part], width: int) -> Iterator[Row]:
    row: list[Part] = []
    used = 0
    for text, is_mark in _units(parts, width):
        room = cell_len(text.rstrip(" ")) or cell_len(text)
        if row and used + room > width:
            yield _closed(row)
            row, used = [], 0
            if not text.strip(" "):
                continue
        row.append((text, is_mark))
        used += cell_len(text)
    yield _closed(row)


def _units(parts: Iterable[Part], width: int) -> Iterator[Part]:
    """What is not broken: marks, words; and pieces of those that are wider than a row."""
    for text, is_mark in parts:
        for unit in (text,) if is_mark else _WORD.findall(text):
            if cell_len(unit.rstrip(" ")) <= width:
                yield unit, is_mark
            else:
                yield from ((slice_, is_mark) for slice_ in _slices(unit, width))


def _slices(text: str, width: int) -> Iterator[str]:
    start = used = 0
    for index, character in enumerate(text):
        cells = cell_len(character)
        # What takes no room sits on the character before it.
        if cells and used + cells > width and index > start:
            yield text[start:index]
            start, used = index, 0
        used += cells
    yield text[start:]


def _closed(row: list[Part]) -> Row:
    """The row with neighbours of a kind joined and without the blanks that were to follow."""
    joined: list[Part] = []
    for text, is_mark in row:
        if joined and not is_mark and not joined[-1][1]:
            joined[-1] = (joined[-1][0] + text, False)
        else:
            joined.append((text, is_mark))
    if joined and not joined[-1][1]:
        joined[-1] = (joined[-1][0].rstrip(" "), False)
    return tuple(joined)

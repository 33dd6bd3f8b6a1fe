"""Foreign text of any length as rows for the screen. Only rows that are drawn are converted to visible text.

The text is cut into chunks of lines. `count` counts the rows of the chunks, a few at a time; a chunk is converted when
one of its rows is needed. A long run of blank lines, of blanks, or of one character that is shown by its code is always
one chunk, so that the notice that replaces it has the full count. A line longer than a chunk continues in the next one;
other runs that such a cut splits are counted in two parts, and nothing is lost.
"""

import re
import time
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Generator, Iterator, Sequence
from math import inf
from typing import Final
from unicodedata import category

from aileron_tui.console.render import TextPart
from aileron_tui.console.widgets.wrapping import WrappedRow, wrap_ascii, wrap_parts
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import BLANK_LINES, MARKS_PER_BASE, block_pieces, count_not_plain, repeat_notice

CHUNK: Final = 16 * 1024
_NOT_SIMPLE_DIVISOR: Final = 4
_SLOW_DIVISOR: Final = 16
_SLOW_RATIO: Final = 16
_LINE_START_LENGTH: Final = 3
_MIN_CACHED_CHUNKS: Final = 6
_MAX_CACHED_ROWS: Final = 2048
_ROWS_CONTINUED: Final = 20

_MIN_REPEATS: Final = 256
_SCAN_LENGTH: Final = 1024 * 1024
_BLANK_CHARACTERS: Final = " \t\r\n"
_ATTACHED_CATEGORIES: Final = ("Mn", "Mc", "Me", "Cf")
_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_SPACES: Final = re.compile(r"[ \t]*")
_SIMPLE: Final = re.compile(r"[\n\r\t -~]*\Z")
_LONE_RETURN: Final = re.compile(r"\r(?!\n)")
_SAFE_CUT: Final = re.compile(r"(?<=[!-~])(?=[!-~])")
# Matches what `block_pieces` would change; text without a match can be counted without converting it.
_NOT_VERBATIM: Final = re.compile(rf"[^\n -~]| {{25}}| {{3}}(?:\n|\Z)|(?:\A|\n) *\n(?: *(?:\n|\Z)){{{BLANK_LINES}}}")


@dataclass(frozen=True, slots=True)
class TextChunk:
    """A part of the text: whole lines without their last newline, a part of a long line, or a run replaced by a notice.

    `starts_mid_line` and `ends_mid_line` mark chunks that are cut inside a line; `notice` replaces the text of a run.
    `line_start` is the beginning of the line that a chunk continues.
    """

    start: int
    end: int
    notice: str = ""
    starts_mid_line: bool = False
    ends_mid_line: bool = False
    line_start: str = ""


@dataclass(frozen=True, slots=True)
class DrawnRow:
    """One row: its line number, whether the line starts here, the beginning of the line, and the row's parts."""

    line: int
    starts_line: bool
    line_start: str
    parts: WrappedRow


class LongText:
    """The rows of a text at a width. `height` grows while `count` runs, and is final once `counted` is true.

    `lines` is the number of lines of the text itself, before runs are replaced.
    """

    def __init__(self, text: str, chunk: int = CHUNK) -> None:
        self.text = text
        self.lines = text.count("\n") + 1
        self.width = 0
        self._size = chunk
        self._chunks: list[TextChunk] = []
        self._chunk_source = self._chunks_of_text()
        self._all_cut = False
        self._line_ends: list[int] = []
        self._row_ends: list[int] = []
        self._cached_chunks: OrderedDict[int, tuple[DrawnRow, ...]] = OrderedDict()
        self._cached_row_count = 0

    @property
    def height(self) -> int:
        """The number of rows counted so far."""
        return self._row_ends[-1] if self._row_ends else 0

    @property
    def counted(self) -> bool:
        """Whether all rows are counted."""
        return self._all_cut and len(self._row_ends) == len(self._chunks)

    def set_width(self, width: int) -> None:
        """Changes the width and discards the rows of the old one."""
        if width != self.width:
            self.width = width
            self._row_ends.clear()
            self._cached_chunks.clear()
            self._cached_row_count = 0

    def count(self, seconds: float, height: float = inf) -> bool:
        """Counts until `height` rows are known or the time is up; returns whether all rows are counted."""
        deadline = time.perf_counter() + seconds
        while self.height < height and self._count_next() and time.perf_counter() < deadline:
            pass
        return self.counted

    def row(self, y: int) -> DrawnRow | None:
        """Row number `y`; None if it is not counted yet."""
        if not 0 <= y < self.height:
            return None
        index = bisect_right(self._row_ends, y)
        return self._rows_of(index)[y - (self._row_ends[index - 1] if index else 0)]

    def rows_from(self, y: int) -> tuple[Sequence[DrawnRow], Sequence[DrawnRow]]:
        """The rows of a chunk from row `y` on, and the first rows after it if they continue its last line."""
        if not 0 <= y < self.height:
            return (), ()
        index = bisect_right(self._row_ends, y)
        rows = self._rows_of(index)[y - (self._row_ends[index - 1] if index else 0) :]
        if not self._chunks[index].ends_mid_line or index + 1 >= len(self._row_ends):
            return rows, ()
        return rows, self._rows_of(index + 1)[:_ROWS_CONTINUED]

    def position_of(self, y: int) -> tuple[int, int]:
        """The position of a row as a chunk and a line in it, which stays valid at another width."""
        row = self.row(y)
        if row is None:
            return (0, 0)
        index = bisect_right(self._row_ends, y)
        return index, row.line - self._first_line(index)

    def row_at(self, position: tuple[int, int]) -> int | None:
        """The first row at a position; None if it is not counted yet."""
        index, line = position
        if index >= len(self._row_ends):
            return None
        wanted = self._first_line(index) + line
        start = self._row_ends[index - 1] if index else 0
        return next((start + number for number, row in enumerate(self._rows_of(index)) if row.line >= wanted), start)

    def boundary_at(self, y: int, *, after: bool) -> tuple[int, int]:
        """The line (or part of a long line) at row `y`; with `after`, the first that starts at or after that row."""
        if y >= self.height:
            return len(self._row_ends), 0
        index, line = self.position_of(y)
        if not after or self.row_at((index, line)) == y:
            return index, line
        last = self.row(self._row_ends[index] - 1)
        return (index, line + 1) if last and last.line > self._first_line(index) + line else (index + 1, 0)

    def row_at_boundary(self, position: tuple[int, int]) -> int | None:
        """The row at a position that `boundary_at` returned at any width; None if it is not counted yet."""
        return self.height if self.counted and position[0] >= len(self._row_ends) else self.row_at(position)

    def row_of_line(self, line: int) -> int | None:
        """The row in which a line starts; None if it is not counted yet."""
        index = bisect_right(self._line_ends, line)
        return self.row_at((index, line - self._first_line(index)))

    def _first_line(self, index: int) -> int:
        return self._line_ends[index - 1] if index else 0

    def _count_next(self) -> bool:
        index = len(self._row_ends)
        if index == len(self._chunks):
            try:
                found = next(self._chunk_source)
            except StopIteration:
                self._all_cut = True
                return False
            if found is None:
                return True
            self._chunks.append(found)
        chunk = self._chunks[index]
        lines, height = self._measure(chunk)
        if index == len(self._line_ends):
            self._line_ends.append(self._first_line(index) + lines - chunk.ends_mid_line)
        self._row_ends.append(self.height + height)
        return True

    def _measure(self, chunk: TextChunk) -> tuple[int, int]:
        """The number of lines and rows of a chunk; plain text is not converted for that."""
        text = "" if chunk.notice else self.text[chunk.start : chunk.end].replace("\r\n", "\n")
        if chunk.notice or _NOT_VERBATIM.search(text):
            lines = self._visible(chunk)
            return len(lines), sum(len(wrap_parts(line, self.width)) for line in lines)
        plain = text.split("\n")
        width = max(1, self.width)
        if max(map(len, plain)) <= width:
            return len(plain), len(plain)
        return len(plain), sum(len(wrap_ascii(line, width)) if len(line) > width else 1 for line in plain)

    def _visible(self, chunk: TextChunk) -> tuple[tuple[TextPart, ...], ...]:
        if chunk.notice:
            return (((chunk.notice, True),),)
        return block_pieces(self.text[chunk.start : chunk.end])

    def _rows_of(self, index: int) -> tuple[DrawnRow, ...]:
        rows = self._cached_chunks.get(index)
        if rows is None:
            rows = tuple(self._make_rows(index))
            self._cached_chunks[index] = rows
            self._cached_row_count += len(rows)
            # The screen may show only one row of each of many chunks.
            while self._cached_row_count > _MAX_CACHED_ROWS and len(self._cached_chunks) > _MIN_CACHED_CHUNKS:
                self._cached_row_count -= len(self._cached_chunks.popitem(last=False)[1])
        else:
            self._cached_chunks.move_to_end(index)
        return rows

    def _make_rows(self, index: int) -> Iterator[DrawnRow]:
        chunk = self._chunks[index]
        for number, line in enumerate(self._visible(chunk)):
            starts_here = number > 0 or not chunk.starts_mid_line
            visible_start = line[0][0][:_LINE_START_LENGTH] if line and not line[0][1] else ""
            line_start = visible_start if starts_here else chunk.line_start
            for row, parts in enumerate(wrap_parts(line, self.width)):
                yield DrawnRow(self._first_line(index) + number, starts_here and row == 0, line_start, parts)

    def _chunks_of_text(self) -> Iterator[TextChunk | None]:
        """The chunks of the text, including an empty last line. Yields None while it searches for the end of a run."""
        total = len(self.text)
        start, starts_mid_line, line_start = 0, False, ""
        while start < total or not starts_mid_line:
            spaces = yield from self._end_of_run(_SPACES, start)
            run = None if starts_mid_line else (yield from self._blank_lines(start, spaces))
            if run:
                yield run
                if run.end == total:
                    return
                start = run.end
                continue
            notice = ""
            if spaces - start > self._size:
                end, following = self._cut_at(spaces)
                notice = self._blanks_notice(start, end)
            elif (repeats_end := (yield from self._end_of_repeats(start))) - start > self._size:
                end, following = self._cut_at(repeats_end)
                notice = repeat_notice(self.text[start], repeats_end - start)
            else:
                end, following = self._end(start)
            ends_mid_line = following == end < total
            yield TextChunk(start, end, notice, starts_mid_line, ends_mid_line, line_start)
            if end == total:
                return
            line = self.text.rfind("\n", start, end) + 1
            if line or not starts_mid_line:
                begin = line or start
                line_start = self.text[begin : begin + _LINE_START_LENGTH]
            start, starts_mid_line = following, following == end

    def _end_of_run(self, run: re.Pattern[str], start: int) -> Generator[None, None, int]:
        """The end of a run that starts here; yields after each part of it."""
        end = start
        while (found := run.match(self.text, end, end + _SCAN_LENGTH)) and found.end() == end + _SCAN_LENGTH:
            end = found.end()
            yield None
        return found.end() if found else end

    def _blank_lines(self, start: int, spaces: int) -> Generator[None, None, TextChunk | None]:
        """The blank lines that start here with some spaces, if there are enough of them to replace."""
        text = self.text
        end = yield from self._end_of_run(_BLANKS, spaces)
        lone_return = _LONE_RETURN.search(text, start, end) if text.find("\r", start, end) >= 0 else None
        if lone_return or end < len(text):
            end = text.rfind("\n", start, lone_return.start() if lone_return else end) + 1
        if end <= start:
            return None
        number = text.count("\n", start, end) + (end == len(text))
        return TextChunk(start, end, f"⟨{number} blank lines⟩") if number > BLANK_LINES else None

    def _end_of_repeats(self, start: int) -> Generator[None, None, int]:
        """The end of a long run of one character that is shown by its code; `start` if there is none."""
        character = self.text[start : start + 1]
        if character in _BLANK_CHARACTERS or not self.text.startswith(character * _MIN_REPEATS, start):
            return start
        if not repeat_notice(character, 1):
            return start
        return (yield from self._end_of_run(re.compile(f"{re.escape(character)}*"), start))

    def _blanks_notice(self, start: int, end: int) -> str:
        counts = [(self.text.count(blank, start, end), noun) for blank, noun in ((" ", "spaces"), ("\t", "tabs"))]
        return f"⟨{', '.join(f'{number} {noun}' for number, noun in counts if number)}⟩"

    def _end(self, start: int) -> tuple[int, int]:
        """The end of the chunk that starts here and the start of the next one: after a newline, or at the cut."""
        text, total = self.text, len(self.text)
        # Text that takes more work gets smaller chunks, so that each chunk costs about the same.
        aim = start + self._size
        small = max(1, self._size // _SLOW_DIVISOR)
        crowded = text.count("\n", start, aim) > self._size // _SLOW_RATIO
        if crowded or not _SIMPLE.match(text, start, aim):
            full_of_marks = count_not_plain(text[start : start + small]) > small // _SLOW_RATIO
            size = small if crowded or full_of_marks else self._size // _NOT_SIMPLE_DIVISOR
        else:
            size = self._size
        aim = start + size
        if aim >= total:
            return total, total
        line_end = text.rfind("\n", start + 1, aim)
        if line_end > start:
            # Blank lines at the end belong to the run that the next chunk starts with.
            text_length = len(text[start:line_end].rstrip(" \t\r\n"))
            return self._cut_at(text.index("\n", start + text_length) if text_length else line_end)
        line_end = text.find("\n", aim, aim + size)
        if line_end >= 0:
            return self._cut_at(line_end)
        text_length = len(text[start:aim].rstrip(" \t"))
        if 0 < text_length < size:
            return self._cut_at(start + text_length)
        safe = _SAFE_CUT.search(text, aim, aim + 1024)
        if safe and "\n" not in text[aim : safe.start()]:
            return self._cut_at(safe.start())
        return self._cut_at(self._after_marks(aim))

    def _after_marks(self, cut: int) -> int:
        """The cut moved after the marks on the character before it, unless there are too many."""
        end = cut
        while end < len(self.text) and category(self.text[end]) in _ATTACHED_CATEGORIES:
            end += 1
            if end - cut > MARKS_PER_BASE:
                return cut
        return end

    def _cut_at(self, cut: int) -> tuple[int, int]:
        """The end of a chunk at a cut, and the start of the next: after the newline if there is one."""
        text = self.text
        if text.startswith("\n", cut):
            return cut - (text[cut - 1 : cut] == "\r"), cut + 1
        return (cut, cut + 2) if text.startswith("\r\n", cut) else (cut, cut)

"""A foreign text of any length as rows for a screen, of which only those that are drawn are made visible.

The text is cut into chunks of lines. A chunk is counted when its turn comes (`count`, in small portions of time)
and made visible when one of its rows is asked for. A long run of blank lines, of blanks or of one character that is
shown by its number is one chunk however long it is, so its count is whole. A line longer than a chunk continues in
the next one; what else `core.text` would count across such a cut is counted in two parts, and nothing is lost.
"""

import re
import time
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Generator, Iterator
from math import inf
from typing import Final
from unicodedata import category

from aileron_tui.console.render import Part
from aileron_tui.console.widgets.wrapping import Row, ascii_rows, rows
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import BLANK_LINES, MARKS_PER_BASE, block_pieces, repeated, unshown

CHUNK: Final = 16 * 1024
_DENSER: Final = 4
_DENSEST: Final = 16
_CROWDED: Final = 16
_HEAD: Final = 3
_KEPT: Final = 6
_KEPT_ROWS: Final = 2048

_FLOOD: Final = 256
_LOOK: Final = 1024 * 1024
_BLANK: Final = " \t\r\n"
_SITTING: Final = ("Mn", "Mc", "Me", "Cf")
_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_SPACES: Final = re.compile(r"[ \t]*")
_SIMPLE: Final = re.compile(r"[\n\r\t -~]*\Z")
_LONE_RETURN: Final = re.compile(r"\r(?!\n)")
_CUT: Final = re.compile(r"(?<=[!-~])(?=[!-~])")
# Whatever `block` would change; text without it can be counted as it stands.
_CHANGED: Final = re.compile(rf"[^\n -~]| {{25}}| {{3}}(?:\n|\Z)|(?:\A|\n) *\n(?: *(?:\n|\Z)){{{BLANK_LINES}}}")


@dataclass(frozen=True, slots=True)
class TextChunk:
    """A stretch of the text: whole lines without their last newline, a part of a long line, or folded padding.

    `continues` and `goes_on` tell of a line that began before or ends later; `notice` stands for padding. `head` is
    how the line begins that a chunk continues.
    """

    start: int
    end: int
    notice: str = ""
    continues: bool = False
    goes_on: bool = False
    head: str = ""


@dataclass(frozen=True, slots=True)
class DrawnRow:
    """One row: the number of its line within the chunks so far, whether the line begins here, and its parts."""

    line: int
    first: bool
    head: str
    parts: Row


class LongText:
    """The rows of a text at a width. `height` grows while `count` is at work; `counted` tells when it is exact.

    `lines` are those of the text itself, before any folding.
    """

    def __init__(self, text: str, chunk: int = CHUNK) -> None:
        self.text = text
        self.lines = text.count("\n") + 1
        self.width = 0
        self._size = chunk
        self._chunks: list[TextChunk] = []
        self._source = self._cut()
        self._exhausted = False
        self._lines: list[int] = []
        self._ends: list[int] = []
        self._made: OrderedDict[int, tuple[DrawnRow, ...]] = OrderedDict()
        self._rows_made = 0

    @property
    def height(self) -> int:
        """How many rows are known."""
        return self._ends[-1] if self._ends else 0

    @property
    def counted(self) -> bool:
        """Whether there are no more rows than `height`."""
        return self._exhausted and len(self._ends) == len(self._chunks)

    def lay(self, width: int) -> None:
        """Forget the rows of another width."""
        if width != self.width:
            self.width = width
            self._ends.clear()
            self._made.clear()
            self._rows_made = 0

    def count(self, seconds: float, height: float = inf) -> bool:
        """Count on until `height` rows are known or the time is over; whether all is counted."""
        deadline = time.perf_counter() + seconds
        while self.height < height and self._count_next() and time.perf_counter() < deadline:
            pass
        return self.counted

    def row(self, y: int) -> DrawnRow | None:
        """Row number `y`, if it is known."""
        if not 0 <= y < self.height:
            return None
        index = bisect_right(self._ends, y)
        return self._drawn(index)[y - (self._ends[index - 1] if index else 0)]

    def place(self, y: int) -> tuple[int, int]:
        """Where a row stands, in terms that outlive another width: chunk, and line within it."""
        row = self.row(y)
        if row is None:
            return (0, 0)
        index = bisect_right(self._ends, y)
        return index, row.line - self._first_line(index)

    def find(self, place: tuple[int, int]) -> int | None:
        """The first row at a place, or None while it is not counted."""
        index, line = place
        if index >= len(self._ends):
            return None
        wanted = self._first_line(index) + line
        start = self._ends[index - 1] if index else 0
        return next((start + number for number, row in enumerate(self._drawn(index)) if row.line >= wanted), start)

    def row_of(self, line: int) -> int | None:
        """The row in which a line begins, or None while it is not counted."""
        index = bisect_right(self._lines, line)
        return self.find((index, line - self._first_line(index)))

    def _first_line(self, index: int) -> int:
        return self._lines[index - 1] if index else 0

    def _count_next(self) -> bool:
        index = len(self._ends)
        if index == len(self._chunks):
            try:
                found = next(self._source)
            except StopIteration:
                self._exhausted = True
                return False
            if found is None:
                return True
            self._chunks.append(found)
        chunk = self._chunks[index]
        number, height = self._measured(chunk)
        if index == len(self._lines):
            self._lines.append(self._first_line(index) + number - chunk.goes_on)
        self._ends.append(self.height + height)
        return True

    def _measured(self, chunk: TextChunk) -> tuple[int, int]:
        """How many lines and rows a chunk has, without making plain text visible."""
        text = "" if chunk.notice else self.text[chunk.start : chunk.end].replace("\r\n", "\n")
        if chunk.notice or _CHANGED.search(text):
            lines = self._visible(chunk)
            return len(lines), sum(len(rows(line, self.width)) for line in lines)
        plain = text.split("\n")
        width = max(1, self.width)
        if max(map(len, plain)) <= width:
            return len(plain), len(plain)
        return len(plain), sum(len(ascii_rows(line, width)) if len(line) > width else 1 for line in plain)

    def _visible(self, chunk: TextChunk) -> tuple[tuple[Part, ...], ...]:
        if chunk.notice:
            return (((chunk.notice, True),),)
        return block_pieces(self.text[chunk.start : chunk.end])

    def _drawn(self, index: int) -> tuple[DrawnRow, ...]:
        made = self._made.get(index)
        if made is None:
            made = tuple(self._draw(index))
            self._made[index] = made
            self._rows_made += len(made)
            # A screen may show a row of each of many chunks.
            while self._rows_made > _KEPT_ROWS and len(self._made) > _KEPT:
                self._rows_made -= len(self._made.popitem(last=False)[1])
        else:
            self._made.move_to_end(index)
        return made

    def _draw(self, index: int) -> Iterator[DrawnRow]:
        chunk = self._chunks[index]
        for place, line in enumerate(self._visible(chunk)):
            begins = place > 0 or not chunk.continues
            written = line[0][0][:_HEAD] if line and not line[0][1] else ""
            head = written if begins else chunk.head
            for position, parts in enumerate(rows(line, self.width)):
                yield DrawnRow(self._first_line(index) + place, begins and position == 0, head, parts)

    def _cut(self) -> Iterator[TextChunk | None]:
        """The text in chunks; the empty line after a last newline is a line as well. None while one is looked for."""
        total = len(self.text)
        start, continues, head = 0, False, ""
        while start < total or not continues:
            spaces = yield from self._past(_SPACES, start)
            run = None if continues else (yield from self._blank_lines(start, spaces))
            if run:
                yield run
                if run.end == total:
                    return
                start = run.end
                continue
            notice = ""
            if spaces - start > self._size:
                end, following = self._cut_at(spaces)
                notice = self._blanks(start, end)
            elif (flood := (yield from self._past_flood(start))) - start > self._size:
                end, following = self._cut_at(flood)
                notice = repeated(self.text[start], flood - start)
            else:
                end, following = self._end(start)
            yield TextChunk(start, end, notice, continues, goes_on=following == end < total, head=head)
            if end == total:
                return
            line = self.text.rfind("\n", start, end) + 1
            if line or not continues:
                begin = line or start
                head = self.text[begin : begin + _HEAD]
            start, continues = following, following == end

    def _past(self, run: re.Pattern[str], start: int) -> Generator[None, None, int]:
        """Where a run ends that begins here, looking only so far at a time."""
        end = start
        while (found := run.match(self.text, end, end + _LOOK)) and found.end() == end + _LOOK:
            end = found.end()
            yield None
        return found.end() if found else end

    def _blank_lines(self, start: int, spaces: int) -> Generator[None, None, TextChunk | None]:
        """The blank lines that begin here with some spaces, if they are so many that they are folded."""
        text = self.text
        end = yield from self._past(_BLANKS, spaces)
        odd = _LONE_RETURN.search(text, start, end) if text.find("\r", start, end) >= 0 else None
        if odd or end < len(text):
            end = text.rfind("\n", start, odd.start() if odd else end) + 1
        if end <= start:
            return None
        number = text.count("\n", start, end) + (end == len(text))
        return TextChunk(start, end, f"⟨{number} blank lines⟩") if number > BLANK_LINES else None

    def _past_flood(self, start: int) -> Generator[None, None, int]:
        """Where a flood of one character ends that is shown by its number; the start if there is none."""
        character = self.text[start : start + 1]
        if character in _BLANK or not self.text.startswith(character * _FLOOD, start) or not repeated(character, 1):
            return start
        return (yield from self._past(re.compile(f"{re.escape(character)}*"), start))

    def _blanks(self, start: int, end: int) -> str:
        counts = [(self.text.count(blank, start, end), noun) for blank, noun in ((" ", "spaces"), ("\t", "tabs"))]
        return f"⟨{', '.join(f'{number} {noun}' for number, noun in counts if number)}⟩"

    def _end(self, start: int) -> tuple[int, int]:
        """Where the chunk that begins here ends and where the next one begins: behind a newline, or at the cut."""
        text, total = self.text, len(self.text)
        # Text that takes more work comes in smaller chunks, so that each costs about the same.
        aim = start + self._size
        small = max(1, self._size // _DENSEST)
        crowded = text.count("\n", start, aim) > self._size // _CROWDED
        if crowded or not _SIMPLE.match(text, start, aim):
            full_of_marks = unshown(text[start : start + small]) > small // _CROWDED
            size = small if crowded or full_of_marks else self._size // _DENSER
        else:
            size = self._size
        aim = start + size
        if aim >= total:
            return total, total
        line_end = text.rfind("\n", start + 1, aim)
        if line_end > start:
            # Blank lines at the end belong to the run that the next chunk begins with.
            kept = len(text[start:line_end].rstrip(" \t\r\n"))
            return self._cut_at(text.index("\n", start + kept) if kept else line_end)
        line_end = text.find("\n", aim, aim + size)
        if line_end >= 0:
            return self._cut_at(line_end)
        kept = len(text[start:aim].rstrip(" \t"))
        if 0 < kept < size:
            return self._cut_at(start + kept)
        safe = _CUT.search(text, aim, aim + 1024)
        if safe and "\n" not in text[aim : safe.start()]:
            return self._cut_at(safe.start())
        return self._cut_at(self._behind_marks(aim))

    def _behind_marks(self, cut: int) -> int:
        """The cut moved behind what sits on the character before it, unless that is a flood."""
        end = cut
        while end < len(self.text) and category(self.text[end]) in _SITTING:
            end += 1
            if end - cut > MARKS_PER_BASE:
                return cut
        return end

    def _cut_at(self, cut: int) -> tuple[int, int]:
        """The end of a chunk at a cut, and the start of the next: behind the newline if there is one."""
        text = self.text
        if text.startswith("\n", cut):
            return cut - (text[cut - 1 : cut] == "\r"), cut + 1
        return (cut, cut + 2) if text.startswith("\r\n", cut) else (cut, cut)

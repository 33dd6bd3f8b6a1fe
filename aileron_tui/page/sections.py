"""The rows of a prompt as fields and quotes, with remarks about look-alikes; nothing is left out without a count."""

from collections.abc import Iterable, Sequence
from typing import Final

from aileron_tui.core.edits import Pair, difference, paired, signed_rows
from aileron_tui.core.lookalikes import remarks
from aileron_tui.core.prompt import NOT_AVAILABLE
from aileron_tui.core.prompt_rows import Row, fold_missing
from aileron_tui.core.skeletons import KnownNames
from aileron_tui.core.visible_text import count_not_plain
from aileron_tui.page.shown_text import block_lines, line, short_line
from aileron_tui.page.views import Field, Line, Quote, QuoteLine, Remark

FIRST_LINES: Final = 40
"""How many lines of a quote are never folded."""

MAX_ROWS: Final = 500
MAX_CHARACTERS: Final = 400_000
MAX_LINES: Final = 10_000
_MAX_FIELD: Final = 2000
_MAX_LINE: Final = 4000
_MARK_SIZE: Final = 12
"""How much more room the mark for a character takes than the character."""

_EMPTY: Final = "empty"


class Rows:
    """Turns rows and other foreign text into fields, quotes and lines, within the limits of one prompt.

    `left_out` is how many characters could not be shown. `known` has the names that look-alikes are compared with.
    """

    def __init__(self, known: KnownNames) -> None:
        self._known = known
        self._characters = MAX_CHARACTERS
        self._lines = MAX_LINES
        self._rows = MAX_ROWS
        self.left_out = 0

    def shown(
        self, rows: Sequence[Row], before: Sequence[Row] | None, origin: Line
    ) -> tuple[tuple[Field, ...], tuple[Quote, ...]]:
        """The fields and quotes for these rows; `before` has the rows as they were before an edit."""
        fields: list[Field] = []
        quotes: list[Quote] = []
        for row, old in paired(fold_missing(rows) if before is None else rows, before):
            if not self._take(row, old):
                continue
            if _is_long(row, old):
                quotes += self._quotes(row, old, origin)
            else:
                fields += self._fields((row, old))
        return tuple(fields), tuple(quotes)

    def _take(self, row: Row, old: Row | None) -> bool:
        """Whether there is room for a row. A long value may still be shown in part."""
        if self._rows <= 0 or self._characters <= 0:
            self.left_out += sum(len(one.label) + len(one.value) for one in (row, old) if one)
            return False
        self._rows -= 1
        return True

    def line(self, text: str) -> Line:
        """Foreign text as one line; one that is longer than any honest one is cut, and counted in `left_out`."""
        kept = text[:_MAX_LINE]
        self.left_out += len(text) - len(kept)
        self._characters -= _size(kept)
        return line(text) if kept is text else short_line(text, _MAX_LINE)

    def _fields(self, pair: Pair) -> Iterable[Field]:
        row, old = pair
        for sign, shown in signed_rows(row, old):
            placeholder = NOT_AVAILABLE if shown.missing else "" if shown.value else _EMPTY
            value, _ = self._within_limits(shown.value)
            yield Field(
                self.line(shown.label),
                () if placeholder else line(value),
                placeholder,
                sign.strip(),
                self._remarks(shown.value) if sign != "-" else (),
            )

    def _quotes(self, row: Row, old: Row | None, origin: Line) -> Iterable[Quote]:
        both = old is not None and not old.missing and not row.missing
        runs = difference(old.value, row.value) if old is not None and both else None
        if runs is not None:
            lines = [
                QuoteLine(text, sign.strip()) for sign, run in runs for text in block_lines(self._within_limits(run)[0])
            ]
            yield self._quote(row, origin, lines, "edited", 0)
            return
        for sign, shown in signed_rows(row, old):
            if shown.missing:
                yield self._quote(shown, origin, [], NOT_AVAILABLE, 0)
                continue
            text, left_out = self._within_limits(shown.value)
            note = {"-": "before the edit", "+": "after the edit"}.get(sign, "")
            yield self._quote(
                shown, origin, [QuoteLine(one, sign.strip()) for one in block_lines(text)], note, left_out
            )

    def _quote(self, row: Row, origin: Line, lines: list[QuoteLine], note: str, left_out: int) -> Quote:
        first, rest = tuple(lines[:FIRST_LINES]), tuple(lines[FIRST_LINES:])
        return Quote(self.line(row.label), origin, first, rest, note, left_out, self._remarks(row.value))

    def _within_limits(self, text: str) -> tuple[str, int]:
        """As much of a text as there is room for, and how many characters that leaves out."""
        room = max(0, self._characters)
        kept = text[:room]
        if _size(kept) > room:
            kept = text[: room // (_MARK_SIZE + 1)]
        if kept.count("\n") >= self._lines:
            kept = "\n".join(kept.split("\n", max(0, self._lines))[: max(0, self._lines)])
        self._characters -= _size(kept)
        self._lines -= kept.count("\n") + 1
        left_out = len(text) - len(kept)
        self.left_out += left_out
        return kept, left_out

    def _remarks(self, text: str) -> tuple[Remark, ...]:
        found = remarks(text, self._known)
        return (
            *(Remark(line(sentence)) for sentence in found.warnings),
            *(Remark(line(sentence), is_warning=False) for sentence in found.notes),
        )


def _size(text: str) -> int:
    """How much room a text takes, with the marks for the characters that are not plain."""
    return len(text) + _MARK_SIZE * count_not_plain(text)


def _is_long(row: Row, old: Row | None) -> bool:
    """Whether a row is shown as a quote: a text of several lines, or one that is too long for a line."""
    longest = max(len(row.value), len(old.value) if old else 0)
    return longest > _MAX_FIELD or ((row.multiline or (old is not None and old.multiline)) and longest > 0)

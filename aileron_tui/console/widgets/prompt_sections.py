"""The parts of a prompt section: short values as fields, long ones as quotes, edited ones with old and new value.

Only a limited number of rows become fields and quotes. The others follow as lines of one last quote, so that nothing
is left out and the prompt is still fast to draw.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from aileron_tui.console.widgets.fields import Field
from aileron_tui.core.edits import Pair, difference, paired, signed_rows
from aileron_tui.core.prompt import NOT_AVAILABLE
from aileron_tui.core.prompt_rows import Row, fold_missing
from aileron_tui.core.values import dataclass

MAX_FIELDS: Final = 100
MAX_QUOTES: Final = 12
MAX_LABEL_LENGTH: Final = 120
MAX_VALUE_LENGTH: Final = 2000
MAX_FOLDED_LABEL: Final = 11
"""Longer labels would not leave enough room for values on a screen of 40 columns."""
_MAX_TOTAL_LENGTH: Final = 8000
_EMPTY: Final = "empty"


@dataclass(frozen=True, slots=True)
class Block:
    """The contents of a quote. If `is_list`, each line is a separate entry."""

    label: str
    text: str
    note: str = ""
    is_diff: bool = False
    is_list: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """The fields of a section, and the blocks that follow them."""

    fields: tuple[Field, ...] = ()
    blocks: tuple[Block, ...] = ()


def section(rows: Sequence[Row], before: Sequence[Row] | None = None) -> Section:
    """The section for these rows; `before` holds the rows as they were before an edit."""
    fields: list[Field] = []
    blocks: list[Block] = []
    overflow: list[Pair] = []
    budget = _MAX_TOTAL_LENGTH
    for row, old in paired(fold_missing(rows, MAX_FOLDED_LABEL) if before is None else rows, before):
        longest = max(len(row.value), len(old.value) if old else 0)
        small = len(row.label) <= MAX_LABEL_LENGTH and longest <= MAX_VALUE_LENGTH
        inline = small and (not row.multiline or (old is None and (row.missing or not row.value)))
        if inline and len(fields) < MAX_FIELDS and len(row.value) <= budget:
            budget -= len(row.value)
            fields.append(_field(row, old, edited=before is not None))
        elif len(row.label) <= MAX_LABEL_LENGTH and not inline and len(blocks) < MAX_QUOTES:
            blocks += _blocks(row, old)
        else:
            overflow.append((row, old))
    if overflow:
        edited = any(old for _, old in overflow)
        text = _signed_lines(overflow) if edited else row_lines(row for row, _ in overflow)
        note = "edited, one line each" if edited else "one line each"
        blocks.append(Block(f"{len(overflow):,} more rows", text, note, edited, is_list=True))
    return Section(tuple(fields), tuple(blocks))


def _field(row: Row, old: Row | None, *, edited: bool) -> Field:
    placeholder = "" if row.value and not row.missing else NOT_AVAILABLE if row.missing else _EMPTY
    if edited and old is not None and row.missing:
        placeholder = "left out"
    value = row.value if not placeholder else None
    if old is None:
        return Field(row.label, value, placeholder)
    return Field(row.label, value, placeholder, None if old.missing else old.value, edited=True)


def _blocks(row: Row, old: Row | None) -> list[Block]:
    if old is None:
        return [Block(row.label, row.value)]
    runs = difference(old.value, row.value)
    if runs is None:
        return [Block(row.label, old.value, "before the edit"), Block(row.label, row.value, "after the edit")]
    lines = (f"{sign} {line}" for sign, run in runs for line in run.split("\n"))
    return [Block(row.label, "\n".join(lines), "edited", is_diff=True)]


def row_lines(rows: Iterable[Row]) -> str:
    """One line for each row, with newlines replaced by a sign."""
    return "\n".join(f"{_one_line(row.label)}: {_one_line_value(row)}" for row in rows)


def _signed_lines(pairs: Iterable[Pair]) -> str:
    """The same with a sign before each line; an edited row appears twice, before and after the edit."""
    return "\n".join(f"{sign} {row_lines([shown])}" for row, old in pairs for sign, shown in signed_rows(row, old))


def _one_line_value(row: Row) -> str:
    return NOT_AVAILABLE if row.missing else _one_line(row.value)


def _one_line(text: str) -> str:
    return text.replace("\n", "⏎")

"""A section of a prompt as what is drawn: short values as fields, the rest as quotes, an edit as old and new.

However many rows there are, only so many become fields and quotes of their own; the others follow as the lines of
one last quote, so that nothing is left out and nothing takes long to draw.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from aileron_tui.console.widgets.fields import Field
from aileron_tui.core.edits import Pair, difference, paired, signed_rows
from aileron_tui.core.prompt import NOT_AVAILABLE
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.values import dataclass

FIELDS: Final = 100
QUOTES: Final = 12
LONGEST_LABEL: Final = 120
LONGEST_VALUE: Final = 2000
_TOGETHER: Final = 8000
_EMPTY: Final = "empty"


@dataclass(frozen=True, slots=True)
class Block:
    """What a quote shows."""

    label: str
    text: str
    note: str = ""
    diff: bool = False
    listed: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """Fields first, then blocks."""

    fields: tuple[Field, ...] = ()
    blocks: tuple[Block, ...] = ()


def section(rows: Sequence[Row], before: Sequence[Row] | None = None) -> Section:
    """What is drawn for these rows; `before` are the rows that an edit replaced."""
    fields: list[Field] = []
    blocks: list[Block] = []
    late: list[Pair] = []
    budget = _TOGETHER
    for row, old in paired(rows, before):
        small = len(row.label) <= LONGEST_LABEL and max(len(row.value), len(old.value) if old else 0) <= LONGEST_VALUE
        inline = small and (not row.multiline or (old is None and (row.missing or not row.value)))
        if inline and len(fields) < FIELDS and len(row.value) <= budget:
            budget -= len(row.value)
            fields.append(_field(row, old, edited=before is not None))
        elif len(row.label) <= LONGEST_LABEL and not inline and len(blocks) < QUOTES:
            blocks += _blocks(row, old)
        else:
            late.append((row, old))
    if late:
        edited = any(old for _, old in late)
        text = _signed(late) if edited else _listed(row for row, _ in late)
        note = "edited, one line each" if edited else "one line each"
        blocks.append(Block(f"{len(late):,} more rows", text, note, edited, listed=True))
    return Section(tuple(fields), tuple(blocks))


def _field(row: Row, old: Row | None, *, edited: bool) -> Field:
    said = "" if row.value and not row.missing else NOT_AVAILABLE if row.missing else _EMPTY
    if edited and old is not None and row.missing:
        said = "left out"
    value = row.value if not said else None
    if old is None:
        return Field(row.label, value, said)
    return Field(row.label, value, said, None if old.missing else old.value, edited=True)


def _blocks(row: Row, old: Row | None) -> list[Block]:
    if old is None:
        return [Block(row.label, row.value)]
    runs = difference(old.value, row.value)
    if runs is None:
        return [Block(row.label, old.value, "before the edit"), Block(row.label, row.value, "after the edit")]
    lines = (f"{sign} {line}" for sign, run in runs for line in run.split("\n"))
    return [Block(row.label, "\n".join(lines), "edited", diff=True)]


def _listed(rows: Iterable[Row]) -> str:
    """One line for each row: what looks like a newline in it is only a sign."""
    return "\n".join(f"{_flat(row.label)}: {NOT_AVAILABLE if row.missing else _flat(row.value)}" for row in rows)


def _signed(pairs: Iterable[Pair]) -> str:
    """The same with a sign before each line: what an edit changed is there as it was and as it is."""
    return "\n".join(f"{sign} {_listed([told])}" for row, old in pairs for sign, told in signed_rows(row, old))


def _flat(text: str) -> str:
    return text.replace("\n", "⏎")

"""An edited call: the inputs that were asked for and those that were approved, as rows to compare and as JSON."""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from aileron_tui.core.jsontext import JsonObject, plain
from aileron_tui.core.prompt_rows import Row

MOST_LINES: Final = 400
MOST_TEXT: Final = 32_000
"""The longest that two texts together may be to be compared line by line."""

_MOST_PAIRS: Final = 3000

_ABSENT: Final = Row("", missing=True)

Pair = tuple[Row, Row | None]
"""A row, and the same row before the edit if it was different."""


def edit_fields(asked: JsonObject, approved: JsonObject) -> JsonObject:
    """An edit as JSON: the inputs asked for, the inputs approved, and the names of those that differ."""
    was, now = ({name: json.dumps(value, sort_keys=True) for name, value in args.items()} for args in (asked, approved))
    changed = [name for name in dict.fromkeys((*was, *now)) if was.get(name) != now.get(name)]
    return {"asked": asked, "approved": approved, "changed": [*changed]}


def arg_rows(args: JsonObject) -> tuple[Row, ...]:
    """Rows for inputs whose labels are not known."""
    return tuple(_row(name, plain(value), long=isinstance(value, list | dict)) for name, value in args.items())


def _row(name: str, text: str, *, long: bool) -> Row:
    return Row(name, text, multiline=long or "\n" in text)


def paired(rows: Sequence[Row], before: Sequence[Row] | None) -> list[Pair]:
    """Each row with its earlier value if that was different; removed rows come last. None: nothing was edited."""
    if before is None:
        return [(row, None) for row in rows]
    known: defaultdict[str, list[Row]] = defaultdict(list)
    for row in before:
        known[row.label].append(row)
    pairs: list[Pair] = []
    for row in rows:
        old = known[row.label].pop(0) if known[row.label] else _ABSENT
        pairs.append((row, None if (old.value, old.missing) == (row.value, row.missing) else old))
    left = [row for rest in known.values() for row in rest if not row.missing]
    return [*pairs, *((Row(row.label, missing=True, multiline=row.multiline), row) for row in left)]


def signed_rows(row: Row, old: Row | None) -> Iterator[tuple[str, Row]]:
    """A row, or its old and its new value, each with its sign: `-`, `+` or a space."""
    if old is None:
        yield " ", row
        return
    if not old.missing:
        yield "-", old
    if not row.missing:
        yield "+", row


def difference(before: str, after: str) -> list[tuple[str, str]] | None:
    """Both texts as runs of lines, each with its sign: `-`, `+`, or a space if unchanged. None if they are too long.

    Only the lines between the first and the last change are compared one by one, and only if there are few.
    """
    old, new = before.split("\n", MOST_LINES), after.split("\n", MOST_LINES)
    if max(len(old), len(new)) > MOST_LINES or len(before) + len(after) > MOST_TEXT:
        return None
    top = _same_at_start(old, new)
    end = _same_at_start(old[top:][::-1], new[top:][::-1])
    runs = [
        (" ", old[:top]),
        *_compared(old[top : len(old) - end], new[top : len(new) - end]),
        (" ", old[len(old) - end :]),
    ]
    return [(sign, "\n".join(lines)) for sign, lines in runs if lines]


def _same_at_start(old: list[str], new: list[str]) -> int:
    """How many lines at the start are the same."""
    pairs = zip(old, new, strict=False)
    return next((number for number, (was, now) in enumerate(pairs) if was != now), min(len(old), len(new)))


def _compared(old: list[str], new: list[str]) -> Iterator[tuple[str, list[str]]]:
    if len(old) * len(new) > _MOST_PAIRS:
        yield "-", old
        yield "+", new
        return
    import difflib  # noqa: PLC0415  # few prompts are edited

    for tag, start, end, new_start, new_end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            yield " ", old[start:end]
        else:
            yield "-", old[start:end]
            yield "+", new[new_start:new_end]

"""Edited calls: the inputs as asked and as approved, as rows to compare and as JSON."""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from aileron_tui.core.jsontext import JsonObject, plain
from aileron_tui.core.prompt_rows import Row

MOST_LINES: Final = 400
MOST_TEXT: Final = 32_000
"""The most characters that two texts may have together to be compared line by line."""

_MOST_PAIRS: Final = 3000

_ABSENT: Final = Row("", missing=True)

Pair = tuple[Row, Row | None]
"""A row, and the row as it was before the edit, or None if it is unchanged."""


def edit_fields(asked: JsonObject, approved: JsonObject) -> JsonObject:
    """An edit as JSON: the inputs as asked, the inputs as approved, and the names of those that differ."""
    was, now = ({name: json.dumps(value, sort_keys=True) for name, value in args.items()} for args in (asked, approved))
    changed = [name for name in dict.fromkeys((*was, *now)) if was.get(name) != now.get(name)]
    return {"asked": asked, "approved": approved, "changed": [*changed]}


def arg_rows(args: JsonObject) -> tuple[Row, ...]:
    """Rows for inputs whose labels are unknown: each is labelled with its name."""
    return tuple(_row(name, plain(value), long=isinstance(value, list | dict)) for name, value in args.items())


def _row(name: str, text: str, *, long: bool) -> Row:
    return Row(name, text, multiline=long or "\n" in text)


def paired(rows: Sequence[Row], before: Sequence[Row] | None) -> list[Pair]:
    """Pairs each row with the row before the edit; removed rows come last. `before` is None if nothing was edited."""
    if before is None:
        return [(row, None) for row in rows]
    known: defaultdict[str, list[Row]] = defaultdict(list)
    for row in before:
        known[row.label].append(row)
    pairs: list[Pair] = []
    for row in rows:
        old = known[row.label].pop(0) if known[row.label] else _ABSENT
        pairs.append((row, None if (old.value, old.missing) == (row.value, row.missing) else old))
    removed = [row for rest in known.values() for row in rest if not row.missing]
    return [*pairs, *((Row(row.label, missing=True, multiline=row.multiline), row) for row in removed)]


def signed_rows(row: Row, old: Row | None) -> Iterator[tuple[str, Row]]:
    """Yields an unchanged row with a space, or the old row with `-` and the new one with `+`."""
    if old is None:
        yield " ", row
        return
    if not old.missing:
        yield "-", old
    if not row.missing:
        yield "+", row


def difference(before: str, after: str) -> list[tuple[str, str]] | None:
    """The difference as runs of lines, each with `-`, `+`, or a space if unchanged. None if the texts are too long.

    Only the lines between the first and the last change are compared one by one, and only if there are few of them.
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
    """The number of lines at the start that are the same in both."""
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

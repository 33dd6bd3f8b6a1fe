"""The difference between two texts in unified form, in time that grows with their size and not with its square."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

NO_NEWLINE: Final = "\\ No newline at end of file"
_CONTEXT: Final = 3
_MOST_LINES: Final = 2000
_MOST_PAIRS: Final = 20_000


def unified_diff(before: str, after: str) -> str:
    """The changes as hunks that begin with `@@`; "" if the texts are equal. Lines end with a newline only.

    Texts that differ a lot have one hunk that removes and adds everything between the first and the last change.
    """
    if before == after:
        return ""
    old, new = _lines(before), _lines(after)
    top = _same(old, new)
    end = _same(old[top:][::-1], new[top:][::-1])
    changes = [
        (first + top, last + top, new_first + top, new_last + top)
        for first, last, new_first, new_last in _changes(old[top : len(old) - end], new[top : len(new) - end])
    ]
    return "\n".join(line for group in _grouped(changes) for line in _hunk(group, old, new))


def _lines(text: str) -> list[str]:
    """The lines of a text. The last one says if no newline follows it."""
    lines = text.split("\n")
    if lines[-1] == "":
        del lines[-1]
    else:
        lines[-1] += f"\n{NO_NEWLINE}"
    return lines


def _same(old: Sequence[str], new: Sequence[str]) -> int:
    pairs = zip(old, new, strict=False)
    return next((number for number, (was, now) in enumerate(pairs) if was != now), min(len(old), len(new)))


def _changes(old: list[str], new: list[str]) -> list[tuple[int, int, int, int]]:
    counts = Counter(new)
    if max(len(old), len(new)) > _MOST_LINES or sum(counts[line] for line in old) > _MOST_PAIRS:
        return [(0, len(old), 0, len(new))]
    import difflib  # noqa: PLC0415  # only prompts of files need it

    found = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [change for tag, *change in found if tag != "equal"]  # type: ignore[misc]


def _grouped(changes: list[tuple[int, int, int, int]]) -> Iterator[list[tuple[int, int, int, int]]]:
    """Changes whose context touches, together."""
    group: list[tuple[int, int, int, int]] = []
    for change in changes:
        if group and change[0] - group[-1][1] > 2 * _CONTEXT:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _hunk(changes: list[tuple[int, int, int, int]], old: list[str], new: list[str]) -> Iterator[str]:
    start = max(0, changes[0][0] - _CONTEXT)
    end = min(len(old), changes[-1][1] + _CONTEXT)
    new_start = changes[0][2] - (changes[0][0] - start)
    new_end = changes[-1][3] + (end - changes[-1][1])
    yield f"@@ -{_range(start, end)} +{_range(new_start, new_end)} @@"
    place = start
    for first, last, new_first, new_last in changes:
        yield from (f" {line}" for line in old[place:first])
        yield from (f"-{line}" for line in old[first:last])
        yield from (f"+{line}" for line in new[new_first:new_last])
        place = last
    yield from (f" {line}" for line in old[place:end])


def _range(start: int, end: int) -> str:
    """A range of lines as in unified diffs: its first line and its length, unless that is 1."""
    if end - start == 1:
        return str(start + 1)
    return f"{start + 1 if end > start else start},{end - start}"

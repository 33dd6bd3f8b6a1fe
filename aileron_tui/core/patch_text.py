"""Patches in the format of `apply_patch`: which files they add, change, move or delete, and how."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from aileron_tui.core.values import dataclass

_BEGIN, _END, _END_OF_FILE = "*** Begin Patch", "*** End Patch", "*** End of File"
_ADD, _DELETE, _UPDATE, _MOVE = "*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "
_MOST_CHUNKS: Final = 500
_MOST_COMPARED: Final = 2_000_000
"""How many lines are compared to find a chunk. What needs more counts as not found."""


@dataclass(frozen=True, slots=True)
class PatchChunk:
    """Lines to find and lines to put there. `after` is a line that comes before them; `at_end` anchors them there."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    after: tuple[str, ...] = ()
    at_end: bool = False


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What a patch does to one file: `does` is add, delete or update."""

    does: str
    path: str
    content: str = ""
    move_to: str = ""
    chunks: tuple[PatchChunk, ...] = ()


@lru_cache(maxsize=16)
def read_patch(text: str) -> tuple[FilePatch, ...] | None:
    """The files of a patch, or None if it does not have the known format."""
    lines = text.strip().split("\n")
    if len(lines) < 2 or lines[0].strip() != _BEGIN or lines[-1].strip() != _END:
        return None
    files: list[FilePatch] = []
    place, last = 1, len(lines) - 1
    while place < last:
        line = lines[place].strip()
        end = place + 1
        while end < last and not lines[end].startswith((_ADD, _DELETE, _UPDATE)):
            end += 1
        body = lines[place + 1 : end]
        if line.startswith(_ADD):
            found = _added(line.removeprefix(_ADD), body)
        elif line.startswith(_DELETE) and not any(map(str.strip, body)):
            found = FilePatch("delete", line.removeprefix(_DELETE))
        elif line.startswith(_UPDATE):
            found = _updated(line.removeprefix(_UPDATE), body)
        else:
            return None
        if found is None:
            return None
        files.append(found)
        place = end
    return tuple(files) or None


def _added(path: str, body: Sequence[str]) -> FilePatch | None:
    if not all(line.startswith("+") for line in body):
        return None
    return FilePatch("add", path, content="".join(f"{line[1:]}\n" for line in body))


def _updated(path: str, body: Sequence[str]) -> FilePatch | None:
    move_to = ""
    lines = list(body)
    if lines and lines[0].startswith(_MOVE):
        move_to = lines.pop(0).removeprefix(_MOVE).strip()
    chunks: list[PatchChunk] = []
    old: list[str] = []
    new: list[str] = []
    after: list[str] = []

    def finish(at_end: bool = False) -> None:
        if old or new:
            chunks.append(PatchChunk(tuple(old), tuple(new), tuple(after), at_end))
            after.clear()
        old.clear()
        new.clear()

    for line in lines:
        if line.startswith("@@"):
            finish()
            if line[2:].strip():
                after.append(line[2:].removeprefix(" "))
        elif line.strip() == _END_OF_FILE:
            finish(at_end=True)
        elif line[:1] in (" ", "-", "+", ""):
            if line[:1] != "+":
                old.append(line[1:])
            if line[:1] != "-":
                new.append(line[1:])
        else:
            return None
    finish()
    if len(chunks) > _MOST_CHUNKS:
        return None
    return FilePatch("update", path, move_to=move_to, chunks=tuple(chunks))


def patched(text: str, chunks: Sequence[PatchChunk]) -> str | None:
    """The text after these chunks, or None if one of them is not found exactly where it should be."""
    lines = text.split("\n")
    if lines[-1] == "":
        del lines[-1]
    done: list[str] = []
    place = 0
    for chunk in chunks:
        for mark in chunk.after:
            found = _find(lines, (mark,), place)
            if found < 0:
                return None
            done += lines[place : found + 1]
            place = found + 1
        if not chunk.old:
            found = len(lines)
        elif chunk.at_end:
            found = len(lines) - len(chunk.old)
            if found < place or tuple(lines[found:]) != chunk.old:
                return None
        else:
            found = _find(lines, chunk.old, place)
        if found < 0:
            return None
        done += (*lines[place:found], *chunk.new)
        place = found + len(chunk.old)
    done += lines[place:]
    return "".join(f"{line}\n" for line in done)


def _find(lines: list[str], wanted: Sequence[str], start: int) -> int:
    """Where these lines are, from `start` on, or -1."""
    first, size = wanted[0], len(wanted)
    wanted = list(wanted)
    place = start
    for _ in range(_MOST_COMPARED // size + 1):
        try:
            place = lines.index(first, place)
        except ValueError:
            return -1
        if lines[place : place + size] == wanted:
            return place
        place += 1
    return -1

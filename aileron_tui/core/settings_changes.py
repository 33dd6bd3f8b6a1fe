"""What `setup` changes in the settings of an agent's program, and how that is taken back.

Each change remembers what was there before, so that it can be taken back in a file that was edited by hand since.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, Literal

from aileron_tui.core.json_edit import Node, append, parse, put, remove, value_at
from aileron_tui.core.jsontext import Json, JsonError, JsonObject
from aileron_tui.core.values import dataclass

EMPTY: Final = "{}\n"
"""The text of settings that do not exist yet."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the settings are to have: a value at a path (`set`), or an item in the array at a path (`item`).

    `replace` sets a value only if there is another one, and only if that is in `instead_of`, unless this is empty.
    """

    kind: Literal["set", "item", "replace"]
    path: tuple[str, ...]
    value: Json
    instead_of: tuple[Json, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """One change that was made. `had` says whether there was a value before, and `before` is that value.

    `kept` is how many steps of the path were there before; the rest was made.
    """

    wanted: Wanted
    kept: int
    had: bool = False
    before: Json = None

    def fields(self) -> JsonObject:
        """The change as JSON."""
        wanted = self.wanted
        listed: JsonObject = {
            "kind": "item" if wanted.kind == "item" else "set",
            "path": list(wanted.path),
            "value": wanted.value,
        }
        return listed | {"kept": self.kept, "had": self.had, "before": self.before}


@dataclass(frozen=True, slots=True)
class Changed:
    """A text after changes, and what they were."""

    text: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Undone:
    """A text after changes were taken back, and those that could not be, because somebody changed the same value."""

    text: str
    left: tuple[Change, ...]


def read_change(value: Json) -> Change:
    """The change that was written as JSON. Raises JsonError."""
    match value:
        case {
            "kind": "set" | "item" as kind,
            "path": [*path],
            "value": wanted,
            "kept": int(kept),
            "had": bool(had),
            "before": before,
        }:
            return Change(Wanted(kind, tuple(map(str, path)), wanted), kept, had, before)
    raise JsonError("not a change of settings")


def apply(
    text: str, wanted: Sequence[Wanted], *, comments: bool = False, stale: Callable[[Json], bool] | None = None
) -> Changed:
    """Makes the changes that are still missing. Items of the same arrays that are `stale` are removed first."""
    changes: list[Change] = []
    for path in dict.fromkeys(want.path for want in wanted if want.kind == "item"):
        keep = [want.value for want in wanted if want.path == path]
        text = _without(text, path, partial(_is_stale, stale, keep), comments)
    for want in wanted:
        root = parse(text, comments=comments)
        found = value_at(root, want.path)
        kept = _known(root, want.path)
        if want.kind != "item":
            if found is None and want.kind == "replace":
                continue
            if found is not None and (same(found.value, want.value) or not _replaceable(want, found.value)):
                continue
            changes.append(Change(want, kept, found is not None, found.value if found else None))
            text = put(text, want.path, want.value, comments=comments)
        else:
            if found is not None and any(same(item.value, want.value) for item in found.items):
                continue
            changes.append(Change(want, kept))
            text = append(text, want.path, want.value, comments=comments)
    return Changed(text, tuple(changes))


def undo(text: str, changes: Sequence[Change], *, comments: bool = False) -> Undone:
    """Takes changes back, the last one first. A value that is no longer the one that was set is left alone."""
    left: list[Change] = []
    for change in reversed(changes):
        want = change.wanted
        found = value_at(parse(text, comments=comments), want.path)
        if want.kind == "item":
            if found is None or not any(same(item.value, want.value) for item in found.items):
                left.append(change)
                continue
            text = _without(text, want.path, partial(same, want.value), comments)
        elif found is None or not same(found.value, want.value):
            left.append(change)
            continue
        elif change.had:
            text = put(text, want.path, change.before, comments=comments)
        else:
            text = remove(text, want.path, comments=comments)
        text = _without_empty(text, want.path, change.kept, comments)
    return Undone(text, tuple(reversed(left)))


def _is_stale(stale: Callable[[Json], bool] | None, keep: Sequence[Json], item: Json) -> bool:
    return stale is not None and stale(item) and item not in keep


def _replaceable(want: Wanted, value: Json) -> bool:
    return not want.instead_of or any(same(value, other) for other in want.instead_of)


def _without(text: str, path: tuple[str, ...], unwanted: Callable[[Json], bool], comments: bool) -> str:
    """The text without the items of an array that are not wanted."""
    while True:
        found = value_at(parse(text, comments=comments), path)
        index = next((i for i, item in enumerate(found.items) if unwanted(item.value)), None) if found else None
        if index is None:
            return text
        text = remove(text, (*path, index), comments=comments)


def _without_empty(text: str, path: tuple[str, ...], kept: int, comments: bool) -> str:
    """The text without the objects and arrays on a path that were made for it and are empty now."""
    for depth in range(len(path), kept, -1):
        found = value_at(parse(text, comments=comments), path[:depth])
        if found is not None and found.value in ({}, []):
            text = remove(text, path[:depth], comments=comments)
    return text


def _known(root: Node, path: tuple[str, ...]) -> int:
    """How many steps of a path are there."""
    return next((depth for depth in range(len(path), 0, -1) if value_at(root, path[:depth]) is not None), 0)


def same(one: Json, other: Json) -> bool:
    """Whether two values are the same, the type of numbers and booleans included."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other

"""Dotted paths into a connector's result: object keys, array indexes, and the header shorthand."""

from enum import Enum
from typing import Final, Literal, TypeAlias

from aileron_tui.core.jsontext import Json


class Absence(Enum):
    """Marks a path that does not exist, which is not the same as an empty value."""

    MISSING = "missing"


MISSING: Final = Absence.MISSING
Missing: TypeAlias = Literal[Absence.MISSING]


def resolve(value: Json, path: str) -> Json | Missing:
    """Returns the value at `path`, or MISSING; null counts as missing. Never raises."""
    if not path:
        return MISSING
    node: Json | Missing = value
    for segment in path.split("."):
        if isinstance(node, dict):
            node = node.get(segment, MISSING)
        elif isinstance(node, list):
            node = _header_or_index(node, segment)
            if node is MISSING:
                return MISSING
        else:
            return MISSING
    return MISSING if node is None else node


def _header_or_index(entries: list[Json], segment: str) -> Json | Missing:
    """Returns the `value` of the first `{name, value}` entry with this name, or else the entry at this index.

    Every entry before the match must itself be such a pair: an array that merely contains one is not a header list.
    """
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            break
        if entry["name"] == segment:
            if "value" in entry:
                return entry["value"]
            break
    digits = segment.lstrip("0") or "0"
    if not (segment.isascii() and segment.isdecimal()) or len(digits) > 12:
        return MISSING
    index = int(digits)
    return entries[index] if index < len(entries) else MISSING

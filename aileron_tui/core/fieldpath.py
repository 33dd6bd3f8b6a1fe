"""Dotted paths into a connector's result: object keys, array indexes, and the header shorthand."""

from collections.abc import Iterable
from typing import Final, TypeAlias

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.values import dataclass

Location: TypeAlias = tuple[str | int, ...]
_MAX_INDEX_DIGITS: Final = 12


@dataclass(frozen=True, slots=True)
class Match:
    """A value that a path leads to, and the keys and indexes of its place. The value of a bare header is null."""

    location: Location
    value: Json


def find(value: Json, path: str) -> list[Match]:
    """Returns every value at `path`, in order; several if a header occurs several times. Never raises."""
    matches = [Match((), value)]
    for segment in path.split(".") if path else ():
        matches = [found for match in matches for found in _next(match, segment)]
    return matches if path else []


def _next(match: Match, segment: str) -> Iterable[Match]:
    node = match.value
    if isinstance(node, dict):
        return [Match((*match.location, segment), node[segment])] if segment in node else []
    if not isinstance(node, list):
        return []
    wanted = _header_name(segment)
    headers = [
        Match((*match.location, index, *(() if _is_header(entry) else ("value",))), entry.get("value"))
        for index, entry in enumerate(node)
        if isinstance(entry, dict) and isinstance(entry.get("name"), str) and _header_name(str(entry["name"])) == wanted
    ]
    if headers:
        return headers
    digits = segment.lstrip("0") or "0"
    if not (segment.isascii() and segment.isdecimal()) or len(digits) > _MAX_INDEX_DIGITS:
        return []
    index = int(digits)
    return [Match((*match.location, index), node[index])] if index < len(node) else []


def _header_name(name: str) -> str:
    """A header's name for comparison: mail servers ignore its case and the spaces around it."""
    return name.strip().casefold()


def _is_header(entry: JsonObject) -> bool:
    """Whether an entry of a list is a header and nothing else."""
    plain_value = not isinstance(entry.get("value"), dict | list)
    return entry.keys() <= {"name", "value"} and isinstance(entry.get("name"), str) and plain_value


def count_others(value: Json, shown: Iterable[Location]) -> int:
    """Counts the values that are neither at one of the shown places nor inside one.

    A header in a list counts as one value. So do null and an empty array or object below a key or in a list, because
    the key may be what matters: `{"permissions": {"mallory@evil.example": {}}}`. An empty answer counts as none.
    """
    covered = set(shown)
    stack: list[Match] = [Match((), value)]
    count = 0
    while stack:
        match = stack.pop()
        if match.location in covered:
            continue
        node = match.value
        if isinstance(node, dict) and _is_in_list(match.location) and _is_header(node):
            count += any((*match.location, key) not in covered for key in node)
        elif isinstance(node, dict) and node:
            stack.extend(Match((*match.location, key), item) for key, item in node.items())
        elif isinstance(node, list) and node:
            stack.extend(Match((*match.location, index), item) for index, item in enumerate(node))
        else:
            count += bool(match.location) or node not in (None, {}, [])
    return count


def _is_in_list(location: Location) -> bool:
    return bool(location) and isinstance(location[-1], int)

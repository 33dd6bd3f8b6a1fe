"""Lists of items from several authors, where one item that is not accepted does not hide the others."""

import re
from typing import Final

from aileron_tui.core.jsontext import LIMITS, Json, JsonError, JsonLimits, JsonObject, read, read_object

_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{},]', re.DOTALL)
_ID_VALUE: Final = re.compile(r'\s*:\s*("[^"\\]*(?:\\.[^"\\]*)*")', re.DOTALL)


class UnreadableItem(dict[str, Json]):
    """An item of a list that is not accepted: only its `id`. `why` is the reason, for the user."""

    why: str = ""


def read_listed(data: bytes | str, limits: JsonLimits = LIMITS) -> JsonObject:
    """Like `read_object`, for an object with a list `items` from several authors.

    The author of one item must not be able to hide the others with it, so an item that is not accepted becomes an
    UnreadableItem, or None if it has no id.
    """
    try:
        return read_object(data, limits)
    except JsonError:
        if len(data) > limits.size:
            raise
        text = data if isinstance(data, str) else data.decode("utf-8", "replace")
        elements = _elements(text)
        if not elements:
            raise
    return {"items": [_read_item(element, limits) for element in elements]}


def _read_item(text: str, limits: JsonLimits) -> Json:
    try:
        return read(text, limits)
    except JsonError as error:
        id_ = _id_in(text)
        if id_ is None:
            return None
        item = UnreadableItem({"id": id_})
        item.why = str(error)
        return item


def _id_in(text: str) -> str | None:
    """The `id` of the object in this text, found by brackets only; None unless there is exactly one."""
    depth = 0
    found: list[str] = []
    for token in _TOKEN.finditer(text):
        mark = token[0]
        depth += (mark in "[{") - (mark in "]}")
        if depth == 1 and mark == '"id"' and (value := _ID_VALUE.match(text, token.end())):
            found.append(value[1])
    if len(found) != 1:
        return None
    try:
        id_ = read(found[0])
    except JsonError:
        return None
    return id_ if isinstance(id_, str) else None


def _elements(text: str) -> list[str]:
    """The JSON texts of the elements of `items`, split by brackets only; empty if the list has no end."""
    depth, name, start = 0, "", -1
    found: list[str] = []
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark in "[{":
            depth += 1
            if depth == 2 and mark == "[" and name == '"items"':
                start = token.end()
        elif mark in "]}":
            depth -= 1
        if start >= 0 and ((depth == 2 and mark == ",") or depth == 1):
            found.append(text[start : token.start()].strip())
            if depth == 1:
                return found
            start = token.end()
        elif depth == 1:
            name = mark
    return []

"""Changes to a JSON text that leave everything else in it as it is: order, spacing, numbers and comments.

The settings of other programs are changed with these functions, because reading and writing them again would reformat
what their owner wrote. Comments and trailing commas are accepted only if `comments` is set.
"""

import json
import re
from collections.abc import Callable
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json
from aileron_tui.core.values import dataclass

Key = str | int
"""A step of a path: the key of a member, or the index of an item."""

_LARGEST: Final = 4 * 1024 * 1024
_DEEPEST: Final = 64
_BLANK: Final = re.compile(r"[ \t\r\n]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LITERALS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}
_STRINGS: Final = json.JSONDecoder()
_COMMENT: Final = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)


class JsonTextError(AileronError):
    """A text that is not JSON, or in which a change is not possible. `line` is 0 if it is about no line."""

    def __init__(self, title: str, line: int = 0) -> None:
        super().__init__(title, f"line {line}" if line else "")
        self.line = line


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it is in the text. Objects have `members`, arrays have `items`."""

    start: int
    end: int
    value: Json
    members: "tuple[Member, ...]" = ()
    items: "tuple[Node, ...]" = ()


@dataclass(frozen=True, slots=True)
class Member:
    """One member of an object; `start` is where its key begins."""

    start: int
    key: str
    node: Node


def parse(text: str, *, comments: bool = False) -> Node:
    """The value in a text, with positions. Raises JsonTextError with the line of what is wrong."""
    if len(text) > _LARGEST:
        raise JsonTextError(f"more than {_LARGEST:,} characters")
    return _Parser(text, comments).document()


def value_at(node: Node, path: tuple[Key, ...]) -> Node | None:
    """The node at a path, or None if there is none."""
    for step in path:
        found = (
            next((member.node for member in node.members if member.key == step), None)
            if isinstance(step, str)
            else (node.items[step] if step < len(node.items) else None)
        )
        if found is None:
            return None
        node = found
    return node


def put(text: str, path: tuple[str, ...], value: Json, *, comments: bool = False) -> str:
    """The text with this value at the path. Objects on the way are made if they are missing."""
    node = parse(text, comments=comments)
    for depth, key in enumerate(path):
        if not isinstance(node.value, dict):
            raise JsonTextError(f"{_name(path[:depth])} is not an object", _line(text, node.start))
        found = value_at(node, (key,))
        if found is None:
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value}
            return _with_member(text, node, key, value, depth)
        node = found
    return text[: node.start] + _written(text, value, len(path)) + text[node.end :]


def append(text: str, path: tuple[str, ...], value: Json, *, comments: bool = False) -> str:
    """The text with this value as the last item of the array at the path, which is made if it is missing."""
    node = value_at(parse(text, comments=comments), path)
    if node is None:
        return put(text, path, [value], comments=comments)
    if not isinstance(node.value, list):
        raise JsonTextError(f"{_name(path)} is not an array", _line(text, node.start))
    return _inserted(text, node, _written(text, value, len(path) + 1), len(path))


def remove(text: str, path: tuple[Key, ...], *, comments: bool = False) -> str:
    """The text without the member or item at the path, which must be there."""
    parent = value_at(parse(text, comments=comments), path[:-1])
    if parent is None:
        raise JsonTextError(f"there is no {_name(path)}")
    if isinstance(parent.value, dict):
        spans = [(member.start, member.node.end) for member in parent.members]
        index = next(i for i, member in enumerate(parent.members) if member.key == path[-1])
    else:
        spans = [(item.start, item.end) for item in parent.items]
        index = int(path[-1])
    start, end = spans[index]
    while text[start - 1] in " \t\r\n":
        start -= 1
    comma = _comma(text, end)
    if comma is not None:
        end = comma + 1 if not text[end:comma].strip() else end
        if end != comma + 1:  # a comment stands between the value and its comma
            text = text[:comma] + text[comma + 1 :]
    elif index and (before := _comma(text, spans[index - 1][1])) is not None:
        text = text[:before] + text[before + 1 :]
        start, end = start - 1, end - 1
    inside_start, inside_end = parent.start + 1, parent.end - 1
    text = text[:start] + text[end:]
    if len(spans) == 1:
        rest = text[inside_start : inside_end - (end - start)]
        if not rest.strip():
            text = text[:inside_start] + text[inside_start + len(rest) :]
    return text


def _with_member(text: str, node: Node, key: str, value: Json, depth: int) -> str:
    written = f"{json.dumps(key, ensure_ascii=False)}: {_written(text, value, depth + 1)}"
    return _inserted(text, node, written, depth)


def _inserted(text: str, node: Node, written: str, depth: int) -> str:
    """The text with something more at the end of an object or array that is `depth` levels deep."""
    newline, unit = _style(text)
    ends = [*(member.node.end for member in node.members), *(item.end for item in node.items)]
    close = node.end - 1
    at = close
    while text[at - 1] in " \t\r\n":
        at -= 1
    after = text[at:close] if "\n" in text[at:close] else newline + unit * depth
    new = f"{newline}{unit * (depth + 1)}{written}{after}"
    if not ends or _comma(text, ends[-1]) is not None:
        return text[:at] + new + text[close:]
    return f"{text[: ends[-1]]},{text[ends[-1] : at]}{new}{text[close:]}"


def _comma(text: str, at: int) -> int | None:
    """Where the comma is that follows, or None if something else follows."""
    at = _skip(text, at, comments=True)
    return at if text[at : at + 1] == "," else None


def _written(text: str, value: Json, depth: int) -> str:
    newline, unit = _style(text)
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return f"{newline}{unit * depth}".join(lines)


def _style(text: str) -> tuple[str, str]:
    """How a text breaks and indents its lines."""
    newline = "\r\n" if "\r\n" in text else "\n"
    found: list[str] = re.findall(r"\n([ \t]+)[\"{\[]", text)
    return newline, min(found, key=len, default="  ")


def _name(path: tuple[Key, ...]) -> str:
    return ".".join(map(str, path)) or "the whole text"


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _skip(text: str, at: int, *, comments: bool) -> int:
    """The first position from `at` that is neither blank nor in a comment."""
    while True:
        found = _BLANK.match(text, at)
        at = found.end() if found else at
        comment = _COMMENT.match(text, at) if comments else None
        if comment is None:
            return at
        at = comment.end()


class _Parser:
    """Reads one text."""

    def __init__(self, text: str, comments: bool) -> None:
        self._text = text
        self._comments = comments

    def document(self) -> Node:
        node = self._value(self._skip(1 if self._text.startswith("\ufeff") else 0), 0)
        end = self._skip(node.end)
        if end != len(self._text):
            raise self._error("there is something after the end of the JSON value", end)
        return node

    def _error(self, words: str, at: int) -> JsonTextError:
        return JsonTextError(words, _line(self._text, at))

    def _skip(self, at: int) -> int:
        at = _skip(self._text, at, comments=self._comments)
        if self._text.startswith(("//", "/*"), at):
            words = "a comment does not end" if self._comments else "comments are not allowed in JSON"
            raise self._error(words, at)
        return at

    def _value(self, at: int, depth: int) -> Node:
        if depth > _DEEPEST:
            raise self._error(f"nested deeper than {_DEEPEST} levels", at)
        start = self._text[at : at + 1]
        if start == "{":
            return self._object(at, depth)
        if start == "[":
            return self._array(at, depth)
        if start == '"':
            text, end = self._string(at)
            return Node(at, end, text)
        for word, value in _LITERALS.items():
            if self._text.startswith(word, at):
                return Node(at, at + len(word), value)
        if number := _NUMBER.match(self._text, at):
            return Node(at, number.end(), self._number(number[0], at))
        raise self._error("a value is missing" if start in ("", ",", "}", "]") else "this is not JSON", at)

    def _number(self, text: str, at: int) -> int | float:
        try:
            return int(text) if text.lstrip("-").isdigit() else float(text)
        except ValueError:
            raise self._error("a number has too many digits", at) from None

    def _string(self, at: int) -> tuple[str, int]:
        try:
            text, end = _STRINGS.raw_decode(self._text, at)
        except json.JSONDecodeError as error:
            raise self._error("a string is not valid", error.pos) from None
        return str(text), end

    def _object(self, at: int, depth: int) -> Node:
        members: list[Member] = []
        keys: set[str] = set()

        def member(start: int) -> int:
            if self._text[start : start + 1] != '"':
                raise self._error("a key in quotation marks is missing", start)
            key, end = self._string(start)
            if key in keys:
                raise self._error("a key is there twice", start)
            keys.add(key)
            colon = self._skip(end)
            if self._text[colon : colon + 1] != ":":
                raise self._error("a colon is missing", colon)
            node = self._value(self._skip(colon + 1), depth + 1)
            members.append(Member(start, key, node))
            return node.end

        end = self._listed(at, "}", member)
        return Node(at, end, {known.key: known.node.value for known in members}, members=tuple(members))

    def _array(self, at: int, depth: int) -> Node:
        items: list[Node] = []

        def item(start: int) -> int:
            items.append(self._value(start, depth + 1))
            return items[-1].end

        end = self._listed(at, "]", item)
        return Node(at, end, [node.value for node in items], items=tuple(items))

    def _listed(self, at: int, close: str, one: Callable[[int], int]) -> int:
        """Reads what an object or array contains, and returns where it ends."""
        at = self._skip(at + 1)
        if self._text[at : at + 1] == close:
            return at + 1
        while True:
            at = self._skip(one(at))
            found = self._text[at : at + 1]
            if found == close:
                return at + 1
            if found != ",":
                raise self._error(f"a comma or {close} is missing", at)
            at = self._skip(at + 1)
            if self._comments and self._text[at : at + 1] == close:
                return at + 1

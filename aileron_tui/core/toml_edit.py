"""Changes to a TOML text that leave everything else in it as it is: order, spacing and comments.

Only tables with a header of their own are changed, and their keys. Every change is read back, and refused if the text
would then say anything else than what it said before and the change.
"""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Final

import tomli

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.values import dataclass

Path = tuple[str, ...]

_BLANK: Final = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_SPACE: Final = re.compile(r"[ \t]*")
_REST: Final = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?:\r?\n)?")
_KEY: Final = re.compile(r"[A-Za-z0-9_-]+|\"(?:[^\"\\\r\n]|\\.)*\"|'[^'\r\n]*'")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_STRING: Final = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}|\'\'\'(?:[^\']|\'(?!\'\'))*\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.DOTALL
)
_ATOM: Final = re.compile(r"[^\s,#\[\]{}\"']+(?: [0-9][^\s,#\[\]{}\"']*)?")


class TomlTextError(AileronError):
    """A text that is not TOML, or in which a change is not possible."""


@dataclass(frozen=True, slots=True)
class _Statement:
    """A header or a pair. `path` is that of the table or of the key, from the root; `end` is after its line."""

    start: int
    end: int
    path: Path
    header: bool
    value: tuple[int, int] = (0, 0)


def read(text: str) -> JsonObject:
    """What the text says. Raises TomlTextError."""
    try:
        return tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise TomlTextError("this is not TOML", str(error)) from None


def value_at(text: str, path: Path) -> Json:
    """The value at a path, or None if there is none."""
    value: Json = read(text)
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def put(text: str, path: Path, value: Json) -> str:
    """The text with this value at the path: a whole table with a header of its own, or a key of such a table."""
    wanted = _with(read(text), path, value)
    statements = list(_statements(text))
    if isinstance(value, dict):
        changed = _appended(_without_table(text, statements, path), path, value)
    else:
        changed = _with_key(text, statements, path, value)
    return _checked(changed, wanted, path)


def remove(text: str, path: Path) -> str:
    """The text without the table or key at the path."""
    wanted = _with(read(text), path, None)
    statements = list(_statements(text))
    pair = next((each for each in statements if not each.header and each.path == path), None)
    changed = text[: pair.start] + text[pair.end :] if pair else _without_table(text, statements, path)
    return _checked(changed, wanted, path)


def _with(tables: JsonObject, path: Path, value: Json) -> JsonObject:
    """Tables with another value at a path; without it if that is None."""
    tables = deepcopy(tables)
    table = tables
    for key in path[:-1]:
        inner = table.setdefault(key, {})
        if not isinstance(inner, dict):
            raise TomlTextError(f"{'.'.join(path)} cannot be set", f"{key} is not a table")
        table = inner
    if value is None:
        table.pop(path[-1], None)
    else:
        table[path[-1]] = value
    return tables


def _checked(text: str, wanted: JsonObject, path: Path) -> str:
    try:
        found = tomli.loads(text)
    except tomli.TOMLDecodeError:
        found = {}
    if _full(found) != _full(wanted):
        hint = "Change it by hand, or give it a header of its own, then try again."
        raise TomlTextError(f"{'.'.join(path)} is written in a way that cannot be changed safely", hint=hint)
    return text


def _full(value: Json) -> Json:
    """A value without tables that are empty, which are there or not without meaning anything."""
    if isinstance(value, dict):
        kept = {key: _full(each) for key, each in value.items()}
        return {key: each for key, each in kept.items() if each != {}}
    return value


def _without_table(text: str, statements: list[_Statement], path: Path) -> str:
    """The text without the table at a path, the tables in it and the blank lines before it."""
    for place in range(len(statements) - 1, -1, -1):
        header = statements[place]
        if not header.header or header.path[: len(path)] != path:
            continue
        end = header.end
        for pair in statements[place + 1 :]:
            if pair.header:
                break
            end = pair.end
        start = len(text[: header.start].rstrip("\r\n"))
        start = text.find("\n", start) + 1 if start else 0
        text = text[: min(start, header.start)] + text[end:]
    return text


def _appended(text: str, path: Path, table: JsonObject) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{'.'.join(map(toml_key, path))}]"]
    lines += [f"{toml_key(key)} = {toml_value(value)}" for key, value in table.items()]
    before = text if not text or text.endswith("\n") else f"{text}{newline}"
    return before + (newline if before.strip() else "") + "".join(f"{line}{newline}" for line in lines)


def _with_key(text: str, statements: list[_Statement], path: Path, value: Json) -> str:
    pair = next((each for each in statements if not each.header and each.path == path), None)
    if pair is not None:
        start, end = pair.value
        return text[:start] + toml_value(value) + text[end:]
    header = next((each for each in statements if each.header and each.path == path[:-1]), None)
    if header is None:
        return _appended(text, path[:-1], {path[-1]: value})
    line = f"{toml_key(path[-1])} = {toml_value(value)}" + ("\r\n" if "\r\n" in text else "\n")
    head = text[: header.end]
    return head + ("" if head.endswith("\n") else "\n") + line + text[header.end :]


def toml_key(text: str) -> str:
    """Returns a key as TOML writes it."""
    return text if _BARE.fullmatch(text) else toml_value(text)


def toml_value(value: Json) -> str:
    """Returns a value as TOML writes it on one line."""
    match value:
        case dict():
            return "{ " + ", ".join(f"{toml_key(key)} = {toml_value(each)}" for key, each in value.items()) + " }"
        case list():
            return "[" + ", ".join(map(toml_value, value)) + "]"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case bool() | int() | float():
            return json.dumps(value)
    raise TomlTextError("this value cannot be written as TOML")


def _statements(text: str) -> Iterator[_Statement]:
    """Every header and pair of a text that is valid TOML."""
    table: Path = ()
    at = _skipped(text, 0)
    while at < len(text):
        start = text.rfind("\n", 0, at) + 1
        if text[at] == "[":
            double = text.startswith("[[", at)
            table, at = _keys(text, at + (2 if double else 1))
            at += 2 if double else 1
            yield _Statement(start, _line_end(text, at), (*table, "[]") if double else table, header=True)
            table = (*table, "[]") if double else table
        else:
            path, at = _keys(text, at)
            begin = _after(_SPACE, text, at + 1)
            at = _value_end(text, begin)
            yield _Statement(start, _line_end(text, at), (*table, *path), header=False, value=(begin, at))
        at = _skipped(text, _line_end(text, at))


def _skipped(text: str, at: int) -> int:
    return _after(_BLANK, text, at)


def _line_end(text: str, at: int) -> int:
    return _after(_REST, text, at)


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _keys(text: str, at: int) -> tuple[Path, int]:
    """The dotted key that begins here, and where it ends, with the space after it."""
    path: list[str] = []
    while True:
        found = _KEY.match(text, _after(_SPACE, text, at))
        if found is None:
            raise TomlTextError("a key cannot be read")
        path.append(_plain(found[0]))
        at = _after(_SPACE, text, found.end())
        if text[at : at + 1] != ".":
            return tuple(path), at
        at += 1


def _plain(key: str) -> str:
    if key[0] in "\"'":
        return str(tomli.loads(f"k = {key}")["k"])
    return key


def _value_end(text: str, at: int) -> int:
    """Where the value that begins here ends."""
    depth = 0
    while at < len(text):
        if found := _STRING.match(text, at) or _ATOM.match(text, at):
            at = found.end()
        elif text[at] in "[{":
            depth, at = depth + 1, at + 1
        elif text[at] in "]}":
            depth, at = depth - 1, at + 1
        elif text[at] == ",":
            at += 1
        else:
            raise TomlTextError("a value cannot be read")
        if not depth:
            return at
        at = _skipped(text, at)
    return at

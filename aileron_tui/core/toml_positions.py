"""The position of each key in a TOML document, which tomli does not keep.

The scanner runs only if there is something to report, and only on text that tomli accepted, at least up to the error.
So it needs no error handling of its own, but it always moves forward and never raises.
"""

import re
from bisect import bisect_left
from contextlib import suppress
from typing import Final, NamedTuple

Path = tuple[str | int, ...]

_BLANK: Final = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_SPACE: Final = re.compile(r"[ \t]*")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR: Final = re.compile(r"[^,\]}\r\n#]*")
_STRING: Final = re.compile(
    r"""
    "{3} (?: [^\\] | \\. )*? "{3,5} (?!")
    | '{3} .*? '{3,5} (?!')
    | " (?: [^"\\\n] | \\. )* "
    | ' [^'\n]* '
    """,
    re.DOTALL | re.VERBOSE,
)
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_NAMED: Final = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b"}


class Position(NamedTuple):
    """Line and column, counted from 1."""

    line: int
    column: int


def locate(toml: str) -> dict[Path, Position]:
    """Returns the first position of every key path; array items are counted from 0."""
    return _scanned(toml).found


def last_key(toml: str) -> Position:
    """Returns the position of the last complete key in the beginning of a document."""
    return _scanned(toml).last


def _scanned(toml: str) -> "_Scanner":
    scanner = _Scanner(toml)
    with suppress(RecursionError):  # with hundreds of nested brackets, the positions of the outer ones are enough
        scanner.document()
    return scanner


class _Scanner:
    def __init__(self, toml: str) -> None:
        self._toml = toml
        self._at = 0
        self._newlines = [match.start() for match in re.finditer("\n", toml)]
        self._lengths: dict[Path, int] = {}
        self._truncated = False
        self.found: dict[Path, Position] = {}
        self.last = Position(1, 1)

    def document(self) -> None:
        table: Path = ()
        while True:
            self._skip(_BLANK)
            start = self._at
            if start >= len(self._toml):
                return
            if self._toml.startswith("[", start):
                table = self._header()
            else:
                self._pair(table)
            if self._at == start:
                self._at += 1

    def _header(self) -> Path:
        many = self._toml.startswith("[[", self._at)
        self._at += 2 if many else 1
        start = self._at + len(self._match(_SPACE, self._at))
        keys = self._keys()
        path: Path = ()
        for index, key in enumerate(keys, start=1):
            path = (*path, key)
            if many and index == len(keys):
                self._lengths[path] = self._lengths.get(path, 0) + 1
            if path in self._lengths:
                self._remember(path, start)
                path = (*path, self._lengths[path] - 1)
            self._remember(path, start)
        self.last = self._position(start)
        newline = self._toml.find("\n", self._at)
        self._at = len(self._toml) if newline < 0 else newline
        return path

    def _pair(self, table: Path) -> None:
        start = self._at
        path = table
        for key in self._keys():
            path = (*path, key)
            self._remember(path, start)
        if self._toml.startswith("=", self._at):
            self._at += 1
        self._skip(_SPACE)
        self._value(path)
        if not self._truncated:
            self.last = self._position(start)

    def _value(self, path: Path) -> None:
        opener = self._toml[self._at : self._at + 1]
        if opener == "[":
            self._array(path)
        elif opener == "{":
            self._inline(path)
        elif string := _STRING.match(self._toml, self._at):
            self._at = string.end()
        else:
            self._skip(_SCALAR)

    def _array(self, path: Path) -> None:
        self._at += 1
        index = 0
        while self._inside("]"):
            item = (*path, index)
            self._remember(item, self._at)
            self._value(item)
            index += 1

    def _inline(self, path: Path) -> None:
        self._at += 1
        while self._inside("}"):
            self._pair(path)

    def _inside(self, closer: str) -> bool:
        """Moves to the next item of a container; returns False at its end."""
        before = -1
        while before != self._at:
            before = self._at
            self._skip(_BLANK)
            if self._toml.startswith(",", self._at):
                self._at += 1
        if self._at >= len(self._toml):
            self._truncated = True
            return False
        if self._toml[self._at] in "]}":
            self._at += 1 if self._toml[self._at] == closer else 0
            return False
        return True

    def _keys(self) -> list[str]:
        keys: list[str] = []
        while True:
            self._skip(_SPACE)
            if string := _STRING.match(self._toml, self._at):
                self._at = string.end()
                keys.append(_unquote(string[0]))
            elif bare := _BARE.match(self._toml, self._at):
                self._at = bare.end()
                keys.append(bare[0])
            else:
                return keys
            self._skip(_SPACE)
            if not self._toml.startswith(".", self._at):
                return keys
            self._at += 1

    def _skip(self, pattern: re.Pattern[str]) -> None:
        self._at += len(self._match(pattern, self._at))

    def _match(self, pattern: re.Pattern[str], at: int) -> str:
        match = pattern.match(self._toml, at)
        return match[0] if match else ""

    def _remember(self, path: Path, at: int) -> None:
        if path not in self.found:
            self.found[path] = self._position(at)

    def _position(self, at: int) -> Position:
        line = bisect_left(self._newlines, at)
        return Position(line + 1, at - (self._newlines[line - 1] if line else -1))


def _unquote(text: str) -> str:
    if text.startswith("'"):
        return text[1:-1]
    return _ESCAPE.sub(lambda escape: _unescape(escape[1]), text[1:-1])


def _unescape(code: str) -> str:
    if code[0] in "uUx" and len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if number < 0x110000 else code
    return _NAMED.get(code, code)

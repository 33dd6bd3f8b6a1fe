"""Strict and bounded parsing of JSON, canonical JSON (RFC 8785), and JSON values as readable text.

JSON is refused if two parsers could understand it differently (duplicate keys, NaN, lone surrogates), or if it is too
large, nested too deeply or has too many values. Every error names the path of the problem.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final, NoReturn, Self, TypeAlias

from aileron_tui.core.errors import AileronError
from aileron_tui.core.values import dataclass

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
JsonObject: TypeAlias = dict[str, Json]

# What it writes was looked at with `_is_plain` before, which fails for a value that contains itself.
_WRITER: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False, sort_keys=True, separators=(",", ":"))
_PLAIN_TYPES: Final = frozenset({str, bool, type(None)})
_LONGEST_NUMBER: Final = 400
_LARGEST_EXPONENT: Final = 400
_LARGEST_PLAIN_EXPONENT: Final = 100
_LONGEST_KEY_SHOWN: Final = 60
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class JsonError(AileronError):
    """JSON that is not accepted; `path` is the place of the problem, such as `$.items[0].args`."""

    def __init__(self, title: str, path: str = "$", hint: str = "") -> None:
        super().__init__(title, f"at {path}", hint)
        self.path = path


@dataclass(frozen=True, slots=True)
class JsonLimits:
    """Limits for parsing: the size of the text, the depth, and the number of values."""

    size: int = 8 * 1024 * 1024
    depth: int = 64
    count: int = 200_000


LIMITS: Final = JsonLimits()


class WrittenNumber(float):
    """A number with a fraction or exponent that keeps its original text, so that `1.50` is shown as `1.50`."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> "WrittenNumber":
        number = super().__new__(cls, text)
        object.__setattr__(number, "text", text)
        return number

    def __setattr__(self, name: str, _: object) -> NoReturn:
        raise AttributeError(f"cannot assign to {name!r} of {type(self).__name__}")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: object) -> Self:
        return self

    def __reduce__(self) -> tuple[type["WrittenNumber"], tuple[str]]:
        return WrittenNumber, (self.text,)


class _Refused(Exception):
    """Stops the decoder; the message is shown to users."""


class _DuplicateKey(Exception):
    """Stops the decoder; a second one then finds where the key is."""


class _Doubled(dict[str, Json]):
    """An object with a duplicate key, which is in `doubled`."""

    doubled: str = ""


def step(path: str, key: str | int) -> str:
    """The path of `key` below `path`. A very long key is shortened."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if len(key) > _LONGEST_KEY_SHOWN:
        return f"{path}[{json.dumps(key[:_LONGEST_KEY_SHOWN])}…]"
    return f"{path}.{key}" if _PLAIN_KEY.fullmatch(key) else f"{path}[{json.dumps(key)}]"


def walk(value: Json, path: str = "$") -> Iterator[tuple[str, int, Json]]:
    """Yields every value with its path and depth, without recursion. Only one path exists at a time."""
    yield path, 1, value
    stack = [(path, _children(value))]
    while stack:
        here, children = stack[-1]
        for key, item in children:
            path = step(here, key)
            yield path, len(stack) + 1, item
            if isinstance(item, dict | list):
                stack.append((path, _children(item)))
                break
        else:
            stack.pop()


def _children(value: Json) -> Iterator[tuple[str | int, Json]]:
    return iter(value.items()) if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else iter(())


def _number(text: str) -> WrittenNumber:
    if len(text) > _LONGEST_NUMBER:
        raise _Refused(f"a number of {len(text)} characters")
    _, _, exponent = text.lower().partition("e")
    number = WrittenNumber(text)
    if math.isinf(number) or (exponent and abs(int(exponent)) > _LARGEST_EXPONENT):
        raise _Refused(f"the number {text} is out of range")
    return number


def _integer(text: str) -> int:
    if len(text) > _LONGEST_NUMBER:
        raise _Refused(f"a number of {len(text)} characters")
    return int(text)


def _constant(name: str) -> NoReturn:
    raise _Refused(f"{name} is not JSON")


def _unique(pairs: list[tuple[str, Json]]) -> JsonObject:
    """An object whose keys all differ."""
    result: JsonObject = dict(pairs)
    if len(result) != len(pairs):
        raise _DuplicateKey
    return result


def _marked(pairs: list[tuple[str, Json]]) -> JsonObject:
    """An object that tells whether it had a duplicate key."""
    result: JsonObject = dict(pairs)
    if len(result) == len(pairs):
        return result
    marked = _Doubled(result)
    marked.doubled = next(key for key, number in Counter(key for key, _ in pairs).items() if number > 1)
    return marked


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_number, parse_int=_integer, parse_constant=_constant
)
_MARKING_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_marked, parse_float=_number, parse_int=_integer, parse_constant=_constant
)


def read(data: bytes | str, limits: JsonLimits = LIMITS) -> Json:
    """Parses untrusted JSON. Raises JsonError if it is not accepted."""
    if len(data) > limits.size:
        raise JsonError(f"more than {limits.size:,} bytes of JSON", hint="Send less, or send it in several parts.")
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise JsonError(f"not UTF-8: bad byte at offset {error.start}") from None
    if isinstance(data, str) and not text.isascii() and _has_lone_surrogate(text):
        raise JsonError("a lone surrogate")
    has_double = False
    try:
        try:
            value: Json = _DECODER.decode(text)
        except _DuplicateKey:
            has_double, value = True, _MARKING_DECODER.decode(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise JsonError(f"not JSON: {error.msg[:1].lower()}{error.msg[1:]} ({where})") from None
    except _Refused as error:
        raise JsonError(f"JSON not accepted: {error}") from None
    except RecursionError:
        raise JsonError(f"nested deeper than {limits.depth} levels") from None
    _check(value, text, limits, has_double)
    return value


def _check(value: Json, text: str, limits: JsonLimits, has_double: bool) -> None:
    """Checks a parsed value. Walks through it only if the text may break a limit or contain something invalid."""
    size = len(text)
    openings = text.count("[") + text.count("{") if size >= min(limits.depth, limits.count) else 0
    surrogates = "\\u" in text and _SURROGATE_ESCAPE.search(text) is not None
    crowded = size >= limits.count and openings + text.count(",") + 1 > limits.count
    if not (has_double or surrogates or crowded or openings >= limits.depth):
        return
    for count, (path, depth, node) in enumerate(walk(value), start=1):
        if depth > limits.depth:
            raise JsonError(f"nested deeper than {limits.depth} levels", path)
        if count > limits.count:
            raise JsonError(f"more than {limits.count:,} values", path)
        if isinstance(node, _Doubled):
            raise JsonError("duplicate key", step(path, node.doubled))
        if surrogates:
            strings = node if isinstance(node, dict) else [node]
            if any(
                isinstance(string, str) and not string.isascii() and _has_lone_surrogate(string) for string in strings
            ):
                raise JsonError("a lone surrogate", path)


def _has_lone_surrogate(text: str) -> bool:
    return _SURROGATE.search(text) is not None


def read_object(data: bytes | str, limits: JsonLimits = LIMITS) -> JsonObject:
    """Like `read`, but the value must be an object."""
    value = read(data, limits)
    if not isinstance(value, dict):
        raise JsonError(f"expected an object, found {kind(value)}")
    return value


def kind(value: object) -> str:
    """The JSON type of a value with its article, such as "an object", for error messages."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int():
            return "an integer"
        case float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case dict():
            return "an object"
        case _:
            return f"a {type(value).__name__}"


def canonical(value: Json) -> bytes:
    """The canonical form of RFC 8785: equal values have equal bytes, and so equal digests.

    RFC 8785 writes numbers as doubles. A number that a double cannot represent exactly would get the digest of another
    number, so it is refused instead of rounded. The standard library's faster encoder is used where the result is the
    same.
    """
    try:
        if _is_plain(value):
            return _WRITER.encode(value).encode()
    except (RecursionError, UnicodeEncodeError):
        _refuse_inexact(value)
        raise JsonError("cannot be written as canonical JSON") from None
    import rfc8785  # noqa: PLC0415  # most values do not need it, and hooks must start fast

    try:
        if _has_written(value):
            _refuse_inexact(value)
        return rfc8785.dumps(value)
    except rfc8785.IntegerDomainError:
        _refuse_inexact(value)
        return rfc8785.dumps(_with_doubles(value))
    except (rfc8785.CanonicalizationError, RecursionError, UnicodeEncodeError):
        _refuse_inexact(value)
        raise JsonError("cannot be written as canonical JSON") from None


def _is_plain(value: Json) -> bool:
    """Whether the standard library writes a value as RFC 8785 does: no fractions, no large numbers, ASCII keys.

    Most values of objects are strings, true, false or null, which need no call of their own.
    """
    if isinstance(value, dict):
        for key, item in value.items():
            if not key.isascii() or (type(item) not in _PLAIN_TYPES and not _is_plain(item)):
                return False
        return True
    if isinstance(value, list):
        return all(map(_is_plain, value))
    if isinstance(value, int):
        return -(2**53) < value < 2**53
    return value is None or isinstance(value, str)


def _has_written(value: Json) -> bool:
    if isinstance(value, dict):
        return any(map(_has_written, value.values()))
    if isinstance(value, list):
        return any(map(_has_written, value))
    return isinstance(value, WrittenNumber)


def _is_exact(number: int) -> bool:
    """Whether a double represents this integer exactly and is written with the same digits, such as 10**20."""
    if abs(number) < 2**53:
        return True
    from decimal import Decimal  # noqa: PLC0415  # hooks must start fast

    try:
        return Decimal(repr(float(number))) == number
    except OverflowError:
        return False


def _with_doubles(value: Json) -> Json:
    """Replaces integers that the encoder refuses only because of their size with doubles."""
    if isinstance(value, dict):
        return {key: _with_doubles(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_doubles(item) for item in value]
    return float(value) if isinstance(value, int) and abs(value) >= 2**53 else value


def with_canonical_numbers(value: JsonObject) -> JsonObject:
    """Returns the object with its numbers spelled as in canonical JSON.

    After that, the same number is written with the same bytes wherever it goes: `1e3`, `1000.0` and `1000` are 1000,
    and `-0.0` is 0. Raises JsonError if a number cannot be written exactly.
    """
    return {key: _with_canonical_number(item, key) for key, item in value.items()}


def _with_canonical_number(value: Json, key: str) -> Json:
    if isinstance(value, str | bool | None):
        return value
    if isinstance(value, dict):
        return with_canonical_numbers(value)
    if isinstance(value, list):
        return [_with_canonical_number(item, key) for item in value]
    if isinstance(value, int) and -(2**53) < value < 2**53:
        return int(value)
    _refuse_inexact_value(step("$", key), value)
    number = float(value)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _refuse_inexact(value: Json) -> None:
    for path, _, node in walk(value):
        _refuse_inexact_value(path, node)


def _refuse_inexact_value(path: str, node: Json) -> None:
    hint = "Send it as a string."
    if isinstance(node, bool):
        return
    if isinstance(node, int) and not _is_exact(node):
        raise JsonError(f"the integer {_digits(node)} is too large to be exact as a double", path, hint)
    if isinstance(node, float) and not math.isfinite(node):
        raise JsonError(f"{node} is not a JSON number", path, hint)
    if isinstance(node, WrittenNumber) and not _is_exact_text(node):
        raise JsonError(f"the number {node.text} has more digits than a double holds", path, hint)
    if isinstance(node, str) and _has_lone_surrogate(node):
        raise JsonError("a lone surrogate", path)


def _is_exact_text(number: WrittenNumber) -> bool:
    """Whether a double represents the number exactly as it was written."""
    from decimal import Decimal  # noqa: PLC0415  # hooks must start fast

    return Decimal(number.text) == Decimal(float.__repr__(number))


def plain(value: Json) -> str:
    """A value as readable text: strings unchanged, numbers in plain decimal, containers as indented JSON."""
    return value if isinstance(value, str) else _spell(value, "\n")


def compact(value: Json) -> str:
    """Like `plain`, with containers on one line."""
    if isinstance(value, str):
        return value
    return _WRITER.encode(value) if isinstance(value, dict | list) and _is_plain(value) else _spell(value, "")


def _spell(value: Json, line: str) -> str:
    """JSON with sorted keys. `line` is put before each line of a container; if it is empty, there is only one line."""
    inner = line and line + "  "
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return _digits(value)
        case WrittenNumber():
            return _plain_number(value.text)
        case float():
            return _shortest(value) if math.isfinite(value) else float.__repr__(value)
        case str():
            return json.dumps(value, ensure_ascii=False)
        case list():
            items = [inner + _spell(item, inner) for item in value]
            return f"[{','.join(items)}{line}]" if items else "[]"
        case dict():
            colon = ": " if line else ":"
            fields = [
                inner + json.dumps(key, ensure_ascii=False) + colon + _spell(value[key], inner) for key in sorted(value)
            ]
            return f"{{{','.join(fields)}{line}}}" if fields else "{}"


def _shortest(number: float) -> str:
    import rfc8785  # noqa: PLC0415  # hooks must start fast

    return rfc8785.dumps(number).decode()


def _plain_number(text: str) -> str:
    """A number as it was written, without its exponent, unless that would make it very long."""
    from decimal import Decimal  # noqa: PLC0415  # hooks must start fast

    number = Decimal(text)
    exponent = number.as_tuple().exponent
    is_short = isinstance(exponent, int) and -_LARGEST_PLAIN_EXPONENT - len(text) <= exponent <= _LARGEST_PLAIN_EXPONENT
    return format(number, "f") if is_short else text


def _digits(number: int) -> str:
    try:
        return str(number)
    except ValueError:  # Python does not convert integers with thousands of digits
        return hex(number)

"""Formats JSON values as Go programs do, to recognise which input a daemon's text belongs to.

A daemon decodes every number as a float64 and shows containers with `%v` (or, in newer versions, as indented JSON).
Both lose information: `[a b]` may be one string or two. Once the text is recognised, the value can be shown instead.
"""

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from aileron_tui.core.jsontext import Json, plain

# encoding/json escapes these even inside strings; U+2028 and U+2029 too.
_ESCAPED: Final = str.maketrans({letter: f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"})


def verb_v(value: Json) -> str:
    """Formats a decoded JSON value like `%v`."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return _general(value)
        case str():
            return value
        case list():
            return f"[{' '.join(map(verb_v, value))}]"
        case dict():
            return f"map[{' '.join(f'{key}:{verb_v(value[key])}' for key in sorted(value))}]"


def indented(value: Json, line: str = "\n") -> str:
    """Formats a decoded JSON value like `json.MarshalIndent` with two spaces."""
    inner = line + "  "
    match value:
        case str():
            return _quoted(value)
        case list() if value:
            return f"[{','.join(inner + indented(item, inner) for item in value)}{line}]"
        case dict() if value:
            fields = (f"{inner}{_quoted(key)}: {indented(value[key], inner)}" for key in sorted(value))
            return f"{{{','.join(fields)}{line}}}"
        case int() | float() if not isinstance(value, bool):
            return _number(value)
        case _:
            return json.dumps(value)


def spellings(value: Json) -> Iterator[str]:
    """Every text that a daemon may show for an input with this value, the most likely first."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        yield from dict.fromkeys((verb_v(value), indented(value)))
    elif isinstance(value, bool) or value is None:
        yield verb_v(value)
    else:
        yield from dict.fromkeys((plain(value), _fixed(value), verb_v(value)))


def _digits(value: float) -> tuple[str, str, int]:
    """The sign, the shortest digits that identify this double, and the decimal exponent of the first digit."""
    number = _double(value)
    sign = "-" if number.is_signed() else ""
    digits = "".join(map(str, number.as_tuple().digits)).rstrip("0") or "0"
    return sign, digits, number.adjusted() if number else 0


def _double(value: float) -> Decimal:
    try:
        return Decimal(float.__repr__(float(value)))
    except OverflowError:  # Go refuses such a number, so no text of a daemon can match it
        return Decimal(value)


def _general(value: float) -> str:
    sign, digits, exponent = _digits(value)
    return _exponential(sign, digits, exponent) if exponent < -4 or exponent >= 6 else _fixed(value)


def _exponential(sign: str, digits: str, exponent: int) -> str:
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02}"


def _fixed(value: float) -> str:
    text = format(_double(value), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _number(value: float) -> str:
    sign, digits, exponent = _digits(value)
    if exponent >= 21 or exponent < -6:
        text = _exponential(sign, digits, exponent)
        return f"{text[:-2]}{text[-1]}" if text[-4:-1] == "e-0" else text
    return _fixed(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).translate(_ESCAPED)

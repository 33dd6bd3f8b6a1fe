"""How Go writes things: JSON as `encoding/json` does, `%v`, and times with nanoseconds and an offset."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

Object = dict[str, Any]

_HTML = str.maketrans({mark: f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"})
_LONE = re.compile("[\ud800-\udfff]")


def encode(value: Any) -> bytes:
    """Compact JSON without a newline at the end; HTML's own characters are escaped and every number is a double."""
    return "".join(_parts(value)).encode()


def sort_keys(value: Any) -> Any:
    """The same value with all keys in order, as a Go map is written."""
    if isinstance(value, dict):
        return {key: sort_keys(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [sort_keys(one) for one in value]
    return value


def plain_v(value: Any) -> str:
    """What `%v` makes of a decoded JSON value."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return str(value).lower()
        case int() | float():
            return _general(float(value))
        case str():
            return value
        case list():
            return f"[{' '.join(map(plain_v, value))}]"
        case dict():
            return f"map[{' '.join(f'{key}:{plain_v(value[key])}' for key in sorted(value))}]"
        case _:
            raise TypeError(f"not JSON: {value!r}")


def field_text(value: Any) -> str:
    """The text of an argument in a labelled row: whole numbers without decimals, the rest as `%v`."""
    if isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer():
        return _fixed(float(value))
    return plain_v(value)


def go_time(nanoseconds: int, offset: str) -> str:
    """RFC 3339 with as many digits of the fraction as there are, at an offset such as `+02:00` or `Z`."""
    seconds, fraction = divmod(nanoseconds, 1_000_000_000)
    zone = UTC if offset == "Z" else _zone(offset)
    text = datetime.fromtimestamp(seconds, zone).strftime("%Y-%m-%dT%H:%M:%S")
    digits = f".{fraction:09d}".rstrip("0") if fraction else ""
    return f"{text}{digits}{offset}"


def from_go_time(text: str) -> int:
    """Nanoseconds of such a time; raises ValueError."""
    found = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)", text)
    if found is None:
        raise ValueError(f"not a time: {text!r}")
    clock, fraction, offset = found.groups()
    moment = datetime.fromisoformat(clock + ("+00:00" if offset == "Z" else offset))
    return int(moment.timestamp()) * 1_000_000_000 + int((fraction or "").ljust(9, "0"))


def _zone(offset: str) -> timezone:
    sign = -1 if offset.startswith("-") else 1
    hours, minutes = offset[1:].split(":")
    return timezone(sign * timedelta(hours=int(hours), minutes=int(minutes)))


def _parts(value: Any) -> list[str]:
    match value:
        case dict():
            inside = [f"{_quoted(key)}:{''.join(_parts(one))}" for key, one in value.items()]
            return ["{", ",".join(inside), "}"]
        case list():
            return ["[", ",".join("".join(_parts(one)) for one in value), "]"]
        case str():
            return [_quoted(value)]
        case bool() | None:
            return [json.dumps(value)]
        case int() | float():
            return [_json_number(float(value))]
        case _:
            raise TypeError(f"not JSON: {value!r}")


def _quoted(text: str) -> str:
    return json.dumps(_LONE.sub("\ufffd", text), ensure_ascii=False).translate(_HTML)


def _exact(number: float) -> Decimal:
    return Decimal(repr(number)).normalize()


def _fixed(number: float) -> str:
    return format(_exact(number), "f")


def _scientific(number: float) -> str:
    sign, digits, _ = _exact(number).as_tuple()
    rest = "".join(map(str, digits[1:]))
    power = _exact(number).adjusted()
    mantissa = f"{digits[0]}.{rest}" if rest else str(digits[0])
    return f"{'-' if sign else ''}{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _general(number: float) -> str:
    """`%g` in its shortest form: the exponent shows from a million on."""
    power = _exact(number).adjusted() if number else 0
    return _scientific(number) if power < -4 or power >= 6 else _fixed(number)


def _json_number(number: float) -> str:
    if number and (abs(number) < 1e-6 or abs(number) >= 1e21):
        return re.sub(r"e-0(\d)$", r"e-\1", _scientific(number))
    return _fixed(number)

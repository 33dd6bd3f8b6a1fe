"""Request bodies as Go decodes them into a struct: liberal in every way but types."""

from __future__ import annotations

import json
from typing import Any, Final, NoReturn

from tests.daemon.gotext import Object

_NAMES: Final = {bool: "bool", str: "string", dict: "map[string]interface {}"}


class Malformed(Exception):
    """Not such a body; says why as Go would."""


def _no_constant(text: str) -> NoReturn:
    raise Malformed(f"invalid character {text[0]!r} looking for beginning of value")


_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant)


def read_struct(body: bytes, shape: dict[str, type]) -> Object:
    """The first JSON value of a body. Unknown keys and what follows it are ignored, `null` sets nothing, the case of
    keys does not matter and the last of equal ones counts; what is missing is the zero value of its type."""
    text = body.decode("utf-8", "replace").lstrip(" \t\r\n")
    if not text:
        raise Malformed("EOF")
    try:
        value: Any = _DECODER.raw_decode(text)[0]
    except ValueError as error:
        raise Malformed(str(error)) from error
    except RecursionError:
        raise Malformed("exceeded max depth") from None
    found: Object = {name: None if kind is dict else kind() for name, kind in shape.items()}
    if value is None:
        return found
    if not isinstance(value, dict):
        raise Malformed(f"json: cannot unmarshal {_said(value)} into Go value")
    for key, one in value.items():
        name = key.lower()
        if name not in shape or one is None:
            continue
        if not isinstance(one, shape[name]):
            raise Malformed(
                f"json: cannot unmarshal {_said(one)} into Go struct field .{name} of type {_NAMES[shape[name]]}"
            )
        found[name] = one
    return found


def _said(value: Any) -> str:
    return {bool: "bool", str: "string", dict: "object", list: "array"}.get(type(value), "number")

"""Ways to corrupt a valid reply."""

from __future__ import annotations

import json
from typing import Any, Final

KINDS: Final = ("not_json", "truncated", "cut", "wrong_types", "wrong_shape", "empty", "null", "deep", "binary", "huge")


def spoil(how: str, good: bytes, huge: int) -> bytes:
    """The corrupted reply. `cut` is the whole reply, but the connection delivers only half of it."""
    match how:
        case "not_json":
            return b"panic: runtime error: index out of range [3] with length 3"
        case "truncated":
            return good[: len(good) // 2]
        case "cut":
            return good
        case "wrong_types":
            return json.dumps(_twisted(json.loads(good or b"{}"))).encode()
        case "wrong_shape":
            return b'["items"]' if good.startswith(b"{") else b"{}"
        case "empty":
            return b""
        case "null":
            return b"null"
        case "deep":
            return b"[" * 200_000
        case "binary":
            return b"\x1f\x8b\x00\xff\xfe\x80" * 20
        case "huge":
            return b'{"items":[],"padding":"' + b"x" * huge + b'"}'
        case _:
            raise ValueError(f"no such garbage: {how!r}")


def _twisted(value: Any) -> Any:
    """The same keys and lists, every value of another type than it should be."""
    match value:
        case dict():
            return {key: _twisted(one) for key, one in value.items()} or 7
        case list():
            return [*map(_twisted, value), None, 7, "x", []]
        case str():
            return [value]
        case _:
            return {"not": value}

"""Dotted paths into a result."""

import pytest

from aileron_tui.core.fieldpath import MISSING, Missing, resolve
from aileron_tui.core.jsontext import Json

HEADERS: Json = [
    {"name": "To", "value": "a@example.com"},
    {"name": "Subject", "value": "first"},
    {"name": "Subject", "value": "second"},
    {"name": "Empty", "value": ""},
    {"name": "Null", "value": None},
    {"name": "Bare"},
    {"name": "After", "value": "x"},
    {"name": "0", "value": "zero"},
]
ANSWER: Json = {
    "message": {"headers": HEADERS, "text": "hello", "size": 0, "read": False, "": {"": "blank"}},
    "null": None,
    "list": ["a", {"k": "v"}, ["b"]],
    "dotted.key": "unreachable",
    "ünï": "ok",
    "mixed": [{"name": "a", "value": 1}, "x", {"name": "b", "value": 2}],
    "broken": [{"value": 1}, {"name": "a", "value": 2}],
    "numbered": [{"name": 5, "value": 1}, {"name": "a", "value": 2}],
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("message.text", "hello"),
        ("message.size", 0),
        ("message.read", False),
        ("message.headers.To", "a@example.com"),
        ("message.headers.Subject", "first"),
        ("message.headers.Empty", ""),
        ("message.headers.After", "x"),
        ("message.headers.0", "zero"),
        ("message.headers.1.value", "first"),
        ("message.headers.5.name", "Bare"),
        ("message..", "blank"),
        ("list.0", "a"),
        ("list.1.k", "v"),
        ("list.2.0", "b"),
        ("list.000", "a"),
        ("list.00000000000000000000000000001.k", "v"),
        ("ünï", "ok"),
        ("mixed.a", 1),
        ("mixed.1", "x"),
        ("broken.1.value", 2),
        ("null", MISSING),
        ("null.x", MISSING),
        ("", MISSING),
        (".", MISSING),
        ("nope", MISSING),
        ("message.Text", MISSING),
        ("message.text.x", MISSING),
        ("message.text.0", MISSING),
        ("message.headers.to", MISSING),
        ("message.headers.Null", MISSING),
        ("message.headers.Bare", MISSING),
        ("message.headers.99", MISSING),
        ("message.headers.", MISSING),
        ("list.3", MISSING),
        ("list.-1", MISSING),
        ("list.+1", MISSING),
        ("list. 1", MISSING),
        ("list.1_0", MISSING),
        ("list.٠", MISSING),
        ("list.²", MISSING),
        ("list." + "9" * 10_000, MISSING),
        ("dotted.key", MISSING),
        ("mixed.b", MISSING),
        ("broken.a", MISSING),
        ("numbered.a", MISSING),
        ("message.", {"": "blank"}),
    ],
)
def test_the_value_at_a_path(path: str, value: Json | Missing) -> None:
    assert resolve(ANSWER, path) == value


def test_a_scalar_result_has_no_paths() -> None:
    assert resolve(None, "a") is MISSING
    assert resolve("text", "a") is MISSING
    assert resolve([], "0") is MISSING
    assert resolve(["x"], "0") == "x"

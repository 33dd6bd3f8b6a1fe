"""Dotted paths into a result."""

import pytest

from aileron_tui.core.fieldpath import Location, count_others, find
from aileron_tui.core.jsontext import Json, JsonObject

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
    ("path", "values"),
    [
        ("message.text", ["hello"]),
        ("message.size", [0]),
        ("message.read", [False]),
        ("message.headers.To", ["a@example.com"]),
        ("message.headers.Subject", ["first", "second"]),
        ("message.headers.Empty", [""]),
        ("message.headers.After", ["x"]),
        ("message.headers.0", ["zero"]),
        ("message.headers.1.value", ["first"]),
        ("message.headers.5.name", ["Bare"]),
        ("message..", ["blank"]),
        ("list.0", ["a"]),
        ("list.1.k", ["v"]),
        ("list.2.0", ["b"]),
        ("list.000", ["a"]),
        ("list.00000000000000000000000000001.k", ["v"]),
        ("ünï", ["ok"]),
        ("mixed.a", [1]),
        ("mixed.1", ["x"]),
        ("broken.1.value", [2]),
        ("null", [None]),
        ("null.x", []),
        ("", []),
        (".", []),
        ("nope", []),
        ("message.Text", []),
        ("message.text.x", []),
        ("message.text.0", []),
        ("message.headers.to", ["a@example.com"]),
        ("message.headers. TO ", ["a@example.com"]),
        ("message.headers.Null", [None]),
        ("message.headers.Bare", [None]),
        ("message.headers.99", []),
        ("message.headers.", []),
        ("list.3", []),
        ("list.-1", []),
        ("list.+1", []),
        ("list. 1", []),
        ("list.1_0", []),
        ("list.٠", []),
        ("list.²", []),
        ("list." + "9" * 10_000, []),
        ("dotted.key", []),
        ("mixed.b", [2]),
        ("broken.a", [2]),
        ("numbered.a", [2]),
        ("message.", [{"": "blank"}]),
    ],
)
def test_the_values_at_a_path(path: str, values: list[Json]) -> None:
    assert [match.value for match in find(ANSWER, path)] == values


def test_a_scalar_result_has_no_paths() -> None:
    assert find(None, "a") == []
    assert find("text", "a") == []
    assert find([], "0") == []
    assert [match.value for match in find(["x"], "0")] == ["x"]


def test_every_spelling_of_a_header_is_found() -> None:
    """An agent that writes a draft may add a second recipient in another case, or behind an entry that is no header."""
    headers: Json = [
        {"name": "To", "value": "team@example.com"},
        "noise",
        {"name": "TO", "value": "second@example.com"},
        {"name": "to ", "value": "third@example.com"},
        {"name": "Cc", "value": "other@example.com"},
    ]
    found = find({"headers": headers}, "headers.To")
    assert [match.value for match in found] == ["team@example.com", "second@example.com", "third@example.com"]
    assert [match.location for match in found] == [("headers", 0), ("headers", 2), ("headers", 3)]


@pytest.mark.parametrize(
    ("answer", "shown", "count"),
    [
        (None, [], 0),
        ({}, [], 0),
        ([], [], 0),
        ({"a": None, "b": [], "c": {}}, [], 3),
        ({"permissions": {"mallory@evil.example": {}}}, [], 1),
        ({"permissions": {"ann@corp.example": {"role": "x"}, "mallory@evil.example": None}}, [], 2),
        ({"shown": 1, "mallory@evil.example": []}, [("shown",)], 1),
        ({"to": ["a", {}, None, []]}, [("to", 0)], 3),
        ({"to": {}}, [("to",)], 0),
        ([{"name": "x", "value": None}], [(0, "name")], 1),
        ({"a": "", "b": 0, "c": False}, [], 3),
        ({"a": 1, "b": {"c": 2, "d": [3, 4]}}, [("a",)], 3),
        ({"a": 1, "b": {"c": 2, "d": [3, 4]}}, [("a",), ("b",)], 0),
        ({"a": 1, "b": {"c": 2, "d": [3, 4]}}, [("b", "d", 1)], 3),
        ({"headers": [{"name": "To", "value": "x"}, {"name": "Bcc", "value": "y"}]}, [("headers", 0)], 1),
        ({"headers": [{"name": "To"}, {"name": "Bcc", "value": None}]}, [], 2),
        ([{"name": "x", "value": {"a": 1, "b": 2}}], [], 3),
        ([{"name": "x", "value": 1, "more": 2}], [], 3),
        ({"name": "x"}, [("name",)], 0),
        ({"name": "x", "value": 1}, [("name",)], 1),
        ({"item": {"name": "x", "value": 1}}, [("item", "value")], 1),
        ([{"name": "x"}], [(0, "name")], 0),
        ([{"name": "x", "value": 1}], [(0, "value")], 1),
    ],
)
def test_values_that_are_not_shown_are_counted(answer: Json, shown: list[Location], count: int) -> None:
    assert count_others(answer, shown) == count


@pytest.mark.parametrize("entry", [{"bcc": "evil@example.com"}, {"value": {"to": "x", "bcc": "evil@example.com"}}])
def test_what_else_a_shown_header_holds_is_counted(entry: JsonObject) -> None:
    """A connector's answer may put more into a header than its name and value."""
    header: JsonObject = {"name": "To", "value": "team@example.com"}
    answer: Json = {"headers": [header | entry]}
    found = find(answer, "headers.To")
    assert count_others(answer, [match.location for match in found]) == (2 if "bcc" in entry else 1)


def test_a_deep_answer_is_counted_without_recursion() -> None:
    deep: Json = 1
    for _ in range(5_000):
        deep = {"a": deep}
    assert count_others(deep, []) == 1

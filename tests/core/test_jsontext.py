"""JSON at the border."""

import json
import math

import pytest

from aileron_tui.core.jsontext import (
    Json,
    JsonError,
    JsonLimits,
    WrittenNumber,
    canonical,
    compact,
    kind,
    plain,
    read,
    read_object,
    step,
    walk,
)


def refused(text: str | bytes, limits: JsonLimits | None = None) -> JsonError:
    with pytest.raises(JsonError) as caught:
        read(text, limits) if limits else read(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        ("true", True),
        ("-0", 0),
        ("1.5", 1.5),
        ('"\\ud83d\\ude00"', "😀"),
        ('"😀"', "😀"),
        (' [1, "a", {}] ', [1, "a", {}]),
        ('{"a": {"a": 1}}', {"a": {"a": 1}}),
    ],
)
def test_what_is_read(text: str, value: Json) -> None:
    assert read(text) == value
    assert read(text.encode()) == value


@pytest.mark.parametrize(
    ("text", "title", "path"),
    [
        (b"\xff", "not UTF-8", "$"),
        (b"\xed\xa0\x80", "not UTF-8", "$"),
        ("", "not JSON", "$"),
        ("\ufeff{}", "not JSON", "$"),
        ("{'a': 1}", "not JSON", "$"),
        ("[1,]", "not JSON", "$"),
        ("01", "not JSON", "$"),
        ("1 2", "not JSON", "$"),
        ('"\t"', "not JSON", "$"),
        ("NaN", "NaN is not JSON", "$"),
        ("[-Infinity]", "-Infinity is not JSON", "$"),
        ("1e999", "the number 1e999 is out of range", "$"),
        ("1" * 401, "a number of 401 characters", "$"),
        ("0." + "1" * 400, "a number of 402 characters", "$"),
        ('{"a": 1, "a": 1}', "duplicate key", "$.a"),
        ('[{"x": {"b": 1, "a": 2, "a": 3}}]', "duplicate key", "$[0].x.a"),
        ('{"a b": {"c": 1, "\\u0063": 2}}', "duplicate key", '$["a b"].c'),
        ('["x", "\\ud800"]', "a lone surrogate", "$[1]"),
        ('{"a": {"\\udc00": 1}}', "a lone surrogate", "$.a"),
        ('["\\ude00\\ud83d"]', "a lone surrogate", "$[0]"),
        ('["\ud800"]', "a lone surrogate", "$"),
        ("[" * 65 + "]" * 65, "nested deeper than 64 levels", "$" + "[0]" * 64),
        ('{"a":' * 64 + "1" + "}" * 64, "nested deeper than 64 levels", "$" + ".a" * 64),
        ("[" * 100_000, "nested deeper than 64 levels", "$"),
    ],
)
def test_what_is_refused(text: str | bytes, title: str, path: str) -> None:
    error = refused(text)
    assert title in error.title
    assert error.path == path
    assert error.detail == f"at {path}"


def test_limits() -> None:
    assert refused('"xxxx"', JsonLimits(size=5)).title == "more than 5 bytes of JSON"
    assert read('"xxx"', JsonLimits(size=5)) == "xxx"
    assert refused("[1,2,3]", JsonLimits(count=3)).title == "more than 3 values"
    assert read("[1,2]", JsonLimits(count=3)) == [1, 2]
    assert refused("[[1]]", JsonLimits(depth=2)).path == "$[0][0]"
    assert read("[1]", JsonLimits(depth=2)) == [1]
    assert read('["[[[[", "{,,,,"]', JsonLimits(depth=2, count=3)) == ["[[[[", "{,,,,"], "brackets in strings are text"


def test_depth_does_not_depend_on_what_else_is_there() -> None:
    deepest = "[" * 63 + "1" + "]" * 63
    assert read(deepest)
    assert read(deepest.replace("1", '"\\ud83d\\ude00"'))


def test_a_flood_of_keys_with_one_twice_is_found_quickly() -> None:
    keys = ",".join(f'"k{number}":0' for number in range(100_000))
    assert refused("{" + keys + ',"k99999":1}').path == "$.k99999"


def test_an_object_is_demanded() -> None:
    assert read_object("{}") == {}
    with pytest.raises(JsonError, match="expected an object, found an array"):
        read_object("[]")


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "null"),
        (True, "a boolean"),
        (1, "an integer"),
        (1.5, "a number"),
        ("", "a string"),
        ([], "an array"),
        ({}, "an object"),
        (b"", "a bytes"),
    ],
)
def test_what_a_value_is_called(value: object, name: str) -> None:
    assert kind(value) == name


def test_canonical_form() -> None:
    value = read('{"b": [1.0, 1e21, 1E-7, -0.0, 100], "a": "\\u00e9\\n\\u001b/", "\\ud83d\\ude00": 1, "\\ufb33": 2}')
    assert canonical(value) == ('{"a":"é\\n\\u001b/","b":[1,1e+21,1e-7,0,100],"😀":1,"\ufb33":2}'.encode()), (
        "keys are ordered by UTF-16 units"
    )


def test_integers_are_carried_exactly_or_refused() -> None:
    assert canonical(2**53 - 1) == b"9007199254740991"
    assert canonical(-(2**53)) == b"-9007199254740992"
    assert canonical([10**20, {"a": 10**22}]) == b'[100000000000000000000,{"a":1e+22}]'
    for odd in (2**53 + 1, -(2**63) + 1, 10**400, 12345678901234567890):
        with pytest.raises(JsonError, match="too large to be exact as a double") as caught:
            canonical({"a": [odd]})
        assert caught.value.path == "$.a[0]"


def test_fractions_are_carried_exactly_or_refused() -> None:
    assert canonical(read("[0.1, 1.50, 123.456e3]")) == b"[0.1,1.5,123456]"
    with pytest.raises(JsonError, match="more digits than a double holds"):
        canonical(read("0.1000000000000000055511151231257827"))
    with pytest.raises(JsonError, match="more digits than a double holds"):
        canonical(read("1e-400"))


def test_what_has_no_canonical_form() -> None:
    deep: Json = []
    for _ in range(5000):
        deep = [deep]
    odds: list[Json] = [math.nan, math.inf, {"a": "\ud800"}, deep]
    for odd in odds:
        with pytest.raises(JsonError):
            canonical(odd)


def test_values_as_people_are_shown_them() -> None:
    value = read('{"b": [1.50, 1e3, true, null], "a": {}, "c": [], "d": "<é\\u001b>"}')
    assert plain(value) == (
        '{\n  "a": {},\n  "b": [\n    1.50,\n    1000,\n    true,\n    null\n  ],\n  "c": [],\n  "d": "<é\\u001b>"\n}'
    )
    assert compact(value) == '{"a":{},"b":[1.50,1000,true,null],"c":[],"d":"<é\\u001b>"}'
    assert plain("a\nb") == compact("a\nb") == "a\nb"
    assert json.loads(plain(value)) == json.loads(compact(value))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.1, "0.1"),
        (1e-7, "1e-7"),
        (1e22, "1e+22"),
        (1234567.0, "1234567"),
        (WrittenNumber("1.50"), "1.50"),
        (WrittenNumber("1e5"), "100000"),
        (WrittenNumber("-2.5E-3"), "-0.0025"),
        (10**30, "1" + "0" * 30),
        (math.inf, "inf"),
    ],
)
def test_numbers_are_shown_plainly(number: float, text: str) -> None:
    assert plain(number) == compact(number) == text


def test_an_integer_too_long_to_spell_is_shown_all_the_same() -> None:
    assert plain(16**5000) == "0x1" + "0" * 5000


@pytest.mark.parametrize(
    "text",
    [
        "0e-99999999",
        "0e99999999",
        "1e400",
        "-1E+999999999999",
        "1e-401",
        "9" * 401,
        "1." + "0" * 400,
        "0e-" + "9" * 300,
    ],
)
def test_a_number_that_would_be_huge_is_refused_when_it_is_read(text: str) -> None:
    for data in (text, f"[{text}]", f'{{"a":{{"b":{text}}}}}'):
        with pytest.raises(JsonError, match=r"number"):
            read(data)


@pytest.mark.parametrize("text", ["1e-399", "0e-400", "-0e400", "1.5e300", "5e-324", "1e-200"])
def test_a_small_text_never_becomes_a_long_one(text: str) -> None:
    for shown in (plain(read(text)), compact(read(text))):
        assert shown == text
        assert float(shown) == float(text)


def test_a_huge_key_is_not_repeated_for_each_value_below_it() -> None:
    """With its whole key in each path, this would take 200 GB."""
    data = json.dumps({"k" * 2_000_000: [0] * 100_000 + [2**60 + 1]})
    with pytest.raises(JsonError, match=r"too large") as caught:
        canonical(read(data))
    assert len(caught.value.path) < 100
    with pytest.raises(JsonError, match=r"duplicate key") as caught:
        read('{"' + "k" * 1_000_000 + '":1,"' + "k" * 1_000_000 + '":2}')
    assert len(str(caught.value)) < 200


def test_paths() -> None:
    assert step("$", "plain_key-1") == "$.plain_key-1"
    assert step("$", "two words") == '$["two words"]'
    assert step("$", '"') == '$["\\""]'
    assert step("$", 0) == "$[0]"
    visited = [(path, depth) for path, depth, _ in walk({"a": [1, {"b": 2}], "c": None})]
    assert visited == [("$", 1), ("$.a", 2), ("$.a[0]", 3), ("$.a[1]", 3), ("$.a[1].b", 4), ("$.c", 2)]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (True, b"true"),
        (None, b"null"),
        (1.0, b"1"),
        (1e-7, b"1e-7"),
        (10**22, b"1e+22"),
        ({"é": 1.0}, '{"é":1}'.encode()),
    ],
)
def test_a_value_is_written_alike_alone_and_in_an_object(value: Json, written: bytes) -> None:
    assert canonical(value) == written
    assert canonical({"a": value}) == b'{"a":%b}' % written
    assert canonical([{"a": value}]) == b'[{"a":%b}]' % written

"""Go's own spellings. Every expectation was printed by a Go program that decoded the JSON on its left."""

import pytest

from aileron_tui.core.jsontext import read
from aileron_tui.runtime.daemon.go_text import indented, spellings, verb_v

NUMBERS = [
    ("0", "0", "0"),
    ("42", "42", "42"),
    ("-2.25", "-2.25", "-2.25"),
    ("100000", "100000", "100000"),
    ("999999", "999999", "999999"),
    ("1000000", "1e+06", "1000000"),
    ("1234567", "1.234567e+06", "1234567"),
    ("123456789", "1.23456789e+08", "123456789"),
    ("123456.7", "123456.7", "123456.7"),
    ("1234567.8", "1.2345678e+06", "1234567.8"),
    ("1e20", "1e+20", "100000000000000000000"),
    ("1e21", "1e+21", "1e+21"),
    ("12345678901234567890", "1.2345678901234567e+19", "12345678901234567000"),
    ("1.0", "1", "1"),
    ("100.50", "100.5", "100.5"),
    ("0.1", "0.1", "0.1"),
    ("0.0001", "0.0001", "0.0001"),
    ("0.00012345", "0.00012345", "0.00012345"),
    ("0.00001", "1e-05", "0.00001"),
    ("0.000001", "1e-06", "0.000001"),
    ("0.0000001", "1e-07", "1e-7"),
    ("3.141592653589793", "3.141592653589793", "3.141592653589793"),
    ("1e100", "1e+100", "1e+100"),
    ("1e-100", "1e-100", "1e-100"),
    ("5e-324", "5e-324", "5e-324"),
    ("1.7976931348623157e308", "1.7976931348623157e+308", "1.7976931348623157e+308"),
]
VALUES = [
    ("null", "<nil>", "null"),
    ("true", "true", "true"),
    ('"plain"', "plain", '"plain"'),
    ("[]", "[]", "[]"),
    ("{}", "map[]", "{}"),
    ("[1,2,3]", "[1 2 3]", "[\n  1,\n  2,\n  3\n]"),
    ('["a","b c",""]', "[a b c ]", '[\n  "a",\n  "b c",\n  ""\n]'),
    ("[null]", "[<nil>]", "[\n  null\n]"),
    ("[true,false]", "[true false]", "[\n  true,\n  false\n]"),
    ('{"b":1,"a":"x"}', "map[a:x b:1]", '{\n  "a": "x",\n  "b": 1\n}'),
    (
        '{"a":{"c":[1,{"d":null}],"b":1.5}}',
        "map[a:map[b:1.5 c:[1 map[d:<nil>]]]]",
        '{\n  "a": {\n    "b": 1.5,\n    "c": [\n      1,\n      {\n        "d": null\n      }\n    ]\n  }\n}',
    ),
    ('{"":"","z":[]}', "map[: z:[]]", '{\n  "": "",\n  "z": []\n}'),
    (
        '{"ä":1,"z":2,"Z":3,"😀":4,"\uffff":5}',
        "map[Z:3 z:2 ä:1 \uffff:5 😀:4]",
        '{\n  "Z": 3,\n  "z": 2,\n  "ä": 1,\n  "\uffff": 5,\n  "😀": 4\n}',
    ),
    ('["<a>&"]', "[<a>&]", '[\n  "\\u003ca\\u003e\\u0026"\n]'),
    ("[[],[[]],{}]", "[[] [[]] map[]]", "[\n  [],\n  [\n    []\n  ],\n  {}\n]"),
    ("[1e21,1e-7,1000000,0.5]", "[1e+21 1e-07 1e+06 0.5]", "[\n  1e+21,\n  1e-7,\n  1000000,\n  0.5\n]"),
    (
        '{"k":"line\\nbreak\\t\\"q\\" \\\\ \\u0001 \\r\\u2028"}',
        'map[k:line\nbreak\t"q" \\ \x01 \r\u2028]',
        '{\n  "k": "line\\nbreak\\t\\"q\\" \\\\ \\u0001 \\r\\u2028"\n}',
    ),
]


@pytest.mark.parametrize(("text", "shown", "marshalled"), NUMBERS + VALUES)
def test_values_are_spelled_as_go_spells_them(text: str, shown: str, marshalled: str) -> None:
    value = read(text)
    assert verb_v(value) == shown
    assert indented(value) == marshalled


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ('"x"', ["x"]),
        ("true", ["true"]),
        ("1234567", ["1234567", "1.234567e+06"]),
        ("1.50", ["1.50", "1.5"]),
        ('{"a":[1]}', ["map[a:[1]]", '{\n  "a": [\n    1\n  ]\n}']),
    ],
)
def test_a_row_may_have_any_of_these_texts(text: str, spelled: list[str]) -> None:
    assert list(spellings(read(text))) == spelled


def test_a_number_beyond_every_double_is_spelled_somehow() -> None:
    assert verb_v(read("9" * 400)).endswith("e+399")

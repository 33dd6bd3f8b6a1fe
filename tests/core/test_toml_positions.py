"""Positions of keys in TOML."""

from aileron_tui.core.findings import TomlSource
from aileron_tui.core.toml_positions import Position, last_key, locate

DOCUMENT = """\
# name = "a comment"
name = "x"
  spaced . "quoted key" . 'other' = 1
text = \"""
not = "a key"
[not.a.table]
\"""  # after
literal = '''it's
not.this = 1'''
list = [
    "a", # one
    { deep = [1, 2], name = "b" },
    [ "c", ["d"] ],
]
[table]
name = 2026-01-01 10:00:00
[ table . "sub.table" ]
key = { a = 1, b.c = 2,
  d = 3 }
[[array]]
name = 1
[[array.inner]]
[array.inner.leaf]
key = 1
[[array.inner]]
key = 2
[[array]]
[array.leaf]
name = 2
"""


def test_every_key_has_its_line_and_column() -> None:
    places = locate(DOCUMENT)
    wanted: dict[tuple[str | int, ...], tuple[int, int]] = {
        ("name",): (2, 1),
        ("spaced",): (3, 3),
        ("spaced", "quoted key"): (3, 3),
        ("spaced", "quoted key", "other"): (3, 3),
        ("text",): (4, 1),
        ("literal",): (8, 1),
        ("list",): (10, 1),
        ("list", 0): (11, 5),
        ("list", 1): (12, 5),
        ("list", 1, "deep"): (12, 7),
        ("list", 1, "deep", 1): (12, 18),
        ("list", 1, "name"): (12, 22),
        ("list", 2): (13, 5),
        ("list", 2, 1, 0): (13, 13),
        ("table",): (15, 2),
        ("table", "name"): (16, 1),
        ("table", "sub.table"): (17, 3),
        ("table", "sub.table", "key"): (18, 1),
        ("table", "sub.table", "key", "a"): (18, 9),
        ("table", "sub.table", "key", "b", "c"): (18, 16),
        ("table", "sub.table", "key", "d"): (19, 3),
        ("array",): (20, 3),
        ("array", 0): (20, 3),
        ("array", 0, "name"): (21, 1),
        ("array", 0, "inner", 0): (22, 3),
        ("array", 0, "inner", 0, "leaf", "key"): (24, 1),
        ("array", 0, "inner", 1): (25, 3),
        ("array", 0, "inner", 1, "key"): (26, 1),
        ("array", 1): (27, 3),
        ("array", 1, "leaf"): (28, 2),
        ("array", 1, "leaf", "name"): (29, 1),
    }
    assert {path: places.get(path) for path in wanted} == wanted
    assert ("not",) not in places
    assert ("text", "not") not in places


def test_both_kinds_of_line_ends() -> None:
    unix, windows = locate(DOCUMENT), locate(DOCUMENT.replace("\n", "\r\n"))
    assert unix == windows


def test_escapes_in_keys_are_read() -> None:
    places = locate('"a\\u0062\\x63" = 1\n"\\"" = 2\n"\\U0001F600" = 3\n\'\\u0062\' = 4\n')
    assert list(places) == [("abc",), ('"',), ("😀",), ("\\u0062",)]


def test_quotes_inside_multiline_strings() -> None:
    for string in (
        "''''a''''",
        "'''''a'''''",
        '""""a""""',
        '"""""a"""""',
        '"""a\\""""',
        '"""a\\"""b"""',
        '"a\\""',
        "''",
        '""""""',
    ):
        places = locate(f"x = {{ a = {string}, b = [{string}, {string}], c = 1 }}\ny = 1")
        assert list(places) == [("x",), ("x", "a"), ("x", "b"), ("x", "b", 0), ("x", "b", 1), ("x", "c"), ("y",)]


def test_a_missing_key_has_the_position_of_its_table() -> None:
    source = TomlSource("x.md", "[match]\nintent = 1\n[[inputs]]\n[[inputs]]\nname = 1\n", first_line=3)
    assert source.position(("match", "intent")) == Position(4, 1)
    assert source.position(("match", "missing")) == Position(3, 2)
    assert source.position(("inputs", 1, "type")) == Position(6, 3)
    assert source.position(("version",)) == Position(3, 1)
    assert source.position(()) == Position(3, 1)


def test_the_last_key_of_a_part() -> None:
    assert last_key("") == Position(1, 1)
    assert last_key("a = 1\nb = 2") == Position(2, 1)
    assert last_key("a = 1\n  [ b . c") == Position(2, 5)
    assert last_key("a = { b = 1,\n c = 2") == Position(2, 2)
    assert last_key("a = { b = 1,\n c = 2 }") == Position(1, 1)
    assert last_key("a = [\n { b = 1, b = [2]") == Position(2, 11)


def test_deep_nesting_is_scanned() -> None:
    deep = "first = 1\ndeep = " + "[" * 5000 + "]" * 5000
    assert locate(deep)["first",] == Position(1, 1)
    assert locate(deep)["deep",] == Position(2, 1)

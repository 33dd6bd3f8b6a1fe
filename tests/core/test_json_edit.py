"""Changing a JSON text keeps everything else in it, and a text that is not JSON is refused with its line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.json_edit import JsonTextError, append, parse, put, remove, value_at
from aileron_tui.core.jsontext import Json

SCALARS = st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=8)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner))
OBJECTS = st.dictionaries(st.text(max_size=4), VALUES, max_size=4)
INDENTS = st.sampled_from([None, 1, 2, 4, "\t"])


@given(VALUES, INDENTS)
def test_every_json_text_is_read_as_json_reads_it(value: Json, indent: int | str | None) -> None:
    text = json.dumps(value, indent=indent)
    assert parse(text).value == json.loads(text)
    assert parse(text, comments=True).value == value


@given(OBJECTS, INDENTS, st.text(max_size=4), VALUES)
def test_a_value_is_put_and_the_others_keep_their_order(
    settings: dict[str, Json], indent: int | str | None, key: str, value: Json
) -> None:
    changed = put(json.dumps(settings, indent=indent), (key,), value)
    assert list(json.loads(changed).items()) == list((settings | {key: value}).items())


@given(OBJECTS, INDENTS, st.text(max_size=4), VALUES)
def test_what_was_added_can_be_removed(
    settings: dict[str, Json], indent: int | str | None, key: str, value: Json
) -> None:
    settings.pop(key, None)
    text = json.dumps(settings, indent=indent)
    changed = remove(append(text, (key,), value), (key,))
    assert json.loads(changed) == settings
    if indent is not None:
        assert changed == text


def test_comments_and_spacing_stay() -> None:
    text = '{\n\t// mine\n\t"a":  1, // one\n\t"b": [1,2 /* two */],\n}\n'
    changed = put(append(text, ("b",), 3, comments=True), ("c", "d"), "x", comments=True)
    for kept in ("\t// mine\n", '\t"a":  1, // one\n', "[1,2, /* two */"):
        assert kept in changed
    assert parse(changed, comments=True).value == {"a": 1, "b": [1, 2, 3], "c": {"d": "x"}}


def test_only_the_wanted_item_is_removed() -> None:
    text = '{"a": [1, {"x": 1}, 3]}'
    assert remove(text, ("a", 1)) == '{"a": [1, 3]}'
    assert remove(text, ("a", 2)) == '{"a": [1, {"x": 1}]}'


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("{", 1),
        ('{\n"a": 1\n"b": 2}', 3),
        ('{"a": 1,}', 1),
        ('{\n// no\n"a": 1}', 2),
        ('{"a": 1} x', 1),
        ('{"a": 1,\n"a": 2}', 2),
        ("{'a': 1}", 1),
        ('{"a": NaN}', 1),
        ('["\n"]', 1),
        ('{"a": 01}', 1),
        ("[" * 2000, 1),
    ],
)
def test_a_text_that_is_not_json_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(JsonTextError) as caught:
        parse(text)
    assert caught.value.line == line


def test_a_value_in_the_way_is_not_overwritten() -> None:
    with pytest.raises(JsonTextError, match="hooks is not an object"):
        put('{"hooks": []}', ("hooks", "PreToolUse"), [])
    with pytest.raises(JsonTextError, match="is not an array"):
        append('{"hooks": {"PreToolUse": {}}}', ("hooks", "PreToolUse"), 1)
    assert value_at(parse("{}"), ("hooks",)) is None

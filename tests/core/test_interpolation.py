"""`${args.name}` in tables of a manifest."""

import pytest

from aileron_tui.core.interpolation import interpolate, missing_args, references
from aileron_tui.core.jsontext import Json, JsonObject, read_object

ARGS: JsonObject = {
    "id": "r-1",
    "count": 1234567,
    "on": True,
    "list": ["a", "b c"],
    "table": {"k": "v"},
    "empty": "",
    "null": None,
    "nested": "${args.id}",
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("${args.id}", "r-1"),
        ("drafts/${args.id}/${args.id}", "drafts/r-1/r-1"),
        ("${args.count}", "1234567"),
        ("${args.on}", "true"),
        ("${args.list}", '["a","b c"]'),
        ("${args.table}", '{"k":"v"}'),
        ("<${args.empty}>", "<>"),
        ("${args.null}", "${args.null}"),
        ("${args.absent}", "${args.absent}"),
        ("${args.nested}", "${args.id}"),
        ("${args.Bad-Name}", "${args.Bad-Name}"),
        ("${ args.id }", "${ args.id }"),
        ("${steps.a.id}", "${steps.a.id}"),
        ("$${args.id}", "$r-1"),
        ("${args.${args.id}}", "${args.r-1}"),
        ("${args.id", "${args.id"),
        ("${args.id\n}", "${args.id\n}"),
    ],
)
def test_tokens_become_text(template: str, text: str) -> None:
    assert interpolate(template, ARGS) == text


def test_tokens_in_tables_and_arrays_are_replaced() -> None:
    template: Json = {"${args.id}": ["${args.id}", 5, None, {"x": "${args.on}"}], "n": 1.5, "b": False}
    assert interpolate(template, ARGS) == {"${args.id}": ["r-1", 5, None, {"x": "true"}], "n": 1.5, "b": False}


def test_numbers_are_text_as_they_were_written() -> None:
    args = read_object('{"a": 1.50, "b": 1e21, "c": 0.00001, "d": 12345678901234567890}')
    text = interpolate("${args.a} ${args.b} ${args.c} ${args.d}", args)
    assert text == "1.50 1000000000000000000000 0.00001 12345678901234567890"


def test_the_template_is_not_changed() -> None:
    template: JsonObject = {"a": ["${args.id}"]}
    interpolate(template, ARGS)
    assert template == {"a": ["${args.id}"]}


def test_references_are_in_order() -> None:
    template: Json = {"a": "${args.b} ${args.a}", "${args.key}": ["${args.c}", {"x": "${args.b}"}], "n": 5}
    assert list(references(template)) == ["b", "a", "c", "b"]


def test_a_missing_argument_is_named_once() -> None:
    assert missing_args({"a": "${args.x}", "b": ["${args.id}", "${args.y}${args.x}"]}, ARGS) == ["x", "y"]
    assert missing_args("${args.null}", ARGS) == ["null"]
    assert missing_args("${args.empty}", ARGS) == []

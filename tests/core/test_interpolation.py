"""`${args.name}` in tables of a manifest."""

import pytest

from aileron_tui.core.interpolation import interpolate, missing_args, references
from aileron_tui.core.jsontext import Json, JsonObject, read_object, with_canonical_numbers

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
        ("${args.nested}", "${args.id}"),
        ("$${args.id}", "$r-1"),
    ],
)
def test_tokens_become_text(template: str, text: str) -> None:
    assert interpolate({"a": template}, ARGS) == {"a": text}


@pytest.mark.parametrize(
    "template",
    [
        "${args.null}",
        "${args.absent}",
        "drafts/${args.absent}/send",
        "${args.id} ${args.null}",
        "${args.Bad-Name}",
        "${ args.id }",
        "${steps.a.id}",
        "${args.${args.id}}",
        "${args.id",
        "${args.id\n}",
    ],
)
def test_what_cannot_be_replaced_is_left_out_with_its_key(template: str) -> None:
    table: JsonObject = {"a": template, "b": [template, "kept", {"c": template, "d": 1}], "e": {"f": template}}
    assert interpolate(table, ARGS) == {"b": ["kept", {"d": 1}], "e": {}}


def test_tokens_in_tables_and_arrays_are_replaced() -> None:
    template: JsonObject = {"${args.id}": ["${args.id}", 5, None, {"x": "${args.on}"}], "n": 1.5, "b": False}
    assert interpolate(template, ARGS) == {"${args.id}": ["r-1", 5, None, {"x": "true"}], "n": 1.5, "b": False}


def test_numbers_are_text_as_canonical_json_spells_them() -> None:
    args = with_canonical_numbers(read_object('{"a": 1.50, "b": 1e21, "c": 0.00001, "d": 1e3, "e": -0.0}'))
    filled = interpolate({"all": "${args.a} ${args.b} ${args.c} ${args.d} ${args.e}"}, args)
    assert filled == {"all": "1.5 1e+21 0.00001 1000 0"}


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

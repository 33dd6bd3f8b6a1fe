"""The rows of a prompt."""

from aileron_tui.core.action import Input, PreviewDirective
from aileron_tui.core.jsontext import read, read_object
from aileron_tui.core.prompt_rows import Row, input_rows, preview_rows


def field(
    name: str, type_: str = "string", *, required: bool = True, label: str = "", multiline: bool = False
) -> Input:
    return Input(name, type_, "x", required, label, multiline)


def test_inputs_keep_the_order_of_the_manifest() -> None:
    inputs = [field("z", label="Zed"), field("a"), field("m", multiline=True)]
    assert input_rows(inputs, {"a": "1", "m": "x\ny", "z": "2"}) == (
        Row("Zed", "2"),
        Row("a", "1"),
        Row("m", "x\ny", multiline=True),
    )


def test_absent_and_null_inputs() -> None:
    inputs = [field("must"), field("may", required=False), field("long", multiline=True), field("list", "array")]
    missing = (Row("must", missing=True), Row("long", missing=True, multiline=True), Row("list", missing=True))
    assert input_rows(inputs, {}) == missing
    assert input_rows(inputs, {"must": None, "may": None, "long": None, "list": None}) == missing


def test_empty_is_not_absent() -> None:
    assert input_rows([field("a")], {"a": ""}) == (Row("a", ""),)
    assert input_rows([field("a", "boolean")], {"a": False}) == (Row("a", "false"),)
    assert input_rows([field("a", "integer")], {"a": 0}) == (Row("a", "0"),)
    assert input_rows([field("a", "array")], {"a": []}) == (Row("a", "[]", multiline=True),)


def test_what_was_not_declared_comes_last_by_name() -> None:
    rows = input_rows([field("z")], {"b": 1, "z": "x", "a": {"k": "v"}, "n": None, "C": "c"})
    assert rows == (
        Row("z", "x"),
        Row("C", "c"),
        Row("a", '{\n  "k": "v"\n}', multiline=True),
        Row("b", "1"),
    )


def test_arrays_and_objects_are_shown_below() -> None:
    args = read_object('{"list": ["<b>", 1.50], "text": ["surprise"]}')
    assert input_rows([field("list", "array"), field("text")], args) == (
        Row("list", '[\n  "<b>",\n  1.50\n]', multiline=True),
        Row("text", '[\n  "surprise"\n]', multiline=True),
    )


def test_numbers_are_plain() -> None:
    args = read_object('{"a": 1234567, "b": 1e6, "c": 12345678901234567890, "d": 1.50, "e": 1E-7, "f": -0.0}')
    shown = [row.value for row in input_rows([], args)]
    assert shown == ["1234567", "1000000", "12345678901234567890", "1.50", "0.0000001", "-0.0"]


def test_nothing_to_show() -> None:
    assert input_rows([], {}) == ()


PREVIEW = PreviewDirective(
    "get", {}, (("To", "headers.To"), ("Body", "text"), ("Tags", "tags"), ("Size", "size")), frozenset({"Body", "Tags"})
)


def test_previews_keep_the_order_of_render() -> None:
    answer = read('{"size": 1234567, "text": "a\\nb", "tags": ["x"], "headers": [{"name": "To", "value": "t@x.org"}]}')
    assert preview_rows(PREVIEW, answer) == (
        Row("To", "t@x.org"),
        Row("Body", "a\nb", multiline=True),
        Row("Tags", '[\n  "x"\n]', multiline=True),
        Row("Size", "1234567"),
    )


def test_a_missing_path_is_one_row_and_the_others_stay() -> None:
    assert preview_rows(PREVIEW, {"text": None, "tags": "", "size": False}) == (
        Row("To", missing=True),
        Row("Body", missing=True, multiline=True),
        Row("Tags", "", multiline=True),
        Row("Size", "false"),
    )


def test_inline_rows_stay_on_one_line() -> None:
    preview = PreviewDirective("get", {}, (("All", "all"),), frozenset())
    assert preview_rows(preview, {"all": {"b": [1, "x"], "a": None}}) == (Row("All", '{"a":null,"b":[1,"x"]}'),)


def test_an_answer_that_is_no_object() -> None:
    assert all(row.missing for row in preview_rows(PREVIEW, None))
    assert all(row.missing for row in preview_rows(PREVIEW, "text"))

"""The rows of a prompt."""

from aileron_tui.core.action import Input
from aileron_tui.core.jsontext import Json, read, read_object
from aileron_tui.core.preview_directive import PreviewDirective
from aileron_tui.core.prompt_rows import Row, fold_missing, input_rows, preview_rows


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
    assert preview_rows(PREVIEW, answer)[0] == (
        Row("To", "t@x.org"),
        Row("Body", "a\nb", multiline=True),
        Row("Tags", '[\n  "x"\n]', multiline=True),
        Row("Size", "1234567"),
    )


def test_a_missing_path_is_one_row_and_the_others_stay() -> None:
    assert preview_rows(PREVIEW, {"text": None, "tags": "", "size": False})[0] == (
        Row("To", missing=True),
        Row("Body", missing=True, multiline=True),
        Row("Tags", "", multiline=True),
        Row("Size", "false"),
    )


def test_inline_rows_stay_on_one_line() -> None:
    preview = PreviewDirective("get", {}, (("All", "all"),), frozenset())
    rows, hidden = preview_rows(preview, {"all": {"b": [1, "x"], "a": None}})
    assert rows == (Row("All", '{"a":null,"b":[1,"x"]}'),)
    assert hidden == 0


def test_an_answer_that_is_no_object() -> None:
    assert all(row.missing for row in preview_rows(PREVIEW, None)[0])
    assert all(row.missing for row in preview_rows(PREVIEW, "text")[0])


def test_a_header_that_occurs_twice_has_two_rows() -> None:
    headers: Json = [
        {"name": "To", "value": "a@x.org"},
        {"name": "Bcc", "value": "c@x.org"},
        {"name": "TO", "value": "b"},
    ]
    rows, hidden = preview_rows(PREVIEW, {"headers": headers, "text": "x", "tags": 1, "size": 2, "id": "7"})
    assert rows[:2] == (Row("To (1 of 2)", "a@x.org"), Row("To (2 of 2)", "b"))
    assert hidden == 2  # Bcc and id


def test_very_many_headers_of_one_name_are_one_block_with_all_of_them() -> None:
    headers: Json = [{"name": "To", "value": f"{number}@x.org"} for number in range(1000)]
    rows, _ = preview_rows(PREVIEW, {"headers": headers})
    assert rows[0].label == "To (1,000 values)"
    assert rows[0].multiline
    assert all(f"{number}@x.org" in rows[0].value for number in (0, 500, 999))


def test_rows_without_a_value_share_a_line() -> None:
    rows = [Row("To", "a"), *(Row(label, missing=True) for label in ("Cc", "Bcc", "Reply-To", "X-Very-Long-Header"))]
    rows.append(Row("Body", missing=True, multiline=True))
    assert fold_missing(rows) == (
        Row("To", "a"),
        Row("Cc, Bcc, Reply-To", missing=True),
        Row("X-Very-Long-Header, Body", missing=True),
    )


def test_an_empty_value_is_not_a_missing_one() -> None:
    rows = (Row("Cc", ""), Row("Bcc", missing=True), Row("Reply-To", ""))
    assert fold_missing(rows) == rows

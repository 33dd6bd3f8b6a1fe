"""Policies for MCP servers: the preview call, and what is shown of its result, whatever a server sends."""

import json
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aileron_tui.core.jsontext import Json, JsonObject, canonical
from aileron_tui.core.mcp_policy import McpPolicy, policy_reading, read_policy
from aileron_tui.core.mcp_policy_check import check_policy
from aileron_tui.core.mcp_preview import LONGEST_PREVIEW, LONGEST_VALUE, MOST_ROWS
from aileron_tui.core.prompt import PreviewResult, unavailable_line
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.risk import RiskLevel
from tests.corpus.cases import base
from tests.hostile import HOSTILE

BASE: Final = base("policy")["base.toml"]


def policy(text: str = BASE) -> McpPolicy:
    value, findings = read_policy(text, "policy.toml")
    assert value, findings
    return value


def rendering(multiline: str = "[]", **render: str) -> McpPolicy:
    """A policy whose preview shows these paths."""
    shown = ", ".join(f'"{label}" = "{path}"' for label, path in render.items())
    return policy(
        f'server = "x"\n[tools.write.preview]\ntool = "read"\nrender = {{ {shown} }}\nmultiline = {multiline}\n'
    )


def shown(result: Json, **render: str) -> PreviewResult:
    return rendering(**render).preview_result("write", result)  # type: ignore[arg-type]  # hostile servers send anything


def text(*texts: str, **more: Json) -> JsonObject:
    return {"content": [{"type": "text", "text": each} for each in texts], **more}


# The call


def test_a_single_template_keeps_the_type_of_the_arg() -> None:
    args: JsonObject = {"path": "/a", "maxLines": 10}
    assert policy().preview_call("write_file", args) == (
        "read_file",
        {"path": "/a", "lines": 10, "label": "about /a"},
    )


def test_args_that_were_not_given_are_left_out() -> None:
    assert policy().preview_call("write_file", {"maxLines": None}) == ("read_file", {})
    assert policy().preview_call("write_file", {"path": ["/a"]}) == (
        "read_file",
        {"path": ["/a"], "label": 'about ["/a"]'},
    )


def test_a_tool_without_a_preview_has_no_call() -> None:
    assert policy().preview_call("delete_file", {"path": "/a"}) is None
    assert policy().preview_call("other", {}) is None


@given(st.dictionaries(st.sampled_from(["path", "maxLines", "x"]), st.text() | st.integers() | st.none()))
@settings(deadline=None)
def test_no_template_is_sent_unless_the_agent_wrote_it(args: JsonObject) -> None:
    call = policy().preview_call("write_file", args)
    assert call
    sent = json.dumps(call[1])
    assert "${args." not in sent or "${args." in json.dumps(args)


def test_text_of_the_agent_is_not_a_template() -> None:
    call = policy().preview_call("write_file", {"path": "${args.secret}", "secret": "s3cret"})
    assert call == ("read_file", {"path": "${args.secret}", "label": "about ${args.secret}"})


def test_risk() -> None:
    assert policy().risk("write_file") is RiskLevel.HIGH
    assert policy().risk("delete_file") is RiskLevel.NORMAL
    assert policy().risk("other") is None


# The result


def test_text_structured_content_and_json_in_a_text_are_shown() -> None:
    result: JsonObject = {
        "content": [{"type": "text", "text": "one"}, {"type": "text", "text": '{"size": 3, "at": [{"b": "c"}]}'}],
        "structuredContent": {"deep": {"x": True}},
    }
    found = shown(result, A="content.0.text", B="content.1.json.at.0.b", C="structuredContent.deep.x", D="content.7")
    assert [(row.label, row.value, row.missing) for row in found.rows] == [
        ("A", "one", False),
        ("B", "c", False),
        ("C", "true", False),
        ("D", "", True),
    ]
    assert found.hidden == 1, "the size"


def test_only_objects_and_arrays_are_json() -> None:
    assert shown(text("3"), A="content.0.json").rows == (Row("A", missing=True),)
    assert shown(text('{"a": 1, "a": 2}'), A="content.0.json.a").rows == (Row("A", missing=True),)
    assert shown(text(" [1, 2]"), A="content.0.json.1").rows == (Row("A", "2"),)


@pytest.mark.parametrize(
    ("result", "hidden"),
    [
        (text("one"), 0),
        (text("one", isError=False, _meta={"a": 1}, resultType="complete"), 0),
        (text("one", "two"), 1),
        (text("one", structuredContent={"content": "one"}), 0),
        (text("one", structuredContent={"content": "ONE"}), 1),
        (text("one", structuredContent={"content": "one", "owner": "root"}), 2),
        (text("one", '{"a": 1, "b": 2}'), 1),
        (text("one", extra=[1, 2]), 2),
        ({"content": [{"type": "text", "text": "one"}, {"type": "image", "data": "aGk=", "mimeType": "image/png"}]}, 2),
    ],
)
def test_values_that_were_fetched_but_are_not_shown_are_counted(result: JsonObject, hidden: int) -> None:
    assert shown(result, A="content.0.text").hidden == hidden


def test_what_is_sent_as_text_and_as_structured_content_counts_once() -> None:
    value: JsonObject = {"a": 1, "b": {"c": 2, "d": 3}}
    result = text(json.dumps(value), structuredContent=value)
    assert shown(result, A="content.0.text").hidden == 0
    assert shown(result, A="content").hidden == 0
    assert shown(result, A="structuredContent").hidden == 0
    assert shown(result, A="structuredContent.a").hidden == 2
    assert shown(result, A="content.0.json.a").hidden == 2
    assert shown(result, A="content.0.json.a", B="structuredContent.b").hidden == 0
    assert shown(text(json.dumps(value)), A="content.0.json.b").hidden == 1
    wrapped = text("[1, 2]", structuredContent={"items": [1, 2]})
    assert shown(wrapped, A="content.0.json.0").hidden == 1


def test_an_own_member_called_json_is_not_replaced() -> None:
    result: JsonObject = {"content": [{"type": "text", "text": '{"a": "text"}', "json": {"a": "own"}}]}
    found = shown(result, A="content.0.json.a")
    assert (found.rows, found.hidden) == ((Row("A", "own"),), 1)


def test_an_error_is_unavailable_with_its_text() -> None:
    failed = shown(text("", "no\x1b[2J such file", isError=True), A="content.1.text")
    assert failed == PreviewResult(unavailable="read failed: no\x1b[2J such file")
    assert "\x1b" not in unavailable_line(failed.unavailable)
    assert len(shown(text("x" * 10_000, isError=True), A="content").unavailable) < 300
    odd_values: list[Json] = [True, "no", 1, None, [], {}]
    for odd in odd_values:
        assert shown({"isError": odd, "content": []}, A="content").unavailable == "read failed and did not say why"


def test_an_error_that_says_that_there_is_nothing_yet_is_shown() -> None:
    found = policy().preview_result("write_file", text("ENOENT: no such file, open '/a'", isError=True))
    assert not found.unavailable
    assert [(row.label, row.value, row.missing) for row in found.rows] == [
        ("Content", "", True),
        ("Size", "", True),
        ("Server says", "ENOENT: no such file, open '/a'", False),
    ]
    elsewhere = policy().preview_result("write_file", text("access to '/ENOENT' denied", isError=True))
    assert elsewhere.unavailable == "read_file failed: access to '/ENOENT' denied"
    assert policy().preview_result("write_file", text("ENOENT")).rows[0].value == "ENOENT", "not an error"


@pytest.mark.parametrize(
    "result", [None, [], "x", 3, {}, {"task": {}}, {"content": [], "resultType": "input_required"}, {"resultType": 3}]
)
def test_what_is_not_a_result_is_unavailable(result: Json) -> None:
    assert shown(result, A="content").unavailable


def test_long_values_are_cut_and_say_so() -> None:
    found = shown(text("x" * 100_000), A="content.0.text")
    assert found.rows == (Row("A (first 65,536 of 100,000 characters)", "x" * LONGEST_VALUE),)
    many = shown(
        {"structuredContent": {str(n): "y" * 60_000 for n in range(9)}},
        **{f"L{n}": f"structuredContent.{n}" for n in range(9)},
    )
    assert sum(len(row.value) for row in many.rows) == LONGEST_PREVIEW
    assert many.rows[-1].label == "L8 (first 0 of 60,000 characters)"


def test_the_number_of_rows_is_limited() -> None:
    headers: Json = [{"name": "to", "value": str(n)} for n in range(20)]
    found = shown(
        {"structuredContent": {str(n): headers for n in range(9)}},
        **{f"L{n}": f"structuredContent.{n}.to" for n in range(9)},
    )
    assert len(found.rows) == MOST_ROWS
    assert found.hidden == 9 * 20 - MOST_ROWS


def test_deep_and_invalid_text_is_unavailable() -> None:
    deep: Json = "x"
    for _ in range(50_000):
        deep = [deep]
    assert shown({"structuredContent": {"a": deep}}, A="structuredContent.a").unavailable
    assert "Unicode" in shown(text("a\ud800"), A="content.0.text").unavailable
    assert "Unicode" in shown(text("a\ud800", isError=True), A="content.0.text").unavailable


def test_a_result_with_very_many_values_is_bounded() -> None:
    many: Json = [{"name": "to", "value": n} for n in range(16_000)]
    blocks: Json = [{"type": "text", "text": "{}"} for _ in range(500)]
    result: JsonObject = {"content": blocks, "structuredContent": {"to": many}}
    found = shown(result, A="structuredContent.to.to", B="content.0.json")
    assert [row.label for row in found.rows] == ["A (16,000 values) (first 65,536 of 132,892 characters)", "B"]
    assert found.hidden == 499, "the other blocks"
    longest = shown(result, **{"L" * 40: "structuredContent.to.to"})
    assert longest.rows[0].label.startswith(f"{'L' * 40} (16,000 values) (first ")
    assert len(longest.rows[0].label) <= 100, "the gate accepts it"
    more: JsonObject = {"structuredContent": {"to": [many, many]}}
    assert "more than 50,000 values" in shown(more, A="structuredContent.to").unavailable


SHORT: Final = [each for each in HOSTILE.values() if len(each) < 60]
JSON: st.SearchStrategy[Json] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=8)
    | st.sampled_from(SHORT),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["text", "type", "json", "name", "value", "content", "0"]), inner, max_size=4)
    ),
    max_leaves=20,
)
BLOCKS: Final = st.fixed_dictionaries({"type": JSON, "text": JSON | JSON.map(json.dumps)})
RESULTS: st.SearchStrategy[Json] = JSON | st.fixed_dictionaries(
    {},
    optional={
        "content": JSON | st.lists(BLOCKS, max_size=3),
        "structuredContent": JSON,
        "isError": st.booleans() | JSON,
        "resultType": st.just("complete") | JSON,
    },
)


@given(RESULTS)
@settings(deadline=None)
def test_hostile_results_never_raise_and_can_be_sent(result: Json) -> None:
    found = shown(result, A="content.0.text", B="content.0.json.text", C="structuredContent.content", D="content")
    assert bool(found.rows) != bool(found.unavailable)
    assert found.hidden >= 0
    assert len(found.rows) <= MOST_ROWS
    assert canonical(found.fields())


# The policy and the tools of the server

TOOLS: Final[dict[str, JsonObject]] = {
    "write_file": {
        "name": "write_file",
        "inputSchema": {"type": "object", "properties": {"path": {}, "maxLines": {}}},
    },
    "delete_file": {"name": "delete_file", "inputSchema": {"type": "object"}},
    "read_file": {
        "name": "read_file",
        "inputSchema": {"properties": {"path": {}, "lines": {}, "label": {}}, "required": ["path"]},
        "annotations": {"readOnlyHint": True},
    },
}


def rules(changed: str = BASE, tools: dict[str, JsonObject] | None = None) -> list[tuple[str, int, str]]:
    reading = policy_reading(changed, "policy.toml")
    findings = check_policy(reading, TOOLS if tools is None else tools)
    assert all(finding.fix.endswith((".", "?")) for finding in findings)
    return [(finding.rule, finding.line, finding.severity.value) for finding in findings]


def test_a_policy_that_fits_the_server() -> None:
    assert rules() == []


def test_names_that_the_server_does_not_have() -> None:
    assert rules(BASE.replace("[tools.delete_file]", "[tools.delete_fil]")) == [("unknown-tool", 14, "warning")]
    assert rules(BASE.replace('"read_file"', '"read_fil"')) == [("unknown-tool", 8, "error")]
    assert rules(BASE.replace("args.maxLines", "args.max_lines")) == [("undeclared-input", 9, "error")]
    assert rules(BASE.replace("lines =", "line =")) == [("preview-arg", 9, "error")]
    assert rules(BASE.replace("{ path =", "{ label2 =")) == [("preview-arg", 9, "error"), ("preview-arg", 9, "error")]


def test_a_preview_tool_must_only_read() -> None:
    said: list[Json] = [{}, {"readOnlyHint": "true"}, {"readOnlyHint": True, "destructiveHint": True}, None]
    for annotations in said:
        tools: dict[str, JsonObject] = {**TOOLS, "read_file": {**TOOLS["read_file"], "annotations": annotations}}
        assert rules(tools=tools) == [("preview-not-read-only", 8, "error")]


def test_a_schema_that_does_not_list_every_arg_is_not_held_against_the_policy() -> None:
    schemas: list[Json] = [
        {},
        {"properties": {}, "additionalProperties": True},
        {"properties": {}, "anyOf": []},
        None,
        3,
    ]
    for schema in schemas:
        tools: dict[str, JsonObject] = {
            **TOOLS,
            "write_file": {"name": "write_file", "inputSchema": schema},
            "read_file": {**TOOLS["read_file"], "inputSchema": schema},
        }
        assert rules(tools=tools) == []


@given(JSON, JSON)
@settings(deadline=None)
def test_hostile_definitions_never_raise(schema: Json, annotations: Json) -> None:
    definition: JsonObject = {"inputSchema": schema, "annotations": annotations}
    rules(tools={"write_file": definition, "read_file": definition})

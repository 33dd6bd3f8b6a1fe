"""Definitions of MCP tools are pinned by a hash over all of them; their annotations are read with care."""

import pytest

from aileron_tui.core.jsontext import Json, JsonObject, read_object
from aileron_tui.core.mcp_tools import (
    ToolHints,
    definition_hash,
    hints,
    is_definition_hash,
    is_server_name,
    pinned,
    tool_named,
)

TOOL: JsonObject = {
    "name": "write_file",
    "title": "Write File",
    "description": "Writes a file.",
    "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    "annotations": {"readOnlyHint": False},
    "_meta": {"vendor/x": 1},
}


def test_the_hash_does_not_depend_on_the_order_of_keys() -> None:
    assert definition_hash(dict(reversed(TOOL.items()))) == definition_hash(TOOL)
    assert is_definition_hash(definition_hash(TOOL))


@pytest.mark.parametrize(
    "change",
    [
        {"description": "Writes a file. "},
        {"title": "write file"},
        {"annotations": {"readOnlyHint": True}},
        {"outputSchema": {"type": "object"}},
        {"_meta": {"vendor/x": 2}},
        {"icons": []},
        {"inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": []}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_every_member_is_part_of_the_hash(change: JsonObject) -> None:
    assert definition_hash(TOOL | change) != definition_hash(TOOL)


def test_the_spelling_of_a_number_is_not_part_of_the_hash() -> None:
    assert definition_hash(read_object('{"name":"a","x":1.0}')) == definition_hash(read_object('{"x":1,"name":"a"}'))


def test_numbers_that_a_double_cannot_hold_are_told_apart() -> None:
    limits: list[Json] = [2**64 - 1, 2**64, 2**53 + 1, str(2**64 - 1)]
    assert len({definition_hash(TOOL | {"inputSchema": {"maximum": limit}}) for limit in limits}) == 4
    tool = pinned(TOOL | {"inputSchema": {"maximum": [True, 1, 2**64 - 1]}})
    assert tool.definition["inputSchema"] == {"maximum": [True, 1, "18446744073709551615 (a number)"]}
    assert definition_hash(tool.definition) == tool.hash


def test_a_pinned_tool_cannot_be_changed() -> None:
    tool = pinned(TOOL)
    assert (tool.name, tool.hash) == ("write_file", definition_hash(TOOL))
    with pytest.raises(TypeError):
        tool.definition["description"] = "x"
    assert tool_named([tool], "write_file") == tool
    assert tool_named([tool], "Write_file") is None


@pytest.mark.parametrize("name", [None, "", 1, ["write_file"]])
def test_a_tool_needs_a_name(name: Json) -> None:
    with pytest.raises(ValueError, match="name"):
        pinned(TOOL | {"name": name})


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        (None, ToolHints()),
        ([], ToolHints()),
        ({}, ToolHints()),
        ({"readOnlyHint": True}, ToolHints(read_only=True)),
        ({"readOnlyHint": "true"}, ToolHints()),
        ({"readOnlyHint": 1}, ToolHints()),
        ({"destructiveHint": True}, ToolHints(destructive=True)),
        ({"readOnlyHint": True, "destructiveHint": True}, ToolHints(destructive=True)),
        ({"readOnlyHint": True, "destructiveHint": False}, ToolHints(read_only=True)),
    ],
)
def test_only_an_exact_true_is_a_hint(annotations: Json, expected: ToolHints) -> None:
    assert hints({"name": "a", "annotations": annotations}) == expected


@pytest.mark.parametrize("name", ["filesystem", "a", "git-2", "my_server", "a.b", "x" * 28])
def test_names_of_servers(name: str) -> None:
    assert is_server_name(name)


@pytest.mark.parametrize("name", ["", "..", "a/b", "A", "-a", "a\n", "a.", "x" * 29, "é"])
def test_what_cannot_be_the_name_of_a_server(name: str) -> None:
    assert not is_server_name(name)

"""Actions as tools: their names, what their descriptions can say, and what their annotations claim."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.action_tools import OWN_TOOLS, action_tools, own_tools, tool_names
from aileron_tui.core.visible_text import inline
from tests.hostile import HOSTILE


def action(name: str = "send-draft", **fields: Any) -> dict[str, Any]:
    """An action as a gate lists it."""
    return {"name": name, "match": {"intent": "Send it"}, "inputs": [], "approval": {"required": True}, **fields}


def definition(item: dict[str, Any]) -> Any:
    """The only tool for an action."""
    (tool,) = action_tools({"items": [item]}).definitions
    return tool


def test_ordinary_names_stay_and_the_tools_know_their_actions() -> None:
    tools = action_tools({"items": [action("send-draft"), action("list_files")]})
    assert dict(tools.actions) == {"send-draft": "send-draft", "list_files": "list_files"}


@pytest.mark.parametrize("name", [*OWN_TOOLS, "aileron", "aileron-status", "aileron.status", "aileron_approve"])
def test_no_action_can_be_taken_for_a_tool_of_our_own(name: str) -> None:
    (tool,) = tool_names([name]).values()
    assert tool.startswith("action_")
    tools = action_tools({"items": [action(name)]})
    assert tools.actions[tool] == name
    assert tools.definitions[0]["title"] == name


def test_names_that_clients_would_make_equal_stay_different() -> None:
    names = tool_names(["mail.send", "mail_send", "mail-send"])
    assert names["mail_send"] == "mail_send"
    assert len(set(names.values())) == 3


def test_an_action_cannot_take_the_name_made_for_another() -> None:
    made = tool_names(["mail.send"])["mail.send"]
    names = tool_names(["mail.send", made])
    assert names[made] == made
    assert names["mail.send"] != made


@given(st.sets(st.from_regex(r"[a-z0-9][a-z0-9._-]{0,80}", fullmatch=True), max_size=30))
def test_every_action_has_a_name_of_its_own_that_every_model_accepts(actions: set[str]) -> None:
    names = tool_names(sorted(actions))
    assert set(names) == actions
    assert len(set(names.values())) == len(actions)
    assert all(re.fullmatch(r"[a-z0-9_-]{1,50}", name) for name in names.values())
    assert not set(names.values()) & set(OWN_TOOLS)


def test_hostile_manifests_stay_on_one_line_and_show_what_they_hide() -> None:
    for name, text in HOSTILE.items():
        field = {"name": "a", "type": "string", "description": text}
        tool = definition(action(match={"intent": text}, inputs=[field]))
        intent, _, own = tool["description"].rpartition("\n\n")
        assert own.startswith("Needs the approval of a person"), name
        assert "\n" not in intent, name
        for shown in (intent, tool["inputSchema"]["properties"]["a"].get("description", "")):
            assert shown == inline(shown), name


def test_long_texts_are_cut() -> None:
    tool = definition(action(match={"intent": "x" * 100_000}))
    assert len(tool["description"]) < 1500
    assert "Needs the approval" in tool["description"]


def test_inputs_become_a_schema() -> None:
    inputs = [
        {"name": "to", "type": "array", "items_type": "string", "required": True, "description": "Recipients"},
        {"name": "count", "type": "integer", "required": False, "description": "How many"},
        {"name": "odd", "type": "no such type"},
        "nonsense",
    ]
    assert definition(action(inputs=inputs))["inputSchema"] == {
        "type": "object",
        "properties": {
            "to": {"type": "array", "items": {"type": "string"}, "description": "Recipients"},
            "count": {"type": "integer", "description": "How many"},
        },
        "required": ["to"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("fields", "hints"),
    [
        ({}, {"readOnlyHint": False}),
        ({"risk": "normal"}, {"readOnlyHint": False}),
        ({"risk": "high"}, {"readOnlyHint": False, "destructiveHint": True}),
        ({"approval": {"required": False}, "risk": "low"}, {}),
        ({"approval": {"required": False}, "risk": "high"}, {"readOnlyHint": False, "destructiveHint": True}),
        ({"approval": {"required": False}, "idempotent": True}, {"idempotentHint": True}),
        ({"approval": {"required": "false"}, "idempotent": "yes"}, {"readOnlyHint": False}),
    ],
)
def test_annotations_claim_only_what_is_known(fields: dict[str, Any], hints: dict[str, bool]) -> None:
    assert definition(action(**fields))["annotations"] == hints


def test_what_is_not_an_action_is_left_out() -> None:
    assert action_tools({"items": [5, {}, {"name": ""}, {"name": 5}, action()]}).definitions[0]["name"] == "send-draft"
    assert action_tools({"items": "x"}).definitions == ()
    assert action_tools({}).definitions == ()


def test_only_our_own_tools_are_called_read_only() -> None:
    assert [tool["name"] for tool in own_tools()] == list(OWN_TOOLS)
    assert all(tool["annotations"]["readOnlyHint"] is True for tool in map(dict[str, Any], own_tools()))

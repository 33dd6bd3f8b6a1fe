"""The hooks of each agent: recorded input is understood, and replies have the shape that the agent honours."""

from importlib import import_module
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.hook_event import (
    LONGEST_REASON,
    BadHookInput,
    EventKind,
    HookAnswer,
    HookEvent,
    HookReply,
    Verdict,
    bounded,
)

NAMES = ("claude", "codex", "gemini", "copilot")
SHAPES: dict[str, ModuleType] = {name: import_module(f"aileron_tui.core.{name}_hooks") for name in NAMES}

ALLOWED = HookAnswer(Verdict.ALLOW, "Approved.", {"command": "date"})
EDITED = HookAnswer(Verdict.ALLOW, "Approved.", {"command": "date -u"}, edited=True)
DENIED = HookAnswer(Verdict.DENY, "The operator denied this call: no")
NOBODY = HookAnswer(Verdict.UNDECIDED, "Nobody answered in time.")

CLAUDE: dict[str, Any] = {
    "session_id": "s-1",
    "transcript_path": "/home/me/.claude/projects/p/s-1.jsonl",
    "cwd": "/work/p",
    "prompt_id": "f22a7c1c",
    "permission_mode": "default",
    "effort": {"level": "medium"},
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "date", "description": "make a marker"},
    "tool_use_id": "toolu_1",
}
CODEX: dict[str, Any] = {
    "session_id": "s-1",
    "turn_id": "t-1",
    "transcript_path": None,
    "cwd": "/work/p",
    "hook_event_name": "PreToolUse",
    "model": "gpt-5.5-codex",
    "permission_mode": "bypassPermissions",
    "tool_name": "Bash",
    "tool_input": {"command": "date"},
    "tool_use_id": "call_1",
}
GEMINI: dict[str, Any] = {
    "session_id": "s-1",
    "transcript_path": "/home/me/.gemini/tmp/p/chats/s-1.jsonl",
    "cwd": "/work/p",
    "hook_event_name": "BeforeTool",
    "timestamp": "2026-11-17T20:37:47.294Z",
    "tool_name": "run_shell_command",
    "tool_input": {"command": "date"},
}
COPILOT: dict[str, Any] = {
    "sessionId": "s-1",
    "timestamp": 1794947873010,
    "cwd": "/work/p",
    "toolName": "bash",
    "toolArgs": {"command": "date"},
}
CALLS = {"claude": CLAUDE, "codex": CODEX, "gemini": GEMINI, "copilot": COPILOT}


def event(agent: str, **changes: Any) -> HookEvent:
    """An event of an agent: its recorded call with some fields changed; None removes one."""
    fields = {name: value for name, value in (CALLS[agent] | changes).items() if value is not None}
    found: HookEvent = SHAPES[agent].read_event(fields)
    return found


def reply(agent: str, answer: HookAnswer, **changes: Any) -> Any:
    """What an agent is told about a call."""
    found: HookReply = SHAPES[agent].reply(event(agent, **changes), answer)
    assert (found.code, found.error) == (0, "")
    return found.output


@pytest.mark.parametrize("agent", NAMES)
def test_a_recorded_call_is_understood(agent: str) -> None:
    found = event(agent)
    assert found.kind is EventKind.ASK
    assert found.input is not None
    assert (found.input["command"], found.folder, found.session) == ("date", "/work/p", "s-1")
    assert found.can_edit
    assert found.call_id == {"claude": "toolu_1", "codex": "call_1"}.get(agent, "")


def test_claude_is_always_given_the_approved_input() -> None:
    said = {"hookEventName": "PreToolUse", "permissionDecision": "allow", "permissionDecisionReason": "Approved."}
    assert reply("claude", ALLOWED) == {"hookSpecificOutput": {**said, "updatedInput": {"command": "date"}}}
    assert reply("claude", EDITED) == {"hookSpecificOutput": {**said, "updatedInput": {"command": "date -u"}}}


@pytest.mark.parametrize("tool", ["AskUserQuestion", "ExitPlanMode"])
def test_claude_still_shows_its_own_dialogs(tool: str) -> None:
    assert "updatedInput" not in reply("claude", ALLOWED, tool_name=tool)["hookSpecificOutput"]
    assert "updatedInput" in reply("claude", EDITED, tool_name=tool)["hookSpecificOutput"]


def test_claude_is_told_why_not() -> None:
    for answer in (DENIED, NOBODY):
        assert reply("claude", answer)["hookSpecificOutput"] == {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": answer.reason,
        }


def test_a_request_for_permission_in_claude() -> None:
    asked: dict[str, Any] = {"hook_event_name": "PermissionRequest", "tool_use_id": None}
    assert event("claude", **asked).call_id == ""
    assert reply("claude", EDITED, **asked) == {
        "hookSpecificOutput": {
            "hookEventName": "PermissionRequest",
            "decision": {"behavior": "allow", "updatedInput": {"command": "date -u"}},
        }
    }
    assert reply("claude", DENIED, **asked)["hookSpecificOutput"]["decision"] == {
        "behavior": "deny",
        "message": DENIED.reason,
    }


def test_claude_asks_its_user_if_nobody_answered_a_request_for_permission() -> None:
    found = SHAPES["claude"].reply(event("claude", hook_event_name="PermissionRequest"), NOBODY)
    assert found == HookReply(error=NOBODY.reason, code=2)


@pytest.mark.parametrize("agent", ["claude", "codex"])
@pytest.mark.parametrize(
    ("tool", "more", "server"),
    [
        ("mcp__gmail__send_draft", {}, "gmail"),
        ("mcp__gmail__send_draft", {"mcp_server": {"name": "g__mail", "source": "user"}}, "g__mail"),
        ("mcp__gmail__a__b", {"mcp_server": 7}, "gmail"),
        ("Bash", {"mcp_server": {"name": "gmail"}}, ""),
    ],
)
def test_the_server_of_a_tool(agent: str, tool: str, more: dict[str, Any], server: str) -> None:
    found = event(agent, tool_name=tool, **more)
    assert (found.tool, found.server) == (tool, server)


def test_the_server_of_a_tool_in_gemini() -> None:
    found = event("gemini", tool_name="mcp_gmail_send", mcp_context={"server_name": "gmail", "tool_name": "send"})
    assert (found.tool, found.server) == ("mcp_gmail_send", "gmail")


def test_what_became_of_a_call() -> None:
    done = event("claude", hook_event_name="PostToolUse", tool_response={"stdout": ""}, duration_ms=92)
    assert (done.kind, done.call_id, done.failed) == (EventKind.OUTCOME, "toolu_1", False)
    failed = event("claude", hook_event_name="PostToolUseFailure", error="Exit code 3", is_interrupt=False)
    assert (failed.kind, failed.failed, failed.text) == (EventKind.OUTCOME, True, "Exit code 3")
    assert event("codex", hook_event_name="PostToolUse", tool_response="").kind is EventKind.OUTCOME


def test_codex_gets_no_permission_without_the_input() -> None:
    assert reply("codex", ALLOWED)["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": {"command": "date"},
    }


def test_codex_gets_no_denial_without_a_reason() -> None:
    empty = HookAnswer(Verdict.DENY, "")
    assert reply("codex", empty)["hookSpecificOutput"]["permissionDecisionReason"]
    asked = {"hook_event_name": "PermissionRequest"}
    assert reply("codex", empty, **asked)["hookSpecificOutput"]["decision"]["message"]


def test_a_request_for_permission_in_codex_cannot_carry_an_edit() -> None:
    asked = {"hook_event_name": "PermissionRequest"}
    assert not event("codex", **asked).can_edit
    assert reply("codex", ALLOWED, **asked)["hookSpecificOutput"]["decision"] == {"behavior": "allow"}
    for answer in (EDITED, DENIED, NOBODY):
        assert reply("codex", answer, **asked)["hookSpecificOutput"]["decision"]["behavior"] == "deny"


def test_gemini_is_given_input_only_if_it_was_edited() -> None:
    assert reply("gemini", ALLOWED) == {"decision": "allow", "reason": "Approved."}
    changed = {"hookEventName": "BeforeTool", "tool_input": {"command": "date -u"}}
    assert reply("gemini", EDITED) == {"decision": "allow", "reason": "Approved.", "hookSpecificOutput": changed}
    assert reply("gemini", NOBODY) == {"decision": "deny", "reason": NOBODY.reason}


def test_gemini_cannot_remove_an_input() -> None:
    said = reply("gemini", EDITED, tool_input={"command": "date", "dir_path": "/"})
    assert said["decision"] == "deny"
    assert "dir_path" in said["reason"]


def test_copilot() -> None:
    said = {"permissionDecision": "allow", "permissionDecisionReason": "Approved."}
    assert reply("copilot", EDITED) == said | {"modifiedArgs": {"command": "date -u"}}
    assert reply("copilot", DENIED) == {"permissionDecision": "deny", "permissionDecisionReason": DENIED.reason}
    asked: dict[str, Any] = {"hookName": "permissionRequest", "toolInput": {"command": "date"}, "toolArgs": None}
    assert reply("copilot", ALLOWED, **asked) == {"behavior": "allow"}
    assert reply("copilot", EDITED, **asked)["behavior"] == "deny"
    assert reply("copilot", NOBODY, **asked) == {"behavior": "deny", "message": NOBODY.reason}


def test_copilot_does_not_name_its_events() -> None:
    nothing: dict[str, Any] = {"toolName": None, "toolArgs": None}
    assert event("copilot", toolResult={"resultType": "success"}).kind is EventKind.OTHER
    assert event("copilot", error="failed").kind is EventKind.OTHER
    assert event("copilot", **nothing, prompt="go").text == "go"
    assert event("copilot", **nothing, source="new", initialPrompt="go").kind is EventKind.STARTED
    assert event("copilot", **nothing, reason="complete").kind is EventKind.ENDED
    with pytest.raises(BadHookInput):
        event("copilot", **nothing)
    with pytest.raises(BadHookInput):
        event("copilot", hookName="subagentStart")


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini"])
def test_sessions_and_events_that_do_not_matter(agent: str) -> None:
    assert event(agent, hook_event_name="SessionStart", source="startup").kind is EventKind.STARTED
    assert event(agent, hook_event_name="SessionEnd", reason="other").kind is EventKind.ENDED
    assert event(agent, hook_event_name="Notification").kind is EventKind.OTHER


@pytest.mark.parametrize("agent", NAMES)
def test_what_the_user_typed(agent: str) -> None:
    shapes = SHAPES[agent]
    assert shapes.prompt_reply("") == HookReply()
    assert "nothing waits" in str(shapes.prompt_reply("nothing waits").output)


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini"])
@pytest.mark.parametrize("name", ["BeforeEverything", "pretooluse", "", 7, None])
def test_an_unknown_event_is_an_error(agent: str, name: Any) -> None:
    with pytest.raises(BadHookInput):
        event(agent, hook_event_name=name)


def test_reasons_are_visible_and_bounded() -> None:
    assert bounded("a\x1b[31m\u202eb") == "a⟨ESC⟩[31m⟨U+202E⟩b"
    assert len(bounded("\x1b" * 30_000 + "x\x1b" * 30_000)) <= LONGEST_REASON
    assert len(bounded("x\x1b" * 4_000)) <= LONGEST_REASON
    assert bounded("x" * LONGEST_REASON) == "x" * LONGEST_REASON


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    sorted({name for call in CALLS.values() for name in call} | {"hookName", "toolInput", "error"})
)
OBJECTS = st.dictionaries(FIELDS, JSON | st.sampled_from(["PreToolUse", "BeforeTool", "permissionRequest", "Bash"]))


@pytest.mark.parametrize("agent", NAMES)
@given(fields=OBJECTS, answer=st.sampled_from([DENIED, NOBODY, HookAnswer(Verdict.DENY, "")]))
def test_whatever_the_input_a_refused_call_is_refused(agent: str, fields: dict[str, Any], answer: HookAnswer) -> None:
    """Whatever an agent sends is an error or an event, and a call that was not allowed never gets a permission."""
    try:
        found = SHAPES[agent].read_event(fields)
    except BadHookInput:
        return
    if found.kind is EventKind.ASK:
        said = SHAPES[agent].reply(found, answer)
        assert said.code == 2 or (said.output and "deny" in str(said.output))
        assert "'allow'" not in str(said.output)

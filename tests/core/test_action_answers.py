"""The words for every reply of a gate: what was denied, unanswered or is unknown is never mixed up."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.action_answers import gate_status, read_answer, still_waiting, waiting_calls
from aileron_tui.core.jsontext import JsonObject


def failed(class_: str, **more: Any) -> dict[str, Any]:
    """The result of a call that failed."""
    return {"status": "failed", "failure": {"error": {"class": class_, "message": "it broke", **more}}}


CASES: list[tuple[int, dict[str, Any], str, bool, str]] = [
    (200, {"status": "completed", "result": '{"id":"m-1"}'}, "completed", False, '"output":{"id":"m-1"}'),
    (200, {"status": "completed", "result": "x", "output": [1]}, "completed", False, '"output":[1]'),
    (200, {"audit_id": "audit-1", "result": "not { JSON"}, "completed", False, '"text":"not { JSON"'),
    (200, {"status": "denied", "reason": "no"}, "denied", True, "The reason: no"),
    (200, {"status": "denied"}, "denied", True, "No reason was given"),
    (200, failed("approval_timeout"), "unanswered", True, "not a denial"),
    (200, failed("withdrawn"), "withdrawn", True, "nothing was run"),
    (200, failed("outcome_unknown"), "outcome_unknown", True, "may have taken effect"),
    (200, failed("http_error", retriable=True), "failed", True, "it broke (class http_error). It may be tried again"),
    (502, {"error": {"class": "http_error", "message": "it broke"}}, "failed", True, "it broke"),
    (422, {"error": {"code": "invalid_inputs", "message": '"a" is required'}}, "refused", True, '"a" is required'),
    (429, {"error": {"code": "asked_too_often", "message": "later"}}, "refused", True, "nothing was run: later"),
    (503, {"error": {"code": "not_recorded", "message": "no disk"}}, "refused", True, "nothing was run"),
    (503, {"error": {"code": "unavailable", "message": "x"}}, "outcome_unknown", True, "not known"),
    (500, {"error": {"code": "internal", "message": "x"}}, "outcome_unknown", True, "not known"),
    (200, {"status": "allowed", "input": {}}, "outcome_unknown", True, "not known"),
    (200, {}, "outcome_unknown", True, "not known"),
]


@pytest.mark.parametrize(("status", "reply", "expected", "is_error", "said"), CASES)
def test_every_reply_has_its_own_words(
    status: int, reply: dict[str, Any], expected: str, is_error: bool, said: str
) -> None:
    answer = read_answer("send-draft", status, reply)
    assert (answer.content["status"], answer.is_error) == (expected, is_error)
    assert said in answer.text
    if is_error:
        assert answer.content["message"] == answer.text
    else:
        assert json.loads(answer.text) == answer.content


def test_the_complete_error_is_passed_on() -> None:
    reply = failed("http_error", boundary="upstream", details={"status": 404})
    assert read_answer("a", 200, reply).content["error"] == reply["failure"]["error"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["class", "code", "message", "x"]), inner)
    ),
    max_leaves=6,
)
FIELDS = st.sampled_from(["status", "result", "output", "reason", "failure", "error", "audit_id", "approval_id"])


@given(st.sampled_from([200, 202, 400, 401, 404, 500, 503]), st.dictionaries(FIELDS, VALUES))
def test_any_reply_is_answered_and_only_a_result_is_a_success(status: int, reply: dict[str, Any]) -> None:
    answer = read_answer("a", status, reply)
    assert answer.is_error is (answer.content["status"] != "completed")
    if not answer.is_error:
        assert status == 200
        assert "result" in reply


def test_waiting_says_how_to_go_on() -> None:
    answer = still_waiting("send-draft", "act-1", {"status": "pending_approval", "expires_at": "T"})
    assert not answer.is_error
    assert {"status": "waiting", "approval_id": "act-1", "expires_at": "T"}.items() <= answer.content.items()
    assert "aileron_result" in answer.text
    running = still_waiting("send-draft", "act-1", {"status": "running"}, "no gate")
    assert running.content["status"] == "running"
    assert "no gate" in running.text


def test_the_status_has_only_known_fields_and_only_actions() -> None:
    item: JsonObject = {"id": "act-1", "action": "a", "asked_at": "T", "expires_at": "U", "preview": "secret"}
    tool: JsonObject = item | {"action": "Bash"}
    waiting = waiting_calls({"agent": "mcp", "waiting": [item, tool, 5, {}], "approved": ["x"]}, {"a"})
    assert waiting == [{"approval_id": "act-1", "action": "a", "asked_at": "T", "expires_at": "U"}]
    assert gate_status("mcp", waiting, 240).content["waiting"] == waiting

"""What a hostile agent tries that controls arguments and names, or has the token of the program."""

import json
import socket
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aileron_tui.core.decision import Verdict
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.files.agent_tokens import read_token, token_path, write_approvers
from aileron_tui.gated import AnswerRefused, ArgumentRefused, Denied, GatedError, NotAsked, gated
from aileron_tui.gated.calls import GatedCall
from aileron_tui.runtime.gate_discovery import discover
from tests.doors.fake_gate import fake_gate
from tests.gated.answered_gate import APPROVE, AnsweredGate, Reply, approve, nobody, until
from tests.gated.conftest import PROGRAM
from tests.gated.test_call_arguments import JSON, same_types
from tests.hostile import MARKUP, TERMINAL, UNSEEN

RAN: list[Any] = []
ENDED = f"{socket.gethostname()}/{2**22 + 7}/1"
"""The session of a process that does not run."""


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    RAN.clear()


@gated(name="look")
def look(value: Any, **more: Any) -> Any:
    RAN.append(value)
    return value, more


@pytest.fixture
def ruled(gate: AnsweredGate) -> Iterator[AnsweredGate]:
    with gate.rule("look", PROGRAM):
        yield gate


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=JSON, more=st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), JSON, max_size=2))
def test_whatever_is_allowed_is_what_runs(ruled: AnsweredGate, value: Any, more: dict[str, Any]) -> None:
    more.pop("value", None)
    try:
        assert same_types(look(value, **more), (value, more))
    except Denied as denied:
        raise AssertionError("nobody denies anything here") from denied


@pytest.mark.parametrize("text", [*TERMINAL.values()][:4] + [*UNSEEN.values()][:4] + [*MARKUP.values()][:2], ids=ascii)
def test_hostile_text_arrives_unchanged_and_is_shown_by_the_gate(gate: AnsweredGate, text: str) -> None:
    try:
        look(text, **{text: text})
    except ArgumentRefused:
        assert gate.seen == []
        return
    assert gate.shown.prompt.args == {"value": text, "more": {text: text}}
    (ran,) = RAN
    assert ran == text


def test_the_order_of_keys_says_nothing_that_is_not_shown(gate: AnsweredGate) -> None:
    found, _ = look({"b": 1, "a": {"d": 1, "c": 2}})
    assert json.dumps(found) == '{"a": {"c": 2, "d": 1}, "b": 1}'


@pytest.mark.parametrize("name", ["mcp__tests__look", "mcp_tests_look"])
def test_a_name_that_would_be_shown_as_another_is_refused(gate: AnsweredGate, name: str) -> None:
    with pytest.raises(NotAsked, match="under another name"):
        gated(name=name)(lambda: RAN.append(1))()
    assert (RAN, gate.seen) == ([], [])


def test_an_argument_cannot_hide_as_the_object_of_a_method(gate: AnsweredGate) -> None:
    class Shell:
        @staticmethod
        @gated(name="shell")
        def run(self: str) -> str:  # noqa: PLW0211  # that is the attack
            return self

    assert Shell.run("rm -r /") == "rm -r /"
    assert gate.shown.prompt.args == {"self": "rm -r /"}


def test_a_value_that_changes_while_it_is_read_is_run_as_it_is_shown(gate: AnsweredGate) -> None:
    value, stop = {"to": ["a"] * 50}, threading.Event()

    def change() -> None:
        while not stop.wait(0.0001):
            value["to"] = ["b"] * 50
            value["to"] = ["a"] * 25 + ["c"] * 25
            value["x"] = value.pop("x", [])

    thread = threading.Thread(target=change)
    thread.start()
    for _ in range(5):
        gate.forget()
        found, _more = look(value)
        assert gate.shown.prompt.args["value"] == found
    stop.set()
    thread.join()


def test_answers_cannot_be_swapped_between_calls(gate: AnsweredGate) -> None:
    """One of two equal calls is denied, and exactly the other one runs."""
    gate.operator = lambda request: APPROVE if request.prompt.args["value"] == "good" else Reply(Verdict.DENY)
    ends: dict[str, str] = {}

    def call(value: str) -> None:
        try:
            ends[value] = str(look(value))
        except GatedError as error:
            ends[value] = type(error).__name__

    threads = [threading.Thread(target=call, args=(value,)) for value in ("good", "bad")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ends == {"good": "('good', {})", "bad": "Denied"}
    assert RAN == ["good"]


def ask(gate: AnsweredGate, **changes: Any) -> str:
    """Asks as somebody does who has the token; returns the id of the request."""
    body = {
        "tool": "look",
        "input": {"value": 1, "more": {}},
        "server": PROGRAM,
        "session": ENDED,
        "call_id": "c",
        "door": "python",
        "resumable": True,
    }
    token = read_token(token_path(gate.data, "python"))
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = json.dumps(body | changes).encode()
    with urllib.request.urlopen(
        urllib.request.Request(f"{discover(data=gate.data).url}/v1/permissions", data, headers)
    ) as reply:
        return str(json.load(reply)["approval_id"])


@pytest.mark.parametrize(
    "changes",
    [{"server": "another"}, {"session": "another-host/1/1"}, {"session": "s"}, {"tool": "unknown_function"}],
    ids=str,
)
def test_resume_leaves_alone_what_is_not_of_an_ended_run(gate: AnsweredGate, changes: Any) -> None:
    id_ = ask(gate, call_id=str(changes), **changes)
    gate.outcome(id_, "approved")
    left = gated.resume()
    is_ended = "tool" in changes or changes.get("session") == "s"
    assert [call.id for call in left.calls if call.id == id_] == ([id_] if changes.get("session") == "s" else [])
    assert [call.id for call in left.other if call.id == id_] == ([id_] if "tool" in changes else [])
    assert is_ended or all(call.id != id_ for call in (*left.calls, *left.other))
    assert RAN == []


@pytest.mark.parametrize(
    "given", [{"value": 1}, {"value": 1, "more": []}, {"value": 1, "more": {}, "x": 1}, {}], ids=str
)
def test_a_resumed_call_that_does_not_fit_is_not_run(gate: AnsweredGate, given: Any) -> None:
    id_ = ask(gate, call_id=str(given), input=given)
    gate.outcome(id_, "approved")
    (call,) = [call for call in gated.resume().calls if call.id == id_]
    with pytest.raises(GatedError, match="fit"):
        call.result()
    gate.outcome(id_, "failed")
    assert RAN == []


def test_a_resumed_call_runs_only_what_the_operator_saw(gate: AnsweredGate) -> None:
    gate.operator = nobody
    id_ = ask(gate, call_id="seen", input={"value": "seen", "more": {}})
    until(lambda: gate.seen or None, "the request")
    (call,) = [call for call in gated.resume().calls if call.id == id_]
    gate.operator = approve
    assert call.result() == ("seen", {})
    assert [request.prompt.args["value"] for request in gate.seen if request.id == id_] == RAN == ["seen"]


def test_many_values_are_refused_with_a_reason(gate: AnsweredGate) -> None:
    with pytest.raises(NotAsked, match="20,000 values"):
        look(list(range(30_000)))
    assert gate.seen == []


def test_an_approval_is_not_used_twice_by_a_process(gate: AnsweredGate, tmp_path: Path) -> None:
    """Something in the place of the gate answers a second call with the approval of the first."""
    first = gated(wait=False, name="once")(lambda: RAN.append(1))()
    until(lambda: first.state() == "approved", "the approval")
    grants: list[JsonObject] = []
    was_granted = GatedCall.was_granted

    def remember(call: GatedCall, grant: JsonObject) -> None:
        grants.append(grant)
        was_granted(call, grant)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GatedCall, "was_granted", remember)
        first.result()
    with fake_gate(tmp_path, "python") as liar:
        write_approvers(liar.home / "data", "python", [gate.key.public.line("operator")])
        liar.answer = lambda _: (200, dict(grants[0]))
        gated.configure(data=liar.home / "data", program=PROGRAM)
        with pytest.raises(AnswerRefused, match="used before"):
            gated(name="once")(lambda: RAN.append(2))()
        gated.flush()
    assert RAN == [1]

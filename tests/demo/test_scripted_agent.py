"""The scripted agent, against a gate whose answers the test decides."""

from collections.abc import Iterator
from datetime import UTC, datetime
from threading import Event

import pytest

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import Asker
from aileron_tui.demo.agent_script import SCRIPT, Scene, ScriptedCall
from aileron_tui.demo.scripted_agent import AgentLog, AgentPace, ScriptedAgent
from aileron_tui.files.manifest_files import load_bundle
from aileron_tui.files.paths import bundled
from aileron_tui.gate.call_inputs import input_errors
from aileron_tui.runtime.errors import NoGate, NotFound, rejected

FAST = AgentPace(scene_seconds=0.03, poll_seconds=0.01, max_unanswered_scenes=2)
CALL = ScriptedCall("send-draft", {"draft_id": "r-1"}, "May I?", "it was sent.", "I will not.")


class Gate:
    """Gives each call the next of the answers; "wait" stands for one that nobody gives."""

    def __init__(self, *answers: JsonObject | str) -> None:
        self._answers: Iterator[JsonObject | str] = iter(answers)
        self.calls: list[tuple[str, JsonObject]] = []
        self._given: dict[str, JsonObject | str] = {}
        self.gone = False
        self.forgot = False

    def run(self, name: str, args: JsonObject, *, asker: Asker | None = None, wait: int = 0) -> JsonObject:
        self._check()
        assert asker is not None
        assert asker.says
        self.calls.append((name, args))
        id_ = f"act-{len(self.calls)}"
        self._given[id_] = next(self._answers, "wait")
        return {"status": "pending_approval", "approval_id": id_}

    def result(self, id_: str) -> JsonObject:
        self._check()
        if self.forgot:
            raise NotFound(404, {})
        given = self._given[id_]
        return {"status": "pending_approval"} if isinstance(given, str) else given

    def _check(self) -> None:
        if self.gone:
            raise NoGate("nobody answers")


def said(gate: Gate, *script: Scene, pace: AgentPace = FAST) -> list[str]:
    log = AgentLog(clock=lambda: datetime(2026, 5, 12, 9, 41, tzinfo=UTC))
    agent = ScriptedAgent(gate, log, script, pace)
    assert agent.play()
    assert all(line.startswith("09:41:00  ") for line in log.lines())
    return [line.removeprefix("09:41:00  ") for line in log.lines()]


FAILURE: JsonObject = {"status": "failed", "failure": {"error": {"class": "external_api_error", "message": "404"}}}
TIMEOUT: JsonObject = {"status": "failed", "failure": {"error": {"class": "approval_timeout", "message": "late"}}}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"status": "completed", "result": "{}"}, "send-draft approved: it was sent."),
        ({"status": "denied"}, "send-draft denied: I will not."),
        ({"status": "denied", "reason": "wrong \x1b[2J"}, "send-draft denied (“wrong ⟨ESC⟩[2J”): I will not."),
        (FAILURE, "send-draft approved, but it failed: 404"),
        (TIMEOUT, "send-draft: nobody answered. That is not a denial, so I may ask again later."),
    ],
)
def test_it_comments_on_each_answer(answer: JsonObject, words: str) -> None:
    assert said(Gate(answer), (CALL,)) == ["May I?", words, "That was everything."]


def test_it_tries_something_else_when_denied() -> None:
    other = ScriptedCall("send-draft", {"draft_id": "r-2"}, "This one?", "good.", "no.")
    call = ScriptedCall("send-draft", {"draft_id": "r-1"}, "May I?", "sent.", "hm.", fallback=(other,))
    gate = Gate({"status": "denied"}, {"status": "completed"})
    assert said(gate, (call,))[-2] == "send-draft approved: good."
    assert [args for _, args in gate.calls] == [{"draft_id": "r-1"}, {"draft_id": "r-2"}]


def test_it_continues_with_the_result_of_a_call() -> None:
    gate = Gate({"status": "completed", "result": '{"output":{"id":"r-40001"}}'}, {"status": "completed"})
    assert "The draft is r-40001. May I send it?" in said(gate, SCRIPT[-1])
    assert gate.calls[1] == ("send-draft", {"draft_id": "r-40001"})


def test_it_stops_asking_when_nobody_answers() -> None:
    gate = Gate()
    log = AgentLog()
    with ScriptedAgent(gate, log, [(CALL,)] * 10, FAST):
        for _ in range(500):
            if "Nobody seems to be there" in log.lines()[-1]:
                break
            Event().wait(0.01)
    assert len(gate.calls) == FAST.max_unanswered_scenes
    assert "Nobody seems to be there" in log.lines()[-1]


def test_an_occasional_answer_keeps_it_going() -> None:
    done: JsonObject = {"status": "completed"}
    gate = Gate(done, "wait", done, "wait", done)
    log = AgentLog()
    with ScriptedAgent(gate, log, [(CALL,)] * 5, FAST):
        for _ in range(500):
            if log.lines() and "That was everything" in log.lines()[-1]:
                break
            Event().wait(0.01)
    assert len(gate.calls) == 5


def test_it_stops_at_once() -> None:
    gate = Gate()
    with ScriptedAgent(gate, AgentLog(), [(CALL,)] * 10, AgentPace(scene_seconds=60)):
        pass
    assert len(gate.calls) <= 1


def test_it_stops_when_the_gate_is_gone() -> None:
    gate = Gate()
    gate.gone = True
    log = AgentLog()
    assert not ScriptedAgent(gate, log, [(CALL,)], FAST).play()
    assert log.lines()[-1].endswith("I can no longer reach the gate: nobody answers")


def test_an_unknown_request_is_dropped() -> None:
    gate = Gate()
    gate.forgot = True
    assert said(gate, (CALL,))[1] == "send-draft: the gate no longer knows this request."


def test_a_missing_action_is_skipped() -> None:
    class Poor(Gate):
        def run(self, name: str, args: JsonObject, *, asker: Asker | None = None, wait: int = 0) -> JsonObject:
            raise rejected(404, {"error": {"code": "not_found", "message": "no action named send-draft"}})

    assert said(Poor(), (CALL,))[1] == "send-draft: the gate refused: no action named send-draft"


def test_the_script_matches_the_suite() -> None:
    actions = load_bundle(bundled("manifests")).actions
    calls = [call for scene in SCRIPT for call in scene]
    for call in (*calls, *(other for asked in calls for other in asked.fallback)):
        assert input_errors(actions[call.action].inputs, call.args) == []
        assert actions[call.action].gated
    assert len(SCRIPT[0]) > 1
    assert {"send-draft", "delete-file", "move-file", "draft-mail"} <= {call.action for call in calls}
    assert any(len(scene) >= 4 and len({call.action for call in scene}) == 1 for scene in SCRIPT)

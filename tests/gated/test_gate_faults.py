"""Gates that are down, misbehave or lie: nothing runs, and the error says what to do."""

import asyncio
import inspect
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.files.agent_tokens import token_path, write_approvers, write_token
from aileron_tui.files.private_files import private_folder
from aileron_tui.gated import AnswerRefused, NotAsked, OutcomeUnknown, exchanges, gated, outcome_reports
from aileron_tui.gated.gate_links import GateLinks
from aileron_tui.gated.outcome_reports import Outcome, OutcomeReports
from aileron_tui.gated.program import ProgramSettings
from aileron_tui.runtime.errors import NoReply
from aileron_tui.signing.key_store import for_this_run
from tests.doors.fake_gate import TOKEN, FakeGate, allow, edit, fail, fake_gate, refuse
from tests.gated.answered_gate import AnsweredGate, until

RAN: list[str] = []


@gated(name="wipe")
def wipe(disk: str) -> None:
    RAN.append(disk)


@gated(name="wipe_async")
async def wipe_async(disk: str) -> None:
    RAN.append(disk)


@pytest.fixture(autouse=True)
def nothing_ran() -> Iterator[None]:
    RAN.clear()
    yield
    assert RAN == []


@pytest.fixture(params=[wipe, wipe_async], ids=["sync", "async"])
def function(request: pytest.FixtureRequest) -> Any:
    def call(disk: str = "sda") -> None:
        result = request.param(disk)
        if inspect.isawaitable(result):
            asyncio.run(_awaited(result))

    return call


async def _awaited(value: Any) -> None:
    await asyncio.wait_for(value, 30)


@pytest.fixture
def keyless(no_gate: Path) -> Iterator[FakeGate]:
    """A program in the place of the gate."""
    with fake_gate(no_gate, "python") as running:
        yield running


@pytest.fixture
def liar(keyless: FakeGate) -> FakeGate:
    """A program in the place of the gate. The agent knows the key of an operator."""
    with for_this_run("operator") as key:
        write_approvers(keyless.home / "data", "python", [key.public.line("operator")])
    return keyless


def test_without_an_agent_it_says_how_to_add_one(no_gate: Path, function: Any) -> None:
    with pytest.raises(NotAsked, match=r"the token of agent python cannot be read.*Run `aileron-tui agent add python`"):
        function()
    gated.configure(agent="nightly", program="tests")
    with pytest.raises(NotAsked, match="Run `aileron-tui agent add nightly`"):
        function()


def test_without_a_gate_it_says_how_to_start_one(no_gate: Path, function: Any) -> None:
    write_token(token_path(private_folder(no_gate / "data"), "python"), TOKEN)
    with pytest.raises(NotAsked, match=r"so wipe(_async)? was not run: no gate is running.*Start one with `[^`]*`\.$"):
        function()


def test_a_gate_that_has_stopped_is_said(liar: FakeGate, function: Any) -> None:
    liar.stop()
    with pytest.raises(NotAsked, match="no gate is running: nothing listens at"):
        function()
    with pytest.raises(NotAsked):
        gated.resume()


def test_the_token_is_sent_only_to_the_right_gate(liar: FakeGate, function: Any) -> None:
    liar.instance = "another"
    with pytest.raises(NotAsked, match="another gate has taken the place"):
        function()
    assert [path for _, path, _, _ in liar.received] == ["/v1/health"]
    assert all("Authorization" not in headers for _, _, _, headers in liar.received)


def test_a_token_that_is_not_accepted_is_said(liar: FakeGate, function: Any) -> None:
    write_token(token_path(liar.home / "data", "python"), "another")
    with pytest.raises(NotAsked, match="does not accept the token of agent python"):
        function()


@pytest.mark.parametrize(
    "raw", [b"", b"HTTP/1.1 200 OK\r\n\r\n", b"garbage\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"]
)
def test_garbage_is_not_an_answer(liar: FakeGate, function: Any, raw: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchanges, "_PAUSE", 0.01)
    liar.raw = raw
    with pytest.raises(NotAsked):
        function()


FORGED: JsonObject = {"payloadType": "x", "payload": "e30=", "signatures": []}


@pytest.mark.parametrize(
    "answer",
    [
        allow,
        edit(disk="sdb"),
        lambda body: (200, {**allow(body)[1], "rule_envelope": FORGED}),
        lambda body: (200, {**edit(disk="sda")(body)[1], "edited": False, "decision": FORGED}),
        lambda body: (200, {"status": "allowed", "approval_id": "req-1"}),
    ],
    ids=["no rule", "no decision", "a forged rule", "a forged decision", "nothing"],
)
def test_what_nobody_signed_is_not_run(gate: AnsweredGate, tmp_path: Path, function: Any, answer: Any) -> None:
    """The program knows the operator's key, but something else answers in the place of the gate."""
    with fake_gate(tmp_path, "python") as liar:
        write_approvers(liar.home / "data", "python", [gate.key.public.line("operator")])
        gated.configure(data=liar.home / "data", program="tests")
        liar.answer = answer
        with pytest.raises(AnswerRefused, match="so it was not run"):
            function()
        gated.flush()
        (report,) = liar.bodies("/v1/permissions/req-1/outcome")
        assert report["status"] == "failed"


def test_without_keys_nobody_is_asked(keyless: FakeGate, function: Any) -> None:
    with pytest.raises(NotAsked, match="the keys of those who may approve"):
        function()
    assert keyless.bodies("/v1/permissions") == []


def test_an_answer_that_another_process_fetched_is_unknown(liar: FakeGate, function: Any) -> None:
    liar.answer = fail("already_handed_over")
    with pytest.raises(OutcomeUnknown, match="before you call it again"):
        function()


def test_what_the_gate_says_is_made_visible_and_short(liar: FakeGate, function: Any) -> None:
    liar.answer = lambda _: (400, {"error": {"code": "x", "message": "\x1b[2J" + "long " * 1000}})
    with pytest.raises(NotAsked) as raised:
        function()
    assert "⟨ESC⟩[2J" in str(raised.value)
    assert len(str(raised.value)) < 800


def test_a_gate_that_is_busy_is_asked_again(liar: FakeGate, function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchanges, "_PAUSE", 0.01)
    answers = [refuse(429, "too_many"), refuse(503, "busy"), fail("approval_timeout")]

    def answer(body: dict[str, Any]) -> Any:
        return answers.pop(0)(body)

    liar.answer = answer
    with pytest.raises(Exception, match="nobody answered"):
        function()
    bodies = liar.bodies("/v1/permissions")
    assert len(bodies) == 3
    assert len({body["call_id"] for body in bodies}) == 1


def test_an_invalid_id_is_not_put_into_a_path(liar: FakeGate, function: Any) -> None:
    liar.answer = lambda _: (202, {"status": "pending_approval", "approval_id": "../agent?x="})
    with pytest.raises(NotAsked, match="approval_id"):
        function()


def test_an_outcome_that_cannot_be_reported_is_logged(no_gate: Path, caplog: pytest.LogCaptureFixture) -> None:
    reports = OutcomeReports(GateLinks(ProgramSettings(data=no_gate)))
    logger = logging.getLogger("aileron_tui.gated")
    logger.addHandler(caplog.handler)
    reports.add(Outcome("act-1", "wipe", outcome_reports.EXECUTED))
    reports.flush()
    logger.removeHandler(caplog.handler)
    assert "the gate does not know what became of wipe (act-1): the token of agent python" in caplog.text
    reports.close()


def test_an_outcome_is_reported_once_the_gate_is_back(no_gate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies: list[Any] = []

    def carry(links: GateLinks, steps: Any) -> Any:
        bodies.append(next(steps).body)
        if len(bodies) < 3:
            raise NoReply("the gate stopped before it answered")

    monkeypatch.setattr(GateLinks, "carry", carry)
    monkeypatch.setattr(outcome_reports, "_SHORTEST_PAUSE", 0.01)
    reports = OutcomeReports(GateLinks(ProgramSettings(data=no_gate)))
    reports.add(Outcome("act-1", "wipe", outcome_reports.FAILED, "x" * 5000))
    until(lambda: len(bodies) == 3 or None, "the third report")
    reports.flush()
    assert [body["status"] for body in bodies] == ["failed"] * 3
    assert len(bodies[0]["error"]) == 1000
    reports.close()

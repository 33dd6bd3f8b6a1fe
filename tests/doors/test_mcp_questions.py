"""How the MCP proxy asks: one thread for each question, which survives a gate that restarts."""

import threading
from collections.abc import Callable
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.doors import mcp_questions
from aileron_tui.doors.mcp_questions import Allowed, GateAccess, Question, Questions, Refused, StillWaiting
from aileron_tui.runtime.errors import NoGate, NoReply

CALL = Question("write", {"a": 1}, "files")
PENDING = (202, {"status": "pending_approval", "approval_id": "req-1"})
ALLOWED = (200, {"status": "allowed", "approval_id": "req-1", "input": {"a": 1}, "edited": False})


class Access(GateAccess):
    """A gate that answers from a list: a reply, or an error in its place."""

    asked: list[tuple[str, str]]
    replies: list[Any]

    def link(self, seconds: float) -> Any:
        """A connection, unless the next answer is that there is no gate."""
        assert seconds > 0
        if isinstance(self.replies[0], NoGate):
            raise self.replies.pop(0)
        return Link(self)


class Link:
    """One connection."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._ended = threading.Event()

    def __enter__(self) -> "Link":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""

    def abort(self) -> None:
        """Ends a wait."""
        self._ended.set()

    def ask(self, method: str, path: str, body: object = None, wait: int = 0) -> Any:
        """The next answer."""
        self._access.asked.append((method, path))
        reply = self._access.replies.pop(0) if self._access.replies else "wait"
        if reply == "wait":
            assert self._ended.wait(10)
            reply = NoReply("the gate stopped before it answered")
        if isinstance(reply, AileronError):
            raise reply
        return reply


def questions(*replies: Any, check: Callable[..., JsonObject] | None = None) -> tuple[Questions, Access, "Queue[Any]"]:
    """Questions to a gate that answers like this."""
    access = Access("mcp-files", Path("/nonexistent"))
    object.__setattr__(access, "asked", [])
    object.__setattr__(access, "replies", list(replies))
    accepted = check or (lambda reply, id_, question: reply["input"])
    answers: Queue[Any] = Queue()
    return Questions(access, "s", accepted, lambda work: work()), access, answers


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_questions, "_RETRY_SECONDS", 0.01)


def test_a_gate_that_restarts_is_waited_for() -> None:
    asker, access, answers = questions(PENDING, NoReply("gone"), NoGate("none"), NoGate("none"), ALLOWED)
    asker.ask(CALL, 30, answers.put)
    assert answers.get(timeout=10) == Allowed("req-1", {"a": 1})
    assert access.asked == [("POST", "/v1/permissions"), *[("GET", "/v1/permissions/req-1")] * 2]


def test_a_gate_that_was_never_there_is_not_waited_for() -> None:
    asker, _, answers = questions(NoGate("no gate is running", hint="Start one with `aileron-tui gate`."))
    asker.ask(CALL, 30, answers.put)
    answer = answers.get(timeout=10)
    assert isinstance(answer, Refused)
    assert "aileron-tui gate" in answer.text


def test_a_gate_that_does_not_come_back_leaves_the_request_waiting() -> None:
    asker, _, answers = questions(PENDING, *[NoReply("gone")] * 1000)
    asker.ask(CALL, 1.2, answers.put)
    assert answers.get(timeout=10) == StillWaiting("req-1")


def test_a_withdrawn_question_ends_at_once_and_withdraws_its_request() -> None:
    asker, access, answers = questions(PENDING, "wait", (204, {}))
    asking = asker.ask(CALL, 30, answers.put)
    while len(access.asked) < 2:
        threading.Event().wait(0.01)
    asking.withdraw()
    assert isinstance(answers.get(timeout=10), Refused)
    asker.finish(10)
    assert access.asked[-1] == ("DELETE", "/v1/permissions/req-1")


def test_an_answer_that_is_not_accepted_is_reported_and_allows_nothing() -> None:
    def check(*_: object) -> JsonObject:
        raise AileronError("the decision is not valid", "expired", "Decide again.")

    asker, access, answers = questions(ALLOWED, (200, {}), check=check)
    asker.ask(CALL, 30, answers.put)
    answer = answers.get(timeout=10)
    assert isinstance(answer, Refused)
    assert "not accepted: the decision is not valid: expired" in answer.text
    asker.finish(10)
    assert access.asked[-1] == ("POST", "/v1/permissions/req-1/outcome")


def test_a_bug_in_the_check_allows_nothing() -> None:
    def check(*_: object) -> JsonObject:
        raise ZeroDivisionError

    asker, _, answers = questions(ALLOWED, check=check)
    asker.ask(CALL, 30, answers.put)
    assert isinstance(answers.get(timeout=10), Refused)


def test_a_report_is_tried_again() -> None:
    asker, access, _ = questions(NoGate("none"), (429, {}), (200, {}))
    asker.report("req-1", {"a": 1}, "x" * 5000)
    asker.finish(10)
    assert access.asked == [("POST", "/v1/permissions/req-1/outcome")] * 2


def test_too_many_questions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_questions, "_MOST_THREADS", 2)
    asker, _, answers = questions(*["wait"] * 3)
    askings = [asker.ask(CALL, 30, answers.put) for _ in range(3)]
    assert "waiting already" in answers.get(timeout=10).text
    for asking in askings:
        asking.withdraw()
    asker.finish(10)

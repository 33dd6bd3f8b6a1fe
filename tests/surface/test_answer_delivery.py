"""Sending an answer: never resend blindly, tell the truth."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.errors import InvalidReply, NoReply, NotAllowed, NotFound, NotWaiting, PromptChanged, Rejected
from aileron_tui.runtime.no_rules import NoRules
from aileron_tui.runtime.source_events import SourceEvent
from aileron_tui.runtime.vault import VaultState
from aileron_tui.surface.answer_delivery import Answer, Delivery, DeliveryRefusal, deliver
from tests.surface.test_board import item


class Gate(NoRules):
    """A gate that answers as it is told, and counts."""

    name = ""
    instance = "gate-1"

    def __init__(self, now: list[Request | AileronError], *decisions: AileronError | RequestState) -> None:
        self._now = now
        self._decisions = list(decisions or (RequestState.APPROVED,))
        self.decided = 0

    def item(self, id_: str) -> Request:
        found = self._now.pop(0)
        if isinstance(found, AileronError):
            raise found
        return found

    def decide(
        self, item: Request, verdict: Verdict, *, reason: str = "", edits: JsonObject | None = None
    ) -> RequestState:
        self.decided += 1
        decision = self._decisions.pop(0)
        if isinstance(decision, AileronError):
            raise decision
        return decision

    def watch(self, after: int = 0) -> Iterator[SourceEvent | None]:
        yield None

    def extend(self, request: Request) -> Request:
        raise NotImplementedError

    def fetched(self, id_: str) -> Json:
        raise NotImplementedError

    def refresh(self, id_: str, edits: JsonObject | None = None) -> Request:
        raise AssertionError

    def history(self, **filters: str | int | list[str]) -> JsonObject:
        raise AssertionError

    def past(self, id_: str) -> JsonObject:
        raise NotFound(404, {"error": {"code": "not_found", "message": "there is no such request"}})

    def waiting(self) -> tuple[Request, ...]:
        raise AssertionError

    def vault(self) -> VaultState:
        return VaultState.NONE

    def unlock_vault(self, passphrase: bytearray) -> None:
        raise AssertionError

    def close(self) -> None:
        return None


def sent(gate: Gate) -> Delivery:
    return deliver(gate, Answer(item(1), Verdict.APPROVE))


def test_an_answer_is_sent_at_once() -> None:
    gate = Gate([])
    assert sent(gate).taken
    assert gate.decided == 1


OUTGROWN = NotAllowed(403, {"error": {"code": "not_admitted", "message": "the head is too old"}})


def test_what_the_ledger_outgrew_is_looked_at_and_signed_anew_once() -> None:
    gate = Gate([item(1)], OUTGROWN, RequestState.APPROVED)
    assert sent(gate).taken
    assert gate.decided == 2
    stubborn = Gate([item(1)], OUTGROWN, OUTGROWN)
    assert "not accepted" in sent(stubborn).words
    assert stubborn.decided == 2


def test_what_changed_or_was_answered_meanwhile_is_not_signed_anew() -> None:
    for now, words in ((item(2), "changed"), (item(1, RequestState.DENIED), "answered elsewhere: denied")):
        gate = Gate([now], OUTGROWN, RequestState.APPROVED)
        outcome = sent(gate)
        assert not outcome.taken
        assert words in outcome.words
        assert gate.decided == 1


def test_no_other_refusal_is_sent_again() -> None:
    gate = Gate([item(1)], NotAllowed(403, {"error": {"code": "unknown_key", "message": "x"}}), RequestState.APPROVED)
    assert not sent(gate).taken
    assert gate.decided == 1


@pytest.mark.parametrize(
    ("error", "words", "refusal"),
    [
        (
            NotWaiting(409, {"error": {"code": "INVALID_STATE", "message": "x"}, "state": "executed"}),
            "answered elsewhere: executed",
            DeliveryRefusal.ANSWERED_ELSEWHERE,
        ),
        (PromptChanged(409, {"error": {"code": "PROMPT_CHANGED", "message": "x"}}), "changed", DeliveryRefusal.CHANGED),
        (NotFound(404, {"error": {"code": "not_found", "message": "x"}}), "no longer knows", DeliveryRefusal.GONE),
        (Rejected(500, {"error": {"code": "boom", "message": "it broke"}}), "not accepted: ", DeliveryRefusal.OTHER),
        (AileronError("no route"), "not sent: no route", DeliveryRefusal.OTHER),
    ],
)
def test_every_refusal_says_why(error: AileronError, words: str, refusal: DeliveryRefusal) -> None:
    gate = Gate([item(1)], error)
    outcome = sent(gate)
    assert (outcome.taken, outcome.refusal) == (False, refusal)
    assert words in outcome.words
    assert outcome.error is error or refusal in (DeliveryRefusal.ANSWERED_ELSEWHERE, DeliveryRefusal.CHANGED)
    assert gate.decided == 1


def test_a_lost_reply_is_looked_up_and_never_sent_again() -> None:
    lost = NoReply("the connection broke")
    for now, taken in ((item(1), False), (item(1, RequestState.RUNNING), True)):
        gate = Gate([now], lost)
        outcome = sent(gate)
        assert (outcome.taken, outcome.state) == (taken, now.state)
        assert outcome.error is (None if taken else lost)
        assert gate.decided == 1
    unreachable = Gate([AileronError("nobody answers")], lost)
    outcome = sent(unreachable)
    assert (outcome.taken, outcome.refusal) == (False, DeliveryRefusal.OTHER)
    assert outcome.words == "it is not known whether the answer arrived: nobody answers"
    assert "not known whether the answer arrived" in str(outcome.error)


APPROVED_STATES = {
    RequestState.APPROVED,
    RequestState.RUNNING,
    RequestState.HANDED_OVER,
    RequestState.EXECUTED,
    RequestState.FAILED,
    RequestState.INTERRUPTED,
    RequestState.UNKNOWN,
}


@pytest.mark.parametrize("state", [state for state in RequestState if state is not RequestState.PENDING])
@pytest.mark.parametrize("verdict", Verdict)
def test_only_a_state_that_an_answer_leads_to_means_that_it_was_taken(verdict: Verdict, state: RequestState) -> None:
    outcome = deliver(Gate([item(1, state)], NoReply("the connection broke")), Answer(item(1), verdict))
    expected = APPROVED_STATES if verdict is Verdict.APPROVE else {RequestState.DENIED}
    assert (outcome.taken, outcome.state) == (state in expected, state)


@pytest.mark.parametrize(
    ("state", "words"),
    [(RequestState.EXPIRED, "not answered: nobody answered"), (RequestState.WITHDRAWN, "not answered: withdrawn")],
)
@pytest.mark.parametrize("verdict", Verdict)
def test_a_request_that_nobody_answered_was_not_answered_elsewhere(
    verdict: Verdict, state: RequestState, words: str
) -> None:
    refused = NotWaiting(409, {"error": {"code": "INVALID_STATE", "message": "x"}, "state": state})
    for gate in (Gate([item(1, state)], NoReply("the connection broke")), Gate([], refused)):
        outcome = deliver(gate, Answer(item(1), verdict))
        assert (outcome.taken, outcome.words) == (False, words)
        assert (outcome.refusal, outcome.state) == (DeliveryRefusal.NOT_ANSWERED, state)


@pytest.mark.parametrize("error", [InvalidReply("the reply is not JSON"), Rejected(504, {})], ids=["garbled", "proxy"])
def test_a_reply_that_says_nothing_about_the_answer_is_looked_up(error: AileronError) -> None:
    assert sent(Gate([item(1, RequestState.RUNNING)], error)).taken
    waiting = sent(Gate([item(1)], error))
    assert (waiting.taken, waiting.error) == (False, error)
    assert waiting.words.startswith("not accepted: ")
    unreachable = sent(Gate([AileronError("nobody answers")], error))
    assert unreachable.words == "it is not known whether the answer arrived: nobody answers"


def test_a_daemon_that_reports_a_failure_may_not_have_taken_the_answer() -> None:
    failed = replace(item(1, RequestState.FAILED), daemon=True)
    outcome = sent(Gate([failed], NoReply("the connection broke")))
    assert not outcome.taken
    assert outcome.words == "it is not known whether the answer arrived: failed ✗"

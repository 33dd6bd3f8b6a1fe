"""Sending an answer: never resend blindly, tell the truth."""

from collections.abc import Iterator

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.errors import NoReply, NotAllowed, NotFound, NotWaiting, PromptChanged, Rejected
from aileron_tui.runtime.source_events import SourceEvent
from aileron_tui.runtime.vault import VaultState
from aileron_tui.surface.answer_delivery import Answer, Delivery, DeliveryRefusal, deliver
from tests.surface.test_board import item


class Gate:
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
    assert "the state of the request is unknown" in sent(unreachable).words

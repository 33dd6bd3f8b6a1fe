"""Sends answers to their source and interprets refusals.

An answer is never sent again without first looking up the state of its request.
"""

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.state_words import STATE_WORDS
from aileron_tui.core.states import RequestState
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline
from aileron_tui.runtime.errors import (
    ApprovalsOff,
    InvalidReply,
    NoReply,
    NotAllowed,
    NotFound,
    NotWaiting,
    PromptChanged,
    Rejected,
    VaultLocked,
)
from aileron_tui.surface.board import Tone
from aileron_tui.surface.source import SignedElsewhere, Source

if TYPE_CHECKING:
    from aileron_tui.core.decision import Statement
    from aileron_tui.core.request import Request
    from aileron_tui.surface.security_key_touch import Touched

_LEDGER_GREW: Final = "not_admitted"
_UNCERTAIN: Final = "it is not known whether the answer arrived"
_UNANSWERED: Final = frozenset({RequestState.EXPIRED, RequestState.WITHDRAWN})
_AFTER: Final = {
    Verdict.DENY: frozenset({RequestState.DENIED}),
    Verdict.APPROVE: frozenset(RequestState) - _UNANSWERED - {RequestState.PENDING, RequestState.DENIED},
}
"""The states that an answer with this verdict leads to."""


class DeliveryRefusal(StrEnum):
    """Why a source did not accept an answer."""

    ANSWERED_ELSEWHERE = "answered elsewhere"
    NOT_ANSWERED = "not answered"
    CHANGED = "changed"
    GONE = "gone"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Answer:
    """The operator's answer to exactly the prompt of this request. A security key has signed it if it is `touched`."""

    request: "Request"
    verdict: Verdict
    reason: str = ""
    edits: JsonObject | None = None
    touched: "Touched | None" = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """The result of sending an answer: whether the source accepted it, and a few words for the pill.

    `state` is the state of the request afterwards, if known; it is foreign text if the answer was not accepted.
    `refusal` and `error` say why it was not accepted.
    """

    answer: Answer
    taken: bool
    words: str = ""
    tone: Tone = Tone.WARN
    state: str = ""
    refusal: DeliveryRefusal | None = None
    error: AileronError | None = None


def deliver(source: Source, answer: Answer) -> Delivery:
    """Sends the answer. Blocks.

    The source accepts an answer only for the signed prompt and while the request waits, so nothing is looked up first.
    If the ledger has grown past the head in the signature, the request is fetched again, and signed again if its prompt
    is still the one that was shown. If the reply is lost or does not say whether the answer was taken, the state of the
    request is looked up.
    """
    try:
        try:
            return _taken(answer, _decide(source, answer))
        except NotAllowed as error:
            if error.code != _LEDGER_GREW or answer.edits is not None or answer.touched is not None:
                raise
            return _sign_again(source, answer)
    except AileronError as error:
        return _look_up(source, answer, error) if _may_be_taken(error) else _refused(answer, error)


def answer_statement(source: Source | None, answer: Answer) -> "Statement":
    """What is to be signed for an answer by another key than the operator's. May block."""
    if source is None:
        raise AileronError("not connected")
    return _signed_elsewhere(source).statement(answer.request, answer.verdict, reason=answer.reason, edits=answer.edits)


def _signed_elsewhere(source: Source) -> SignedElsewhere:
    if isinstance(source, SignedElsewhere):
        return source
    raise AileronError("this source takes no answers of security keys")


def _may_be_taken(error: AileronError) -> bool:
    """Whether the source may have taken an answer that ended in this error; a proxy may have sent a 5xx."""
    if isinstance(error, Rejected):
        return error.status >= 500 and not isinstance(error, ApprovalsOff)
    return isinstance(error, NoReply | InvalidReply)


def _decide(source: Source, answer: Answer) -> RequestState:
    if answer.touched is not None:
        return _signed_elsewhere(source).decide_signed(answer.request, answer.touched.envelope, answer.touched.approver)
    return source.decide(answer.request, answer.verdict, reason=answer.reason, edits=answer.edits)


def _sign_again(source: Source, answer: Answer) -> Delivery:
    now = source.item(answer.request.id)
    if not now.state.decidable:
        return _too_late(answer, now.state)
    if now.digest != answer.request.digest:
        return _changed(answer)
    return _taken(answer, _decide(source, replace(answer, request=now)))


def _taken(answer: Answer, state: RequestState) -> Delivery:
    return Delivery(answer, True, state=state)


def _too_late(answer: Answer, state: str, words: str = "answered elsewhere") -> Delivery:
    if state in _UNANSWERED:
        status = STATE_WORDS[RequestState(state)].full_status
        return Delivery(answer, False, f"not answered: {status}", state=state, refusal=DeliveryRefusal.NOT_ANSWERED)
    return Delivery(answer, False, f"{words}: {inline(state)}", state=state, refusal=DeliveryRefusal.ANSWERED_ELSEWHERE)


def _changed(answer: Answer) -> Delivery:
    return Delivery(answer, False, "the prompt changed: look again", refusal=DeliveryRefusal.CHANGED)


def _refused(answer: Answer, error: AileronError) -> Delivery:
    match error:
        case NotWaiting():
            return _too_late(answer, error.state)
        case PromptChanged():
            return _changed(answer)
        case NotFound():
            return Delivery(
                answer, False, "the source no longer knows this request", refusal=DeliveryRefusal.GONE, error=error
            )
        case VaultLocked():
            words, tone = "not accepted: the vault is locked; press U to unlock it", Tone.WARN
        case Rejected():
            words, tone = f"not accepted: {inline(error.title)}", Tone.BAD
        case _:
            words, tone = f"not sent: {inline(str(error))}", Tone.BAD
    return Delivery(answer, False, words, tone, refusal=DeliveryRefusal.OTHER, error=error)


def _look_up(source: Source, answer: Answer, lost: AileronError) -> Delivery:
    """The result after a lost reply. Asks for the state of the request instead of sending the answer again."""
    try:
        request = source.item(answer.request.id)
    except AileronError as error:
        return _uncertain(answer, inline(str(error)))
    state = request.state
    if state is RequestState.PENDING:
        no_reply = isinstance(lost, NoReply)
        words = "no reply: the request is still waiting" if no_reply else f"not accepted: {inline(lost.title)}"
        tone = Tone.WARN if no_reply else Tone.BAD
        return Delivery(answer, False, words, tone, state=state, refusal=DeliveryRefusal.OTHER, error=lost)
    if state is RequestState.FAILED and request.daemon:  # a daemon also fails requests that nobody answered
        return _uncertain(answer, STATE_WORDS[state].full_status)
    if state not in _AFTER[answer.verdict]:
        return _too_late(answer, state, "no reply, and the request was answered elsewhere")
    return _taken(answer, state)


def _uncertain(answer: Answer, why: str) -> Delivery:
    error = NoReply(_UNCERTAIN, why, "Check the state of the request before you answer again.")
    return Delivery(answer, False, f"{_UNCERTAIN}: {why}", Tone.BAD, refusal=DeliveryRefusal.OTHER, error=error)

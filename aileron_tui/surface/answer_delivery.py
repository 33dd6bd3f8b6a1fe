"""Answers on their way: held for the undo window, then sent, and what became of them. Nothing is resent blindly."""

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.states import RequestState
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline
from aileron_tui.runtime.errors import (
    NoReply,
    NotAllowed,
    NotFound,
    NotWaiting,
    PromptChanged,
    Rejected,
    VaultLocked,
)
from aileron_tui.surface.board import Tone
from aileron_tui.surface.source import Source

if TYPE_CHECKING:
    from aileron_tui.core.request import Request

_OUTGROWN: Final = "not_admitted"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the operator said about exactly this prompt."""

    item: "Request"
    verdict: Verdict
    reason: str = ""
    edits: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of an answer: taken or not, and a few words for the pill."""

    answer: Answer
    taken: bool
    words: str = ""
    tone: Tone = Tone.WARN


def deliver(source: Source, answer: Answer) -> Delivery:
    """Sends the answer. Blocking. The gate takes it only for exactly the prompt that was signed, while it waits.

    So nothing is looked up before. Only if the ledger has grown past what the signature names is the request fetched
    once more, and signed anew if it still is what was shown.
    """
    try:
        try:
            _decide(source, answer)
        except NotAllowed as error:
            if error.code != _OUTGROWN or answer.edits is not None:
                raise
            return _signed_anew(source, answer)
    except NoReply:
        return _looked_up(source, answer)
    except AileronError as error:
        return _refused(answer, error)
    return Delivery(answer, True)


def _decide(source: Source, answer: Answer) -> None:
    source.decide(answer.item, answer.verdict, reason=answer.reason, edits=answer.edits)


def _signed_anew(source: Source, answer: Answer) -> Delivery:
    now = source.item(answer.item.id)
    if not now.state.decidable:
        return Delivery(answer, False, f"answered elsewhere: {now.state}")
    if now.digest != answer.item.digest:
        return Delivery(answer, False, "it changed: look again")
    _decide(source, replace(answer, item=now))
    return Delivery(answer, True)


def _refused(answer: Answer, error: AileronError) -> Delivery:
    match error:
        case NotWaiting():
            return Delivery(answer, False, f"answered elsewhere: {inline(error.state)}")
        case PromptChanged():
            return Delivery(answer, False, "it changed: look again")
        case NotFound():
            return Delivery(answer, False, "it is not known there any more")
        case VaultLocked():
            return Delivery(answer, False, "not taken: the vault is locked, U unlocks it")
        case Rejected():
            return Delivery(answer, False, f"not taken: {inline(error.title)}", Tone.BAD)
        case _:
            return Delivery(answer, False, f"not sent: {inline(str(error))}", Tone.BAD)


def _looked_up(source: Source, answer: Answer) -> Delivery:
    """The reply was lost: ask what stands now, rather than send again."""
    try:
        state = source.item(answer.item.id).state
    except AileronError as error:
        return Delivery(answer, False, f"no reply, and it cannot be looked up: {inline(str(error))}", Tone.BAD)
    if state is RequestState.PENDING:
        return Delivery(answer, False, "no reply: it still waits")
    if (state is RequestState.DENIED) is not (answer.verdict is Verdict.DENY):
        return Delivery(answer, False, f"no reply, and it was answered elsewhere: {state}")
    return Delivery(answer, True)

"""Answers on their way: held for the undo window, then sent, and what became of them. Nothing is resent blindly."""

from dataclasses import dataclass

from aileron_tui.console.board import Tone
from aileron_tui.console.source import Source
from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.states import State
from aileron_tui.core.text import inline
from aileron_tui.runtime.errors import NotFound, NotWaiting, PromptChanged, Rejected, Unanswered
from aileron_tui.runtime.items import Item


@dataclass(frozen=True, slots=True)
class Answer:
    """What the operator said about exactly this prompt."""

    item: Item
    verdict: Verdict
    reason: str = ""
    edits: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an answer: taken or not, and a few words for the pill."""

    answer: Answer
    taken: bool
    words: str = ""
    tone: Tone = Tone.WARN


def deliver(source: Source, answer: Answer) -> Outcome:
    """Looks at the request once more, and sends the answer only if it still is what was shown. Blocking."""
    try:
        item = answer.item
        if answer.edits is None:
            now = source.item(item.id)
            if not now.state.decidable:
                return Outcome(answer, False, f"answered elsewhere: {now.state}")
            if now.digest != item.digest:
                return Outcome(answer, False, "it changed: look again")
            item = now
        source.decide(item, answer.verdict, reason=answer.reason, edits=answer.edits)
    except Unanswered:
        return _looked_up(source, answer)
    except NotWaiting as error:
        return Outcome(answer, False, f"answered elsewhere: {inline(error.state)}")
    except PromptChanged:
        return Outcome(answer, False, "it changed: look again")
    except NotFound:
        return Outcome(answer, False, "the gate does not know it any more")
    except Rejected as error:
        return Outcome(answer, False, f"not taken: {inline(error.title)}", Tone.BAD)
    except AileronError as error:
        return Outcome(answer, False, f"not sent: {inline(str(error))}", Tone.BAD)
    return Outcome(answer, True)


def _looked_up(source: Source, answer: Answer) -> Outcome:
    """The reply was lost: ask the gate what it has, rather than send again."""
    try:
        state = source.item(answer.item.id).state
    except AileronError as error:
        return Outcome(answer, False, f"no reply, and it cannot be looked up: {inline(str(error))}", Tone.BAD)
    if state is State.PENDING:
        return Outcome(answer, False, "no reply: it still waits")
    return Outcome(answer, True)

"""The touch of a security key in answer to a question. The question stays open to news meanwhile."""

from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import TYPE_CHECKING

from aileron_tui.cli.question_answers import TICK_SECONDS, Answers, EndOfInput
from aileron_tui.cli.question_terminal import QuestionTerminal
from aileron_tui.core.errors import AileronError
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline
from aileron_tui.signing.secret_memory import wipe
from aileron_tui.surface.answer_delivery import Answer

if TYPE_CHECKING:
    from aileron_tui.surface.source import Source


@dataclass(frozen=True, slots=True)
class _Words:
    """What to tell the person. With `pin`, a PIN is asked for and put there."""

    text: str
    pin: "SimpleQueue[str] | None" = None


class _Dialog:
    """Speaks with the person through the thread that has the terminal."""

    def __init__(self, messages: "SimpleQueue[_Words | Answer | AileronError]", wake: Callable[[], None]) -> None:
        self._messages = messages
        self._wake = wake

    def say(self, words: str) -> None:
        self._messages.put(_Words(words))
        self._wake()

    def ask_pin(self, words: str) -> str:
        pin: SimpleQueue[str] = SimpleQueue()
        self._messages.put(_Words(words, pin))
        self._wake()
        return pin.get()


def touched(
    source: "Source", answer: Answer, terminal: QuestionTerminal, answers: Answers, check: Callable[[], None]
) -> Answer:
    """The answer, signed by a security key that is touched now.

    Raises TouchFault or another AileronError if that fails, and what `check` raises if the question is over.
    """
    from aileron_tui.cli.security_key_prompt import touched_answer  # noqa: PLC0415  # rarely needed

    messages: SimpleQueue[_Words | Answer | AileronError] = SimpleQueue()
    cancelled = Event()

    def sign() -> None:
        try:
            messages.put(touched_answer(source, answer, _Dialog(messages, terminal.wake), cancelled))
        except AileronError as error:
            messages.put(error)
        except Exception as error:  # noqa: BLE001  # whatever a device does, the question goes on
            messages.put(AileronError("the security key cannot be used", f"{type(error).__name__}: {error}"))
        finally:
            terminal.wake()

    Thread(target=sign, name="security key", daemon=True).start()
    terminal.read_keys()
    pin: SimpleQueue[str] | None = None
    try:
        while True:
            check()
            with suppress(Empty):
                message = messages.get_nowait()
                if isinstance(message, AileronError):
                    raise message
                if isinstance(message, Answer):
                    return message
                if (pin := message.pin) is None:
                    terminal.write(inline(message.text))
                else:
                    pin.put(_pin(message.text, terminal, answers, check))
                    pin = None
                continue
            answers.idle(TICK_SECONDS)
    finally:
        cancelled.set()
        if pin is not None:
            pin.put("")


def _pin(words: str, terminal: QuestionTerminal, answers: Answers, check: Callable[[], None]) -> str:
    """The PIN; "" if nothing was typed."""
    try:
        typed = answers.secret(inline(words), check)
    except EndOfInput:
        return ""
    try:
        return typed.decode("utf-8", "replace")
    finally:
        wipe(typed)
        terminal.read_keys()

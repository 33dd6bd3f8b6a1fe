"""The touch of a security key at a terminal: what to do is printed, and its PIN is asked for without echo."""

import sys
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING, Final

from aileron_tui.core.decision import Verdict
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config import SECURITY_KEY
from aileron_tui.signing.errors import NoTerminal
from aileron_tui.signing.secret_memory import wipe
from aileron_tui.signing.terminal_input import ask_passphrase
from aileron_tui.surface.answer_delivery import Answer, answer_statement

if TYPE_CHECKING:
    from aileron_tui.signing.envelope import Signable
    from aileron_tui.surface.security_key_device import TouchDialog
    from aileron_tui.surface.security_key_touch import Touched
    from aileron_tui.surface.source import Source

_CANCEL: Final = "Press ctrl+c to cancel."


class TerminalTouch:
    """Speaks with the person at the terminal."""

    def say(self, words: str) -> None:
        """Prints what to do now."""
        sys.stderr.write(f"{inline(words)}\n")
        sys.stderr.flush()

    def ask_pin(self, words: str) -> str:
        """Asks for the PIN; an empty line cancels."""
        try:
            pin = ask_passphrase(words)
        except NoTerminal:
            return ""
        try:
            return pin.decode("utf-8", "replace")
        finally:
            wipe(pin)


def needs_touch(answer: Answer, high_risk: str) -> bool:
    """Whether an answer must be signed by a security key: an approval at high risk, if `[policy] high_risk` says so."""
    high = answer.request.prompt.risk.level is RiskLevel.HIGH
    return high and answer.verdict is Verdict.APPROVE and high_risk == SECURITY_KEY


def touched_answer(
    source: "Source", answer: Answer, person: "TouchDialog | None" = None, cancelled: Event | None = None
) -> Answer:
    """The answer, signed by a security key that is touched now. Blocks; setting `cancelled` ends that.

    Raises TouchFault or TouchCancelled. Without a `person` to speak with, it is the one at the terminal.
    """
    person = person or TerminalTouch()
    action = inline(answer.request.prompt.action)
    person.say(f"High risk. To approve {action}, use your security key. {_CANCEL}")
    return replace(answer, touched=touch(answer_statement(source, answer), person, cancelled))


def touch(statement: "Signable", person: "TouchDialog | None" = None, cancelled: Event | None = None) -> "Touched":
    """Signs with a security key that is touched now. Blocks. Raises TouchFault or TouchCancelled."""
    from aileron_tui.surface.security_key_touch import home_security_keys, touched  # noqa: PLC0415  # rarely needed

    return touched(statement, home_security_keys(), person or TerminalTouch(), cancelled=cancelled)

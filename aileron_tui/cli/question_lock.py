"""Unlocks the operator's key at the terminal, and locks it when nobody has been there for a while."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from aileron_tui.cli.output import counted
from aileron_tui.cli.question import QuestionLeft
from aileron_tui.cli.question_answers import Answers
from aileron_tui.cli.question_terminal import QuestionTerminal
from aileron_tui.cli.question_text import capitalized
from aileron_tui.core.visible_text import inline
from aileron_tui.signing.errors import SigningError
from aileron_tui.signing.secret_memory import wipe
from aileron_tui.surface.arming import elapsed

if TYPE_CHECKING:
    from aileron_tui.surface.source import OperatorKey

_TRIES: Final = 3


class KeyLock:
    """The lock of a key. A key without a passphrase has none. With `minutes` 0, it stays unlocked."""

    def __init__(self, key: "OperatorKey", terminal: QuestionTerminal, answers: Answers, minutes: int) -> None:
        self._key = key
        self._terminal = terminal
        self._answers = answers
        self._minutes = minutes
        self._last_input = elapsed()

    def input_received(self) -> None:
        """Something was typed."""
        self._last_input = elapsed()

    def lock_when_idle(self) -> bool:
        """Wipes the key if nothing was typed for a long time; returns whether it did so now."""
        if not self._minutes or not self._key.lockable or self._key.key is None:
            return False
        if elapsed() - self._last_input < self._minutes * 60:
            return False
        self._key.lock()
        self._terminal.write(f"The key is locked: nothing was typed for {counted(self._minutes, 'minute')}.")
        return True

    def unlock(self, why: str, check: Callable[[], None]) -> bool:
        """Asks for the passphrase if the key is locked, and says why; returns whether it was locked.

        Raises QuestionLeft if only enter is pressed, and SigningError after three wrong passphrases.
        """
        if not self._key.lockable or self._key.key is not None:
            return False
        if why:
            self._terminal.write(why)
        for tries_left in reversed(range(_TRIES)):
            passphrase = self._answers.secret(f"Passphrase of {inline(self._key.name)}", check)
            if not passphrase:
                raise QuestionLeft
            try:
                self._key.unlock(passphrase)
            except SigningError as error:
                if not tries_left:
                    raise
                self._terminal.write(f"{capitalized(inline(str(error)))}.")
            else:
                break
            finally:
                wipe(passphrase)
        return True

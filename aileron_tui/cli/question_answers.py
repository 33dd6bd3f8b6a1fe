"""Takes answers from the terminal, and only those that a person gave to the question on screen.

Before each question, nothing may be typed for a moment; what was typed before is dropped, and so is a paste. A key that
answers must come alone: one of several keys is part of a word that was meant for something else.
"""

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Final

from aileron_tui.cli.question_terminal import InputKind, QuestionTerminal, TerminalGone, TerminalInput
from aileron_tui.cli.question_text import DECISIVE, MORE, QUIT
from aileron_tui.signing.secret_memory import wipe
from aileron_tui.surface.arming import Arming

TICK_SECONDS: Final = 0.5
"""How often it is checked whether the question still stands."""

ENTER: Final = "\n"
ALONE_SECONDS: Final = 0.7
"""For how long nothing else may be typed after an answer."""

REST_SECONDS: Final = 1.5
"""For how long nothing may be typed before a secret that was being typed is taken to be abandoned."""

_PROMPT: Final = "> "
_ENDS_LINE: Final = frozenset({"\r", "\n"})
_TYPED: Final = frozenset({InputKind.KEY, InputKind.LINE, InputKind.SEVERAL})


class EndOfInput(TerminalGone):
    """The terminal was closed, or ctrl+d was pressed."""

    def __init__(self) -> None:
        super().__init__("end of input", "nothing was decided", "What waits is still waiting.")


class Answers:
    """Asks on a terminal. `check` is called again and again while a question is open, and raises if it is over."""

    def __init__(self, terminal: QuestionTerminal, arming: Arming, typed: Callable[[], None]) -> None:
        self._terminal = terminal
        self._arming = arming
        self._typed = typed
        self._plain = terminal.style.plain

    def choice(self, words: Sequence[str], check: Callable[[], None]) -> str:
        """One of these words, given by its first letter. Those that decide something must come alone."""
        self._arming.screen_changed()
        while True:
            self._wait_until_armed(check)
            given = self._given(check)
            word = self._word(given, words)
            if why := self._arming.why_not_armed():
                self._terminal.write(f"That was dropped: {why}.")
            elif not word:
                self._terminal.write(self._hint(given, words))
            elif word in DECISIVE and not self._is_alone():
                self._terminal.write("More was typed right after it, so nothing was decided.")
            elif why := self._arming.why_not_armed():  # it was stopped and continued meanwhile
                self._terminal.write(f"That was dropped: {why}.")
            else:
                self._terminal.end_question(word)
                return word
            self._arming.typed()

    def line(self, question: str, check: Callable[[], None], *, pasted: bool = False) -> str:
        """A line of text; "" for an empty one, and for a paste unless `pasted` allows it."""
        self._arming.screen_changed()
        self._wait_until_armed(check)
        self._terminal.read_lines(pasted=pasted)
        given = self._await(f"{question} ", check)
        return given.text if given.kind is InputKind.LINE else ""

    def secret(self, question: str, check: Callable[[], None]) -> bytearray:
        """A line without echo, in memory that the caller wipes. It is empty if nothing was typed."""
        self._terminal.read_lines(secret=True)
        self._terminal.ask(f"{question}: ")
        while (line := self._terminal.read_secret(TICK_SECONDS)) is None:
            try:
                check()
            except Exception:
                self._drop_rest()
                raise
            finally:
                self._arming.heartbeat()
            if not self._terminal.asking:
                self._terminal.ask(f"{question}: ")
        self._terminal.end_question()
        self._typed()
        if not line:
            raise EndOfInput
        while line.endswith((b"\r", b"\n")):
            line.pop()  # in place, because a copy would stay in memory
        if b"\x1b" in line:
            wipe(line)
            line.clear()
        return line

    def _drop_rest(self) -> None:
        """Drops what is still being typed of a secret that nobody asks for any more, so that it is never shown."""
        self._terminal.end_question()
        self._terminal.read_keys()
        end = monotonic() + REST_SECONDS
        while (seconds := end - monotonic()) > 0:
            given = self._terminal.read(seconds)
            self._note(given)
            if given.text in _ENDS_LINE:
                return
            if given.kind is not InputKind.WOKEN:
                end = monotonic() + REST_SECONDS

    def idle(self, seconds: float) -> str:
        """A key or a line typed while no question is open; "" if there was none. `q` stands for `quit`.

        The rest of what was being typed when a question ended counts as nothing: a `q` in it must not quit, because
        a shell would take what follows.
        """
        given = self._terminal.read(seconds)
        self._arming.heartbeat()
        self._note(given)
        if given.kind in _TYPED and self._arming.why_not_armed():
            self._arming.typed()
            return ""
        if given.kind is InputKind.LINE:
            line = given.text.lower() or ENTER
            return line[0] if line == QUIT else line
        return given.text.lower().replace("\r", ENTER) if given.kind is InputKind.KEY else ""

    def resumed(self) -> None:
        """The program was stopped and goes on now. What was typed meanwhile was not meant for it."""
        self._arming.console_paused()

    def interrupted(self) -> None:
        """A question ended by itself, perhaps while its answer was being typed."""
        self._arming.typed()

    def begin_idle(self) -> None:
        """Keys may be pressed while no question is open."""
        if self._plain:
            self._terminal.read_lines()
        else:
            self._terminal.read_keys()

    def _wait_until_armed(self, check: Callable[[], None]) -> None:
        """Waits until nothing was typed for a moment. Whatever is typed meanwhile is dropped and not shown."""
        self._terminal.read_keys()
        self._arming.heartbeat()
        while (seconds := self._arming.seconds_until_armed()) > 0:
            given = self._terminal.read(min(seconds, TICK_SECONDS))
            self._note(given)
            if given.kind is InputKind.PASTE:
                self._arming.pasted()
            elif given.kind in _TYPED:
                self._arming.typed()
            self._arming.heartbeat()
            check()

    def _given(self, check: Callable[[], None]) -> TerminalInput:
        """What is typed after the question."""
        if self._plain:
            self._terminal.read_lines()
        else:
            self._terminal.read_keys()
        return self._await(_PROMPT, check)

    def _await(self, question: str, check: Callable[[], None]) -> TerminalInput:
        self._terminal.ask(question)
        while (given := self._terminal.read(TICK_SECONDS)).kind is InputKind.WOKEN:
            self._arming.heartbeat()
            check()
            if not self._terminal.asking:
                self._terminal.ask(question)
        self._arming.heartbeat()
        self._note(given)
        check()
        return given

    def _note(self, given: TerminalInput) -> None:
        if given.kind is InputKind.END:
            raise EndOfInput
        if given.kind is not InputKind.WOKEN:
            self._typed()

    @staticmethod
    def _word(given: TerminalInput, words: Sequence[str]) -> str:
        """The word that this input means, "" if none. Enter and space never mean more than to go on."""
        text = given.text.lower()
        if given.kind not in (InputKind.KEY, InputKind.LINE):
            return ""
        if not text.strip():
            blank = given.kind is InputKind.LINE or given.text
            return MORE if blank and MORE in words else ""
        return next((word for word in words if text in (word[0], word)), "")

    def _is_alone(self) -> bool:
        """Whether nothing else is typed right after an answer."""
        if self._plain:
            self._terminal.read_keys(drop=False)  # otherwise only whole lines would be noticed
        end = monotonic() + ALONE_SECONDS
        while (seconds := end - monotonic()) > 0:
            if self._terminal.read(seconds).kind is not InputKind.WOKEN:
                return False
        return True

    def _hint(self, given: TerminalInput, words: Sequence[str]) -> str:
        if given.kind is InputKind.PASTE:
            return "Pasted text is not an answer."
        *most, last = (word[0] for word in words)
        keys = f"{', '.join(most)} or {last}" if most else last
        return f"Type {keys} and press enter." if self._plain else f"Press {keys}."

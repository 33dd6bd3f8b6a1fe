"""Asks about one request: shows all of it, page by page, and takes the answer."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from aileron_tui.cli import question_text as text
from aileron_tui.cli.question_answers import Answers
from aileron_tui.cli.question_terminal import QuestionTerminal
from aileron_tui.cli.question_text import APPROVE, BACK, DENY, MORE, QUIT, SKIP, VIEW
from aileron_tui.core.errors import AileronError
from aileron_tui.core.request import Request
from aileron_tui.core.times import utc_now
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config import SECURITY_KEY
from aileron_tui.signing.errors import SigningError
from aileron_tui.signing.secret_memory import wipe

if TYPE_CHECKING:
    from aileron_tui.core.jsontext import Json
    from aileron_tui.surface.source import OperatorKey

_LEAST_ROWS: Final = 3
_HEADING_ROWS: Final = 3
_ROWS_BELOW: Final = 5
"""How many rows of the window the question below a page takes."""

_LEAST_COLUMNS, _LEAST_LINES = 20, 8
"""The smallest window in which a request can be approved: the terminal itself would wrap narrower rows, and foreign
text could look like a line of ours; in a lower one, a page would not fit."""

_LAST_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class QuestionSettings:
    """How to ask. `once` ends after one request, `until_idle` when nothing waits that was not skipped.

    Only requests whose id `is_wanted` are asked about. While nothing is `needed`, no passphrase is asked for.
    """

    high_risk: str = "confirm"
    lock_minutes: int = 0
    bell: bool = True
    once: bool = False
    until_idle: bool = False
    is_wanted: Callable[[str], bool] = lambda _: True
    is_needed: Callable[[], bool] = lambda: True


class QuestionOver(Exception):
    """The question cannot be answered any more; the words say why."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


class QuestionLeft(Exception):
    """The operator wants to leave."""


class Question:
    """One request on the terminal.

    `check` returns the request as it is now, or raises QuestionOver if its prompt is not the one that waits any more.
    """

    def __init__(
        self, request: Request, terminal: QuestionTerminal, answers: Answers, check: Callable[[], Request]
    ) -> None:
        self.request = request
        self._terminal = terminal
        self._answers = answers
        self._check_request = check
        self._columns = terminal.columns
        self._is_readable = _is_readable(terminal)
        self._hurried = request.seconds_left(utc_now()) <= _LAST_SECONDS

    def ask(self, waiting: int, fetched: "Callable[[], Json]") -> str:
        """The answer: approve, deny or skip. `fetched` returns everything that the preview op returns now."""
        terminal, request = self._terminal, self.request
        terminal.write_rows(list(text.rule(terminal.columns, terminal.style)))
        terminal.emphasize(text.heading(request, waiting))
        if line := text.risk_line(request):
            terminal.emphasize(line, alarm=True)
        word = self._page(text.prompt_rows(request, self._columns), (DENY, SKIP, QUIT), above=_HEADING_ROWS)
        while not word:
            word = self._choose(self._possible_answers())
            if word == VIEW:
                self._view(fetched)
                word = ""
        return word

    def _possible_answers(self) -> tuple[str, ...]:
        words = text.answers_to(self.request)
        if self._is_readable or APPROVE not in words:
            return words
        self._terminal.write(f"To approve, make the window at least {_LEAST_COLUMNS} × {_LEAST_LINES}.")
        return tuple(word for word in words if word != APPROVE)

    def _choose(self, words: Sequence[str]) -> str:
        terminal = self._terminal
        terminal.write_rows(list(text.rule(terminal.columns, terminal.style)))
        terminal.write(text.choices(words, terminal.columns))
        word = self._answers.choice(words, self.check)
        if word == QUIT:
            raise QuestionLeft
        return word

    def _page(self, rows: list[str], words: Sequence[str], above: int = 0) -> str:
        """Shows rows page by page; returns "" once all were on screen, else what was chosen before."""
        shown = 0
        while True:
            step = max(_LEAST_ROWS, self._terminal.lines - _ROWS_BELOW - above)
            above = 0
            self._terminal.write_rows(rows[shown : shown + step])
            shown += step
            if shown >= len(rows):
                return ""
            self._terminal.write(f"({shown:,} of {len(rows):,} lines)")
            if (word := self._choose((MORE, *words))) != MORE:
                return word

    def _view(self, fetched: "Callable[[], Json]") -> None:
        """Shows the request as JSON, with everything that was fetched."""
        value: Json = None
        try:
            value = fetched()
        except AileronError as error:
            self._terminal.write(text.fetch_problem(error))
        self._page(text.view_rows(self.request, value, self._columns), (BACK, QUIT))

    def reason(self) -> str:
        """The reason for a denial; may be empty."""
        return self._answers.line("Reason, or enter for none:", self.check, pasted=True)

    def confirm(self, high_risk: str, key: "OperatorKey") -> bool:
        """Confirms an approval at high risk, as the configuration says; at least by typing the action's name."""
        self._terminal.write_rows(list(text.target_rows(self.request, self._columns)))
        if high_risk == SECURITY_KEY:
            return True  # the touch that follows confirms it
        if high_risk == "passphrase" and key.lockable:
            return self._knows_passphrase(key)
        word = text.word_to_type(self.request)
        if self._answers.line(f"High risk. Type {word} to approve:", self.check) == word:
            return True
        self._terminal.write("That is not what was asked for, so nothing was decided.")
        return False

    def _knows_passphrase(self, key: "OperatorKey") -> bool:
        passphrase = self._answers.secret(f"High risk. Approve with the passphrase of {key.name}", self.check)
        try:
            key.unlock(passphrase)
        except SigningError as error:
            self._terminal.write(f"Not approved: {inline(str(error))}")
            return False
        finally:
            wipe(passphrase)
        return True

    def check(self) -> None:
        """Checks that the question still stands, and says when its time is nearly up."""
        self.request = self._check_request()
        if self._terminal.columns < self._columns:
            raise QuestionOver("The window is narrower now, so the prompt is shown again.")
        if _is_readable(self._terminal) is not self._is_readable:
            raise QuestionOver("The window has another size now, so the prompt is shown again.")
        if not self._hurried and self.request.expires_at and self.request.seconds_left(utc_now()) <= _LAST_SECONDS:
            self._hurried = True
            self._terminal.write(f"{_LAST_SECONDS:.0f} seconds left.")


def _is_readable(terminal: QuestionTerminal) -> bool:
    """Whether the window is large enough to read a request in it."""
    return terminal.columns >= _LEAST_COLUMNS and terminal.lines >= _LEAST_LINES

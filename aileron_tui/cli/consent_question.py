"""Asks in this terminal whether packages may be installed, and takes the answer only if all of it was on screen."""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Final

from aileron_tui.cli import question_text
from aileron_tui.cli.question_answers import Answers
from aileron_tui.cli.question_terminal import QuestionTerminal, TerminalGone, no_terminal, open_terminal, style_for
from aileron_tui.cli.question_text import APPROVE, BACK, DENY, MORE, VIEW
from aileron_tui.surface.arming import Arming

_LEAST_COLUMNS, _LEAST_LINES = 20, 8
_LEAST_ROWS: Final = 3
_ROWS_BELOW: Final = 5
"""How many rows of the window the question below a page takes."""

MakeRows = Callable[[int], list[str]]
"""The rows of a text for a width."""


class _Resized(Exception):
    """The window is not the one in which the text was shown."""


def check_terminal() -> None:
    """Refuses to ask without a terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        gone = no_terminal()
        raise TerminalGone("this needs a terminal", gone.detail, "Run it in a terminal. Only a person can consent.")


def consented(heading: str, rows: MakeRows, view: MakeRows, word: str = "") -> bool:
    """Whether the person at the terminal approves what is shown. `word`, if any, must be typed to confirm that."""
    with open_terminal(style_for(os.environ, plain=False)) as terminal:
        question = _ConsentQuestion(terminal, heading, rows, view)
        with suppress(ValueError):  # only the main thread can be told
            signal.signal(signal.SIGCONT, lambda *_: question.resumed())
        return question.ask(word)


class _ConsentQuestion:
    def __init__(self, terminal: QuestionTerminal, heading: str, rows: MakeRows, view: MakeRows) -> None:
        self._terminal = terminal
        self._heading = heading
        self._rows = rows
        self._view = view
        self._answers = Answers(terminal, Arming(), lambda: None)
        self._size = (terminal.columns, terminal.lines)

    def resumed(self) -> None:
        """The program was stopped and goes on now."""
        self._answers.resumed()

    def ask(self, word: str) -> bool:
        while True:
            try:
                return self._answer() == APPROVE and self._confirmed(word)
            except _Resized:
                self._answers.interrupted()
                self._terminal.write("The window has another size now, so everything is shown again.")

    def _answer(self) -> str:
        terminal = self._terminal
        self._size = (terminal.columns, terminal.lines)
        terminal.write_rows(list(question_text.rule(terminal.columns, terminal.style)))
        terminal.emphasize(self._heading)
        answer = self._page(self._rows(terminal.columns), (DENY,), above=2)
        while not answer:
            answer = self._choose(self._possible())
            if answer == VIEW:
                self._page(self._view(terminal.columns), (BACK,))
                answer = ""
        return answer

    def _possible(self) -> tuple[str, ...]:
        columns, lines = self._size
        if columns >= _LEAST_COLUMNS and lines >= _LEAST_LINES:
            return (APPROVE, DENY, VIEW)
        self._terminal.write(f"To approve, make the window at least {_LEAST_COLUMNS} × {_LEAST_LINES}.")
        return (DENY, VIEW)

    def _page(self, rows: Sequence[str], words: Sequence[str], above: int = 0) -> str:
        """Shows rows page by page; returns "" once all were on screen, else what was chosen before."""
        shown = 0
        while True:
            step = max(_LEAST_ROWS, self._terminal.lines - _ROWS_BELOW - above)
            above = 0
            self._write(rows[shown : shown + step])
            shown += step
            if shown >= len(rows):
                return ""
            self._terminal.write(f"({shown:,} of {len(rows):,} lines)")
            if (word := self._choose((MORE, *words))) != MORE:
                return word if word != BACK else ""

    def _write(self, rows: Sequence[str]) -> None:
        """Writes rows; those that begin with `!`, which foreign text never does, are warnings."""
        for is_warning, group in groupby(rows, lambda row: row.startswith("!")):
            (self._terminal.write_warning if is_warning else self._terminal.write_rows)(list(group))

    def _choose(self, words: Sequence[str]) -> str:
        terminal = self._terminal
        terminal.write_rows(list(question_text.rule(terminal.columns, terminal.style)))
        terminal.write(question_text.choices(words, terminal.columns))
        return self._answers.choice(words, self._check)

    def _check(self) -> None:
        if self._size != (self._terminal.columns, self._terminal.lines):
            raise _Resized

    def _confirmed(self, word: str) -> bool:
        if not word or self._answers.line(f"Type {word} to approve:", self._check) == word:
            return True
        self._terminal.write("That is not what was asked for, so nothing was approved.")
        return False

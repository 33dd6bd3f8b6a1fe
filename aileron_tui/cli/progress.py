"""A line on the terminal that says how far something is."""

import sys
import time
from typing import Final, Self

_PAUSE: Final = 0.2
_WIDTH: Final = 39
"""Narrow enough for every terminal. Shorter lines are filled up, so that nothing of the one before is left."""


class Progress:
    """Shows two numbers on standard error, if it is a terminal: how much is done, and how much there is to do.

    The line is removed at the end. `words` has a place for each number.
    """

    def __init__(self, words: str) -> None:
        self._words = words
        self._shown = False
        self._next = time.monotonic() + _PAUSE

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Removes the line."""
        if self._shown:
            sys.stderr.write(f"\r{' ' * _WIDTH}\r")
            sys.stderr.flush()
            self._shown = False

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now < self._next or not sys.stderr.isatty():
            return
        self._next = now + _PAUSE
        line = self._words.format(f"{done:,}", f"{total:,}")
        sys.stderr.write(f"\r{line.ljust(_WIDTH)}")
        sys.stderr.flush()
        self._shown = True

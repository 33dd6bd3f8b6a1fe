"""A line on the terminal that says how far something is."""

import sys
import time
from typing import Final, Self

_PAUSE: Final = 0.2


class Progress:
    """Shows two numbers on standard error, if it is a terminal: how much is done, and how much there is to do.

    The line is removed at the end. `words` has a place for each number.
    """

    def __init__(self, words: str) -> None:
        self._words = words
        self._shown = 0
        self._next = time.monotonic() + _PAUSE

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            sys.stderr.write(f"\r{' ' * self._shown}\r")
            sys.stderr.flush()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now < self._next or not sys.stderr.isatty():
            return
        self._next = now + _PAUSE
        line = self._words.format(f"{done:,}", f"{total:,}")
        sys.stderr.write(f"\r{line.ljust(self._shown)}")
        sys.stderr.flush()
        self._shown = max(self._shown, len(line))

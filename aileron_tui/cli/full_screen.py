"""What a full-screen program needs before it starts: a terminal, and a word if it takes long."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from aileron_tui.core.errors import AileronError

_PATIENCE: Final = 0.7


class NoScreen(AileronError):
    """There is no terminal to draw on."""


def check_terminal() -> None:
    """Refuses to draw where nobody could see it."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        hint = "Start it in a terminal. `aileron-tui list` and `aileron-tui watch` work without one."
        raise NoScreen("the console needs a terminal", "standard input and output are not one", hint)


@contextmanager
def patience(words: str) -> Iterator[None]:
    """Says what takes so long, if it does."""
    timer = threading.Timer(_PATIENCE, lambda: sys.stderr.write(f"{words}\n"))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()

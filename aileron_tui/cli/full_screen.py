"""What a full-screen program needs before it starts: a terminal, and a message if it takes long."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from aileron_tui.core.errors import AileronError

_DELAY_SECONDS: Final = 0.7


class NoScreen(AileronError):
    """There is no terminal to draw on."""


def check_terminal() -> None:
    """Refuses to run without a terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        hint = "Run it in a terminal. `aileron-tui list` and `aileron-tui watch` work without one."
        raise NoScreen("the console needs a terminal", "standard input or output is not a terminal", hint)


@contextmanager
def announce_delay(words: str) -> Iterator[None]:
    """Prints a message if the block takes long."""
    timer = threading.Timer(_DELAY_SECONDS, lambda: sys.stderr.write(f"{words}\n"))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()

"""What a full-screen program needs before it starts: a terminal, and a message if it takes long."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from aileron_tui.cli.standard_streams import encoding_in_use
from aileron_tui.core.errors import AileronError

_DELAY_SECONDS: Final = 0.7


class NoScreen(AileronError):
    """There is no terminal to draw on."""


def check_terminal() -> None:
    """Refuses to run without a terminal, or with a locale in which a prompt cannot be drawn."""
    streams = {"input": sys.stdin, "output": sys.stdout, "error": sys.__stderr__}  # Textual draws on standard error
    for name, stream in streams.items():
        if stream is None or not stream.isatty():
            hint = "Run it in a terminal. `aileron-tui list` and `aileron-tui watch` work without one."
            raise NoScreen("the console needs a terminal", f"standard {name} is not a terminal", hint)
    if encoding := encoding_in_use():
        hint = "Use a UTF-8 locale, for example `LANG=C.UTF-8 aileron-tui`."
        raise NoScreen("the console needs a UTF-8 locale", f"the encoding of your locale is {encoding}", hint)


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

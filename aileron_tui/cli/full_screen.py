"""What a full-screen program needs before it starts: a terminal, and a message if it takes long."""

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from aileron_tui.cli.standard_streams import encoding_in_use
from aileron_tui.core.errors import AileronError

_DELAY_SECONDS: Final = 0.7
_REPORT_SECONDS: Final = 1.0


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
def report_delay(words: str, progress: Callable[[], str] | None = None) -> Iterator[None]:
    """Says what is being done if the block takes long, and then once a second how far it is and for how long."""
    finished = threading.Event()
    started = time.monotonic()

    def report() -> None:
        if finished.wait(_DELAY_SECONDS):
            return
        sys.stderr.write(f"{words}\n")
        ended = False
        while not ended:
            ended = finished.wait(_REPORT_SECONDS)
            seconds = f"{time.monotonic() - started:.0f} s"
            line = f"  {progress()} · {seconds}" if progress else f"  {seconds}"
            room = shutil.get_terminal_size().columns - 1  # a line that wraps could not be written over
            sys.stderr.write(f"\r{line[:room].ljust(room)}")
            sys.stderr.flush()
        sys.stderr.write("\n")

    reporter = threading.Thread(target=report, name="progress", daemon=True)
    reporter.start()
    try:
        yield
    finally:
        finished.set()
        reporter.join()

"""Running a full-screen program: only on a terminal, and so that a signal leaves the terminal and the files clean."""

import asyncio
import logging
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from aileron_tui.cli import FAILED, OK
from aileron_tui.core.errors import AileronError

if TYPE_CHECKING:
    from textual.app import App

T = TypeVar("T")

_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)
_PATIENCE: Final = 0.7


class NoScreen(AileronError):
    """There is no terminal to draw on."""


def check_terminal() -> None:
    """Refuses to draw where nobody could see it."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        hint = "Start it in a terminal. `aileron-tui list` and `aileron-tui watch` work without one."
        raise NoScreen("the console needs a terminal", "standard input and output are not one", hint)


def show(app: "App[T]") -> tuple[int, T | None]:
    """Runs an app until it ends or the process is told to; its exit code and what it came to."""

    async def run() -> T | None:
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, app.exit)
        return await app.run_async()

    # A warning that is printed somewhere deep inside must not draw on the screen.
    logging.getLogger("aileron_tui").addHandler(logging.NullHandler())
    result = asyncio.run(run())
    return (FAILED if app.return_code else OK), result


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

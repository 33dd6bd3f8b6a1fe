"""Running a full-screen program: only on a terminal, and so that a signal leaves the terminal and the files clean."""

import asyncio
import gc
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
_LOADED: Final = 1.0
_FULL_COLLECTION: Final = 1000


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
        loop.call_later(_LOADED, collect_rarely)
        return await app.run_async()

    # A warning that is printed somewhere deep inside must not draw on the screen.
    logging.getLogger("aileron_tui").addHandler(logging.NullHandler())
    with quick_start():
        result = asyncio.run(run())
    return (FAILED if app.return_code else OK), result


@contextmanager
def quick_start() -> Iterator[None]:
    """Looks for no garbage while the program comes up, as what is loaded then stays; afterwards all is as before."""
    usual = gc.get_threshold()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*usual)
        gc.enable()


def collect_rarely() -> None:
    """Leaves alone what is loaded: a full collection stops the loop for longer than one waits for a key."""
    gc.freeze()
    gc.set_threshold(*gc.get_threshold()[:2], _FULL_COLLECTION)
    gc.enable()


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

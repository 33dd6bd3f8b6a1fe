"""Runs a full-screen app: only in a terminal, and so that a signal leaves the terminal and the files clean."""

import asyncio
import gc
import logging
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from aileron_tui.cli.exit_codes import FAILED, OK
from aileron_tui.core.errors import AileronError

if TYPE_CHECKING:
    from textual.app import App

T = TypeVar("T")

_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)
_DELAY_SECONDS: Final = 0.7
_LOADED_SECONDS: Final = 1.0
_FULL_COLLECTION: Final = 1000


class NoScreen(AileronError):
    """There is no terminal to draw on."""


def check_terminal() -> None:
    """Refuses to run without a terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        hint = "Run it in a terminal. `aileron-tui list` and `aileron-tui watch` work without one."
        raise NoScreen("the console needs a terminal", "standard input or output is not a terminal", hint)


def show(app: "App[T]") -> tuple[int, T | None]:
    """Runs an app until it ends or a signal arrives; returns the exit code and the app's result."""

    async def run() -> T | None:
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, app.exit)
        loop.call_later(_LOADED_SECONDS, collect_rarely)
        return await app.run_async()

    # A warning that a library prints must not appear on the screen.
    logging.getLogger("aileron_tui").addHandler(logging.NullHandler())
    with quick_start():
        result = asyncio.run(run())
    return (FAILED if app.return_code else OK), result


@contextmanager
def quick_start() -> Iterator[None]:
    """Turns the garbage collection off while the program starts, because what is loaded then stays anyway."""
    usual = gc.get_threshold()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*usual)
        gc.enable()


def collect_rarely() -> None:
    """Excludes what is loaded from garbage collection: a full collection would delay the reaction to a key."""
    gc.freeze()
    gc.set_threshold(*gc.get_threshold()[:2], _FULL_COLLECTION)
    gc.enable()


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

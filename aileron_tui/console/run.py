"""Runs a full-screen app: starts it fast, and shuts it down cleanly on a signal."""

import asyncio
import gc
import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from textual.app import App

T = TypeVar("T")

_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)
_LOADED_SECONDS: Final = 1.0
_FULL_COLLECTION: Final = 1000
_MEMORY_SECONDS: Final = 30.0


def run_app(app: "App[T]") -> tuple[int, T | None]:
    """Runs an app until it ends or the process receives a signal. Returns its return code and its result."""

    async def run() -> T | None:
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, app.exit)
        loop.call_later(_LOADED_SECONDS, collect_rarely)
        returning = asyncio.create_task(_return_memory())
        try:
            return await app.run_async()
        finally:
            returning.cancel()
            with suppress(asyncio.CancelledError):
                await returning

    # Without a handler, Python would print logged warnings over the screen.
    logging.getLogger("aileron_tui").addHandler(logging.NullHandler())
    with quick_start():
        result = asyncio.run(run())
    return app.return_code or 0, result


async def _return_memory() -> None:
    """Returns freed memory to the system now and then, which a console of many requests would keep otherwise."""
    while True:
        await asyncio.sleep(_MEMORY_SECONDS)
        from aileron_tui.files.freed_memory import return_freed_memory  # noqa: PLC0415  # long after the first frame

        await asyncio.to_thread(return_freed_memory)


@contextmanager
def quick_start() -> Iterator[None]:
    """Turns the garbage collector off during startup, because everything loaded then is kept anyway."""
    usual = gc.get_threshold()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*usual)
        gc.enable()


def collect_rarely() -> None:
    """Excludes what is loaded from garbage collection and makes full collections rare: these block the loop."""
    gc.freeze()
    gc.set_threshold(*gc.get_threshold()[:2], _FULL_COLLECTION)
    gc.enable()

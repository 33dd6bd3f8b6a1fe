"""Frees the memory of screens that were closed.

A closed screen and its widgets refer to each other, so only a full garbage collection frees them, and the console makes
these rare because they block the loop (`console/run.py`). So it makes one a moment after a screen was closed, when
nobody is typing.
"""

import asyncio
import gc
from collections.abc import Callable
from contextvars import Context
from time import monotonic
from typing import Final

DELAY_SECONDS: Final = 2.0
"""How long after the last input the memory is freed."""


class ClosedScreens:
    """Waits for a quiet moment after a screen was closed. `last_input` returns when a key was pressed last."""

    def __init__(self, last_input: Callable[[], float]) -> None:
        self._last_input = last_input
        self._is_waiting = False

    def closed(self) -> None:
        """A screen was closed."""
        if not self._is_waiting:
            self._is_waiting = True
            self._call_after(DELAY_SECONDS)

    def _call_after(self, seconds: float) -> None:
        # Not with a timer of Textual: its context would refer to the screen that is being closed.
        asyncio.get_running_loop().call_later(seconds, self._free, context=Context())

    def _free(self) -> None:
        quiet = monotonic() - self._last_input()
        if quiet < DELAY_SECONDS:
            self._call_after(DELAY_SECONDS - quiet)
            return
        self._is_waiting = False
        gc.collect()

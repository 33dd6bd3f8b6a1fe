"""Frees the memory of screens that were closed.

A closed screen and its widgets refer to each other, so only a full garbage collection frees them, and the console makes
these rare because they block the loop (`console/run.py`). So it makes one a moment after a screen was closed, when
nobody is typing.
"""

import gc
from collections.abc import Callable
from time import monotonic
from typing import Final

from textual.message_pump import MessagePump

from aileron_tui.console.timers import call_after

DELAY_SECONDS: Final = 2.0
"""How long after the last input the memory is freed."""


class ClosedScreens:
    """Waits for a quiet moment after a screen was closed. `last_input` returns when a key was pressed last."""

    def __init__(self, pump: MessagePump, last_input: Callable[[], float]) -> None:
        self._pump = pump
        self._last_input = last_input
        self._is_waiting = False

    def closed(self) -> None:
        """A screen was closed."""
        if not self._is_waiting:
            self._is_waiting = True
            call_after(self._pump, DELAY_SECONDS, self._free)

    def _free(self) -> None:
        quiet = monotonic() - self._last_input()
        if quiet < DELAY_SECONDS:
            call_after(self._pump, DELAY_SECONDS - quiet, self._free)
            return
        self._is_waiting = False
        gc.collect()

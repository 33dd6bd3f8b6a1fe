"""Timers that ring once, and for certain."""

from collections.abc import Callable

from textual.message_pump import MessagePump
from textual.timer import Timer


def call_after(pump: MessagePump, seconds: float, callback: Callable[[], object]) -> Timer:
    """Calls back after so many seconds.

    Textual's own timer does not ring at all if it was held up for longer than that as it began: it takes the one time
    for one of many that can be skipped.
    """
    timer = pump.set_timer(seconds, callback)
    timer._skip = False  # there is no other way to say so
    return timer

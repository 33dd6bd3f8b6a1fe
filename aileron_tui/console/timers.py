"""One-shot timers that always fire."""

from collections.abc import Callable

from textual.message_pump import MessagePump
from textual.timer import Timer

from aileron_tui.console.textual_internals import never_skip


def call_after(pump: MessagePump, seconds: float, callback: Callable[[], object]) -> Timer:
    """Calls back once after a number of seconds, even if the loop was blocked for longer than that.

    Textual treats a late one-shot timer like one tick of many and skips it.
    """
    timer = pump.set_timer(seconds, callback)
    never_skip(timer)
    return timer

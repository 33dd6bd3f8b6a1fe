"""One-shot timers that always fire."""

from collections.abc import Callable

from textual.message_pump import MessagePump
from textual.timer import Timer

from aileron_tui.console.textual_internals import never_skip


def call_after(pump: MessagePump, seconds: float, callback: Callable[[], object]) -> Timer:
    """Calls `callback` once after this many seconds, even if the loop was blocked for longer.

    Textual would skip a one-shot timer that is late, as if it were one tick of a repeating timer.
    """
    timer = pump.set_timer(seconds, callback)
    never_skip(timer)
    return timer

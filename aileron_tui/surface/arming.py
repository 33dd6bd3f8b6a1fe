"""When an answer counts. Whatever was being typed or clicked must not answer a prompt that has just appeared.

An answer counts only if the prompt has been on screen for a moment, and in that moment nothing else was typed or
clicked, nothing was pasted, the window did not gain focus, and the console did not pause. An answer that comes
too early is dropped, never kept for later.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Final

from aileron_tui.core.values import dataclass

# On Linux the monotonic clock stops while the machine sleeps; this one does not.
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_AWAY_SECONDS: Final = 10.0


def elapsed() -> float:
    """Seconds on a clock that also runs while the machine sleeps."""
    return time.clock_gettime(_CLOCK)


@dataclass(slots=True)
class Arming:
    """Records when something happened that disarms answers for `seconds`; `changes` counts these events.

    `covered` has the requests that were in the row of the prompt when the wait last began: an answer counts for them.
    """

    seconds: float = 0.7
    clock: Callable[[], float] = elapsed
    changes: int = 0
    covered: frozenset[str] = frozenset()
    _shown: tuple[str, str] = ("", "")
    _row: frozenset[str] = frozenset()
    _events: dict[str, float] = field(default_factory=dict)
    _last_heartbeat: float | None = None
    _last_input: float | None = None
    _reports_focus: bool = False

    def prompt_shown(self, request: str, digest: str, row: Iterable[str] = ()) -> None:
        """This prompt is on screen now, and these requests are in its row. A different prompt restarts the wait.

        A request that joins the row later is covered by an answer only once the wait has restarted.
        """
        self._row = frozenset(row)
        if (request, digest) != self._shown:
            self._shown = (request, digest)
            self._disarm("just shown")

    def prompt_hidden(self) -> None:
        """No prompt can be answered now. When it is shown again, the wait restarts."""
        self._shown = ("", "")
        self._row = frozenset()

    def is_on_screen(self, request: str, digest: str) -> bool:
        """Whether this is the prompt that is on screen."""
        return (request, digest) == self._shown

    def screen_changed(self) -> None:
        """A dialog was opened or closed, so something else is on screen now."""
        self._disarm("just shown")

    def typed(self) -> None:
        """A key that is not an answer was pressed."""
        self._disarm("you were typing")

    def clicked(self) -> None:
        """Something that is not an answer was clicked."""
        self._disarm("you just clicked")

    def answer_dropped(self) -> None:
        """An answer came too early. Holding a key down or clicking repeatedly must not make it count."""
        self._disarm("your last answer came too early")

    def asked_again(self) -> None:
        """The console asks the operator to give an answer once more. The same key held down must not give it."""
        self._disarm("the console just asked you once more")

    def keys_moved(self) -> None:
        """The keys that can be clicked have moved."""
        self._disarm("the keys just moved")

    def focused(self) -> None:
        """The window gained focus."""
        self._reports_focus = True
        self._disarm("the window just gained focus")

    def blurred(self) -> None:
        """The window lost focus. A terminal that reports this also reports when the window gains focus."""
        self._reports_focus = True

    def pasted(self) -> None:
        """Text was pasted."""
        self._disarm("text was pasted")

    def console_paused(self) -> None:
        """The console did not run for a while, so keys that arrive now were typed before the screen was up to date."""
        self._disarm("the console was paused")

    def key_pressed(self) -> None:
        """Any key was pressed, so this window has the focus."""
        self._last_input = self.clock()

    def mouse_pressed(self) -> None:
        """A mouse button was pressed anywhere.

        If the terminal does not report focus, the first click after a while may have focused the window.
        """
        now, before = self.clock(), self._last_input
        if not self._reports_focus and (before is None or now - before >= _AWAY_SECONDS):
            self._disarm("that click may have focused the window; click again")
        self._last_input = now

    def heartbeat(self) -> None:
        """The console is running. Must be called at least every `seconds`."""
        self._check_heartbeat()
        self._last_heartbeat = self.clock()

    def input_delayed(self, seconds: float) -> None:
        """A key or click waited this long before it was processed."""
        if 0 < self.seconds / 2 < seconds:
            self.console_paused()

    def why_not_armed(self) -> str:
        """Why an answer would not count now, or "" if it would."""
        self._check_heartbeat()
        now = self.clock()
        recent = {reason: at for reason, at in self._events.items() if now - at < self.seconds}
        return max(recent, key=lambda reason: recent[reason]) if recent else ""

    def seconds_until_armed(self) -> float:
        """Seconds until an answer counts."""
        last = max(self._events.values(), default=0.0)
        return max(0.0, self.seconds - (self.clock() - last)) if self._events else 0.0

    def _check_heartbeat(self) -> None:
        """Notices missing heartbeats: the process was stopped, the machine slept, or it was too busy."""
        if self._last_heartbeat is not None:
            now = self.clock()
            if 0 < 2 * self.seconds < now - self._last_heartbeat:
                self.console_paused()
            self._last_heartbeat = now

    def _disarm(self, reason: str) -> None:
        self._events[reason] = self.clock()
        self.changes += 1
        self.covered = self._row

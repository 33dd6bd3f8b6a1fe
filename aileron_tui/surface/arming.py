"""When an answer counts. A prompt that just appeared is answered by whatever was being typed or clicked, so it waits.

An answer is taken only if the prompt has been on screen for a moment, nothing else was typed or clicked in that moment,
the window did not just get the focus, nothing was pasted, and the console was not held up meanwhile. What comes too
early is dropped, never queued.
"""

import time
from collections.abc import Callable
from dataclasses import field
from typing import Final

from aileron_tui.core.values import dataclass

# On Linux the monotonic clock stands still while the machine sleeps, and this one does not.
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_AWAY: Final = 10.0


def elapsed() -> float:
    """Seconds, which also pass while the machine sleeps."""
    return time.clock_gettime(_CLOCK)


@dataclass(slots=True)
class Arming:
    """Keeps the times of what may disarm an answer; `changes` counts them, to tell whether there was one."""

    seconds: float = 0.7
    clock: Callable[[], float] = elapsed
    changes: int = 0
    _shown: tuple[str, str] = ("", "")
    _events: dict[str, float] = field(default_factory=dict)
    _beaten: float | None = None
    _handled: float | None = None
    _tells_focus: bool = False

    def shown(self, request: str, digest: str) -> None:
        """This prompt is on screen now; anything else than before starts the wait anew."""
        if (request, digest) != self._shown:
            self._shown = (request, digest)
            self._note("just shown")

    def on_screen(self, request: str, digest: str) -> bool:
        """Whether this is the prompt that is on screen."""
        return (request, digest) == self._shown

    def uncovered(self) -> None:
        """Something that lay over the prompt is gone, or a question lies over it: that was not to be seen before."""
        self._note("just shown")

    def typed(self) -> None:
        """A key that is not an answer."""
        self._note("you were typing")

    def clicked(self) -> None:
        """A click on something that is not an answer."""
        self._note("you just clicked")

    def dropped(self) -> None:
        """An answer that did not count: holding a key down, or clicking on and on, must not make it count."""
        self._note("your last answer came too early")

    def moved(self) -> None:
        """The keys that can be clicked are somewhere else now."""
        self._note("the keys just moved")

    def focused(self) -> None:
        """The window got the focus."""
        self._tells_focus = True
        self._note("the window just got the focus")

    def blurred(self) -> None:
        """The window lost the focus; so the terminal will tell when it gets it back."""
        self._tells_focus = True

    def pasted(self) -> None:
        """Text was pasted."""
        self._note("text was pasted")

    def held_up(self) -> None:
        """The console did not run for a while: what comes now was typed at an old picture."""
        self._note("the console was held up")

    def key_came(self) -> None:
        """A key of any kind: somebody is at this window."""
        self._handled = self.clock()

    def press_came(self) -> None:
        """A mouse button went down, wherever.

        Where the terminal tells nothing of the focus, the first press after a while may be what gave it.
        """
        now, before = self.clock(), self._handled
        if not self._tells_focus and (before is None or now - before >= _AWAY):
            self._note("that click may have brought the window forward; click again")
        self._handled = now

    def beat(self) -> None:
        """The console runs; called once in the time to wait."""
        self._look_back()
        self._beaten = self.clock()

    def late(self, seconds: float) -> None:
        """Something that was typed or clicked had to wait so long until it was heard."""
        if 0 < self.seconds / 2 < seconds:
            self.held_up()

    def obstacle(self) -> str:
        """Why an answer would not count now, or "" if it would."""
        self._look_back()
        now = self.clock()
        held = {reason: at for reason, at in self._events.items() if now - at < self.seconds}
        return max(held, key=lambda reason: held[reason]) if held else ""

    def remaining(self) -> float:
        """Seconds until the last obstacle is gone."""
        last = max(self._events.values(), default=0.0)
        return max(0.0, self.seconds - (self.clock() - last)) if self._events else 0.0

    def _look_back(self) -> None:
        """Notices that a beat is missing: stopped, asleep, or kept from running. Shorter, one still looks on."""
        if self._beaten is not None:
            now = self.clock()
            if 0 < 2 * self.seconds < now - self._beaten:
                self.held_up()
            self._beaten = now

    def _note(self, reason: str) -> None:
        self._events[reason] = self.clock()
        self.changes += 1

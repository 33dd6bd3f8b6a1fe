"""Whether somebody is at this surface, and which request they read.

A gate alerts somebody else if nobody is here, and waits longer while a request is being read. So both are claimed only
if there are signs of a person:

- Somebody is here for five minutes after a key, a click or a turn of the wheel, and for two minutes if the terminal
  says that another window is in front: then they may still see this one beside it. Nobody is here while it is locked.
- A request is being read if it is on screen in the window in front, and something was pressed since it appeared, or
  just before. A request that appears by itself in front of an empty chair is not being read.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from aileron_tui.surface.arming import elapsed

HERE_SECONDS: Final = 300.0
HERE_BEHIND_SECONDS: Final = 120.0
READING_SECONDS: Final = 120.0
_JUST_BEFORE: Final = 5.0


class PresenceReport(NamedTuple):
    """What a gate is told: whether somebody is here, and the key of the request they read, "" if none."""

    awake: bool = True
    reading: str = ""


class OperatorPresence:
    """The signs of a person at this surface. Starting it is one."""

    def __init__(self, clock: Callable[[], float] = elapsed) -> None:
        self._clock = clock
        self._last_input = clock()
        self._in_front = True
        self._shown = ""
        self._shown_since = 0.0

    def input_received(self) -> None:
        """Something was pressed or clicked."""
        self._last_input = self._clock()

    def window_focused(self) -> None:
        """The terminal says that its window is in front now."""
        self._in_front = True
        self._last_input = self._clock()

    def window_blurred(self) -> None:
        """The terminal says that another window is in front now."""
        self._in_front = False

    def shown(self, key: str) -> None:
        """This request is on screen now, or none."""
        if key != self._shown:
            self._shown, self._shown_since = key, self._clock()

    def report(self, *, locked: bool) -> PresenceReport:
        """What is known now."""
        idle = self._clock() - self._last_input
        awake = not locked and idle < self._here_seconds
        seen = self._last_input >= self._shown_since - _JUST_BEFORE and idle < READING_SECONDS
        return PresenceReport(awake, self._shown if awake and seen and self._in_front else "")

    def seconds_until_change(self) -> float | None:
        """When to ask again if nothing is pressed until then; None if nothing will change."""
        idle = self._clock() - self._last_input
        ends = (READING_SECONDS, self._here_seconds)
        return min((end - idle for end in ends if end > idle), default=None)

    @property
    def _here_seconds(self) -> float:
        return HERE_SECONDS if self._in_front else HERE_BEHIND_SECONDS

"""When an answer key counts. A prompt that has just appeared is answered by whatever was being typed, so it waits.

An answer is taken only if the prompt has been on screen for a moment, nothing else was typed in that moment, the
window did not just get the focus, and nothing was pasted. Keys that come too early are dropped, never queued.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic


@dataclass(slots=True)
class Arming:
    """Keeps the times of what may disarm an answer."""

    seconds: float = 0.7
    clock: Callable[[], float] = monotonic
    _shown: tuple[str, str] = ("", "")
    _events: dict[str, float] = field(default_factory=dict)

    def shown(self, request: str, digest: str) -> None:
        """This prompt is on screen now; anything else than before starts the wait anew."""
        if (request, digest) != self._shown:
            self._shown = (request, digest)
            self._events["just shown"] = self.clock()

    def on_screen(self, request: str, digest: str) -> bool:
        """Whether this is the prompt that is on screen."""
        return (request, digest) == self._shown

    def uncovered(self) -> None:
        """Something that lay over the prompt is gone, so it can be seen again."""
        self._events["just shown"] = self.clock()

    def typed(self) -> None:
        """A key that is not an answer, or an answer that came too early."""
        self._events["you were typing"] = self.clock()

    def focused(self) -> None:
        """The window got the focus."""
        self._events["the window just got the focus"] = self.clock()

    def pasted(self) -> None:
        """Text was pasted."""
        self._events["text was pasted"] = self.clock()

    def obstacle(self) -> str:
        """Why an answer would not count now, or "" if it would."""
        now = self.clock()
        held = {reason: at for reason, at in self._events.items() if now - at < self.seconds}
        return max(held, key=lambda reason: held[reason]) if held else ""

    def remaining(self) -> float:
        """Seconds until the last obstacle is gone."""
        last = max(self._events.values(), default=0.0)
        return max(0.0, self.seconds - (self.clock() - last)) if self._events else 0.0

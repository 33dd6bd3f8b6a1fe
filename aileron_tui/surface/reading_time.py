"""How long each prompt was on screen, and whether that is too short to have read its text."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from aileron_tui.core.request import Request
from aileron_tui.surface.arming import elapsed

if TYPE_CHECKING:
    from aileron_tui.core.prompt import Prompt

MUCH_TEXT: Final = 300
"""Up to this many characters are taken in at a glance."""

_REMEMBERED: Final = 500
_Version = tuple[str, str, str]


class HastyReading(NamedTuple):
    """An approval of a long prompt after a short look at it."""

    characters: int
    seconds: float

    @property
    def words(self) -> str:
        """What the operator is told."""
        return f"You read {self.characters:,} characters in {max(1, round(self.seconds))} s."


def foreign_characters(prompt: "Prompt") -> int:
    """How many characters the prompt has that the agent sent or the preview fetched."""
    rows = (*prompt.inputs, *(prompt.preview.rows if prompt.preview else ()))
    return sum(len(row.value) for row in rows)


class ReadingTime:
    """Adds up how long each prompt was the one on screen. A prompt that changes starts at zero.

    `fastest` is how many characters a second a person can read, 0 if nobody is to be asked about that.
    """

    def __init__(self, fastest: float, clock: Callable[[], float] = elapsed) -> None:
        self._fastest = fastest
        self._clock = clock
        self._shown: tuple[_Version, float] | None = None
        self._before: dict[_Version, float] = {}

    def shown(self, request: Request | None) -> None:
        """This request is on screen from now on, or none."""
        version = _version(request) if request else None
        if self._shown is not None and self._shown[0] == version:
            return
        if self._shown is not None:
            self._stop(*self._shown)
        self._shown = (version, self._clock()) if version else None

    def _stop(self, version: _Version, since: float) -> None:
        self._before[version] = self._before.pop(version, 0.0) + self._clock() - since
        if len(self._before) > _REMEMBERED:
            del self._before[next(iter(self._before))]

    def seconds(self, request: Request) -> float:
        """How long exactly this prompt has been on screen."""
        version = _version(request)
        now = self._clock() - self._shown[1] if self._shown and self._shown[0] == version else 0.0
        return self._before.get(version, 0.0) + now

    def hasty(self, request: Request) -> HastyReading | None:
        """How fast this prompt was read if that is faster than a person can read; None if it is not."""
        characters, seconds = foreign_characters(request.prompt), self.seconds(request)
        if not self._fastest or characters <= MUCH_TEXT or characters <= seconds * self._fastest:
            return None
        return HastyReading(characters, seconds)


def _version(request: Request) -> _Version:
    return request.key, request.digest, request.edited_from.digest if request.edited_from else ""

"""What a daemon tells of the actions and sessions that requests name, kept for a while.

An agent may have made a name up, so asking is bounded: neither a flood of names nor a daemon that is slow to tell may
hold up what waits. What is not asked for is shown by its name alone.
"""

from collections.abc import Callable
from time import monotonic
from typing import Final

from aileron_tui.core.jsontext import Json, JsonObject

_LIFE: Final = 30.0
_PATIENCE: Final = 1.0
_MOST_KEPT: Final = 1000
_MOST_AT_ONCE: Final = 200

Ask = Callable[[str], JsonObject | None]


class LabelCache:
    """The labels of one kind. `ask` is the daemon's word on a name, None if it has none."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._kept: dict[str, tuple[float, JsonObject | None]] = {}
        self._left = _MOST_AT_ONCE
        self._mute_until = 0.0

    def renew(self) -> None:
        """A new list begins, for which names may be asked for again."""
        self._left = _MOST_AT_ONCE

    def of(self, name: Json) -> JsonObject | None:
        """What the daemon tells of a name; after a while it is asked anew."""
        if not isinstance(name, str) or not name:
            return None
        began = monotonic()
        until, label = self._kept.get(name, (0.0, None))
        if until > began:
            return label
        if self._mute_until > began or self._left <= 0:
            return None
        self._left -= 1
        label = self._ask(name)
        ended = monotonic()
        if ended - began > _PATIENCE:
            self._mute_until = ended + _LIFE
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[name] = (ended + _LIFE, label)
        return label

"""Caches what a daemon says about the actions and sessions that requests name.

An agent may make up names, so lookups are limited: neither many names nor a slow daemon may delay the requests. Actions
and sessions that are not looked up are shown by name only.
"""

from collections.abc import Callable
from time import monotonic
from typing import Final

from aileron_tui.core.jsontext import Json, JsonObject

_LIFETIME: Final = 30.0
_SLOW: Final = 1.0
_MOST_KEPT: Final = 1000
_MOST_LOOKUPS: Final = 200

LookUp = Callable[[str], JsonObject | None]


class LabelCache:
    """The labels of actions, or those of sessions. `look_up` asks the daemon about a name."""

    def __init__(self, look_up: LookUp) -> None:
        self._look_up = look_up
        self._kept: dict[str, tuple[float, JsonObject | None]] = {}
        self._lookups_left = _MOST_LOOKUPS
        self._paused_until = 0.0

    def allow_lookups(self) -> None:
        """Resets the limit on lookups, for the next list of requests."""
        self._lookups_left = _MOST_LOOKUPS

    def of(self, name: Json) -> JsonObject | None:
        """What the daemon says about a name, or None; looked up again after a while."""
        if not isinstance(name, str) or not name:
            return None
        began = monotonic()
        until, label = self._kept.get(name, (0.0, None))
        if until > began:
            return label
        if self._paused_until > began or self._lookups_left <= 0:
            return None
        self._lookups_left -= 1
        label = self._look_up(name)
        ended = monotonic()
        if ended - began > _SLOW:
            self._paused_until = ended + _LIFETIME
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[name] = (ended + _LIFETIME, label)
        return label

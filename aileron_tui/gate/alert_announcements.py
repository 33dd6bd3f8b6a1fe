"""Tells watching surfaces whom the gate alerts. During a flood, one event stands for many requests."""

import asyncio
from collections.abc import Callable
from typing import Final

from aileron_tui.core.alert_routing import AlertStep
from aileron_tui.core.jsontext import JsonObject

PAUSE_SECONDS: Final = 0.2
"""The least time between two announcements, in which alerts are collected."""


class AlertAnnouncements:
    """Publishes `alert` events: at once if there was none for a moment, otherwise together with others."""

    def __init__(self, publish: Callable[[str, JsonObject], None]) -> None:
        self._publish = publish
        self._collected: dict[tuple[str, str], dict[str, None]] = {}
        self._next_at = 0.0

    def add(self, id_: str, step: AlertStep) -> None:
        """Announces the alert to a request, now or soon."""
        loop = asyncio.get_running_loop()
        is_scheduled = bool(self._collected)
        self._collected.setdefault((step.to, step.reason), {})[id_] = None
        if is_scheduled:
            return
        if (wait := self._next_at - loop.time()) > 0:
            loop.call_later(wait, self._announce)
        else:
            self._announce()

    def settled(self, id_: str) -> None:
        """Leaves out a request that does not wait any more."""
        for ids in self._collected.values():
            ids.pop(id_, None)

    def _announce(self) -> None:
        collected, self._collected = self._collected, {}
        self._next_at = asyncio.get_running_loop().time() + PAUSE_SECONDS
        for (surface, reason), ids in collected.items():
            if ids:
                first = next(iter(ids))
                self._publish("alert", {"id": first, "surface": surface, "reason": reason, "more": len(ids) - 1})

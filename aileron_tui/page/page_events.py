"""The events of a gate as a tab gets them: only ids, states and names; the tab then asks for what it shows."""

import json
from typing import Final

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.gate.event_feed import FeedEvent
from aileron_tui.gate.large_values import work_on
from aileron_tui.gate.replies import compact_json

ENDED: Final = b"event: ended\ndata: {}\n\n"
"""The last event of a stream: the session or the gate has ended."""

_NAMES: Final = {
    "snapshot": "waiting",
    "pending": "waiting",
    "updated": "request",
    "resolved": "resolved",
    "reading": "reading",
    "alert": "alert",
    "health": "waiting",
}
_PASSED_ON: Final = ("id", "state", "digest", "approved", "surface", "by", "readers")
_MAX_CONVERTED: Final = 256


class PageEvents:
    """Converts events. Each is converted once, however many tabs there are."""

    def __init__(self) -> None:
        self._converted: dict[int, FeedEvent | None] = {}

    async def convert(self, events: list[FeedEvent]) -> list[FeedEvent]:
        """Returns what a tab gets of these events."""
        seen = [await self._seen(event) for event in events]
        return [event for event in seen if event is not None]

    async def _seen(self, event: FeedEvent) -> FeedEvent | None:
        if (name := _NAMES.get(event.name)) is None:
            return None
        if event.name in ("snapshot", "health"):  # the tab loads the list
            return FeedEvent(event.id, name, b"{}")
        if event.id in self._converted:
            return self._converted[event.id]
        fields = await work_on(len(event.encoded), lambda: _fields(json.loads(event.encoded)))
        seen = self._converted[event.id] = FeedEvent(event.id, name, compact_json(fields))
        if len(self._converted) > _MAX_CONVERTED:
            del self._converted[next(iter(self._converted))]
        return seen


def _fields(data: Json) -> JsonObject:
    found = data if isinstance(data, dict) else {}
    return {name: found[name] for name in _PASSED_ON if name in found}

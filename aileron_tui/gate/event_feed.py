"""What approvers watch: every change as an event with a number, so that a watcher who lost one can go on from it."""

import asyncio
import json
from collections import deque
from collections.abc import Callable
from functools import cached_property
from typing import Final, Self

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.values import dataclass

_KEPT: Final = 4096
_KEPT_BYTES: Final = 32 * 1024 * 1024
_BEHIND: Final = 4096
_BEHIND_BYTES: Final = 64 * 1024 * 1024
_BATCH: Final = 64


@dataclass(frozen=True)
class FeedEvent:
    """One change. Its JSON is written once, however many watch."""

    id: int
    name: str
    data: JsonObject

    @cached_property
    def encoded(self) -> bytes:
        """The data as one line of JSON."""
        return json.dumps(self.data, ensure_ascii=False, separators=(",", ":")).encode()


class Subscription:
    """The events of one watcher, in order. Iteration ends when the feed closes or the watcher falls far behind."""

    def __init__(self, feed: "EventFeed", first: list[FeedEvent]) -> None:
        self._feed = feed
        self._events: deque[FeedEvent] = deque(first)
        self._behind = 0
        self._news = asyncio.Event()
        self._closed = False
        if first:
            self._news.set()

    def offer(self, event: FeedEvent) -> None:
        """Takes an event in, or gives up on a watcher that does not read."""
        self._behind += len(event.encoded)
        if len(self._events) >= _BEHIND + 1 or (self._events and self._behind > _BEHIND_BYTES):
            self.close()
            return
        self._events.append(event)
        self._news.set()

    def close(self) -> None:
        """Ends the subscription."""
        self._closed = True
        self._feed.leave(self)
        self._news.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> FeedEvent:
        if not await self._some():
            raise StopAsyncIteration
        return self._next()

    async def batch(self) -> list[FeedEvent]:
        """What has happened since, as soon as something has; nothing at the end."""
        await self._some()
        return [self._next() for _ in range(min(_BATCH, len(self._events)))]

    async def _some(self) -> bool:
        while not self._events and not self._closed:
            self._news.clear()
            await self._news.wait()
        return bool(self._events)

    def _next(self) -> FeedEvent:
        event = self._events.popleft()
        self._behind = max(0, self._behind - len(event.encoded))  # what it began with was never counted
        return event


class EventFeed:
    """Publishes events to whoever watches and remembers the last few thousand."""

    def __init__(self, waiting: Callable[[], list[JsonObject]]) -> None:
        self._waiting = waiting
        self._past: deque[FeedEvent] = deque()
        self._past_bytes = 0
        self._watchers: set[Subscription] = set()
        self._last = 0

    @property
    def watched(self) -> bool:
        """Whether anybody watches."""
        return bool(self._watchers)

    def publish(self, name: str, data: JsonObject) -> None:
        """Tells every watcher."""
        self._last += 1
        event = FeedEvent(self._last, name, data)
        self._past.append(event)
        self._past_bytes += len(event.encoded)
        while len(self._past) > _KEPT or self._past_bytes > _KEPT_BYTES:
            self._past_bytes -= len(self._past.popleft().encoded)
        for watcher in tuple(self._watchers):
            watcher.offer(event)

    def subscribe(self, after: int | None = None) -> Subscription:
        """A new watcher: gets what came after the event it names if that is still known, else a snapshot first."""
        oldest = self._past[0].id if self._past else self._last + 1
        if after is not None and oldest - 1 <= after <= self._last:
            first = [event for event in self._past if event.id > after]
        else:
            items: list[Json] = list(self._waiting())
            first = [FeedEvent(self._last, "snapshot", {"items": items})]
        watcher = Subscription(self, first)
        self._watchers.add(watcher)
        return watcher

    def leave(self, watcher: Subscription) -> None:
        """Forgets a watcher."""
        self._watchers.discard(watcher)

    def close(self) -> None:
        """Ends every subscription."""
        for watcher in tuple(self._watchers):
            watcher.close()

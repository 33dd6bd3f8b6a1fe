"""The feed of changes for approvers. Events are numbered, so that a watcher can resume after a lost connection."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Final, Self

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.values import dataclass
from aileron_tui.gate.replies import compact_json

_MAX_HISTORY: Final = 4096
_MAX_HISTORY_BYTES: Final = 2 * 1024 * 1024
_MAX_QUEUED: Final = 4096
_MAX_QUEUED_BYTES: Final = 64 * 1024 * 1024
_BATCH_SIZE: Final = 64
_MAX_PROBLEM: Final = 1000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """One change, with its data as one line of JSON."""

    id: int
    name: str
    encoded: bytes


class Subscription:
    """The events for one watcher, in order. Iteration ends when the feed closes or the watcher falls too far behind."""

    def __init__(self, feed: "EventFeed", initial: list[FeedEvent], *, only_views: bool = False) -> None:
        self.only_views = only_views
        self._feed = feed
        self._events: deque[FeedEvent] = deque(initial)
        self._queued_bytes = 0
        self._changed = asyncio.Event()
        self._closed = False
        if initial:
            self._changed.set()

    def push(self, event: FeedEvent) -> None:
        """Queues an event, or closes the subscription if its watcher has fallen too far behind."""
        self._queued_bytes += len(event.encoded)
        if len(self._events) >= _MAX_QUEUED + 1 or (self._events and self._queued_bytes > _MAX_QUEUED_BYTES):
            self.close()
            return
        self._events.append(event)
        self._changed.set()

    def close(self) -> None:
        """Ends the subscription."""
        self._closed = True
        self._feed.unsubscribe(self)
        self._changed.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> FeedEvent:
        if not await self._wait():
            raise StopAsyncIteration
        return self._pop()

    async def batch(self) -> list[FeedEvent]:
        """Waits for events and returns a batch of them; an empty list means that the subscription has ended."""
        await self._wait()
        return [self._pop() for _ in range(min(_BATCH_SIZE, len(self._events)))]

    async def _wait(self) -> bool:
        while not self._events and not self._closed:
            self._changed.clear()
            await self._changed.wait()
        return bool(self._events)

    def _pop(self) -> FeedEvent:
        event = self._events.popleft()
        self._queued_bytes = max(0, self._queued_bytes - len(event.encoded))  # the initial events were not counted
        return event


class EventFeed:
    """Publishes events to all watchers and remembers the last few thousand."""

    def __init__(self, waiting: Callable[[], bytes], readers: Callable[[], JsonObject] = dict) -> None:
        self._waiting = waiting
        self._readers = readers
        self._history: deque[FeedEvent] = deque()
        self._history_bytes = 0
        self._subscriptions: set[Subscription] = set()
        self._last_id = 0
        self._problem = ""

    @property
    def watched(self) -> bool:
        """Whether there are any watchers that could answer."""
        return any(not subscription.only_views for subscription in self._subscriptions)

    def publish(self, name: str, data: JsonObject | bytes) -> None:
        """Sends an event to every watcher. Never fails: what is announced has happened already."""
        try:
            encoded = data if isinstance(data, bytes) else compact_json(data)
        except Exception as error:  # noqa: BLE001  # whatever it is, the event has happened
            _log.error("an event cannot be sent", exc_info=error)
            return
        self._last_id += 1
        event = FeedEvent(self._last_id, name, encoded)
        self._history.append(event)
        self._history_bytes += len(encoded)
        while len(self._history) > _MAX_HISTORY or self._history_bytes > _MAX_HISTORY_BYTES:
            self._history_bytes -= len(self._history.popleft().encoded)
        for subscription in tuple(self._subscriptions):
            subscription.push(event)

    def publish_health(self, problem: str) -> None:
        """Tells the watchers, also later ones, why the gate cannot do its work, or with "" that it can."""
        if (problem := problem[:_MAX_PROBLEM]) != self._problem:
            self._problem = problem
            self.publish("health", {"problem": problem})

    def subscribe(self, after: int | None = None, *, only_views: bool = False) -> Subscription:
        """Adds a watcher. It first gets the events after `after` if the feed still has them, otherwise a snapshot."""
        oldest = self._history[0].id if self._history else self._last_id + 1
        if after is not None and oldest - 1 <= after <= self._last_id:
            initial = [event for event in self._history if event.id > after]
        else:
            more: JsonObject = {"readers": self._readers()}
            if self._problem:
                more["problem"] = self._problem
            snapshot = b"%b,%b" % (self._waiting().removesuffix(b"}"), compact_json(more)[1:])
            initial = [FeedEvent(self._last_id, "snapshot", snapshot)]
        subscription = Subscription(self, initial, only_views=only_views)
        self._subscriptions.add(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Removes a subscription."""
        self._subscriptions.discard(subscription)

    def close(self) -> None:
        """Ends every subscription."""
        for subscription in tuple(self._subscriptions):
            subscription.close()

"""Watching over SSE: numbered events, a heartbeat, and an end for those who do not read or may no longer look."""

import asyncio
from contextlib import suppress
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from aileron_tui.gate.approver_sessions import Sessions
from aileron_tui.gate.event_feed import EventFeed, FeedEvent, Subscription
from aileron_tui.gate.http_request import HttpRequest

ABORT: Final = "aileron.abort"
"""Where the server leaves a function in the scope that cuts the connection without waiting for the reader."""

_HEADERS: Final = {
    "Cache-Control": "no-cache, no-store",
    "X-Accel-Buffering": "no",
    "X-Content-Type-Options": "nosniff",
}
_HEARTBEAT: Final = b": heartbeat\n\n"


class Watchers:
    """Everyone who watches now, so that they can be counted and sent away."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._subscriptions: set[Subscription] = set()
        self._closed = False

    @property
    def full(self) -> bool:
        """Whether one more would be too many."""
        return self._closed or len(self._subscriptions) >= self._most

    def add(self, subscription: Subscription) -> None:
        """Counts one in."""
        self._subscriptions.add(subscription)
        if self._closed:
            subscription.close()

    def remove(self, subscription: Subscription) -> None:
        """Counts one out and ends its subscription."""
        subscription.close()
        self._subscriptions.discard(subscription)

    def close(self) -> None:
        """Sends everyone away; each stream ends after what it has to tell."""
        self._closed = True
        for subscription in tuple(self._subscriptions):
            subscription.close()


class EventStream(Response):
    """A response that goes on until the client leaves, stops reading, or its session ends."""

    media_type = "text/event-stream"

    def __init__(self, visit: HttpRequest, feed: EventFeed, watchers: Watchers, sessions: Sessions) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._visit = visit
        self._feed = feed
        self._watchers = watchers
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends what happens, as it happens."""
        del receive
        after = _number(self._visit.request.headers.get("last-event-id", ""))
        subscription = self._feed.subscribe(after)
        self._watchers.add(subscription)
        left = asyncio.create_task(self._visit.left(), name="connection")
        left.add_done_callback(lambda _: subscription.close())
        try:
            async with asyncio.timeout(None) as patience:
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                await self._stream(subscription, left, send, patience)
        except TimeoutError:
            if abort := scope.get(ABORT):
                abort()
        finally:
            self._watchers.remove(subscription)
            left.cancel()
            with suppress(asyncio.CancelledError):
                await left

    async def _stream(
        self, subscription: Subscription, left: "asyncio.Task[None]", send: Send, patience: asyncio.Timeout
    ) -> None:
        limits = self._visit.limits
        loop = asyncio.get_running_loop()
        while True:
            try:
                async with asyncio.timeout(limits.heartbeat_seconds):
                    events = await subscription.batch()
                chunk = b"".join(map(frame, events))
            except TimeoutError:
                chunk = _HEARTBEAT
            if not chunk or left.done() or not self._sessions.renew(self._visit.session):
                break
            patience.reschedule(loop.time() + limits.send_seconds)
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            patience.reschedule(None)
        patience.reschedule(loop.time() + limits.send_seconds)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def frame(event: FeedEvent) -> bytes:
    """An event as SSE writes it. Its JSON is one line."""
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (event.id, event.name.encode(), event.encoded)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None

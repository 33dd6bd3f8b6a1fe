"""The event stream for watchers (SSE). Disconnects clients that stop reading or whose session has ended."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from aileron_tui.gate.event_feed import EventFeed, FeedEvent, Subscription
from aileron_tui.gate.http_request import HttpRequest

ABORT: Final = "aileron.abort"
"""The key in the ASGI scope for a function that aborts the connection without waiting for the client."""

_HEADERS: Final = {
    "Cache-Control": "no-cache, no-store",
    "X-Accel-Buffering": "no",
    "X-Content-Type-Options": "nosniff",
}
_HEARTBEAT: Final = b": heartbeat\n\n"


class Watchers:
    """All current watchers, to limit their number and to disconnect them."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._subscriptions: set[Subscription] = set()
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether all were disconnected, because the gate stops."""
        return self._closed

    @property
    def full(self) -> bool:
        """Whether the limit is reached."""
        return self._closed or len(self._subscriptions) >= self._limit

    def add(self, subscription: Subscription) -> None:
        """Adds a watcher."""
        self._subscriptions.add(subscription)
        if self._closed:
            subscription.close()

    def remove(self, subscription: Subscription) -> None:
        """Removes a watcher and ends its subscription."""
        subscription.close()
        self._subscriptions.discard(subscription)

    def close(self) -> None:
        """Disconnects all watchers; each stream sends its queued events first."""
        self._closed = True
        for subscription in tuple(self._subscriptions):
            subscription.close()


class EventStream(Response):
    """A response that lasts until the client disconnects, stops reading, or its session ends.

    `renew` returns whether the session is still valid. `convert` returns the events to send instead, and `only_views`
    says that the watcher cannot answer. `watching` lasts as long as the stream. `farewell` returns what is sent last.
    """

    media_type = "text/event-stream"

    def __init__(  # noqa: PLR0913  # the last four are optional
        self,
        http_request: HttpRequest,
        feed: EventFeed,
        watchers: Watchers,
        renew: Callable[[], bool],
        convert: "Callable[[list[FeedEvent]], Awaitable[list[FeedEvent]]] | None" = None,
        *,
        watching: AbstractContextManager[None] | None = None,
        only_views: bool = False,
        farewell: Callable[[], bytes] = bytes,
    ) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._http_request = http_request
        self._feed = feed
        self._watchers = watchers
        self._renew = renew
        self._convert = convert
        self._watching = watching or nullcontext()
        self._only_views = only_views
        self._farewell = farewell

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends events as they happen."""
        del receive
        with self._watching:
            await self._send_all(scope, send)

    async def _send_all(self, scope: Scope, send: Send) -> None:
        after = _event_id(self._http_request.raw.headers.get("last-event-id", ""))
        subscription = self._feed.subscribe(after, only_views=self._only_views)
        self._watchers.add(subscription)
        disconnect_task = asyncio.create_task(self._http_request.wait_for_disconnect(), name="connection")
        disconnect_task.add_done_callback(lambda _: subscription.close())
        try:
            async with asyncio.timeout(None) as send_timeout:
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                await self._stream(subscription, disconnect_task, send, send_timeout)
        except TimeoutError:
            if abort := scope.get(ABORT):
                abort()
        finally:
            self._watchers.remove(subscription)
            disconnect_task.cancel()
            with suppress(asyncio.CancelledError):
                await disconnect_task

    async def _stream(
        self,
        subscription: Subscription,
        disconnect_task: "asyncio.Task[None]",
        send: Send,
        send_timeout: asyncio.Timeout,
    ) -> None:
        limits = self._http_request.limits
        loop = asyncio.get_running_loop()
        while True:
            try:
                async with asyncio.timeout(limits.heartbeat_seconds):
                    events = await subscription.batch()
            except TimeoutError:
                chunk = _HEARTBEAT
            else:
                if not events:
                    break
                converted = await self._convert(events) if self._convert else events
                chunk = b"".join(map(sse_frame, converted)) or _HEARTBEAT
            if disconnect_task.done() or not self._renew():
                break
            send_timeout.reschedule(loop.time() + limits.send_seconds)
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            send_timeout.reschedule(None)
        send_timeout.reschedule(loop.time() + limits.send_seconds)
        await send({"type": "http.response.body", "body": self._farewell(), "more_body": False})


def sse_frame(event: FeedEvent) -> bytes:
    """Formats an event for SSE; its JSON is a single line."""
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (event.id, event.name.encode(), event.encoded)


def _event_id(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None

"""The HTTP routes for viewers, which only the Unix socket has: open a session, list and watch requests."""

from typing import TYPE_CHECKING, Final

from starlette.responses import Response

from aileron_tui.gate import approver_docs as docs
from aileron_tui.gate.event_feed import FeedEvent
from aileron_tui.gate.event_stream import EventStream, Watchers
from aileron_tui.gate.http_request import HttpRequest, Refusal, json_response, rate_limited
from aileron_tui.gate.large_values import work_on
from aileron_tui.gate.route_table import Route, RouteAccess
from aileron_tui.gate.viewer_requests import viewer_event, viewer_list
from aileron_tui.gate.viewer_sessions import ViewerSessions

if TYPE_CHECKING:
    from aileron_tui.gate.gate import Gate

_MAX_CONVERTED: Final = 256


class ViewerRoutes:
    """The routes of the viewer's scope. None of them shows a preview or a result, or changes anything."""

    def __init__(self, gate: "Gate", sessions: ViewerSessions, watchers: Watchers) -> None:
        self._gate = gate
        self._sessions = sessions
        self._watchers = watchers
        self._events = _ViewerEvents()
        self.routes = (
            Route("POST", "/v1/viewer/session", RouteAccess.VIEWER_HANDSHAKE, self.open_session, docs.VIEWER_SESSION),
            Route("DELETE", "/v1/viewer/session", RouteAccess.VIEWER, self.close_session, docs.VIEWER_CLOSE),
            Route("GET", "/v1/viewer/requests", RouteAccess.VIEWER, self.list, docs.VIEWER_LIST),
            Route("GET", "/v1/viewer/watch", RouteAccess.VIEWER, self.watch, docs.VIEWER_WATCH),
        )

    async def open_session(self, http_request: HttpRequest) -> Response:
        """Opens a session."""
        http_request.query()
        await http_request.body(http_request.limits.session_bytes, (), optional=True)
        if seconds := self._sessions.opening_limit.take():
            raise rate_limited("viewers", seconds)
        token, session = self._sessions.open()
        about = {"instance": self._gate.instance, "accounts": self._gate.accounts_state}
        return json_response({"token": token, "expires_at": session.expires_at, **about})

    async def close_session(self, http_request: HttpRequest) -> Response:
        """Closes the session of the caller."""
        http_request.query()
        self._sessions.close(http_request.viewer)
        return Response(status_code=204)

    async def list(self, http_request: HttpRequest) -> Response:
        """Lists the waiting requests without previews, oldest first."""
        http_request.query()
        encoded = self._gate.encoded_list()
        return json_response(await work_on(len(encoded), lambda: viewer_list(encoded)))

    async def watch(self, http_request: HttpRequest) -> Response:
        """Streams every change as it happens, without previews."""
        http_request.query()
        if self._watchers.full:
            raise Refusal(429, "too_many_watchers", "too many viewers; close one and try again", {"Retry-After": "15"})
        session = http_request.viewer
        return EventStream(
            http_request,
            self._gate.feed,
            self._watchers,
            lambda: self._sessions.renew(session),
            self._events.convert,
            only_views=True,
        )


class _ViewerEvents:
    """The events of the feed as viewers see them. Each is converted once, however many viewers there are."""

    def __init__(self) -> None:
        self._converted: dict[int, FeedEvent | None] = {}

    async def convert(self, events: list[FeedEvent]) -> list[FeedEvent]:
        """Returns what viewers see of these events."""
        seen = [await self._seen(event) for event in events]
        return [event for event in seen if event is not None]

    async def _seen(self, event: FeedEvent) -> FeedEvent | None:
        is_change = event.name != "snapshot"  # a snapshot has the id of the event before it
        if is_change and event.id in self._converted:
            return self._converted[event.id]
        seen = await work_on(len(event.encoded), lambda: viewer_event(event))
        if is_change:
            self._converted[event.id] = seen
            if len(self._converted) > _MAX_CONVERTED:
                del self._converted[next(iter(self._converted))]
        return seen

"""The routes of the HTTP API, and who may use them."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from enum import StrEnum

from starlette.responses import Response

from aileron_tui.core.values import dataclass
from aileron_tui.gate.http_request import HttpRequest
from aileron_tui.gate.route_docs import UNDOCUMENTED, RouteDocs

Handler = Callable[[HttpRequest], Awaitable[Response]]


class RouteAccess(StrEnum):
    """Who may use a route."""

    OPEN = "open"  # anyone who can reach the address
    HANDSHAKE = "handshake"  # anyone who wants to prove that they hold a key, but not agents
    AGENT = "agent"  # the agent token
    CATALOGUE = "catalogue"  # the agent token or a session
    APPROVER = "approver"  # a session
    METRICS = "metrics"  # the token for metrics or a session
    VIEWER_HANDSHAKE = "viewer handshake"  # any process of this user, through the Unix socket, without a token
    VIEWER = "viewer"  # a viewer's session, through the Unix socket


@dataclass(frozen=True, slots=True)
class Route:
    """A method and a path; `{name}` in the path matches one segment.

    `docs` is what the API document says about it. `refused` makes the response to an error, if callers of this route do
    not understand the usual one.
    """

    method: str
    path: str
    access: RouteAccess
    handler: Handler
    docs: RouteDocs = UNDOCUMENTED
    refused: Callable[[Exception], Response] | None = None


class RouteTable:
    """Routes in order; the first match counts, so fixed segments come before `{…}`."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.routes = tuple(routes)
        self._by_length: dict[int, list[tuple[Route, list[str]]]] = {}
        for route in self.routes:
            patterns = route.path.split("/")[1:]
            self._by_length.setdefault(len(patterns), []).append((route, patterns))

    def find(self, method: str, segments: list[str]) -> tuple[Route | None, Mapping[str, str], tuple[str, ...]]:
        """Returns the route and its path parameters; if only the method is wrong, the methods that are allowed."""
        other_methods: dict[str, None] = {}
        for route, patterns in self._by_length.get(len(segments), ()):
            params = _matched(patterns, segments)
            if params is None:
                continue
            if route.method == method:
                return route, params, ()
            other_methods[route.method] = None
        return None, {}, tuple(other_methods)


def _matched(patterns: list[str], segments: list[str]) -> Mapping[str, str] | None:
    """Returns the path parameters if the segments of a path match; both have the same length."""
    params: dict[str, str] = {}
    for pattern, segment in zip(patterns, segments, strict=True):
        if pattern.startswith("{"):
            params[pattern[1:-1]] = segment
        elif pattern != segment:
            return None
    return params

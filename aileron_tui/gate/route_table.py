"""The table of routes: what can be asked over HTTP, and through which door."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from enum import StrEnum

from starlette.responses import Response

from aileron_tui.core.values import dataclass
from aileron_tui.gate.http_request import HttpRequest

Handler = Callable[[HttpRequest], Awaitable[Response]]


class RouteAccess(StrEnum):
    """Who may use a route."""

    OPEN = "open"  # everybody who can reach the address
    HANDSHAKE = "handshake"  # whoever is about to prove that they hold a key; never an agent
    AGENT = "agent"  # the agent token
    CATALOGUE = "catalogue"  # the agent token or a session
    APPROVER = "approver"  # a session


@dataclass(frozen=True, slots=True)
class Route:
    """A method and a path; `{name}` in the path stands for one name."""

    method: str
    path: str
    door: RouteAccess
    handler: Handler

    def match(self, names: list[str]) -> Mapping[str, str] | None:
        """The names that stand for `{…}` if the path is this one."""
        wanted = self.path.split("/")[1:]
        if len(wanted) != len(names):
            return None
        found: dict[str, str] = {}
        for pattern, name in zip(wanted, names, strict=True):
            if pattern.startswith("{"):
                found[pattern[1:-1]] = name
            elif pattern != name:
                return None
        return found


class RouteTable:
    """Routes in order; the first that matches counts, so fixed names stand before `{…}`."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.routes = tuple(routes)

    def find(self, method: str, names: list[str]) -> tuple[Route | None, Mapping[str, str], tuple[str, ...]]:
        """The route, the names in its path, and the methods that would be possible if this one is not."""
        others: dict[str, None] = {}
        for route in self.routes:
            found = route.match(names)
            if found is None:
                continue
            if route.method == method:
                return route, found, ()
            others[route.method] = None
        return None, {}, tuple(others)

"""The gate over HTTP: checks the origin of each HTTP request, then the caller's access, then runs the route.

The caller is identified before the route is looked up, so an agent learns nothing about routes it may not use.
"""

import asyncio
import re
import secrets
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from aileron_tui import __version__
from aileron_tui.core.agent_change import token_hash
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.gate import agent_docs, approver_docs
from aileron_tui.gate.account_routes import AccountRoutes
from aileron_tui.gate.agent_routes import AgentRoutes
from aileron_tui.gate.agent_turns import AgentTurns
from aileron_tui.gate.approver_routes import ApproverRoutes
from aileron_tui.gate.approver_sessions import Session, Sessions
from aileron_tui.gate.connection_pools import APPROVER, NOBODY, VIEWERS
from aileron_tui.gate.event_stream import Watchers
from aileron_tui.gate.gate_log import GateLog
from aileron_tui.gate.held_calls import HeldCalls
from aileron_tui.gate.http_limits import AgentBuckets, HttpLimits
from aileron_tui.gate.http_request import (
    IDENTIFY,
    AgentCaller,
    BodyRates,
    Caller,
    ClientDisconnected,
    HttpRequest,
    MetricsReader,
    Refusal,
    json_response,
    not_found,
    reply_response,
    too_many,
    unauthorized,
)
from aileron_tui.gate.origin_check import OriginCheck, path_segments
from aileron_tui.gate.page_port import LOGGED_CALLER, LOGGED_PATH, PAGE, PageOffer, PagePort, PageSetup
from aileron_tui.gate.permission_routes import PermissionRoutes
from aileron_tui.gate.replies import compact_json
from aileron_tui.gate.resource_shortage import shortage
from aileron_tui.gate.route_table import Route, RouteAccess, RouteTable
from aileron_tui.gate.viewer_routes import ViewerRoutes
from aileron_tui.gate.viewer_sessions import ViewerSession, ViewerSessions
from aileron_tui.gate.worker_removal import is_worker_script, worker_removal

if TYPE_CHECKING:
    from aileron_tui.gate.gate import Gate

Doors = Callable[["Gate", HeldCalls], Iterable[Route]]
"""More routes for agents, which `cli` puts onto the server of a gate."""

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)
_CLIENT_CLOSED: Final = 499
_RETRY_SECONDS: Final = 5


class GateApp:
    """The ASGI application. `close` ends the responses that are held open."""

    def __init__(  # noqa: PLR0913  # the last five are optional
        self,
        gate: "Gate",
        origin_check: OriginCheck,
        *,
        limits: HttpLimits | None = None,
        gate_log: GateLog | None = None,
        clock: Callable[[], float] = time.time,
        doors: "Doors | None" = None,
        page: PageOffer | None = None,
    ) -> None:
        self._gate = gate
        self._origin_check = origin_check
        self.limits = limits or HttpLimits()
        self._gate_log = gate_log or GateLog()
        self._rates = AgentBuckets(self.limits.calls_per_second, self.limits.burst)
        self._turns = AgentTurns(self.limits.turns)
        self._body_rates = BodyRates(self.limits)
        self._closing = asyncio.Event()
        self._watchers = Watchers(self.limits.watchers)
        self.sessions = Sessions(gate.instance, gate.ledger_id, gate.approvers, clock, self.limits)
        self.viewers = ViewerSessions(clock)
        self._viewing = Watchers(self.limits.viewers)
        self._document = b""
        held = HeldCalls(gate, self._closing, self.limits)
        page_setup = PageSetup(origin_check.page_origin, self._watchers, self.limits, clock)
        self._page = PagePort(gate, page or PageOffer(), page_setup)
        self.table = RouteTable(
            (
                Route("GET", "/v1/health", RouteAccess.OPEN, self.health, agent_docs.HEALTH),
                Route("GET", "/v1/openapi.json", RouteAccess.OPEN, self.document, agent_docs.DOCUMENT),
                Route("GET", "/v1/metrics", RouteAccess.METRICS, self.metrics, approver_docs.METRICS),
                *AgentRoutes(gate, held).routes,
                *PermissionRoutes(gate, held).routes,
                *ApproverRoutes(gate, self.sessions, self._watchers).routes,
                *AccountRoutes(gate).routes,
                *ViewerRoutes(gate, self.viewers, self._viewing).routes,
                *self._page.routes,
                *(doors(gate, held) if doors else ()),
            )
        )

    def close(self) -> None:
        """Ends all event streams, and asks agents whose calls are held open to poll for the result."""
        self._closing.set()
        self._watchers.close()
        self._viewing.close()

    async def health(self, http_request: HttpRequest) -> Response:
        """Reports which gate this is, and with status 503 why it cannot do its work."""
        http_request.query()
        problem = self._gate.problem
        health: JsonObject = {
            "status": "failing" if problem else "ok",
            "service": "aileron",
            "version": __version__,
            "timestamp": timestamp(utc_now()),
            "instance": self._gate.instance,
        }
        if doing := self._gate.doing:
            health["doing"] = doing
        return json_response(health | {"reason": problem}, 503) if problem else json_response(health)

    async def metrics(self, http_request: HttpRequest) -> Response:
        """Returns what the gate has counted."""
        http_request.query()
        metrics = self._gate.metrics
        if metrics.why_none:
            raise Refusal(404, "not_found", metrics.why_none)
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def document(self, http_request: HttpRequest) -> Response:
        """Returns the API document, which is built when it is first asked for."""
        http_request.query()
        if not self._document:
            from aileron_tui.gate.openapi import document  # noqa: PLC0415  # few callers ask for it

            self._document = compact_json(document(self.table.routes))
        return json_response(self._document)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Responds to one HTTP request and logs it."""
        if scope["type"] != "http":
            return
        started_at = time.perf_counter()
        raw = Request(scope, receive)
        http_request = HttpRequest(raw, self.limits, body_rates=self._body_rates)
        given_id = raw.headers.get("x-request-id", "")
        request_id = given_id if _REQUEST_ID.fullmatch(given_id) else secrets.token_hex(8)
        status = _CLIENT_CLOSED
        try:
            response = await self._respond(http_request)
            response.headers["X-Request-ID"] = request_id
            status = response.status_code
            await response(scope, receive, send)
        except ClientDisconnected:
            # The client is gone, but the server needs a response to finish the exchange.
            await Response(status_code=_CLIENT_CLOSED, headers={"Connection": "close"})(scope, receive, send)
        finally:
            self._log_request(http_request, status, started_at, request_id)

    async def _respond(self, http_request: HttpRequest) -> Response:
        try:
            return await self._route(http_request)
        except Refusal as refusal:
            if http_request.refused:
                return http_request.refused(refusal)
            return reply_response(refusal.reply, refusal.headers)
        except AileronError as error:
            if http_request.refused:
                return http_request.refused(error)
            self._gate_log.note("failed", str(error))
            return reply_response(Refusal(503, "unavailable", error.title).reply)
        except (MemoryError, OSError, RuntimeError) as error:
            if not (why := shortage(error)):
                raise
            self._gate_log.note("failed", why)
            if http_request.refused:
                return http_request.refused(AileronError(why))
            return reply_response(Refusal(503, "unavailable", f"{why}; try again").reply)

    async def _route(self, http_request: HttpRequest) -> Response:
        scope = http_request.raw.scope
        segments = path_segments(scope["raw_path"])
        if is_worker_script(scope["headers"]) and not http_request.on_socket:
            return worker_removal(self._origin_check.page_origin, scope["headers"])
        if segments and segments[0] == PAGE and not http_request.on_socket:
            return await self._page.page.respond(http_request, segments)  # its own checks are stricter
        if not http_request.on_socket:  # no web page can connect to a Unix socket
            self._origin_check.check(scope["headers"])
        method = http_request.raw.method
        if method == "OPTIONS":
            raise Refusal(405, "method_not_allowed", "OPTIONS is not supported", {"Allow": "GET, POST, DELETE"})
        unreadable: AileronError | None = None
        try:
            http_request.caller = self._caller(http_request.raw)
        except AileronError as error:
            unreadable = error
        route, path_params, allowed_methods = self.table.find(method, segments or [])
        if unreadable and (route is None or route.access is not RouteAccess.OPEN):
            raise unreadable
        if route is not None and isinstance(http_request.caller, AgentCaller):
            http_request.refused = route.refused
        self._take_connection(http_request)
        if isinstance(http_request.caller, AgentCaller):
            self._check_rate(http_request, http_request.caller)
        if route is None:
            self._check_access(
                http_request,
                RouteAccess.CATALOGUE if isinstance(http_request.caller, Session) else RouteAccess.APPROVER,
            )
            if allowed_methods:
                allowed = {"Allow": ", ".join(allowed_methods)}
                raise Refusal(405, "method_not_allowed", "this route does not support this method", allowed)
            raise not_found("route")
        self._check_access(http_request, route.access)
        http_request.path_params = path_params
        if isinstance(http_request.caller, AgentCaller):
            await http_request.wait_for_rate()
            async with self._turns.turn(http_request.caller.name):
                return await route.handler(http_request)
        return await route.handler(http_request)

    def owner_of_token(self, token: str) -> str:
        """Returns whose connection one with this token is, without renewing a session."""
        if self.sessions.is_open(token) or self._page.is_open(token):
            return APPROVER
        if self.viewers.is_open(token):
            return VIEWERS
        try:
            caller = self._agent(token)
        except AileronError:  # the route says so in its reply
            return NOBODY
        return _owner(caller) if caller else NOBODY

    def _take_connection(self, http_request: HttpRequest) -> None:
        """Counts the connection as the caller's, which must not have too many."""
        identify = http_request.raw.scope.get(IDENTIFY)
        if http_request.caller is not None and identify and (refused := identify(_owner(http_request.caller))):
            raise Refusal(
                429, "too_many_connections", refused, {"Retry-After": str(_RETRY_SECONDS), "Connection": "close"}
            )

    def _caller(self, raw: Request) -> Caller | None:
        """Identifies the caller by its token; returns None if the token is missing or unknown."""
        headers = raw.headers.getlist("authorization")
        if len(headers) != 1:
            return None
        scheme, _, token = headers[0].partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            return None
        if agent := self._agent(token):
            return agent
        return self.sessions.find(token) or self.viewers.find(token) or self._metrics_reader(token)

    def _agent(self, token: str) -> AgentCaller | None:
        """Identifies an agent. Tokens are looked up by their hash, so the time it takes says nothing about them."""
        hashed = token_hash(token)
        name = self._gate.agents().with_hash(hashed)
        return AgentCaller(name, hashed) if name else None

    def _metrics_reader(self, token: str) -> MetricsReader | None:
        known = self._gate.metrics_token
        return MetricsReader() if known and token_hash(token) == known else None

    def _check_access(self, http_request: HttpRequest, access: RouteAccess) -> None:
        caller = http_request.caller
        if access is RouteAccess.OPEN:
            return
        if isinstance(caller, AgentCaller):
            self._check_agent(http_request, access)
        elif isinstance(caller, Session):
            if access is RouteAccess.AGENT:
                raise Refusal(403, "forbidden", "approvers cannot run actions or fetch results")
            if access in (RouteAccess.VIEWER_HANDSHAKE, RouteAccess.VIEWER):
                raise Refusal(403, "forbidden", "approvers see more at /v1/action-approvals")
        elif isinstance(caller, ViewerSession):
            _check_viewer(http_request, access)
        elif isinstance(caller, MetricsReader):
            if access is not RouteAccess.METRICS:
                raise Refusal(403, "forbidden", "this token may only read /v1/metrics")
        elif access is RouteAccess.VIEWER_HANDSHAKE:
            # The kernel has said that the caller is this user. A token, even an invalid one, is not a viewer's.
            if not http_request.on_socket or http_request.raw.headers.getlist("authorization"):
                raise unauthorized()
        elif access is not RouteAccess.HANDSHAKE:
            raise unauthorized()

    def _check_agent(self, http_request: HttpRequest, access: RouteAccess) -> None:
        if http_request.on_socket:
            raise Refusal(403, "forbidden", f"this socket is for approvers; agents use {self._origin_check.url}")
        if access not in (RouteAccess.AGENT, RouteAccess.CATALOGUE):
            raise Refusal(
                403, "forbidden", "agents may only list actions, call them, ask about tools and fetch results"
            )

    def _check_rate(self, http_request: HttpRequest, caller: AgentCaller) -> None:
        if seconds := self._rates.of(caller.name).take():
            refusal = too_many(f"this agent makes too many calls; try again in {seconds} s", seconds)
            raise http_request.refused_unread(refusal)

    def _log_request(self, http_request: HttpRequest, status: int, started_at: float, request_id: str) -> None:
        """Logs one line. The path is only logged if it is a known route; the query is never logged."""
        self._gate.metrics.responded(status)
        caller = http_request.caller
        scope = http_request.raw.scope
        caller_name = caller.name if caller else scope.get(LOGGED_CALLER, "")
        if isinstance(caller, AgentCaller):
            caller_name = f"agent {caller_name}"
        segments = path_segments(scope["raw_path"]) or []
        known = self.table.find(http_request.raw.method, segments)[0]
        path = "/" + "/".join(segments) if known else scope.get(LOGGED_PATH, "(no route)")
        milliseconds, method = round((time.perf_counter() - started_at) * 1000), http_request.raw.method[:16]
        text = f"{method} {path} {status} {milliseconds} ms {caller_name}"
        self._gate_log.note(
            "http", text, method=method, path=path, status=status, ms=milliseconds, by=caller_name, request=request_id
        )


def _check_viewer(http_request: HttpRequest, access: RouteAccess) -> None:
    if not http_request.on_socket:
        raise unauthorized()
    if access is not RouteAccess.VIEWER:
        raise Refusal(403, "forbidden", "viewers may only list and watch what agents sent; sign in with a key")


def _owner(caller: Caller) -> str:
    """Returns the owner of a caller's connection; an agent's name cannot be taken for another kind of owner."""
    if isinstance(caller, AgentCaller):
        return f"agent {caller.name}"
    if isinstance(caller, MetricsReader):
        return caller.name
    return VIEWERS if isinstance(caller, ViewerSession) else APPROVER

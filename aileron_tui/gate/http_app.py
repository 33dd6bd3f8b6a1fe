"""The gate over HTTP: every request passes the border, then the door it may use, then its route.

Who is asking is settled before what is asked for, so an agent learns nothing about routes that are not its own.
"""

import asyncio
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from aileron_tui import __version__
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.times import timestamp
from aileron_tui.gate.agent_routes import AgentRoutes
from aileron_tui.gate.approver_routes import ApproverRoutes
from aileron_tui.gate.approver_sessions import Session, Sessions
from aileron_tui.gate.event_stream import Watchers
from aileron_tui.gate.gate_log import GateLog
from aileron_tui.gate.http_limits import HttpLimits, TokenBucket
from aileron_tui.gate.http_request import (
    AgentCaller,
    ClientGone,
    HttpRequest,
    Refusal,
    answer,
    answered,
    no_such,
    too_many,
    unauthorised,
)
from aileron_tui.gate.origin_check import OriginCheck, segments
from aileron_tui.gate.route_table import Route, RouteAccess, RouteTable

if TYPE_CHECKING:
    from aileron_tui.gate.gate import Gate

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)
_CLOSED: Final = 499


class GateApp:
    """The ASGI application. `close` ends what would go on for ever."""

    def __init__(  # noqa: PLR0913  # each has a default that serves; tests and the server choose their own
        self,
        gate: "Gate",
        border: OriginCheck,
        agent_token: str,
        *,
        limits: HttpLimits | None = None,
        journal: GateLog | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._gate = gate
        self._border = border
        self._agent_digest = _digest(agent_token)
        self._limits = limits or HttpLimits()
        self._journal = journal or GateLog()
        self._bucket = TokenBucket(self._limits.calls_per_second, self._limits.burst)
        self._closing = asyncio.Event()
        self._watchers = Watchers(self._limits.watchers)
        self.sessions = Sessions(gate.instance, gate.ledger_id, gate.approvers, clock, self._limits)
        approver = ApproverRoutes(gate, self.sessions, self._watchers)
        self.table = RouteTable(
            (
                Route("GET", "/v1/health", RouteAccess.OPEN, self.health),
                *AgentRoutes(gate, self._closing).routes,
                *approver.routes,
            )
        )

    def close(self) -> None:
        """Ends every watch, and tells agents whose call is held to come back for the answer."""
        self._closing.set()
        self._watchers.close()

    async def health(self, visit: HttpRequest) -> Response:
        """That this is a gate, and which."""
        visit.query()
        health: JsonObject = {
            "status": "ok",
            "service": "aileron",
            "version": __version__,
            "timestamp": timestamp(datetime.now(UTC)),
            "instance": self._gate.instance,
        }
        return answer(health)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request and notes it in the journal."""
        if scope["type"] != "http":
            return
        began = time.perf_counter()
        request = Request(scope, receive)
        visit = HttpRequest(request, self._limits)
        asked = request.headers.get("x-request-id", "")
        number = asked if _REQUEST_ID.fullmatch(asked) else secrets.token_hex(8)
        status = _CLOSED
        try:
            response = await self._respond(visit)
            response.headers["X-Request-ID"] = number
            status = response.status_code
            await response(scope, receive, send)
        except ClientGone:
            # There is nobody to answer, but the server insists on an answer to close the books with.
            await Response(status_code=_CLOSED, headers={"Connection": "close"})(scope, receive, send)
        finally:
            self._note(visit, status, began, number)

    async def _respond(self, visit: HttpRequest) -> Response:
        try:
            return await self._route(visit)
        except Refusal as refusal:
            return answered(refusal.reply, refusal.headers)
        except AileronError as error:
            self._journal.note("failed", str(error))
            return answered(Refusal(503, "unavailable", error.title).reply)

    async def _route(self, visit: HttpRequest) -> Response:
        scope = visit.request.scope
        self._border.check(scope["headers"])
        method = visit.request.method
        if method == "OPTIONS":
            raise Refusal(405, "method_not_allowed", "there is nothing to negotiate", {"Allow": "GET, POST, DELETE"})
        names = segments(scope["raw_path"])
        visit.caller = self._caller(visit.request)
        route, found, others = self.table.find(method, names or [])
        if isinstance(visit.caller, AgentCaller):
            self._slow_down()
        if route is None:
            self._admit(visit, RouteAccess.CATALOGUE if isinstance(visit.caller, Session) else RouteAccess.APPROVER)
            if others:
                allowed = {"Allow": ", ".join(others)}
                raise Refusal(405, "method_not_allowed", "this method is not possible here", allowed)
            raise no_such("route")
        self._admit(visit, route.door)
        visit.names = found
        return await route.handler(visit)

    def _caller(self, request: Request) -> AgentCaller | Session | None:
        """Whose token it is. A token that nobody has is as good as none."""
        given = request.headers.getlist("authorization")
        if len(given) != 1:
            return None
        scheme, _, token = given[0].partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            return None
        if hmac.compare_digest(_digest(token), self._agent_digest):
            return AgentCaller()
        return self.sessions.find(token)

    def _admit(self, visit: HttpRequest, door: RouteAccess) -> None:
        caller = visit.caller
        if door is RouteAccess.OPEN:
            return
        if isinstance(caller, AgentCaller):
            if door not in (RouteAccess.AGENT, RouteAccess.CATALOGUE):
                raise Refusal(403, "forbidden", "an agent may list and run actions and ask for results, nothing else")
        elif isinstance(caller, Session):
            if door is RouteAccess.AGENT:
                raise Refusal(403, "forbidden", "an approver does not act for an agent")
        elif door is not RouteAccess.HANDSHAKE:
            raise unauthorised()

    def _slow_down(self) -> None:
        if seconds := self._bucket.take():
            raise too_many("calls", seconds)

    def _note(self, visit: HttpRequest, status: int, began: float, number: str) -> None:
        """One line. The path is noted only where it is one of ours; the query never."""
        caller = visit.caller
        who = "agent" if isinstance(caller, AgentCaller) else caller.name if isinstance(caller, Session) else ""
        names = segments(visit.request.scope["raw_path"]) or []
        path = "/" + "/".join(names) if self.table.find(visit.request.method, names)[0] else "(no route)"
        took, method = round((time.perf_counter() - began) * 1000), visit.request.method[:16]
        text = f"{method} {path} {status} {took} ms {who}"
        self._journal.note("http", text, method=method, path=path, status=status, ms=took, by=who, request=number)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()

"""The approver's door: prove a key, see what waits, answer it, look back."""

import asyncio
import re
from typing import TYPE_CHECKING, Final

from starlette.responses import Response

from aileron_tui.core.jsontext import Json, JsonError, JsonObject, kind
from aileron_tui.gate import history_routes
from aileron_tui.gate.approver_sessions import NotProven, Sessions
from aileron_tui.gate.event_stream import EventStream, Watchers
from aileron_tui.gate.http_limits import TokenBucket
from aileron_tui.gate.http_request import HttpRequest, Refusal, answer, answered, invalid_body, no_such, too_many
from aileron_tui.gate.route_table import Route, RouteAccess

if TYPE_CHECKING:
    from aileron_tui.gate.gate import Gate

_SURFACE: Final = re.compile(r"[a-z0-9-]{1,32}", re.ASCII)
_PROOF: Final = ("challenge", "keyid", "signature")
_SHOWN_AS_ONE: Final = 100
"""How many requests that a new watch is shown count as much as one look."""

_UNRECORDED: Final = frozenset({"INVALID_STATE", "PREVIEW_PENDING", "invalid_body", "not_found"})
_DECISION: Final = ("approved", "reason", "edited_payload", "envelope")


class ApproverRoutes:
    """Everything that only a person with an enrolled key may ask."""

    def __init__(self, gate: "Gate", sessions: Sessions, watchers: Watchers) -> None:
        self._gate = gate
        self._sessions = sessions
        self._watchers = watchers
        waiting = "/v1/action-approvals"
        self.routes = (
            Route("POST", "/v1/approver/challenge", RouteAccess.HANDSHAKE, self.challenge),
            Route("POST", "/v1/approver/session", RouteAccess.HANDSHAKE, self.begin),
            Route("DELETE", "/v1/approver/session", RouteAccess.APPROVER, self.end),
            Route("GET", waiting, RouteAccess.APPROVER, self.list),
            Route("GET", f"{waiting}/watch", RouteAccess.APPROVER, self.watch),
            Route("POST", f"{waiting}/batch/decide", RouteAccess.APPROVER, self.decide_batch),
            Route("GET", f"{waiting}/{{id}}", RouteAccess.APPROVER, self.item),
            Route("POST", f"{waiting}/{{id}}/decide", RouteAccess.APPROVER, self.decide),
            Route("POST", f"{waiting}/{{id}}/refresh", RouteAccess.APPROVER, self.refresh),
            Route("GET", "/v1/history", RouteAccess.APPROVER, self.history),
            Route("GET", "/v1/history/{id}", RouteAccess.APPROVER, self.past),
            Route("GET", "/v1/audit", RouteAccess.APPROVER, self.audit),
            Route("GET", "/v1/audit/{id}", RouteAccess.APPROVER, self.audit_event),
            Route("GET", "/v1/status", RouteAccess.APPROVER, self.status),
        )

    async def challenge(self, visit: HttpRequest) -> Response:
        """Something to sign."""
        visit.query()
        await visit.body(visit.limits.session_bytes, (), optional=True)
        gate = self._gate
        return answer({"challenge": self._sessions.challenge(), "instance": gate.instance, "ledger": gate.ledger_id})

    async def begin(self, visit: HttpRequest) -> Response:
        """A session for a signed challenge."""
        visit.query()
        body = await visit.body(visit.limits.session_bytes, _PROOF)
        challenge, keyid, signature = (_text(body, name) for name in _PROOF)
        try:
            token, session = self._sessions.open(challenge, keyid, signature)
        except NotProven as error:
            raise Refusal(403, error.code, str(error)) from None
        return answer({"token": token, "expires_at": session.expires_at})

    async def end(self, visit: HttpRequest) -> Response:
        """Ends the session that asks."""
        visit.query()
        self._sessions.close(visit.session)
        return Response(status_code=204)

    async def list(self, visit: HttpRequest) -> Response:
        """What waits, oldest first."""
        visit.query()
        items: list[Json] = [*self._gate.waiting()]
        return answer({"items": items})

    async def watch(self, visit: HttpRequest) -> Response:
        """Everything that changes, as it changes."""
        surface = visit.query("surface").get("surface", ["unnamed"])[0]
        if not _SURFACE.fullmatch(surface):
            raise Refusal(400, "invalid_query", "a surface is named by up to 32 small letters, digits and dashes")
        if self._watchers.full:
            raise Refusal(429, "too_many_watchers", "too many watch already; close one", {"Retry-After": "15"})
        _bounded(visit.session.looks, "watches")
        visit.session.looks.charge(1 + self._gate.shown(surface) // _SHOWN_AS_ONE)
        return EventStream(visit, self._gate.feed, self._watchers, self._sessions)

    async def item(self, visit: HttpRequest) -> Response:
        """One request, waiting or lately ended."""
        visit.query()
        found = self._gate.item(visit.names["id"])
        if found is None:
            raise no_such("request")
        return answer(found)

    async def decide(self, visit: HttpRequest) -> Response:
        """Takes a signed decision."""
        visit.query()
        _bounded(visit.session.faults, "refused answers")
        body = await visit.body(visit.limits.decision_bytes, _DECISION)
        reply = await self._gate.decide(visit.names["id"], body)
        visit.session.faults.charge(_wasted(reply.body))
        return answered(reply)

    async def decide_batch(self, visit: HttpRequest) -> Response:
        """Takes several signed decisions; each stands or falls by itself."""
        visit.query()
        _bounded(visit.session.faults, "refused answers")
        reply = await self._gate.decide_batch(await visit.body(visit.limits.batch_bytes, {"items"}))
        items = reply.body.get("items")
        visit.session.faults.charge(sum(map(_wasted, items if isinstance(items, list) else ())))
        return answered(reply)

    async def refresh(self, visit: HttpRequest) -> Response:
        """Fetches the preview again, perhaps for edited inputs."""
        visit.query()
        _bounded(visit.session.looks, "refreshes")
        visit.session.looks.charge(1)
        body = await visit.body(visit.limits.call_bytes, {"edited_payload"}, optional=True)
        return answered(await self._gate.refresh(visit.names["id"], body))

    async def history(self, visit: HttpRequest) -> Response:
        """Requests of the past, newest first, a page at a time."""
        wanted = history_routes.read_search(visit.query(*history_routes.SEARCH))
        return answer(await asyncio.to_thread(history_routes.search, self._gate.ledger_path, wanted))

    async def past(self, visit: HttpRequest) -> Response:
        """Everything the ledger has of one request."""
        visit.query()
        found = await asyncio.to_thread(history_routes.past, self._gate.ledger_path, visit.names["id"])
        if found is None:
            raise no_such("request")
        return answer(found)

    async def audit(self, visit: HttpRequest) -> Response:
        """The same past as events in Aileron's shape."""
        wanted = history_routes.read_audit(visit.query(*history_routes.AUDIT))
        return answer(await asyncio.to_thread(history_routes.audit, self._gate.ledger_path, wanted))

    async def audit_event(self, visit: HttpRequest) -> Response:
        """One such event."""
        visit.query()
        found = await asyncio.to_thread(history_routes.audit_event, self._gate.ledger_path, visit.names["id"])
        if found is None:
            raise no_such("event")
        return answer(found)

    async def status(self, visit: HttpRequest) -> Response:
        """How the gate is."""
        visit.query()
        return answer(self._gate.status())


def _bounded(bucket: TokenBucket, what: str) -> None:
    if seconds := bucket.empty():
        raise too_many(what, seconds)


def _wasted(told: Json) -> bool:
    """Whether an answer was recorded as refused; one that only came too late is not recorded."""
    match told:
        case {"error": {"code": str(code)}}:
            return code not in _UNRECORDED
    return False


def _text(body: JsonObject, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise invalid_body(JsonError(f"expected a string, found {kind(value)}", f"$.{name}"))
    return value

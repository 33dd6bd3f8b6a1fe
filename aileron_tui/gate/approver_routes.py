"""The HTTP routes for approvers: open a session, list and decide requests, read the history."""

import asyncio
import re
from typing import TYPE_CHECKING, Final

from starlette.responses import Response

from aileron_tui.core.jsontext import Json, JsonError, JsonObject, kind
from aileron_tui.gate import approver_docs as docs
from aileron_tui.gate import history_routes
from aileron_tui.gate.approver_sessions import SessionRefused, Sessions
from aileron_tui.gate.event_stream import EventStream, Watchers
from aileron_tui.gate.http_limits import TokenBucket
from aileron_tui.gate.http_request import (
    HttpRequest,
    Refusal,
    invalid_body,
    json_response,
    not_found,
    rate_limited,
    reply_response,
)
from aileron_tui.gate.presence import SURFACES
from aileron_tui.gate.route_table import Route, RouteAccess

if TYPE_CHECKING:
    from aileron_tui.gate.gate import Gate

_SURFACE: Final = re.compile(r"[a-z0-9-]{1,32}", re.ASCII)
_PRESENCE_FIELDS: Final = ("surface", "awake", "reading")
_PROOF_FIELDS: Final = ("challenge", "keyid", "signature")
_REQUESTS_PER_VIEW: Final = 100
"""How many requests shown to a new watcher count as one view."""

_UNRECORDED_CODES: Final = frozenset(
    {
        "INVALID_STATE",
        "PREVIEW_PENDING",
        "PROMPT_PENDING",
        "CONNECTOR_BUSY",
        "ACCOUNT_NEEDED",
        "invalid_body",
        "not_found",
    }
)
_DECISION_FIELDS: Final = ("approved", "reason", "edited_payload", "envelope")


class ApproverRoutes:
    """The routes that need an enrolled key."""

    def __init__(self, gate: "Gate", sessions: Sessions, watchers: Watchers) -> None:
        self._gate = gate
        self._sessions = sessions
        self._watchers = watchers
        base = "/v1/action-approvals"
        self.routes = (
            Route("POST", "/v1/approver/challenge", RouteAccess.HANDSHAKE, self.challenge, docs.CHALLENGE),
            Route("POST", "/v1/approver/session", RouteAccess.HANDSHAKE, self.open_session, docs.OPEN_SESSION),
            Route("DELETE", "/v1/approver/session", RouteAccess.APPROVER, self.close_session, docs.CLOSE_SESSION),
            Route("POST", "/v1/approver/presence", RouteAccess.APPROVER, self.presence, docs.PRESENCE),
            Route("GET", base, RouteAccess.APPROVER, self.list, docs.LIST),
            Route("GET", f"{base}/watch", RouteAccess.APPROVER, self.watch, docs.WATCH),
            Route("POST", f"{base}/batch/decide", RouteAccess.APPROVER, self.decide_batch, docs.DECIDE_BATCH),
            Route("GET", f"{base}/{{id}}", RouteAccess.APPROVER, self.show, docs.SHOW),
            Route("POST", f"{base}/{{id}}/decide", RouteAccess.APPROVER, self.decide, docs.DECIDE),
            Route("POST", f"{base}/{{id}}/extend", RouteAccess.APPROVER, self.extend, docs.EXTEND),
            Route("POST", f"{base}/{{id}}/refresh", RouteAccess.APPROVER, self.refresh, docs.REFRESH),
            Route("GET", f"{base}/{{id}}/fetched", RouteAccess.APPROVER, self.fetched, docs.FETCHED),
            Route("GET", f"{base}/{{id}}/rules", RouteAccess.APPROVER, self.rule_offers, docs.RULE_OFFERS),
            Route("GET", "/v1/rules", RouteAccess.APPROVER, self.rules, docs.RULES),
            Route("POST", "/v1/rules", RouteAccess.APPROVER, self.change_rule, docs.CHANGE_RULE),
            Route("GET", "/v1/history", RouteAccess.APPROVER, self.history, docs.HISTORY),
            Route("GET", "/v1/history/{id}", RouteAccess.APPROVER, self.history_request, docs.HISTORY_REQUEST),
            Route("GET", "/v1/audit", RouteAccess.APPROVER, self.audit, docs.AUDIT),
            Route("GET", "/v1/audit/{id}", RouteAccess.APPROVER, self.audit_event, docs.AUDIT_EVENT),
            Route("GET", "/v1/status", RouteAccess.APPROVER, self.status, docs.STATUS),
        )

    async def challenge(self, http_request: HttpRequest) -> Response:
        """Returns a challenge to sign."""
        http_request.query()
        await http_request.body(http_request.limits.session_bytes, (), optional=True)
        gate = self._gate
        return json_response(
            {"challenge": self._sessions.challenge(), "instance": gate.instance, "ledger": gate.ledger_id}
        )

    async def open_session(self, http_request: HttpRequest) -> Response:
        """Opens a session for a signed challenge."""
        http_request.query()
        body = await http_request.body(http_request.limits.session_bytes, _PROOF_FIELDS)
        challenge, keyid, signature = (_text_field(body, name) for name in _PROOF_FIELDS)
        try:
            token, session = self._sessions.open(challenge, keyid, signature)
        except SessionRefused as error:
            raise Refusal(403, error.code, str(error)) from None
        accounts = self._gate.accounts_state
        return json_response({"token": token, "expires_at": session.expires_at, "accounts": accounts})

    async def close_session(self, http_request: HttpRequest) -> Response:
        """Closes the session of the caller."""
        http_request.query()
        self._sessions.close(http_request.session)
        self._gate.presence.left(http_request.session)
        return Response(status_code=204)

    async def presence(self, http_request: HttpRequest) -> Response:
        """Notes that somebody is at a surface or has left it, and which request they read."""
        http_request.query()
        body = await http_request.body(http_request.limits.session_bytes, _PRESENCE_FIELDS)
        awake, reading = body.get("awake"), body.get("reading")
        if not isinstance(awake, bool):
            raise invalid_body(JsonError(f"expected true or false, found {kind(awake)}", "$.awake"))
        if not isinstance(reading, str | None):
            raise invalid_body(JsonError(f"expected a string or null, found {kind(reading)}", "$.reading"))
        session, surface = http_request.session, _text_field(body, "surface")
        if surface not in SURFACES:
            raise Refusal(400, "invalid_body", f"surface must be one of {', '.join(SURFACES)}")
        self._gate.report_presence(session, session.name, surface, awake=awake, reading=reading or "")
        return Response(status_code=204)

    async def list(self, http_request: HttpRequest) -> Response:
        """Lists the waiting requests, oldest first."""
        http_request.query()
        return json_response(self._gate.encoded_list())

    async def watch(self, http_request: HttpRequest) -> Response:
        """Streams every change as it happens."""
        surface = http_request.query("surface").get("surface", ["unnamed"])[0]
        if not _SURFACE.fullmatch(surface):
            raise Refusal(400, "invalid_query", "surface must be 1 to 32 lowercase letters, digits or dashes")
        if self._watchers.full:
            raise Refusal(429, "too_many_watchers", "too many watchers; close one and try again", {"Retry-After": "15"})
        session = http_request.session
        _check_limit(session.view_limit, "watches")
        self._gate.presence.arriving(session, session.name, surface)
        session.view_limit.charge(1 + self._gate.record_watch(surface) // _REQUESTS_PER_VIEW)
        return EventStream(
            http_request,
            self._gate.feed,
            self._watchers,
            lambda: self._sessions.renew(session),
            watching=self._gate.presence.watching(session, session.name, surface),
        )

    async def show(self, http_request: HttpRequest) -> Response:
        """Returns one request that is waiting or ended recently."""
        http_request.query()
        found = self._gate.find_request(http_request.path_params["id"])
        if found is None:
            raise not_found("request")
        return json_response(found)

    async def decide(self, http_request: HttpRequest) -> Response:
        """Accepts a signed decision."""
        http_request.query()
        _check_limit(http_request.session.refusal_limit, "refused decisions")
        body = await http_request.body(http_request.limits.decision_bytes, _DECISION_FIELDS)
        reply = await self._gate.decide(http_request.path_params["id"], body)
        http_request.session.refusal_limit.charge(_is_recorded_refusal(reply.body))
        return reply_response(reply)

    async def extend(self, http_request: HttpRequest) -> Response:
        """Accepts a signed extension of a deadline."""
        http_request.query()
        _check_limit(http_request.session.refusal_limit, "refused extensions")
        body = await http_request.body(http_request.limits.session_bytes, {"envelope"})
        reply = await self._gate.extend(http_request.path_params["id"], body)
        http_request.session.refusal_limit.charge(reply.status == 403)
        return reply_response(reply)

    async def decide_batch(self, http_request: HttpRequest) -> Response:
        """Accepts several signed decisions; each succeeds or fails independently."""
        http_request.query()
        _check_limit(http_request.session.refusal_limit, "refused decisions")
        reply = await self._gate.decide_batch(await http_request.body(http_request.limits.batch_bytes, {"items"}))
        items = reply.body.get("items")
        http_request.session.refusal_limit.charge(
            sum(map(_is_recorded_refusal, items if isinstance(items, list) else ()))
        )
        return reply_response(reply)

    async def refresh(self, http_request: HttpRequest) -> Response:
        """Fetches the preview again, optionally for edited inputs."""
        http_request.query()
        _check_limit(http_request.session.view_limit, "refreshes")
        http_request.session.view_limit.charge(1)
        body = await http_request.body(http_request.limits.call_bytes, {"edited_payload"}, optional=True)
        return reply_response(await self._gate.refresh(http_request.path_params["id"], body))

    async def fetched(self, http_request: HttpRequest) -> Response:
        """Fetches the preview again and returns everything in it."""
        http_request.query()
        _check_limit(http_request.session.view_limit, "refreshes")
        http_request.session.view_limit.charge(1)
        return reply_response(await self._gate.fetched(http_request.path_params["id"]))

    async def rule_offers(self, http_request: HttpRequest) -> Response:
        """Returns the rules that can be made from a request, and what each would have answered."""
        http_request.query()
        _check_limit(http_request.session.view_limit, "offers of rules")
        http_request.session.view_limit.charge(1)
        return reply_response(await self._gate.rule_offers(http_request.path_params["id"]))

    async def rules(self, http_request: HttpRequest) -> Response:
        """Lists the rules, newest first."""
        http_request.query()
        return json_response(await self._gate.rules())

    async def change_rule(self, http_request: HttpRequest) -> Response:
        """Makes or ends a rule, as a signed statement says."""
        http_request.query()
        _check_limit(http_request.session.refusal_limit, "refused rules")
        body = await http_request.body(http_request.limits.decision_bytes, {"envelope"})
        reply = await self._gate.change_rule(body)
        http_request.session.refusal_limit.charge(reply.status >= 400)
        return reply_response(reply)

    async def history(self, http_request: HttpRequest) -> Response:
        """Returns one page of the history, newest first."""
        search = history_routes.read_search(http_request.query(*history_routes.SEARCH))
        page = await asyncio.to_thread(history_routes.search, self._gate.ledger_path, search, previews=True)
        return json_response(page)

    async def history_request(self, http_request: HttpRequest) -> Response:
        """Returns everything the ledger has about one request."""
        http_request.query()
        found = await asyncio.to_thread(history_routes.past, self._gate.ledger_path, http_request.path_params["id"])
        if found is None:
            raise not_found("request")
        return json_response(found)

    async def audit(self, http_request: HttpRequest) -> Response:
        """Returns the history as events in Aileron's format."""
        search = history_routes.read_audit(http_request.query(*history_routes.AUDIT))
        return json_response(await asyncio.to_thread(history_routes.audit, self._gate.ledger_path, search))

    async def audit_event(self, http_request: HttpRequest) -> Response:
        """Returns one audit event."""
        http_request.query()
        found = await asyncio.to_thread(
            history_routes.audit_event, self._gate.ledger_path, http_request.path_params["id"]
        )
        if found is None:
            raise not_found("event")
        return json_response(found)

    async def status(self, http_request: HttpRequest) -> Response:
        """Returns the status of the gate."""
        http_request.query()
        return json_response(self._gate.status())


def _check_limit(bucket: TokenBucket, what: str) -> None:
    if seconds := bucket.wait_seconds():
        raise rate_limited(what, seconds)


def _is_recorded_refusal(reply: Json) -> bool:
    """Whether a reply refuses a decision and the refusal was recorded; a decision that was only too late is not."""
    match reply:
        case {"error": {"code": str(code)}}:
            return code not in _UNRECORDED_CODES
    return False


def _text_field(body: JsonObject, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise invalid_body(JsonError(f"expected a string, found {kind(value)}", f"$.{name}"))
    return value

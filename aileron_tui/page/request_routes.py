"""The routes of the page for requests and their history, for a tab with a session."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from starlette.responses import Response

from aileron_tui.core.decision import Verdict
from aileron_tui.core.jsontext import Json, JsonError, JsonObject
from aileron_tui.core.request import Request
from aileron_tui.core.state_words import STATE_WORDS
from aileron_tui.core.times import utc_now
from aileron_tui.gate.event_stream import EventStream
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
from aileron_tui.gate.page_port import PageSetup
from aileron_tui.gate.replies import Reply
from aileron_tui.gate.route_table import Route, RouteAccess
from aileron_tui.page.attempts import NO_PASSKEY, Attempts
from aileron_tui.page.documents import Documents
from aileron_tui.page.history import history_view, past_view
from aileron_tui.page.page_events import ENDED, PageEvents
from aileron_tui.page.rendering import MAX_WAITING, Readers, prompt_view, waiting_view
from aileron_tui.page.request_bodies import reason_field, text_field
from aileron_tui.page.sessions import PageSession, PageSessions, reading_session
from aileron_tui.page.views import PromptView
from aileron_tui.runtime.request_reader import read_gate_request

if TYPE_CHECKING:
    from aileron_tui.gate.gate import Gate

SURFACE: Final = "page"

_PLACES: Final = {"console": "the console", "page": "another page", "prompt": "a prompt", "cli": "a command"}

_REQUESTS_PER_VIEW: Final = 100
_LONGEST_QUERY: Final = 1000
_LONGEST_PLACE: Final = 15


class RequestRoutes:
    """The routes to read and answer requests."""

    def __init__(self, gate: "Gate", setup: PageSetup, sessions: PageSessions, documents: Documents) -> None:
        self._gate = gate
        self._setup = setup
        self._sessions = sessions
        self._documents = documents
        self._attempts = Attempts(gate, setup.clock)
        self._events = PageEvents()
        tab, one = RouteAccess.APPROVER, "/page/requests/{id}"
        self.routes = (
            Route("GET", "/page/waiting", tab, self.waiting),
            Route("GET", one, tab, self.prompt),
            Route("POST", f"{one}/challenge", tab, self.challenge),
            Route("POST", f"{one}/answer", tab, self.answer),
            Route("POST", f"{one}/deny", tab, self.deny),
            Route("POST", f"{one}/refresh", tab, self.refresh),
            Route("POST", "/page/presence", tab, self.presence),
            Route("GET", "/page/history", tab, self.history),
            Route("GET", "/page/history/{id}", tab, self.past),
            Route("GET", "/page/events", tab, self.events),
        )

    async def waiting(self, http_request: HttpRequest) -> Response:
        """What waits, as a fragment."""
        http_request.query()
        readers = self._readers(reading_session(http_request))
        items, problem = self._gate.waiting(), self._gate.problem

        def render() -> bytes:
            requests = [self._read(item) for item in items[: MAX_WAITING + 1]]
            view = waiting_view(requests, utc_now(), readers, problem, len(items))
            return self._documents.waiting(view)

        return await _fragment(render)

    async def prompt(self, http_request: HttpRequest) -> Response:
        """One request, as a fragment."""
        http_request.query()
        readers = self._readers(reading_session(http_request))
        request = self._request(http_request)
        return await _fragment(lambda: self._documents.prompt(self._view(request, readers)))

    async def challenge(self, http_request: HttpRequest) -> Response:
        """What a passkey must sign to answer a request."""
        http_request.query()
        session = reading_session(http_request)
        body = await http_request.body(http_request.limits.session_bytes, {"verdict", "reason", "digest"})
        verdict, reason = text_field(body, "verdict"), reason_field(body)
        if verdict not in set(Verdict):
            raise invalid_body(JsonError('expected "approve" or "deny"', "$.verdict"))
        request = self._answerable(http_request, text_field(body, "digest"))
        if verdict == Verdict.APPROVE:
            if reason:
                raise invalid_body(JsonError("only a denial has a reason", "$.reason"))
            view = await asyncio.to_thread(self._view, request, {})
            if view.cannot_approve == NO_PASSKEY:
                raise Refusal(403, "no_passkey", NO_PASSKEY)
            if view.cannot_approve:
                raise Refusal(409, "not_approvable", f"this cannot be approved here: {view.cannot_approve}")
        return json_response(self._attempts.challenge(session, request, Verdict(verdict), reason))

    async def answer(self, http_request: HttpRequest) -> Response:
        """Decides by what a passkey signed."""
        http_request.query()
        session = reading_session(http_request)
        _check_limit(session.refusal_limit, "refused answers")
        body = await http_request.body(http_request.limits.session_bytes * 2, {"attempt", "assertion"})
        id_, assertion = http_request.path_params["id"], body.get("assertion")
        decision = self._attempts.answer(session, id_, text_field(body, "attempt"), assertion)
        reply = await self._gate.decide(id_, decision)
        session.refusal_limit.charge(reply.status >= 400)
        return _decided(reply, "approved" if decision["approved"] else "denied")

    async def deny(self, http_request: HttpRequest) -> Response:
        """Denies without a signature; the ledger records the session instead."""
        http_request.query()
        session = reading_session(http_request)
        _check_limit(session.refusal_limit, "refused answers")
        body = await http_request.body(http_request.limits.session_bytes, {"digest", "reason"})
        request = self._answerable(http_request, text_field(body, "digest"))
        reply = await self._gate.deny_unsigned(
            request.id,
            digest=request.digest,
            reason=reason_field(body),
            surface=SURFACE,
            session=session.id,
            opened_by=session.keyid,
        )
        session.refusal_limit.charge(reply.status >= 400)
        return _decided(reply, "denied")

    async def refresh(self, http_request: HttpRequest) -> Response:
        """Fetches the preview again."""
        http_request.query()
        session = reading_session(http_request)
        _check_limit(session.view_limit, "refreshes")
        session.view_limit.charge(1)
        await http_request.body(http_request.limits.session_bytes, (), optional=True)
        reply = await self._gate.refresh(http_request.path_params["id"], {})
        return json_response({"status": "refreshed"}) if reply.status == 200 else _error(reply)

    async def presence(self, http_request: HttpRequest) -> Response:
        """Takes note whether somebody is at this tab, and which request they read, "" if none."""
        http_request.query()
        session = reading_session(http_request)
        body = await http_request.body(http_request.limits.session_bytes, {"awake", "reading"})
        awake, reading = body.get("awake") is True, text_field(body, "reading")
        self._gate.report_presence(session, session.name, SURFACE, awake=awake, reading=reading)
        return Response(status_code=204)

    async def history(self, http_request: HttpRequest) -> Response:
        """A page of the history, as a fragment."""
        query = http_request.query("search", "before")
        reading_session(http_request)
        search, before = (query.get(name, [""])[0] for name in ("search", "before"))
        if len(search) > _LONGEST_QUERY or (
            before and not (before.isascii() and before.isdigit() and len(before) < 16)
        ):
            raise Refusal(400, "invalid_query", "this search is not valid")
        ledger, place = self._gate.ledger_path, int(before) if before else None
        return await _fragment(lambda: self._documents.history(history_view(ledger, search, place)))

    async def past(self, http_request: HttpRequest) -> Response:
        """One request of the history, as a fragment."""
        http_request.query()
        reading_session(http_request)
        id_ = http_request.path_params["id"]
        held = self._gate.find_request(id_)
        view = await asyncio.to_thread(past_view, self._gate.ledger_path, id_, held)
        if view is None:
            raise not_found("request")
        return await _fragment(lambda: self._documents.record(view))

    async def events(self, http_request: HttpRequest) -> Response:
        """Streams what changes."""
        http_request.query()
        session, watchers = reading_session(http_request), self._setup.watchers
        if watchers.full:
            raise Refusal(429, "too_many_watchers", "too many watchers; close one and try again", {"Retry-After": "15"})
        _check_limit(session.view_limit, "watches")
        self._gate.presence.arriving(session, session.name, SURFACE)
        session.view_limit.charge(1 + self._gate.record_watch(SURFACE) // _REQUESTS_PER_VIEW)
        return EventStream(
            http_request,
            self._gate.feed,
            watchers,
            lambda: self._sessions.renew(session),
            self._events.convert,
            watching=self._gate.presence.watching(session, session.name, SURFACE),
            farewell=lambda: ENDED if watchers.closed or not self._sessions.renew(session) else b"",
        )

    # what the handlers share

    def _readers(self, session: PageSession) -> Readers:
        """By request, where else it is being read."""
        return {
            id_: [f"{_PLACES.get(surface, surface)} ({name})" for surface, name in readers]
            for id_, readers in self._gate.presence.others(session).items()
        }

    def _read(self, item: JsonObject) -> Request:
        """A request, checked as every surface does: the digest must be that of the prompt."""
        return read_gate_request(item, self._gate.instance)

    def _request(self, http_request: HttpRequest) -> Request:
        found = self._gate.find_request(http_request.path_params["id"])
        if found is None:
            raise not_found("request")
        return self._read(found)

    def _view(self, request: Request, readers: Readers) -> PromptView:
        missing = "" if self._gate.approvers().security_keys else NO_PASSKEY
        return prompt_view(request, utc_now(), readers, cannot_approve=missing)

    def _answerable(self, http_request: HttpRequest, digest: str) -> Request:
        """The request, if it still waits and still shows what the tab showed."""
        request = self._request(http_request)
        if not request.state.decidable:
            message = f"this request no longer waits: {STATE_WORDS[request.state].full_status}"
            raise Refusal(409, "INVALID_STATE", message)
        if request.digest != digest:
            raise Refusal(409, "PROMPT_CHANGED", "what this request shows has changed; review it, then decide")
        return request


async def _fragment(render: Callable[[], bytes]) -> Response:
    """A fragment, made in a thread, because a long prompt takes a while."""
    return Response(await asyncio.to_thread(render), media_type="text/html")


def _decided(reply: Reply, verdict: str) -> Response:
    if reply.status != 200:
        return _error(reply)
    return json_response({"status": verdict, "message": f"{verdict.capitalize()}."})


def _error(reply: Reply) -> Response:
    """An error of the gate, without the prompt that may come with it."""
    error: Json = reply.body.get("error", {"code": "failed", "message": "this did not work"})
    return reply_response(Reply(reply.status, {"error": error}, reply.retry_after))


def _check_limit(bucket: TokenBucket, what: str) -> None:
    if seconds := bucket.wait_seconds():
        raise rate_limited(what, seconds)

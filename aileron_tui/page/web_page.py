"""The web page of a gate: its routes, who may use them, and the headers of every response."""

import asyncio
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from starlette.responses import Response

from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, kind
from aileron_tui.core.request import Request
from aileron_tui.core.state_words import STATE_WORDS
from aileron_tui.core.times import utc_now
from aileron_tui.core.visible_text import inline
from aileron_tui.gate.approver_sessions import Session
from aileron_tui.gate.connection_pools import APPROVER
from aileron_tui.gate.decision_body import MAX_REASON_LENGTH
from aileron_tui.gate.event_stream import EventStream
from aileron_tui.gate.http_limits import TokenBucket
from aileron_tui.gate.http_request import (
    IDENTIFY,
    HttpRequest,
    Refusal,
    invalid_body,
    json_response,
    not_found,
    rate_limited,
    reply_response,
)
from aileron_tui.gate.page_port import LOGGED_CALLER, LOGGED_PATH, PageSetup
from aileron_tui.gate.replies import Reply
from aileron_tui.gate.route_table import Route, RouteAccess, RouteTable
from aileron_tui.page.attempts import NO_PASSKEY, Attempts
from aileron_tui.page.documents import FRAGMENT_POLICY, Documents
from aileron_tui.page.enrolments import Enrolments
from aileron_tui.page.history import history_view, past_view
from aileron_tui.page.page_events import ENDED, PageEvents
from aileron_tui.page.rendering import MAX_WAITING, prompt_view, waiting_view
from aileron_tui.page.request_check import PageRequestCheck, cookie_value, tab_token
from aileron_tui.page.sessions import PageSession, PageSessions
from aileron_tui.page.views import PromptView
from aileron_tui.runtime.request_reader import read_gate_request

if TYPE_CHECKING:
    from aileron_tui.gate.gate import Gate

SURFACE: Final = "page"

_SESSION: Final = "aileron.page_session"
_REQUESTS_PER_VIEW: Final = 100
_LONGEST_QUERY: Final = 1000
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": FRAGMENT_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "publickey-credentials-get=(self), publickey-credentials-create=(self), camera=(), "
    "microphone=(), geolocation=(), clipboard-read=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class WebPage:
    """The page of one gate. `respond` is all that is reachable from a browser."""

    def __init__(self, gate: "Gate", setup: PageSetup) -> None:
        if find_spec("jinja2") is None:
            raise AileronError(
                "the page needs the extra `page`", hint='Install it with: pip install "aileron-tui[page]"'
            )
        self._gate = gate
        self._setup = setup
        self._check = PageRequestCheck(setup.origin)
        self._cookie = f"aileron_page_{setup.origin.rpartition(':')[2]}"
        self._sessions = PageSessions(gate.instance, gate.approvers, setup.clock, setup.limits)
        self._attempts = Attempts(gate, setup.clock)
        self._enrolments = Enrolments(gate, setup.origin, setup.clock)
        self._documents = Documents()
        self._events = PageEvents()
        open_, tab, one = RouteAccess.OPEN, RouteAccess.APPROVER, "/page/requests/{id}"
        self._table = RouteTable(
            (
                Route("GET", "/page", open_, self.shell),
                Route("POST", "/page/session", open_, self.open_session),
                Route("DELETE", "/page/session", tab, self.close_session),
                Route("GET", "/page/waiting", tab, self.waiting),
                Route("GET", one, tab, self.prompt),
                Route("POST", f"{one}/challenge", tab, self.challenge),
                Route("POST", f"{one}/answer", tab, self.answer),
                Route("POST", f"{one}/deny", tab, self.deny),
                Route("POST", f"{one}/refresh", tab, self.refresh),
                Route("POST", f"{one}/reading", tab, self.reading),
                Route("GET", "/page/history", tab, self.history),
                Route("GET", "/page/history/{id}", tab, self.past),
                Route("GET", "/page/events", tab, self.events),
                Route("POST", "/page/enrolment/options", tab, self.enrolment_options),
                Route("POST", "/page/enrolment", tab, self.register),
            )
        )

    # for the gate

    def is_open(self, tab: str) -> bool:
        """Whether this is the token of a tab that may show data."""
        return self._sessions.is_open(tab)

    def issue_code(self, session: Session, enrolled_name: str | None) -> JsonObject:
        """A code that opens the page once; with a name, to register a passkey under it."""
        enrolment = "" if enrolled_name is None else self._enrolments.begin(enrolled_name, session)
        text, code = self._sessions.issue(session.keyid, session.name, enrolment)
        address: JsonObject = {"url": f"{self._setup.origin}/page#code={quote(text)}", "code": text}
        address["expires_at"] = code.until
        return address | {"enrolment": enrolment} if enrolment else address

    async def enrolment(self, id_: str, session: Session, wait: int) -> JsonObject | None:
        """What was registered, after waiting for it; None if this approver has no such enrolment."""
        return await self._enrolments.wait(id_, session.keyid, wait)

    async def respond(self, http_request: HttpRequest, segments: list[str]) -> Response:
        """Checks an HTTP request, responds to it, and adds the headers of the page to whatever the response is."""
        try:
            response = await self._route(http_request, segments)
        except Refusal as refusal:
            response = reply_response(refusal.reply, refusal.headers)
        except AileronError as error:
            response = reply_response(Refusal(503, "unavailable", inline(str(error))).reply)
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    async def _route(self, http_request: HttpRequest, segments: list[str]) -> Response:
        scope, method = http_request.raw.scope, http_request.raw.method
        self._check.check(http_request, opens_page=segments == ["page"])
        route, http_request.path_params, allowed = self._table.find(method, segments)
        if route is None and allowed:
            methods = {"Allow": ", ".join(allowed)}
            raise Refusal(405, "method_not_allowed", "this route does not support this method", methods)
        if route is None or route.access is not RouteAccess.OPEN:
            session = self._sessions.find(tab_token(scope["headers"]), cookie_value(scope["headers"], self._cookie))
            scope[_SESSION], scope[LOGGED_CALLER] = session, f"{session.id} {session.name}"
            if identify := scope.get(IDENTIFY):
                identify(APPROVER)
        if route is None:
            raise not_found("route")
        scope[LOGGED_PATH] = route.path
        return await route.handler(http_request)

    # open

    async def shell(self, http_request: HttpRequest) -> Response:
        """The page without any data."""
        http_request.query()
        content, policy = await asyncio.to_thread(lambda: (self._documents.shell, self._documents.policy))
        return Response(content, headers={"Content-Security-Policy": policy}, media_type="text/html")

    async def open_session(self, http_request: HttpRequest) -> Response:
        """Opens a session for a code."""
        http_request.query()
        if seconds := self._sessions.tries.take():
            raise rate_limited("codes", seconds)
        body = await http_request.body(http_request.limits.session_bytes, {"code"})
        given = cookie_value(http_request.raw.scope["headers"], self._cookie)
        session, tab, cookie = self._sessions.open(_text(body, "code"), given)
        http_request.raw.scope[LOGGED_CALLER] = f"{session.id} {session.name}"
        reply: JsonObject = {
            "tab": tab,
            "session": session.id,
            "purpose": "enroll" if session.enrolment else "open",
            "opened_by": session.name,
            "expires_at": session.expires_at,
        }
        cookies = {"Set-Cookie": f"{self._cookie}={cookie}; Path=/page; HttpOnly; SameSite=Strict"}
        return json_response(reply, headers=cookies)

    # for a tab

    async def close_session(self, http_request: HttpRequest) -> Response:
        """Closes the session of the tab."""
        http_request.query()
        self._sessions.close(_session(http_request))
        return Response(status_code=204)

    async def waiting(self, http_request: HttpRequest) -> Response:
        """What waits, as a fragment."""
        http_request.query()
        _reader(http_request)
        items, problem, readers = self._gate.waiting(), self._gate.problem, self._readers()

        def render() -> bytes:
            requests = [self._read(item) for item in items[: MAX_WAITING + 1]]
            view = waiting_view(requests, utc_now(), readers, problem, len(items))
            return self._documents.waiting(view)

        return await _fragment(render)

    async def prompt(self, http_request: HttpRequest) -> Response:
        """One request, as a fragment."""
        http_request.query()
        _reader(http_request)
        request = self._request(http_request)
        return await _fragment(lambda: self._documents.prompt(self._view(request)))

    async def challenge(self, http_request: HttpRequest) -> Response:
        """What a passkey must sign to answer a request."""
        http_request.query()
        session = _reader(http_request)
        body = await http_request.body(http_request.limits.session_bytes, {"verdict", "reason", "digest"})
        verdict, reason = _text(body, "verdict"), _reason(body)
        if verdict not in set(Verdict):
            raise invalid_body(JsonError('expected "approve" or "deny"', "$.verdict"))
        request = self._answerable(http_request, _text(body, "digest"))
        if verdict == Verdict.APPROVE:
            if reason:
                raise invalid_body(JsonError("only a denial has a reason", "$.reason"))
            view = await asyncio.to_thread(self._view, request)
            if view.cannot_approve == NO_PASSKEY:
                raise Refusal(403, "no_passkey", NO_PASSKEY)
            if view.cannot_approve:
                raise Refusal(409, "not_approvable", f"this cannot be approved here: {view.cannot_approve}")
        return json_response(self._attempts.challenge(session, request, Verdict(verdict), reason))

    async def answer(self, http_request: HttpRequest) -> Response:
        """Decides by what a passkey signed."""
        http_request.query()
        session = _reader(http_request)
        _check_limit(session.refusal_limit, "refused answers")
        body = await http_request.body(http_request.limits.session_bytes * 2, {"attempt", "assertion"})
        id_, assertion = http_request.path_params["id"], body.get("assertion")
        decision = self._attempts.answer(session, id_, _text(body, "attempt"), assertion)
        reply = await self._gate.decide(id_, decision)
        session.refusal_limit.charge(reply.status >= 400)
        return _decided(reply, "approved" if decision["approved"] else "denied")

    async def deny(self, http_request: HttpRequest) -> Response:
        """Denies without a signature; the ledger records the session instead."""
        http_request.query()
        session = _reader(http_request)
        _check_limit(session.refusal_limit, "refused answers")
        body = await http_request.body(http_request.limits.session_bytes, {"digest", "reason"})
        request = self._answerable(http_request, _text(body, "digest"))
        reply = await self._gate.deny_unsigned(
            request.id,
            digest=request.digest,
            reason=_reason(body),
            surface=SURFACE,
            session=session.id,
            opened_by=session.keyid,
        )
        session.refusal_limit.charge(reply.status >= 400)
        return _decided(reply, "denied")

    async def refresh(self, http_request: HttpRequest) -> Response:
        """Fetches the preview again."""
        http_request.query()
        session = _reader(http_request)
        _check_limit(session.view_limit, "refreshes")
        session.view_limit.charge(1)
        await http_request.body(http_request.limits.session_bytes, (), optional=True)
        reply = await self._gate.refresh(http_request.path_params["id"], {})
        return json_response({"status": "refreshed"}) if reply.status == 200 else _error(reply)

    async def reading(self, http_request: HttpRequest) -> Response:
        """Takes note that somebody reads a request in this tab, or with `false` that nobody does any more."""
        http_request.query()
        _reader(http_request)
        await http_request.body(http_request.limits.session_bytes, {"reading", "awake"}, optional=True)
        return Response(status_code=204)

    async def history(self, http_request: HttpRequest) -> Response:
        """A page of the history, as a fragment."""
        query = http_request.query("search", "before")
        _reader(http_request)
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
        _reader(http_request)
        id_ = http_request.path_params["id"]
        held = self._gate.find_request(id_)
        view = await asyncio.to_thread(past_view, self._gate.ledger_path, id_, held)
        if view is None:
            raise not_found("request")
        return await _fragment(lambda: self._documents.record(view))

    async def events(self, http_request: HttpRequest) -> Response:
        """Streams what changes."""
        http_request.query()
        session, watchers = _reader(http_request), self._setup.watchers
        if watchers.full:
            raise Refusal(429, "too_many_watchers", "too many watchers; close one and try again", {"Retry-After": "15"})
        _check_limit(session.view_limit, "watches")
        session.view_limit.charge(1 + self._gate.record_watch(SURFACE) // _REQUESTS_PER_VIEW)
        return EventStream(
            http_request,
            self._gate.feed,
            watchers,
            lambda: self._sessions.renew(session),
            self._events.convert,
            farewell=ENDED,
        )

    # to register a passkey

    async def enrolment_options(self, http_request: HttpRequest) -> Response:
        """What the browser needs to make a passkey."""
        http_request.query()
        await http_request.body(http_request.limits.session_bytes, (), optional=True)
        return json_response(self._enrolments.options(_enrolling(http_request).enrolment))

    async def register(self, http_request: HttpRequest) -> Response:
        """Keeps the public part of a new passkey until an approver has signed for it."""
        http_request.query()
        session = _enrolling(http_request)
        body = await http_request.body(http_request.limits.call_bytes, {"credential"})
        return json_response(self._enrolments.register(session.enrolment, body.get("credential")))

    # what the handlers share

    def _readers(self) -> dict[str, list[str]]:
        """By request, where it is being read."""
        return {}

    def _read(self, item: JsonObject) -> Request:
        """A request, checked as every surface does: the digest must be that of the prompt."""
        return read_gate_request(item, self._gate.instance)

    def _request(self, http_request: HttpRequest) -> Request:
        found = self._gate.find_request(http_request.path_params["id"])
        if found is None:
            raise not_found("request")
        return self._read(found)

    def _view(self, request: Request) -> PromptView:
        missing = "" if self._gate.approvers().security_keys else NO_PASSKEY
        return prompt_view(request, utc_now(), self._readers(), cannot_approve=missing)

    def _answerable(self, http_request: HttpRequest, digest: str) -> Request:
        """The request, if it still waits and still shows what the tab showed."""
        request = self._request(http_request)
        if not request.state.decidable:
            message = f"this request no longer waits: {STATE_WORDS[request.state].full_status}"
            raise Refusal(409, "INVALID_STATE", message)
        if request.digest != digest:
            raise Refusal(409, "PROMPT_CHANGED", "what this request shows has changed; review it, then decide")
        return request


def _session(http_request: HttpRequest) -> PageSession:
    found = http_request.raw.scope[_SESSION]
    if not isinstance(found, PageSession):
        raise TypeError("this route is open")
    return found


def _reader(http_request: HttpRequest) -> PageSession:
    """The session of a tab that may see requests."""
    session = _session(http_request)
    if session.enrolment:
        raise Refusal(403, "forbidden", "this tab only registers a passkey; open another one with `aileron-tui page`")
    return session


def _enrolling(http_request: HttpRequest) -> PageSession:
    """The session of a tab that registers a passkey."""
    session = _session(http_request)
    if not session.enrolment:
        raise Refusal(403, "forbidden", "to register a passkey, run `aileron-tui key security-key add`")
    return session


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


def _text(body: JsonObject, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise invalid_body(JsonError(f"expected a string, found {kind(value)}", f"$.{name}"))
    return value


def _reason(body: JsonObject) -> str:
    reason = _text(body, "reason") if "reason" in body else ""
    if len(reason) > MAX_REASON_LENGTH:
        raise invalid_body(JsonError(f"must have at most {MAX_REASON_LENGTH:,} characters", "$.reason"))
    return reason

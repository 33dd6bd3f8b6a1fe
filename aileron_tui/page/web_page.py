"""The web page of a gate: its routes, who may use them, and the headers of every response."""

import asyncio
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from starlette.responses import Response

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.visible_text import inline
from aileron_tui.gate.approver_sessions import Session
from aileron_tui.gate.connection_pools import APPROVER
from aileron_tui.gate.http_request import (
    IDENTIFY,
    HttpRequest,
    Refusal,
    json_response,
    not_found,
    reply_response,
)
from aileron_tui.gate.page_port import LOGGED_CALLER, LOGGED_PATH, PageSetup
from aileron_tui.gate.route_table import Route, RouteAccess, RouteTable
from aileron_tui.page.documents import FRAGMENT_POLICY, Documents
from aileron_tui.page.enrolments import Enrolments
from aileron_tui.page.request_bodies import text_field
from aileron_tui.page.request_check import PageRequestCheck, cookie_values, tab_token
from aileron_tui.page.request_routes import RequestRoutes
from aileron_tui.page.sessions import SESSION, PageSessions, enrolling_session, tab_session

if TYPE_CHECKING:
    from aileron_tui.gate.gate import Gate

SURFACE: Final = "page"
NOT_INSTALLED: Final = (
    "the page is not available: its extra is not installed. Run `aileron-tui doctor` where the gate runs: "
    "it prints the command that installs it. Then restart the gate"
)

_REQUESTS_PER_VIEW: Final = 100
_LONGEST_QUERY: Final = 1000
_IMAGE: Final = b'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'
_CLEARED: Final = {"Clear-Site-Data": '"cache", "storage"', "Cross-Origin-Resource-Policy": "cross-origin"}
_USED_TWICE: Final = "its code was used twice, so somebody else may have registered a passkey of theirs"
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
            raise Refusal(404, "no_page", NOT_INSTALLED)
        self._gate = gate
        self._setup = setup
        self._check = PageRequestCheck(setup.origin)
        self._cookie = f"aileron_page_{setup.origin.rpartition(':')[2]}"
        self._sessions = PageSessions(gate.instance, gate.approvers, setup.clock, setup.limits)
        self._sessions.on_end = gate.presence.left
        self._enrolments = Enrolments(gate, setup.origin, setup.clock)
        self._sessions.on_used_code = lambda opened: self._enrolments.end(opened.enrolment, _USED_TWICE)
        self._documents = Documents()
        open_, tab = RouteAccess.OPEN, RouteAccess.APPROVER
        self._table = RouteTable(
            (
                Route("GET", "/page", open_, self.shell),
                Route("GET", "/page/clear/{proof}", open_, self.clear),
                Route("POST", "/page/session", open_, self.open_session),
                Route("DELETE", "/page/session", tab, self.close_session),
                *RequestRoutes(gate, setup, self._sessions, self._documents).routes,
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
        self._check.check(
            http_request, opens_page=segments == ["page"], from_anywhere=segments[:2] == ["page", "clear"]
        )
        route, http_request.path_params, allowed = self._table.find(method, segments)
        if route is None and allowed:
            methods = {"Allow": ", ".join(allowed)}
            raise Refusal(405, "method_not_allowed", "this route does not support this method", methods)
        if route is None or route.access is not RouteAccess.OPEN:
            session = self._sessions.find(tab_token(scope["headers"]), cookie_values(scope["headers"], self._cookie))
            scope[SESSION], scope[LOGGED_CALLER] = session, f"{session.id} {session.name}"
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

    async def clear(self, http_request: HttpRequest) -> Response:
        """An image with which the browser forgets what another program kept at this origin while no gate was there.

        A service worker or a cached copy of that program would be shown in place of the page.
        """
        http_request.query()
        if not self._sessions.is_waiting(http_request.path_params["proof"]):
            raise not_found("code")
        return Response(_IMAGE, headers=_CLEARED, media_type="image/svg+xml")

    async def open_session(self, http_request: HttpRequest) -> Response:
        """Opens a session for a code."""
        http_request.query()
        body = await http_request.body(http_request.limits.session_bytes, {"code"})
        given = cookie_values(http_request.raw.scope["headers"], self._cookie)
        session, tab, cookie = self._sessions.open(text_field(body, "code"), given)
        http_request.raw.scope[LOGGED_CALLER] = f"{session.id} {session.name}"
        reply: JsonObject = {
            "tab": tab,
            "session": session.id,
            "purpose": "enroll" if session.enrolment else "open",
            "opened_by": session.name,
            "name": self._enrolments.name(session.enrolment),
            "expires_at": session.expires_at,
        }
        cookies = {"Set-Cookie": f"{self._cookie}={cookie}; Path=/page; HttpOnly; SameSite=Strict"}
        return json_response(reply, headers=cookies)

    # for a tab

    async def close_session(self, http_request: HttpRequest) -> Response:
        """Closes the session of the tab."""
        http_request.query()
        self._sessions.close(tab_session(http_request))
        return Response(status_code=204)

    # to register a passkey

    async def enrolment_options(self, http_request: HttpRequest) -> Response:
        """What the browser needs to make a passkey."""
        http_request.query()
        await http_request.body(http_request.limits.session_bytes, (), optional=True)
        return json_response(self._enrolments.options(enrolling_session(http_request).enrolment))

    async def register(self, http_request: HttpRequest) -> Response:
        """Keeps the public part of a new passkey until an approver has signed for it."""
        http_request.query()
        session = enrolling_session(http_request)
        credential = await http_request.body(http_request.limits.call_bytes, None)
        return json_response(self._enrolments.register(session.enrolment, credential))

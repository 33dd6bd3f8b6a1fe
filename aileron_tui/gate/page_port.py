"""What a gate knows about its web page, which is made when it is first used, and the routes that open it."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, Protocol

from starlette.responses import Response

from aileron_tui.core.jsontext import JsonError, JsonObject, kind
from aileron_tui.core.values import dataclass
from aileron_tui.gate import page_docs as docs
from aileron_tui.gate.approver_sessions import Session
from aileron_tui.gate.event_stream import Watchers
from aileron_tui.gate.http_limits import HttpLimits
from aileron_tui.gate.http_request import HttpRequest, Refusal, invalid_body, json_response, not_found, rate_limited
from aileron_tui.gate.route_table import Route, RouteAccess

if TYPE_CHECKING:
    from aileron_tui.gate.gate import Gate

PAGE: Final = "page"
"""The first segment of the path of everything that belongs to the page."""

LOGGED_PATH: Final = "aileron.page_path"
LOGGED_CALLER: Final = "aileron.page_caller"
"""The keys in the ASGI scope for what the log says about an HTTP request to the page."""

_MAX_NAME: Final = 64
_LONGEST_WAIT: Final = 60
_NOT_OFFERED: Final = "this gate serves no page"


@dataclass(frozen=True, slots=True)
class PageSetup:
    """What a page gets from its gate: the origin at which browsers see it, and what it shares with other watchers."""

    origin: str
    watchers: Watchers
    limits: HttpLimits
    clock: Callable[[], float]


class Page(Protocol):
    """The page of a gate."""

    def respond(self, http_request: HttpRequest, segments: list[str]) -> Awaitable[Response]:
        """Responds to an HTTP request for something under `/page`."""

    def is_open(self, tab: str) -> bool:
        """Whether this is the token of a tab that may show data."""

    def issue_code(self, session: Session, enrolled_name: str | None) -> JsonObject:
        """A code that opens the page once; with a name, to register a passkey under it."""

    async def enrolment(self, id_: str, session: Session, wait: int) -> JsonObject | None:
        """What was registered, after waiting for it; None if this approver has no such enrolment."""


MakePage = Callable[["Gate", PageSetup], Page]


@dataclass(frozen=True, slots=True)
class PageOffer:
    """How to make the page, or why there is none."""

    make: MakePage | None = None
    why_not: str = _NOT_OFFERED


class PagePort:
    """The page of a gate, made when it is first used."""

    def __init__(self, gate: "Gate", offer: PageOffer, setup: PageSetup) -> None:
        self._gate = gate
        self._offer = offer
        self._setup = setup
        self._page: Page | None = None
        if offer.make is not None:
            gate.serve_page(setup.origin)
        self.routes = (
            Route("POST", "/v1/page/codes", RouteAccess.APPROVER, self.issue_code, docs.CODES),
            Route("GET", "/v1/page/enrolments/{id}", RouteAccess.APPROVER, self.enrolment, docs.ENROLMENT),
        )

    @property
    def page(self) -> Page:
        """The page. Raises Refusal if this gate has none."""
        if self._page is None:
            if self._offer.make is None:
                raise Refusal(404, "no_page", f"the page is not available: {self._offer.why_not}")
            self._page = self._offer.make(self._gate, self._setup)
        return self._page

    def is_open(self, tab: str) -> bool:
        """Whether this is the token of a tab that may show data."""
        return self._page is not None and self._page.is_open(tab)

    async def issue_code(self, http_request: HttpRequest) -> Response:
        """Returns a code that opens the page once."""
        http_request.query()
        session = http_request.session
        if seconds := session.view_limit.wait_seconds():
            raise rate_limited("codes", seconds)
        body = await http_request.body(http_request.limits.session_bytes, {"purpose", "name"})
        purpose, name = body.get("purpose"), body.get("name")
        if purpose not in ("open", "enroll"):
            raise invalid_body(JsonError('expected "open" or "enroll"', "$.purpose"))
        if not isinstance(name, str) if purpose == "enroll" else "name" in body:
            found = "nothing" if name is None else kind(name)
            raise invalid_body(
                JsonError(f'a name is needed for "enroll" and for nothing else; found {found}', "$.name")
            )
        if isinstance(name, str) and not 1 <= len(name) <= _MAX_NAME:
            raise invalid_body(JsonError(f"must have 1 to {_MAX_NAME} characters", "$.name"))
        page = self.page
        session.view_limit.charge(1)
        return json_response(page.issue_code(session, name if isinstance(name, str) else None))

    async def enrolment(self, http_request: HttpRequest) -> Response:
        """Returns the public part of a passkey that was registered on the page."""
        http_request.query()
        id_, wait = http_request.path_params["id"], http_request.wait(_LONGEST_WAIT) or 0
        found = await self.page.enrolment(id_, http_request.session, wait)
        if found is None:
            raise not_found("enrolment")
        return json_response(found)

"""The page with sample requests and without a gate: the real shell, templates and views behind a scripted server."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.request import Request
from aileron_tui.page.attempts import NO_PASSKEY
from aileron_tui.page.documents import FRAGMENT_POLICY, Documents
from aileron_tui.page.history_rendering import chart_view, history_row, record_view
from aileron_tui.page.rendering import prompt_view, waiting_view
from aileron_tui.page.shown_text import line
from aileron_tui.page.views import HistoryView
from aileron_tui.surface.history_records import (
    ShownPrompt,
    SourcedRecord,
    read_record,
    shown_in_request,
    tally,
)
from tests.gate.gate_harness import wait_until

CODE: Final = "good-code"
TAB: Final = "tab-token"


class LateDocuments(Documents):
    """The page with an answer that counts only after some seconds, for tests of what comes too early."""

    SECONDS: Final = 2.5

    @property
    def _script(self) -> str:
        script = super()._script
        assert script.count("seconds = 0.7") == 1
        return script.replace("seconds = 0.7", f"seconds = {self.SECONDS}")


ORDINARY: Final = Documents()
LATE: Final = LateDocuments()


@dataclass
class SamplePage:
    """What the page shows, and what it sent. Requests are changed by a test; `tell` sends an event to the page."""

    requests: dict[str, Request] = field(default_factory=dict)
    ended: dict[str, Request] = field(default_factory=dict)
    records: Sequence[JsonObject] = ()
    shown: Mapping[str, ShownPrompt] = field(default_factory=dict)
    readers: dict[str, Sequence[str]] = field(default_factory=dict)
    cannot_approve: str = ""
    problem: str = ""
    purpose: str = "open"
    port: int = 0
    now: datetime | None = None
    sent: list[tuple[str, JsonObject]] = field(default_factory=list)
    presence: JsonObject = field(default_factory=dict)
    documents: Documents = ORDINARY
    _queues: list[tuple[asyncio.AbstractEventLoop, asyncio.Queue[bytes]]] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The address of the page with a code that opens it."""
        return f"http://localhost:{self.port}/page#code={CODE}"

    def reset(self) -> None:
        """Forgets everything but the address."""
        self.hang_up()
        fresh = SamplePage(port=self.port)
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(fresh, name))

    def tell(self, event: str, **data: str) -> None:
        """Sends an event to every page that is open."""
        text = f"event: {event}\ndata: {json.dumps(data)}\n\n".encode()
        for loop, queue in self._queues:
            loop.call_soon_threadsafe(queue.put_nowait, text)

    def show(self, *requests: Request) -> None:
        """Lets exactly these requests wait."""
        self.requests = {request.id: request for request in requests}
        self.tell("waiting")

    def answers(self, path: str) -> list[JsonObject]:
        """What the page has sent to a route."""
        return [body for sent, body in self.sent if sent.endswith(path)]

    # routes

    def routes(self) -> list[Route]:
        return [
            Route("/page", self._shell),
            Route("/page/session", self._session, methods=["POST", "DELETE"]),
            Route("/page/waiting", self._waiting),
            Route("/page/requests/{id}", self._prompt),
            Route("/page/requests/{id}/{what}", self._post, methods=["POST"]),
            Route("/page/presence", self._presence, methods=["POST"]),
            Route("/page/history", self._history),
            Route("/page/history/{id}", self._record),
            Route("/page/events", self._events),
        ]

    async def _shell(self, _: HttpRequest) -> Response:
        headers = {"Content-Security-Policy": self.documents.policy}
        return Response(self.documents.shell, media_type="text/html", headers=headers)

    async def _session(self, http: HttpRequest) -> Response:
        if http.method == "DELETE":
            return Response(status_code=204)
        body = await http.json()
        if body["code"] != CODE:
            return _refused(403, "unknown_code", "this code is not valid")
        reply = JSONResponse({"tab": TAB, "purpose": self.purpose})
        reply.set_cookie("aileron_page", "1", path="/page", httponly=True, samesite="strict")
        return reply

    async def _waiting(self, http: HttpRequest) -> Response:
        view = waiting_view(self.requests.values(), self._now, self.readers, self.problem)
        return self._fragment(http, self.documents.waiting(view))

    async def _prompt(self, http: HttpRequest) -> Response:
        id_ = http.path_params["id"]
        found = self.requests.get(id_) or self.ended.get(id_)
        if found is None:
            return _refused(404, "not_found", "no such request")
        view = prompt_view(found, self._now, self.readers, cannot_approve=self.cannot_approve)
        return self._fragment(http, self.documents.prompt(view))

    async def _post(self, http: HttpRequest) -> Response:
        self.sent.append((http.url.path, await http.json()))
        if http.path_params["what"] == "challenge":
            return _refused(403, "no_passkey", NO_PASSKEY)
        return JSONResponse({"status": "denied", "message": "denied on the page, without a signature"})

    async def _presence(self, http: HttpRequest) -> Response:
        self.presence = await http.json()
        return Response(status_code=204)

    async def _history(self, http: HttpRequest) -> Response:
        search = http.query_params.get("search", "")
        found = [one for one in map(_sourced, self.records) if search in one.action]
        rows = tuple(history_row(one, self._now) for one in found[:40])
        is_first = not http.query_params.get("before")
        chart = chart_view(tally(found, self._now.date(), 28), found) if is_first and found else None
        view = HistoryView(rows, line(search), "40" if is_first and len(found) > 40 else "", chart=chart)
        return self._fragment(http, self.documents.history(view))

    async def _record(self, http: HttpRequest) -> Response:
        id_ = http.path_params["id"]
        record = next(one for one in map(_sourced, self.records) if one.id == id_)
        shown = self.shown.get(id_) or shown_in_request(next(iter(self.requests.values())))
        return self._fragment(http, self.documents.record(record_view(record, shown, self._now)))

    async def _events(self, http: HttpRequest) -> Response:
        if http.headers.get("x-aileron-tab") != TAB:
            return _refused(401, "no_tab", "no session")
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        self._queues.append((asyncio.get_running_loop(), queue))
        queue.put_nowait(b": hello\n\n")

        async def events() -> AsyncIterator[bytes]:
            while (text := await queue.get()) != b"":
                yield text

        return StreamingResponse(events(), media_type="text/event-stream")

    def hang_up(self) -> None:
        """Ends every stream of events."""
        for loop, queue in self._queues:
            loop.call_soon_threadsafe(queue.put_nowait, b"")
        self._queues.clear()

    def _fragment(self, http: HttpRequest, html: bytes) -> Response:
        if http.headers.get("x-aileron-tab") != TAB or "aileron_page" not in http.cookies:
            return _refused(401, "no_cookie", "the browser sent no cookie; allow cookies for localhost")
        return Response(html, media_type="text/html", headers={"Content-Security-Policy": FRAGMENT_POLICY})

    @property
    def _now(self) -> datetime:
        return self.now or datetime.now(UTC)


def _sourced(record: JsonObject) -> SourcedRecord:
    return read_record(record)


def _refused(status: int, code: str, message: str) -> Response:
    return JSONResponse({"error": {"code": code, "message": message}}, status)


@contextmanager
def sample_page() -> Iterator[SamplePage]:
    """A page on a port of its own."""
    page = SamplePage()
    config = uvicorn.Config(
        Starlette(routes=page.routes()),
        "127.0.0.1",
        0,
        log_level="error",
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started)
        page.port = server.servers[0].sockets[0].getsockname()[1]
        yield page
    finally:
        page.hang_up()
        server.should_exit = True
        thread.join()

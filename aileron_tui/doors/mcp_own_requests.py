"""Requests that the MCP proxy makes of a server itself: to list its tools, and to call a preview tool.

Their ids are random, so no client uses them, and no client ever sees their replies.
"""

import os
import time
from collections.abc import Callable
from typing import Final

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.mcp_listings import MOST_PAGES, MOST_TOOLS, ToolFault, ToolListings, read_page
from aileron_tui.core.mcp_messages import LIST, ServerMessage, request_line
from aileron_tui.core.mcp_tools import PinnedTool
from aileron_tui.core.values import dataclass

LIST_SECONDS: Final = 15.0
_NEVER: Final = float("inf")
_NO_REPLY: Final = "the server did not answer in time"


@dataclass(frozen=True, slots=True)
class OwnReply:
    """What a server replied: a result, or the reason why there is none."""

    result: JsonObject | None
    problem: str = ""


Then = Callable[[OwnReply], None]


class OwnRequests:
    """The proxy's own requests that have not been answered yet."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._prefix = f"aileron-{os.urandom(8).hex()}-"
        self._count = 0
        self._open: dict[str, tuple[float, Then]] = {}

    def start(self, method: str, params: JsonObject, seconds: float, then: Then) -> None:
        """Sends a request. `then` is called once: with the reply, or with the reason why there is none."""
        self._count += 1
        id_ = f"{self._prefix}{self._count}"
        self._open[id_] = (time.monotonic() + seconds, then)
        self._send(request_line(id_, method, params))

    def owns(self, id_: Json) -> bool:
        """Whether an id is one of the proxy's, whether or not it is still open."""
        return isinstance(id_, str) and id_.startswith(self._prefix)

    def take(self, id_: str, message: ServerMessage) -> None:
        """Takes the reply to a request. A second one is dropped."""
        _, then = self._open.pop(id_, (0.0, _ignore))
        then(_reply(message))

    def fail(self, id_: str, problem: str) -> None:
        """A request will not be answered."""
        _, then = self._open.pop(id_, (0.0, _ignore))
        then(OwnReply(None, problem))

    def expire(self, now: float) -> None:
        """Ends the requests whose time is over."""
        if not self._open:
            return
        for id_ in [id_ for id_, (end, _) in self._open.items() if end <= now]:
            _, then = self._open.pop(id_)
            then(OwnReply(None, _NO_REPLY))

    @property
    def is_timed(self) -> bool:
        """Whether a request is open."""
        return bool(self._open)

    def next_time(self) -> float:
        """When the next request expires."""
        return min((end for end, _ in self._open.values()), default=_NEVER) if self._open else _NEVER

    def close(self, problem: str) -> None:
        """Ends all requests, because no reply can come any more."""
        while self._open:
            _, (_, then) = self._open.popitem()
            then(OwnReply(None, problem))


class OwnListing:
    """Lists all tools of a server, page by page, for everyone who waits for that. All pages share one limit of time."""

    def __init__(self, own: OwnRequests, listings: ToolListings) -> None:
        self._own = own
        self._listings = listings
        self._waiting: list[Callable[[str], None]] = []
        self._end = 0.0
        self._changes = 0

    def start(self, meta: JsonObject, then: Callable[[str], None]) -> None:
        """Lists the tools; `then` is called with "" when they are known, else with the reason why they are not."""
        self._waiting.append(then)
        if len(self._waiting) == 1:
            self._end = time.monotonic() + LIST_SECONDS
            self._begin(meta)

    def _begin(self, meta: JsonObject) -> None:
        self._changes = self._listings.changes
        self._ask(meta, "", {})

    def _ask(self, meta: JsonObject, cursor: str, pages: dict[str, tuple[PinnedTool, ...]]) -> None:
        params: JsonObject = {"cursor": cursor} if cursor else {}
        if meta:
            params["_meta"] = meta
        seconds = self._end - time.monotonic()
        self._own.start(LIST, params, seconds, lambda reply: self._page(meta, cursor, pages, reply))

    def _page(self, meta: JsonObject, cursor: str, pages: dict[str, tuple[PinnedTool, ...]], reply: OwnReply) -> None:
        try:
            if reply.result is None:
                raise ToolFault("the server did not list its tools", reply.problem)
            tools, after = read_page(reply.result)
            pages[cursor] = tools
            if after in pages and after:
                raise ToolFault("the list of tools has no end")
            if len(pages) > MOST_PAGES or sum(map(len, pages.values())) > MOST_TOOLS:
                raise ToolFault("the server has too many tools")
        except ToolFault as error:
            self._finish(str(error))
            return
        if self._changes != self._listings.changes:  # the pages so far may be of the list before the change
            self._begin(meta)
            return
        if after:
            self._ask(meta, after, pages)
            return
        self._listings.add_own(pages)
        self._finish("")

    def _finish(self, problem: str) -> None:
        waiting, self._waiting = self._waiting, []
        for then in waiting:
            then(problem)


def _reply(message: ServerMessage) -> OwnReply:
    body = message.body or {}
    if not message.is_strict or ("result" in body) == ("error" in body):
        return OwnReply(None, "its reply can be understood in two ways")
    result, error = body.get("result"), body.get("error")
    if isinstance(result, dict):
        return OwnReply(result)
    text = error.get("message") if isinstance(error, dict) else None
    return OwnReply(None, f"it answered: {text[:300]}" if isinstance(text, str) else "its reply is invalid")


def _ignore(_: OwnReply) -> None:
    return

"""The HTTP client for opencode.

opencode keeps one queue of requests for each folder it works in. A list that contains one request with an undefined
value in its metadata is refused as a whole (seen in 1.18.33 for `grep` and `webfetch`), so a folder may be unlisted.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final
from urllib.parse import quote

import httpx

from aileron_tui.core.address import read_address
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.daemon.listed_client import DaemonResult
from aileron_tui.runtime.errors import InvalidReply, NoGate, NotAllowed, NotFound, Rejected, RuntimeFault
from aileron_tui.runtime.http_connection import HttpConnection
from aileron_tui.runtime.opencode.opencode_server import START, OpencodeServer
from aileron_tui.runtime.opencode.tool_part import CallPlace, ToolPart, read_part, read_place
from aileron_tui.runtime.sse import SseFrame, read_frames

LARGEST_EVENT: Final = 64 * 1024 * 1024
LONGEST_ID: Final = 1024
SILENCE: Final = 35.0
"""How long the event stream may be silent: more than three heartbeats."""

NOT_LISTED: Final = "opencode no longer lists this request and does not say what became of it"
REJECTED_TOGETHER: Final = "rejected by opencode together with another request of its session that was denied"

_MOST_FOLDERS: Final = 32
_MOST_PLACES: Final = 40_000
_CHECK_HERE: Final = 1.0
_CHECK_ELSEWHERE: Final = 10.0
_CHECK_SECONDS: Final = 3.0
_CALL_SECONDS: Final = 5.0
_TOGETHER_SECONDS: Final = 10.0


class OpencodeClient:
    """The client for one server. Safe to use from several threads."""

    peer = "opencode server"

    def __init__(
        self, server: OpencodeServer, *, silence: float = SILENCE, transport: httpx.BaseTransport | None = None
    ) -> None:
        self._connection = HttpConnection(
            server.url,
            peer=self.peer,
            hint=START,
            silence=silence,
            secret=server.password,
            own_user_only=True,
            failures_are_results=False,
            transport=transport,
        )
        self.redact = self._connection.redact
        for secret in server.secrets:
            self._connection.redact.add(secret)
        self._url = server.url
        self._headers = server.headers
        self._address = read_address(server.url) if transport is None else None
        self.check_every = _CHECK_HERE if self._address and self._address.is_local else _CHECK_ELSEWHERE
        self._guard = threading.Lock()
        self._folders: dict[str, None] = {}
        self._places: dict[str, CallPlace] = {}
        self._by_call: dict[CallPlace, tuple[str, ...]] = {}
        self._allowed: dict[str, None] = {}
        self._denied: dict[str, None] = {}
        self._rejected_sessions: dict[str, float] = {}

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()

    def check_listening(self) -> None:
        """Raises NoGate if opencode refuses connections. Anything else that is wrong shows in other calls."""
        address = self._address
        if address is None:
            return
        try:
            socket.create_connection((address.host, address.port), timeout=_CHECK_SECONDS).close()
        except ConnectionRefusedError:
            raise NoGate(f"cannot connect to {self._url}", "opencode has stopped", START) from None
        except (OSError, UnicodeError):
            return

    def version(self) -> str:
        """The version of opencode; raises unless a healthy server answers."""
        reply = self._ask("/global/health", seconds=_CALL_SECONDS)
        version = reply.get("version")
        if reply.get("healthy") is not True or not isinstance(version, str):
            raise InvalidReply("this is not an opencode server", hint="Check the address.")
        return version

    def config(self) -> JsonObject:
        """The settings of opencode in the folder it was started in."""
        return self._ask("/config", seconds=_CALL_SECONDS)

    # requests

    def waiting(self) -> list[Json]:
        """The waiting requests of every known folder, each as `{"folder", "request"}`, oldest first.

        A folder whose requests opencode cannot list has one `{"folder", "unlisted"}` instead, with the reason.
        """
        items: list[Json] = []
        for number, folder in enumerate(self._known_folders()):
            try:
                listed = self._list(folder)
            except NotAllowed:
                raise
            except Rejected as error:
                if error.status != 400 and not number:
                    raise
                items.append({"folder": folder, "unlisted": self.redact(_said(error))})
                continue
            for request in listed:
                self.remember(folder, request)
                items.append({"folder": folder, "request": request})
        return items

    def add_folder(self, folder: str) -> bool:
        """Lists this folder from now on; returns whether it is new."""
        known = self._known_folders()
        with self._guard:
            if folder in known or len(known) >= _MOST_FOLDERS:
                return False
            self._folders[folder] = None
            return True

    def remember(self, folder: str, request: Json) -> None:
        """Remembers where the call of a request is stored, and in which folder the request is answered."""
        place = read_place(folder, request)
        id_ = request.get("id") if isinstance(request, dict) else None
        if place is None or not isinstance(id_, str):
            return
        with self._guard:
            self._places.pop(id_, None)
            self._places[id_] = place
            ids = self._by_call.pop(place, ())
            self._by_call[place] = ids if id_ in ids else (*ids, id_)
            _bound(self._places)
            _bound(self._by_call)

    def place(self, id_: str) -> CallPlace | None:
        """Where the call of a request is stored, if that is known."""
        return self._places.get(id_)

    def requests_about(self, place: CallPlace) -> tuple[str, ...]:
        """The ids of the requests about a call."""
        return self._by_call.get(place, ())

    def tool_part(self, place: CallPlace) -> ToolPart:
        """What opencode stores about a call."""
        if not place.call:
            raise InvalidReply("opencode does not say which call it asks about")
        path = f"/session/{_segment(place.session)}/message/{_segment(place.message)}"
        return read_part(self._ask(path, place.folder, seconds=_CALL_SECONDS), place)

    # answers

    def decide(self, id_: str, body: JsonObject) -> None:
        """Sends an answer: `once` or `reject`, never `always`. Raises unless opencode accepted it."""
        place, approved, reason = self._places.get(id_), body["approved"] is True, body.get("reason")
        if place is None:
            raise NotFound(404, {}, peer=self.peer)
        reply: JsonObject = {"reply": "once"} if approved else {"reply": "reject"}
        if not approved:
            if isinstance(reason, str) and reason:
                reply["message"] = reason
            with self._guard:
                self._denied[id_] = None
                self._rejected_sessions[place.session] = monotonic()
                _bound(self._denied)
        path = f"/permission/{_segment(id_)}/reply"
        try:
            self._connection.send("POST", _in_folder(path, place.folder), reply, headers=self._headers)
        except NotFound:
            if approved or not self._was_rejected_with_others(id_):
                raise  # otherwise it was rejected a moment ago, with another request that was denied here
        if approved:
            self.note_allowed(id_)

    def note_allowed(self, id_: str) -> None:
        """Notes that a request was allowed, here or elsewhere."""
        with self._guard:
            self._allowed[id_] = None
            _bound(self._allowed)

    def was_rejected_here(self, id_: str) -> bool:
        """Whether another request of the same session was denied here a moment ago, which rejects all of them."""
        place = self._places.get(id_)
        since = self._rejected_sessions.get(place.session) if place else None
        return since is not None and monotonic() - since < _TOGETHER_SECONDS

    def outcome(self, id_: str) -> DaemonResult:
        """The state of a request that no longer waits; WITHDRAWN if opencode does not say what became of it."""
        place, allowed = self._places.get(id_), id_ in self._allowed
        forgotten = DaemonResult(RequestState.RUNNING if allowed else RequestState.WITHDRAWN, note=NOT_LISTED)
        if place is None or not place.call:
            return forgotten
        try:
            part = self.tool_part(place)
        except (NotFound, InvalidReply):
            return forgotten
        result = part.result(allowed=allowed) or (DaemonResult(RequestState.RUNNING) if allowed else forgotten)
        if result.state is RequestState.DENIED and id_ not in self._denied and self.was_rejected_here(id_):
            return DaemonResult(RequestState.WITHDRAWN, note=REJECTED_TOGETHER)
        return DaemonResult(result.state, error=self.redact(result.error), note=result.note)

    def result(self, id_: str) -> DaemonResult:
        """The state of a request that no longer waits; raises NotFound if it was never seen."""
        if id_ not in self._places:
            raise NotFound(404, {}, peer=self.peer)
        return self.outcome(id_)

    def current_state(self, id_: str) -> DaemonResult:
        """The state of a request: PENDING if it is listed, else its outcome; raises if opencode cannot say."""
        place = self._places.get(id_)
        for item in self.waiting():
            match item:
                case {"request": {"id": str() as listed}} if listed == id_:
                    return DaemonResult(RequestState.PENDING)
                case {"folder": str() as folder, "unlisted": str() as why} if place and folder == place.folder:
                    part = self.tool_part(place)
                    if not part.ended:
                        raise InvalidReply("opencode cannot list its requests", why)
        return self.outcome(id_)

    @contextmanager
    def events(self) -> Iterator[Iterator[SseFrame | None]]:
        """The events of all folders as they happen."""
        with self._connection.stream("/global/event", self._headers) as chunks:
            yield read_frames(chunks, LARGEST_EVENT)

    def _was_rejected_with_others(self, id_: str) -> bool:
        try:
            return self.outcome(id_).state is RequestState.DENIED
        except RuntimeFault:
            return False

    def _known_folders(self) -> list[str]:
        """The folder that opencode was started in, then those of which it reported requests."""
        if not self._folders:
            folder = self._ask("/path", seconds=_CALL_SECONDS).get("directory")
            if not isinstance(folder, str) or not folder:
                raise InvalidReply("opencode does not say in which folder it runs")
            with self._guard:
                self._folders = {folder: None} | self._folders
        return list(self._folders)

    def _list(self, folder: str) -> list[Json]:
        reply = self._connection.ask(
            "GET", _in_folder("/permission", folder), headers=self._headers, lenient_items=True, is_list=True
        )
        items = reply.get("items")
        if not isinstance(items, list):
            raise InvalidReply("the reply of opencode is not a list of requests")
        return items

    def _ask(self, path: str, folder: str = "", seconds: float = 30.0) -> JsonObject:
        return self._connection.ask("GET", _in_folder(path, folder), headers=self._headers, seconds=seconds)


def check_id(id_: str) -> None:
    """Refuses an id that cannot be part of a URL path."""
    if id_ in ("", ".", "..") or len(id_) > LONGEST_ID:
        raise InvalidReply("opencode sent an id that cannot be part of a URL")


def _segment(id_: str) -> str:
    check_id(id_)
    return quote(id_, safe="")


def _in_folder(path: str, folder: str) -> str:
    return f"{path}?directory={quote(folder, safe='')}" if folder else path


def _said(error: Rejected) -> str:
    """What opencode says about a refusal."""
    match error.body:
        case {"data": {"message": str() as message}} | {"message": str() as message}:
            return " ".join(message.split())[:200]
    return f"HTTP {error.status}"


def _bound(kept: "dict[str, CallPlace] | dict[CallPlace, tuple[str, ...]] | dict[str, None]") -> None:
    while len(kept) > _MOST_PLACES:
        del kept[next(iter(kept))]  # type: ignore[arg-type]

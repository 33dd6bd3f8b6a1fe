"""Reads the lists and events of opencode. Nothing about one request may hide the others."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from time import monotonic
from typing import Final

from aileron_tui.core.jsontext import Json, JsonError, JsonObject, canonical, compact
from aileron_tui.core.listed_items import UnreadableItem
from aileron_tui.core.request import Request
from aileron_tui.core.risk import RiskRule
from aileron_tui.core.times import moment
from aileron_tui.runtime.daemon.list_reader import MOST_WAITING
from aileron_tui.runtime.daemon.tracker import Tracker
from aileron_tui.runtime.errors import InvalidReply, RuntimeFault
from aileron_tui.runtime.opencode.opencode_client import OpencodeClient, check_id
from aileron_tui.runtime.opencode.opencode_server import OpencodeServer
from aileron_tui.runtime.opencode.request_reader import has_others, read_request, unreadable_request, with_others
from aileron_tui.runtime.opencode.tool_part import ToolPart, read_place

UNLISTED: Final = "opencode cannot list its requests now, so some may be missing"

_TWICE: Final = "opencode lists two different requests with this id"
_TOO_MANY: Final = "too many calls to fetch at once"
_LOOKUP_SECONDS: Final = 10.0
_TRIES: Final = 4
_PAUSE: Final = 0.05
_log: Final = logging.getLogger(__name__)


class OpencodeReader:
    """Reads requests and fetches the arguments of their calls. `head` is that of our ledger."""

    def __init__(  # noqa: PLR0913  # everything that a request is read with
        self,
        client: OpencodeClient,
        server: OpencodeServer,
        tracker: Tracker,
        *,
        name: str,
        rules: Sequence[RiskRule],
        clock: Callable[[], datetime],
        head: Callable[[], str],
    ) -> None:
        self._client = client
        self._tracker = tracker
        self._name = name
        self._instance = server.instance
        self._has_password = bool(server.password)
        self._rules = rules
        self._clock = clock
        self._head = head
        self._outdated: set[str] = set()

    def forget(self, id_: str) -> None:
        """Fetches the arguments of this request again the next time it is read."""
        self._outdated.add(id_)

    def read_all(self, values: Iterable[Json]) -> tuple[list[Request], int]:
        """The requests that can be read, and the number of those that cannot.

        The requests of a folder that opencode cannot list are those that are already known.
        """
        requests: dict[str, Request] = {}
        unreadable, until = 0, monotonic() + _LOOKUP_SECONDS
        for value in self._with_known(values):
            request = self._read_or_mark(value, until) if len(requests) < MOST_WAITING else None
            if request is None:
                unreadable += 1
            elif request.id in requests and not _is_same_request(request, requests[request.id]):
                requests[request.id] = self._unreadable(request.id, _TWICE)
            else:
                requests[request.id] = request
        return self._cautioned(requests.values()), unreadable

    def find(self, values: Iterable[Json], id_: str) -> Request | None:
        """The request with this id, or None if it is not listed; raises if opencode cannot list its requests."""
        values = list(values)
        requests, _ = self.read_all([value for value in values if _id_in(value) in (id_, None)])
        for request in requests:
            if request.id == id_:
                sessions = [_session_in(value) for value in values]
                return with_others(request, others_wait=sessions.count(request.prompt.asker.session) > 1)
        check_listed(values)
        return None

    def read_again(self, request: Request) -> Request | None:
        """A request as opencode has it now, or None if it no longer lists it; raises if that cannot be found out."""
        self.forget(request.id)
        folder, item = request.fields.get("folder"), request.fields.get("request")
        for value in self._client.waiting():
            if _id_in(value) == request.id:
                return self._read_or_mark(value, monotonic() + _LOOKUP_SECONDS)
            if isinstance(value, dict) and "unlisted" in value and value.get("folder") == folder:
                now = self._read_or_mark({"folder": folder, "request": item}, monotonic() + _LOOKUP_SECONDS)
                if now is None or now.fields.get("call") is None or "unknown" in _object(now.fields.get("call")):
                    title = "opencode can neither list this request nor show its call, so it may have changed"
                    raise InvalidReply(title, hint="Deny it, or answer in opencode.")
                return now
        return None

    def _with_known(self, values: Iterable[Json]) -> Iterator[Json]:
        """The listed requests, and those that are known to wait in folders that opencode cannot list."""
        for value in values:
            if isinstance(value, dict) and "unlisted" in value:
                yield from self._known_in(value.get("folder"))
            else:
                yield value

    def _known_in(self, folder: Json) -> list[Json]:
        known = [request.fields for request in self._tracker.waiting.values() if request.fields.get("folder") == folder]
        for fields in known:
            self.forget(str(fields.get("id")))
        return [{"folder": folder, "request": fields.get("request")} for fields in known]

    def _cautioned(self, requests: Iterable[Request]) -> list[Request]:
        """The requests, each with a caution if others of its session wait too."""
        listed = list(requests)
        if len(listed) < 2:
            return listed
        sessions = Counter(request.prompt.asker.session for request in listed)
        return [
            with_others(request, others_wait=bool(session := request.prompt.asker.session) and sessions[session] > 1)
            for request in listed
        ]

    def _read_or_mark(self, value: Json, until: float) -> Request | None:
        """A request; one that cannot be read can only be denied, or is None if it has no usable id."""
        try:
            return self._read(_object(value), until)
        except RuntimeFault as error:
            why = str(error)
        except Exception as error:  # noqa: BLE001  # nothing about one request may hide the others
            why = f"{type(error).__name__}: {error}"
            _log.warning("a request of opencode cannot be read: %.500r", why)
        id_ = _id_in(value)
        try:
            if id_ is None:
                return None
            check_id(id_)
            canonical(id_)
            return self._unreadable(id_, why)
        except (JsonError, InvalidReply, ValueError):
            return None

    def _unreadable(self, id_: str, why: str) -> Request:
        known = self._tracker.waiting.get(id_)
        seen = moment(known.requested_at) if known is not None else self._clock()
        return unreadable_request(
            id_, self._client.redact(why), source=self._name, instance=self._instance, head=self._head(), seen=seen
        )

    def _read(self, value: JsonObject, until: float) -> Request:
        folder, item = value.get("folder"), value.get("request")
        if isinstance(item, UnreadableItem):
            raise InvalidReply(item.why)
        if not isinstance(item, dict) or not isinstance(folder, str):
            raise InvalidReply("opencode sent something that is not a request", compact(item)[:80])
        id_ = item.get("id")
        if not isinstance(id_, str):
            raise InvalidReply("opencode sent a request without an id")
        check_id(id_)
        known = self._tracker.waiting.get(id_)
        if known is not None and id_ not in self._outdated and _is_unchanged(known, folder, item):
            return known
        self._outdated.discard(id_)
        request = read_request(
            item,
            self._part(folder, item, until),
            folder=folder,
            source=self._name,
            instance=self._instance,
            head=self._head(),
            rules=self._rules,
            seen=moment(known.requested_at) if known is not None else self._clock(),
            has_password=self._has_password,
        )
        if known is not None:
            request = with_others(request, others_wait=has_others(known))
        if known is not None and (known.digest, known.cautions, known.deny_only) == (
            request.digest,
            request.cautions,
            request.deny_only,
        ):
            return replace(known, fields=request.fields)
        return request

    def _part(self, folder: str, item: JsonObject, until: float) -> ToolPart | str:
        """The call, or why it is not known. opencode asks a moment before it stores the arguments."""
        place = read_place(folder, item)
        if place is None or not place.call:
            return "opencode does not say which call it asks about"
        part: ToolPart | str = _TOO_MANY
        for number in range(_TRIES):
            if monotonic() >= until:
                return part
            if number:
                time.sleep(_PAUSE)
            try:
                part = self._client.tool_part(place)
            except RuntimeFault as error:
                return self._client.redact(error.title)
            if part.args is not None:
                return part
        return part


def unlisted_reason(values: Iterable[Json]) -> str:
    """Why opencode cannot list the requests of a folder, "" if it lists those of every folder."""
    reasons = (value.get("unlisted") for value in values if isinstance(value, dict) and "unlisted" in value)
    return next(map(compact, reasons), "")


def check_listed(values: Iterable[Json]) -> None:
    """Raises InvalidReply if opencode cannot list the requests of a folder."""
    if why := unlisted_reason(values):
        raise InvalidReply(UNLISTED, why, "Use the console: it learns of each request when it is asked.")


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _id_in(value: Json) -> str | None:
    id_ = _object(_object(value).get("request")).get("id")
    return id_ if isinstance(id_, str) else None


def _session_in(value: Json) -> str | None:
    session = _object(_object(value).get("request")).get("sessionID")
    return session if isinstance(session, str) else None


def _is_same_request(one: Request, other: Request) -> bool:
    return one.digest == other.digest and one.fields.get("request") == other.fields.get("request")


def _is_unchanged(known: Request, folder: str, item: JsonObject) -> bool:
    """Whether opencode still sends the same request, and its arguments are known."""
    call = known.fields.get("call")
    complete = isinstance(call, dict) and call.get("input") is not None
    same = known.fields.get("folder") == folder and known.fields.get("request") == item
    # Since 1 == True in Python, the text is compared too.
    return complete and same and repr(known.fields.get("request")) == repr(item)

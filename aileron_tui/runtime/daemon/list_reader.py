"""Reads the lists of one daemon. Nothing about one request may hide the others, so every error is contained."""

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Final

from aileron_tui.core.jsontext import Json, JsonError, JsonObject, canonical
from aileron_tui.core.listed_items import UnreadableItem
from aileron_tui.core.request import Request
from aileron_tui.core.risk import RiskRule
from aileron_tui.core.times import moment
from aileron_tui.runtime.daemon import request_reader
from aileron_tui.runtime.daemon.daemon_client import DaemonClient, check_id
from aileron_tui.runtime.daemon.daemon_discovery import Daemon
from aileron_tui.runtime.daemon.label_cache import LabelCache
from aileron_tui.runtime.daemon.times import time_of
from aileron_tui.runtime.daemon.tracker import Tracker
from aileron_tui.runtime.errors import InvalidReply

MOST_WAITING: Final = 20_000

_COMPARED_AS_TEXT: Final = ("args", "preview", "input_fields")
_log: Final = logging.getLogger(__name__)


class ListReader:
    """Reads requests, with what the daemon says about their actions and sessions. `head` is that of our ledger."""

    def __init__(  # noqa: PLR0913  # everything that a request is read with
        self,
        client: DaemonClient,
        daemon: Daemon,
        tracker: Tracker,
        *,
        name: str,
        rules: Sequence[RiskRule],
        clock: Callable[[], datetime],
        head: Callable[[], str],
    ) -> None:
        self._tracker = tracker
        self._name = name
        self._instance = daemon.instance
        self._started = time_of(daemon.started_at)
        self._rules = rules
        self._clock = clock
        self._head = head
        self._action_labels = LabelCache(client.action)
        self._session_labels = LabelCache(client.session)

    def read_all(self, values: Iterable[Json]) -> tuple[list[Request], int]:
        """The requests that can be read, and the number of those that cannot."""
        requests: list[Request] = []
        unreadable = 0
        self._action_labels.allow_lookups()
        self._session_labels.allow_lookups()
        for value in values:
            if len(requests) >= MOST_WAITING:
                unreadable += 1
                continue
            request = self.read_or_mark(value)
            if request is None:
                unreadable += 1
            else:
                requests.append(request)
        return requests, unreadable

    def find(self, values: Iterable[Json], id_: str) -> Request | None:
        """The request with this id, or None if it is not listed."""
        for value in values:
            if isinstance(value, dict) and value.get("id") == id_ and (request := self.read_or_mark(value)):
                return request
        return None

    def read_or_mark(self, value: Json) -> Request | None:
        """A request; one that cannot be read can only be denied, or is None if it has no usable id.

        Nothing about one request may hide the others, so every error is contained.
        """
        try:
            return self._read(value)
        except InvalidReply as error:
            why = str(error)
        except Exception as error:  # noqa: BLE001  # see above
            why = f"{type(error).__name__}: {error}"
            _log.warning("a request of the daemon cannot be read: %.500r", why)
        id_ = value.get("id") if isinstance(value, dict) else None
        try:
            if not isinstance(id_, str) or not _is_usable(id_):
                return None
            known = self._tracker.waiting.get(id_)
            seen = moment(known.requested_at) if known is not None else self._clock()
            head = self._head()
            return request_reader.unreadable_request(
                id_, why, source=self._name, instance=self._instance, head=head, seen=seen
            )
        except (JsonError, InvalidReply, ValueError):
            return None

    def _read(self, value: Json) -> Request:
        if isinstance(value, UnreadableItem):
            raise InvalidReply(value.why)
        fields = value if isinstance(value, dict) else {}
        id_ = fields.get("id")
        if isinstance(id_, str):
            check_id(id_)
        known = self._tracker.waiting.get(id_) if isinstance(id_, str) else None
        unchanged = known is not None and _is_unchanged(known, fields)
        if known is not None and known.instance == self._instance and unchanged:
            return known  # what was shown does not change, even if labels have been looked up since
        request = request_reader.read_daemon_request(
            value,
            source=self._name,
            instance=self._instance,
            head=self._head(),
            action=self._action_labels.of(fields.get("action_name")),
            session=self._session_labels.of(fields.get("session_id")),
            rules=self._rules,
            seen=self._clock(),
            started=self._started,
        )
        started_before = _start_in(known.instance) if known is not None and unchanged else None
        if started_before is not None and self._started not in (None, started_before):
            return request_reader.made_before_restart(request)
        return request


def _is_usable(id_: str) -> bool:
    """Whether a request with this id can be answered and recorded."""
    check_id(id_)
    return bool(canonical(id_))


def _start_in(instance: str) -> datetime | None:
    """When the daemon started, as its instance says."""
    return time_of(instance.rpartition(" ")[2])


def _is_unchanged(known: Request, fields: JsonObject) -> bool:
    """Whether the daemon still sends the same request. Since 1 == True in Python, the text is compared too."""
    sent = fields | {"inputs": known.fields.get("inputs")}
    return known.fields == sent and all(
        repr(known.fields.get(name)) == repr(sent.get(name)) for name in _COMPARED_AS_TEXT
    )

"""The HTTP client for viewers: lists and watches what agents sent to a gate of this user, without a key."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Self

import httpx

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.request import Request
from aileron_tui.runtime.errors import InvalidReply, NoGate, NotAllowed, RuntimeFault
from aileron_tui.runtime.gate_client import check_instance, connect_as_approver
from aileron_tui.runtime.gate_discovery import START, FoundGate
from aileron_tui.runtime.request_reader import read_gate_request
from aileron_tui.runtime.source_events import LIMITS, SourceEvent, read_events


class ViewerClient:
    """A viewer of a gate, through its Unix socket. Requests have no previews, and cannot be answered."""

    def __init__(self, found: FoundGate, *, name: str = "", transport: httpx.BaseTransport | None = None) -> None:
        if found.socket is None:
            raise NoGate("this gate cannot be viewed without a key", f"{found.url} has no Unix socket here", START)
        self._found = found
        self._connection = connect_as_approver(found, transport)
        self.name = name
        self._token = ""
        self.instance = ""
        self.accounts = ""  # "none", "locked" or "unlocked", once a session is open

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the session and closes the connection."""
        if self._token:
            with suppress(RuntimeFault):
                self._connection.ask("DELETE", "/v1/viewer/session", headers=self._headers)
        self._token = ""
        self._connection.close()

    def waiting(self) -> tuple[Request, ...]:
        """The waiting requests without previews, oldest first."""
        self.open()
        items = self._connection.ask("GET", "/v1/viewer/requests", headers=self._headers).get("items")
        if not isinstance(items, list):
            raise InvalidReply("the gate's reply contains no list of requests")
        return tuple(_unsignable(read_gate_request(item, self.instance, self.name)) for item in items)

    def watch(self, after: int = 0) -> Iterator[SourceEvent | None]:
        """Yields every change after event `after` as it happens, and None for each heartbeat, until the gate stops."""
        self.open()
        resume = {"Last-Event-ID": str(after)} if after else {}
        with self._connection.stream("/v1/viewer/watch", {**self._headers, **resume}) as chunks:
            for event in read_events(chunks, self.instance, LIMITS, self.name):
                yield event and _unsignable_event(event)

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}"}

    def open(self) -> None:
        """Opens a session, unless there is one. Raises NoViewers."""
        if self._token:
            return
        try:
            reply = self._connection.ask("POST", "/v1/viewer/session", {})
        except NotAllowed as error:
            raise NoViewers("this gate does not serve viewers", str(error)) from None
        token, instance = reply.get("token"), reply.get("instance")
        if not isinstance(token, str) or not isinstance(instance, str):
            raise InvalidReply("the gate's reply contains no session token")
        check_instance(self._found, instance)
        self._connection.redact.add(token)
        self._token, self.instance = token, instance
        self.accounts = str(reply.get("accounts", ""))


class NoViewers(RuntimeFault):
    """The gate does not let this process view requests without a key."""


def _unsignable(request: Request) -> Request:
    """The request without its digest in what is printed: it is not the digest of the prompt that approvers see."""
    return replace(request, fields=_without_digest(request.fields))


def _unsignable_event(event: SourceEvent) -> SourceEvent:
    items = event.data.get("items")
    data = _without_digest(event.data)
    if isinstance(items, list):
        data |= {"items": [_without_digest(item) for item in items if isinstance(item, dict)]}
    return replace(event, data=data, requests=tuple(map(_unsignable, event.requests)))


def _without_digest(fields: JsonObject) -> JsonObject:
    return {name: value for name, value in fields.items() if name != "digest"}

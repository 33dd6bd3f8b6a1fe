"""The service behind the gate in a chaos round: counts every effect, and replies late, broken or not at all."""

from __future__ import annotations

import base64
import json
import random
import socket
import struct
import threading
import time
from collections import Counter
from enum import StrEnum
from typing import Final

from aileron_tui.demo.sample_service import SampleService, _Handler
from aileron_tui.demo.service_routes import ServiceError, ServiceRequest, ServiceResponse, error_response

_SLOW_SECONDS: Final = 0.6
_LATE_SECONDS: Final = 2.0
_BREAK: Final = "X-Break"
_BROKEN_READS: Final = 0.2
_GARBAGE: Final = ServiceResponse(200, b"\x00\xff<!doctype html><p>not what you asked for")


class Reply(StrEnum):
    """How the service replies to one send."""

    GOOD = "good"
    SLOW = "slow, then done"
    LATE = "done, then late"
    ERROR = "500, not done"
    REFUSED = "closed, not done"
    LOST = "done, then closed"
    CUT = "done, then cut"
    RESET = "done, then reset"
    GARBAGE = "done, then garbage"


class _BreakingHandler(_Handler):
    """Sends half of a response, then closes or resets the connection, if the response says so."""

    def _send(self, response: ServiceResponse) -> None:
        how = response.headers.get(_BREAK)
        if how is None:
            super()._send(response)
            return
        self.close_connection = True
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(response.body)}\r\n\r\n"
        self.wfile.write(head.encode() + response.body[: len(response.body) // 2])
        self.wfile.flush()
        if how == Reply.RESET:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()


class ChaosUpstream(SampleService):
    """A service that counts the sends that arrived and those that took effect, by draft."""

    def __init__(self) -> None:
        super().__init__()
        self.arrived: Counter[str] = Counter()
        self.effects: Counter[str] = Counter()
        self.replies: dict[str, Reply] = {}
        self._guard = threading.Lock()
        self._number = 0
        self._reads: random.Random | None = None

    def start(self) -> ChaosUpstream:
        """Starts serving in the background."""
        super().start()
        assert self._server is not None
        self._server.RequestHandlerClass = _BreakingHandler
        return self

    def break_reads(self, seed: str) -> None:
        """Makes some of the reads for previews fail."""
        self._reads = random.Random(seed)

    def heal_reads(self) -> None:
        """Makes reads work again."""
        self._reads = None

    def clear(self) -> None:
        """Forgets everything of the last round."""
        with self._guard:
            self.arrived, self.effects, self.replies, self._reads = Counter(), Counter(), {}, None

    def new_draft(self, reply: Reply) -> str:
        """Creates a draft whose send gets this reply."""
        with self._guard:
            self._number += 1
            text = f"To: team@example.com\r\nSubject: {self._number}\r\n\r\nText"
            id_ = str(self.mailbox.create_draft(base64.urlsafe_b64encode(text.encode()).decode())["id"])
            self.replies[id_] = reply
        return id_

    def serve(self, request: ServiceRequest, target: str, credentials: dict[str, str]) -> ServiceResponse | None:
        """Serves a request; a send as planned for its draft."""
        if request.segments[-1] != "send":
            reads = self._reads
            if reads is not None and reads.random() < _BROKEN_READS:
                return _broken_read(reads)
            return super().serve(request, target, credentials)
        draft = str(json.loads(request.body)["id"])
        with self._guard:
            self.arrived[draft] += 1
            reply = self.replies.get(draft, Reply.GOOD)
        if reply is Reply.REFUSED:
            return None
        if reply is Reply.ERROR:
            return error_response(ServiceError(500, "Backend error."))
        if reply is Reply.SLOW:
            time.sleep(_SLOW_SECONDS)
        response = super().serve(request, target, credentials)
        if response is None or response.status >= 300:
            return response  # it was sent before, so there is no such draft any more
        with self._guard:
            self.effects[draft] += 1
        if reply is Reply.LATE:
            time.sleep(_LATE_SECONDS)
        if reply is Reply.LOST:
            return None
        if reply in (Reply.CUT, Reply.RESET):
            return ServiceResponse(200, response.body, {_BREAK: reply})
        if reply is Reply.GARBAGE:
            return _GARBAGE
        return response


def _broken_read(random_: random.Random) -> ServiceResponse | None:
    match random_.choice(("late", "closed", "garbage", "error")):
        case "late":
            time.sleep(_SLOW_SECONDS)
            return None
        case "closed":
            return None
        case "garbage":
            return _GARBAGE
    return error_response(ServiceError(500, "Backend error."))

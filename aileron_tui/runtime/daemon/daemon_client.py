"""The HTTP client for a daemon. It tolerates unknown fields, statuses and events in replies."""

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final
from urllib.parse import quote

import httpx

from aileron_tui.core.address import read_address
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonObject, plain
from aileron_tui.core.states import RequestState, on_the_wire
from aileron_tui.runtime.daemon.daemon_discovery import START, Daemon
from aileron_tui.runtime.daemon.listed_client import DaemonResult
from aileron_tui.runtime.errors import ApprovalsOff, InvalidReply, NoGate, NotAllowed, NotFound, Rejected, RuntimeFault
from aileron_tui.runtime.http_connection import HttpConnection
from aileron_tui.runtime.sse import SseFrame, read_frames
from aileron_tui.runtime.vault import VaultState

LARGEST_EVENT: Final = 256 * 1024 * 1024
LONGEST_ID: Final = 4096
MOST_EVENTS: Final = 1000
UNKNOWN: Final = "the daemon no longer knows this request"
LOCKED: Final = "the daemon's vault is locked; press U in the console to unlock it"
SILENCE: Final = 80.0
"""How long the daemon's stream may be silent: more than two heartbeats."""

_CHECK_HERE: Final = 1.0
_CHECK_ELSEWHERE: Final = 10.0
_CHECK_SECONDS: Final = 3.0
_LABEL_SECONDS: Final = 3.0
_LOOKUP_SECONDS: Final = 10.0
_NO_REQUEST: Final = "act-none"
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}", re.ASCII)
_STATES: Final = {
    "pending_approval": RequestState.PENDING,
    "running": RequestState.RUNNING,
    "awaiting_vault": RequestState.RUNNING,
    "completed": RequestState.EXECUTED,
    "denied": RequestState.DENIED,
    "failed": RequestState.FAILED,
}
_UNANSWERED: Final = {on_the_wire(state)[1]: state for state in (RequestState.EXPIRED, RequestState.WITHDRAWN)}


class WrongPassphrase(AileronError):
    """The vault could not be unlocked."""


class DaemonClient:
    """The client for one daemon. Safe to use from several threads."""

    peer = "daemon"

    def __init__(
        self, daemon: Daemon, *, silence: float = SILENCE, transport: httpx.BaseTransport | None = None
    ) -> None:
        self._private = daemon.private
        self._connection = HttpConnection(
            daemon.url,
            peer=self.peer,
            hint=START,
            silence=silence,
            secret=daemon.token,
            own_user_only=True,
            failures_are_results=False,
            transport=transport,
        )
        self._url = daemon.url
        self._address = read_address(daemon.url) if transport is None else None
        self.check_every = _CHECK_HERE if self._address and self._address.is_local else _CHECK_ELSEWHERE
        self._headers = {"Authorization": f"Bearer {daemon.token}"} if daemon.token else {}
        self.redact = self._connection.redact

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()

    def check_listening(self) -> None:
        """Raises NoGate if the daemon refuses connections. Anything else that is wrong shows in other calls."""
        address = self._address
        if address is None:
            return
        try:
            socket.create_connection((address.host, address.port), timeout=_CHECK_SECONDS).close()
        except ConnectionRefusedError:
            raise NoGate(f"cannot connect to {self._url}", "the daemon has stopped", START) from None
        except (OSError, UnicodeError):
            return

    def waiting(self) -> list[Json]:
        """The waiting requests, oldest first, in the daemon's JSON."""
        items = self._connection.ask("GET", "/v1/action-approvals", headers=self._headers, lenient_items=True).get(
            "items"
        )
        if not isinstance(items, list):
            raise InvalidReply("the daemon's reply contains no list of requests")
        if not items:
            self._check_approvals_on()
        return items

    def _check_approvals_on(self) -> None:
        """Raises ApprovalsOff if approvals are switched off: the list is then empty, and only other calls report it."""
        try:
            self.result(_NO_REQUEST)
        except ApprovalsOff:
            raise
        except RuntimeFault:
            return  # no such request, as expected

    @contextmanager
    def events(self) -> Iterator[Iterator[SseFrame | None]]:
        """Events as they happen; None for each heartbeat."""
        with self._connection.stream("/v1/action-approvals/watch", self._headers) as chunks:
            yield read_frames(chunks, LARGEST_EVENT)

    def decide(self, id_: str, body: JsonObject) -> None:
        """Sends an answer; any success status means that the daemon accepted it."""
        self._connection.send("POST", f"/v1/action-approvals/{_segment(id_)}/decide", body, headers=self._headers)

    def result(self, id_: str) -> DaemonResult:
        """The state of a request that was answered; raises NotFound if the daemon does not know it."""
        result = _read_result(self._get(f"/v1/action-approvals/{_segment(id_)}/result", _LOOKUP_SECONDS))
        reason, error, note = map(self.redact, (result.reason, result.error, result.note))
        return replace(result, reason=reason, error=error, note=note)

    def outcome(self, id_: str) -> DaemonResult:
        """The state of a request that no longer waits; WITHDRAWN if the daemon has forgotten it."""
        try:
            return self.result(id_)
        except NotFound:
            return DaemonResult(RequestState.WITHDRAWN, note=UNKNOWN)

    def current_state(self, id_: str) -> DaemonResult:
        """The state of a request: PENDING if it is listed, else its outcome."""
        for value in self.waiting():
            if isinstance(value, dict) and value.get("id") == id_:
                return DaemonResult(RequestState.PENDING)
        return self.outcome(id_)

    def action(self, name: str) -> JsonObject | None:
        """The daemon's description of an action, or None if it has none."""
        return self._label("actions", name)

    def session(self, id_: str) -> JsonObject | None:
        """The daemon's description of a session, with its agent and folder, or None if it has none."""
        return self._label("sessions", id_)

    def audit(self) -> list[JsonObject]:
        """The last events that the daemon recorded, newest first."""
        answer = self._connection.ask("GET", "/v1/audit", headers=self._headers, query={"limit": MOST_EVENTS})
        events = answer.get("events")
        return [event for event in events if isinstance(event, dict)] if isinstance(events, list) else []

    def vault(self) -> VaultState:
        """The state of the daemon's vault."""
        try:
            answer = self._get("/v1/vault/status", _LOOKUP_SECONDS)
        except (Rejected, InvalidReply):
            return VaultState.NONE
        state = answer.get("state")
        if answer.get("locked") is True and state != VaultState.MISSING:
            return VaultState.LOCKED
        return VaultState(state) if isinstance(state, str) and state in set(VaultState) else VaultState.NONE

    def unlock(self, passphrase: bytearray) -> None:
        """Unlocks the vault. The passphrase is sent nowhere else."""
        if not self._private:
            hint = "Use https, or an ssh tunnel."
            raise WrongPassphrase("refused to send a passphrase unencrypted to another machine", hint=hint)
        body: JsonObject = {"passphrase": passphrase.decode("utf-8", "surrogateescape")}
        try:
            self._connection.send("POST", "/v1/vault/unlock", body, headers=self._headers)
        except NotAllowed as error:
            if error.code == "wrong_passphrase":
                raise WrongPassphrase("wrong passphrase for the daemon's vault", hint="Try again.") from None
            raise
        except NotFound:
            raise WrongPassphrase("this daemon has no vault yet", hint="Create one with `aileron vault`.") from None
        except Rejected as error:
            if error.code == "no_local_vault":
                raise WrongPassphrase("this daemon has no vault of its own", hint="It needs no passphrase.") from None
            if error.code == "missing_passphrase":
                raise WrongPassphrase("the passphrase is empty", hint="Try again.") from None
            if error.status != 409 or error.body.get("locked") is True:  # 409: it is already unlocked
                raise

    def _get(self, path: str, seconds: float = 30.0) -> JsonObject:
        return self._connection.ask("GET", path, headers=self._headers, seconds=seconds)

    def _label(self, kind: str, name: str) -> JsonObject | None:
        """Details for a prompt, or None if they do not come quickly. An agent may have made up the name."""
        if not _NAME.fullmatch(name):
            return None
        try:
            return self._get(f"/v1/{kind}/{name}", _LABEL_SECONDS)
        except RuntimeFault:
            return None


def _read_result(answer: JsonObject) -> DaemonResult:
    status = answer.get("status")
    state = _STATES.get(status) if isinstance(status, str) else None
    reason = answer.get("reason")
    text = reason if isinstance(reason, str) else ""
    if state is None:
        return DaemonResult(RequestState.RUNNING, text, note="the daemon says: " + plain(status))
    if status == "awaiting_vault":
        return DaemonResult(state, text, note=f"approved; {LOCKED}")
    if state is RequestState.FAILED:
        return DaemonResult(state, text, error=_failure(answer) or text, unanswered=_unanswered(answer))
    return DaemonResult(state, text)


def _unanswered(answer: JsonObject) -> RequestState | None:
    match answer.get("failure"):
        case {"error": {"class": str() as class_}}:
            return _UNANSWERED.get(class_)
    return None


def _failure(answer: JsonObject) -> str:
    match answer.get("failure"):
        case {"error": {"class": str() as class_, "message": str() as message}}:
            return f"{class_}: {message}"
        case {"error": {"message": str() as message}}:
            return message
    return ""


def check_id(id_: str) -> None:
    """Refuses an id that cannot be part of a URL path."""
    if id_ in ("", ".", "..") or len(id_) > LONGEST_ID:
        raise InvalidReply("the daemon sent a request whose id cannot be part of a URL")


def _segment(id_: str) -> str:
    check_id(id_)
    return quote(id_, safe="")

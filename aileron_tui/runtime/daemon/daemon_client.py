"""A daemon's verbs, over HTTP. Liberal in what it reads: unknown fields, statuses and events are nobody's fault."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import quote

import httpx

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonObject, plain
from aileron_tui.core.states import RequestState
from aileron_tui.core.values import dataclass
from aileron_tui.runtime.daemon.daemon_discovery import START, Daemon
from aileron_tui.runtime.errors import ApprovalsOff, NotAllowed, NotFound, Rejected, RuntimeFault, Untrustworthy
from aileron_tui.runtime.http_connection import HttpConnection
from aileron_tui.runtime.sse import SseFrame, read_frames
from aileron_tui.runtime.vault import VaultState

LARGEST_EVENT: Final = 256 * 1024 * 1024
LONGEST_ID: Final = 4096
MOST_EVENTS: Final = 1000
UNKNOWN: Final = "the daemon does not know it any more"
LOCKED: Final = "the daemon's vault is locked: U in the console unlocks it"
SILENCE: Final = 80.0
"""How long the daemon's stream may say nothing: more than two heartbeats."""

_LABEL_SECONDS: Final = 3.0
_LOOK_SECONDS: Final = 10.0
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


class WrongPassphrase(AileronError):
    """The vault did not open."""


@dataclass(frozen=True, slots=True)
class DaemonResult:
    """What became of a request. `note` is our own word where a state alone would mislead; `error` is the daemon's."""

    state: RequestState
    reason: str = ""
    error: str = ""
    note: str = ""


class DaemonClient:
    """One daemon. Safe to use from several threads."""

    def __init__(
        self, daemon: Daemon, *, silence: float = SILENCE, transport: httpx.BaseTransport | None = None
    ) -> None:
        self._private = daemon.private
        self._wire = HttpConnection(
            daemon.url,
            called="daemon",
            hint=START,
            silence=silence,
            secret=daemon.token,
            ours=True,
            outcomes=False,
            transport=transport,
        )
        self._headers = {"Authorization": f"Bearer {daemon.token}"} if daemon.token else {}
        self.untold = self._wire.untold

    def close(self) -> None:
        """Hangs up."""
        self._wire.close()

    def waiting(self) -> list[Json]:
        """What waits, oldest first, as the daemon writes it."""
        items = self._wire.ask("GET", "/v1/action-approvals", headers=self._headers, listed=True).get("items")
        if not isinstance(items, list):
            raise Untrustworthy("the daemon sent no list of requests")
        if not items:
            self._check_on()
        return items

    def _check_on(self) -> None:
        """A daemon whose approvals are switched off has an empty list too, and says so only when asked otherwise."""
        try:
            self.result(_NO_REQUEST)
        except ApprovalsOff:
            raise
        except RuntimeFault:
            return  # there is no such request, as was to be expected

    @contextmanager
    def events(self) -> Iterator[Iterator[SseFrame | None]]:
        """What happens, as it happens; None for each sign of life."""
        with self._wire.stream("/v1/action-approvals/watch", self._headers) as chunks:
            yield read_frames(chunks, LARGEST_EVENT)

    def decide(self, id_: str, body: JsonObject) -> None:
        """Sends an answer. Success is any status of success."""
        self._wire.tell("POST", f"/v1/action-approvals/{_segment(id_)}/decide", body, headers=self._headers)

    def result(self, id_: str) -> DaemonResult:
        """What became of a request, or NotFound."""
        result = _read_result(self._ask(f"/v1/action-approvals/{_segment(id_)}/result", _LOOK_SECONDS))
        reason, error, note = map(self.untold, (result.reason, result.error, result.note))
        return DaemonResult(result.state, reason, error, note)

    def ended(self, id_: str) -> DaemonResult:
        """What became of a request that does not wait; a daemon may have forgotten it."""
        try:
            return self.result(id_)
        except NotFound:
            return DaemonResult(RequestState.WITHDRAWN, note=UNKNOWN)

    def standing(self, id_: str) -> DaemonResult:
        """Where a request stands: the list first, then what became of it."""
        for value in self.waiting():
            if isinstance(value, dict) and value.get("id") == id_:
                return DaemonResult(RequestState.PENDING)
        return self.ended(id_)

    def action(self, name: str) -> JsonObject | None:
        """What an action would do, if the daemon tells."""
        return self._label("actions", name)

    def session(self, id_: str) -> JsonObject | None:
        """The agent and folder behind a session, if the daemon tells."""
        return self._label("sessions", id_)

    def audit(self) -> list[JsonObject]:
        """The last events that the daemon recorded, newest first."""
        answer = self._wire.ask("GET", "/v1/audit", headers=self._headers, query={"limit": MOST_EVENTS})
        events = answer.get("events")
        return [event for event in events if isinstance(event, dict)] if isinstance(events, list) else []

    def vault(self) -> VaultState:
        """Whether the daemon can reach its credentials."""
        try:
            answer = self._ask("/v1/vault/status", _LOOK_SECONDS)
        except (Rejected, Untrustworthy):
            return VaultState.NONE
        state = answer.get("state")
        if answer.get("locked") is True and state != VaultState.MISSING:
            return VaultState.LOCKED
        return VaultState(state) if isinstance(state, str) and state in set(VaultState) else VaultState.NONE

    def unlock(self, passphrase: bytearray) -> None:
        """Opens the vault; the passphrase goes there and nowhere else."""
        if not self._private:
            hint = "Use https, or an ssh tunnel."
            raise WrongPassphrase("a passphrase is not sent to another machine in the clear", hint=hint)
        body: JsonObject = {"passphrase": passphrase.decode("utf-8", "surrogateescape")}
        try:
            self._wire.tell("POST", "/v1/vault/unlock", body, headers=self._headers)
        except NotAllowed as error:
            if error.code == "wrong_passphrase":
                raise WrongPassphrase("that is not the passphrase of the daemon's vault", hint="Try again.") from None
            raise
        except NotFound:
            raise WrongPassphrase("this daemon has no vault yet", hint="`aileron vault` makes one.") from None
        except Rejected as error:
            if error.status != 409:  # it is open already
                raise

    def _ask(self, path: str, seconds: float = 30.0) -> JsonObject:
        return self._wire.ask("GET", path, headers=self._headers, seconds=seconds)

    def _label(self, kind: str, name: str) -> JsonObject | None:
        """Something that makes a prompt better and must never stand in its way. An agent may have chosen the name."""
        if not _NAME.fullmatch(name):
            return None
        try:
            return self._ask(f"/v1/{kind}/{name}", _LABEL_SECONDS)
        except RuntimeFault:
            return None


def _read_result(answer: JsonObject) -> DaemonResult:
    status = answer.get("status")
    state = _STATES.get(status) if isinstance(status, str) else None
    reason = answer.get("reason")
    words = reason if isinstance(reason, str) else ""
    if state is None:
        return DaemonResult(RequestState.RUNNING, words, note="the daemon calls it " + plain(status))
    if status == "awaiting_vault":
        return DaemonResult(state, words, note=f"approved; {LOCKED}")
    if state is RequestState.FAILED:
        return DaemonResult(state, words, error=_failure(answer) or words)
    return DaemonResult(state, words)


def _failure(answer: JsonObject) -> str:
    match answer.get("failure"):
        case {"error": {"class": str() as class_, "message": str() as message}}:
            return f"{class_}: {message}"
        case {"error": {"message": str() as message}}:
            return message
    return ""


def check_id(id_: str) -> None:
    """Refuses an id by which nothing could be asked: it becomes part of a path."""
    if id_ in ("", ".", "..") or len(id_) > LONGEST_ID:
        raise Untrustworthy("the daemon sent a request whose id cannot be part of a path")


def _segment(id_: str) -> str:
    check_id(id_)
    return quote(id_, safe="")

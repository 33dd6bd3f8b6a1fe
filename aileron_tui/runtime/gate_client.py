"""A gate's verbs, over HTTP: those of an agent, and those of an approver.

Failures are those of `aileron_tui.runtime.errors`:

RuntimeFault
├── NoGate
├── Unanswered
├── Untrustworthy
└── Rejected
    ├── NotAllowed
    ├── NotFound
    ├── NotWaiting
    ├── PromptChanged
    └── TooMuch
"""

import base64
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, Self
from urllib.parse import quote

import httpx

from aileron_tui.core.decision import Verdict
from aileron_tui.core.jsontext import Json, JsonObject, canonical
from aileron_tui.core.prompt import Asker
from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from aileron_tui.core.visible_text import inline
from aileron_tui.runtime.errors import NoGate, NotAllowed, RuntimeFault, Unanswered, Untrustworthy
from aileron_tui.runtime.gate_discovery import START, FoundGate
from aileron_tui.runtime.http_connection import HttpConnection, Query
from aileron_tui.runtime.request_reader import read_gate_request
from aileron_tui.runtime.source_events import LIMITS, SourceEvent, read_events
from aileron_tui.runtime.vault import VaultState
from aileron_tui.signing.envelope import Envelope, sign
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.signing.session_proof import session_proof

LONGEST_HOLD: Final = 300


def _now() -> datetime:
    return datetime.now(UTC)


def _wire(found: FoundGate, transport: httpx.BaseTransport | None = None, secret: str = "") -> HttpConnection:
    # The gate of this home runs as we do; one that was named may be another user's on purpose.
    return HttpConnection(found.url, hint=START, secret=secret, ours=bool(found.instance), transport=transport)


def greeted(wire: HttpConnection, found: FoundGate) -> str:
    """The instance that answers, if it is the gate that was found. Nothing secret is sent."""
    health = wire.ask("GET", "/v1/health")
    instance = health.get("instance")
    if health.get("service") != "aileron" or not isinstance(instance, str):
        raise Untrustworthy(f"what answers at {found.url} is not a gate", hint=START)
    _check_instance(found, instance)
    return instance


def _check_instance(found: FoundGate, instance: str) -> None:
    if found.instance not in ("", instance):
        detail = f"{found.url} is now {instance}, not {found.instance}"
        raise NoGate("another gate took the place of the one that was found", detail, "Try again.")


class AgentClient:
    """What an agent may ask."""

    def __init__(self, found: FoundGate, token: str, *, transport: httpx.BaseTransport | None = None) -> None:
        self._found = found
        self._wire = _wire(found, transport, token)
        self._headers = {"Authorization": f"Bearer {token}"}
        self._greeted = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._wire.close()

    def actions(self) -> JsonObject:
        """What can be called."""
        return self._ask("GET", "/v1/actions")

    def action(self, name: str) -> JsonObject:
        """One action with its inputs."""
        return self._ask("GET", f"/v1/actions/{_segment(name)}")

    def run(self, name: str, args: JsonObject, *, asker: Asker | None = None, wait: int = 0) -> JsonObject:
        """Calls an action. With `wait` the answer may take that long, and hanging up takes the call back."""
        headers = _introduced(asker or Asker())
        if wait > 0:
            headers["Prefer"] = f"wait={min(wait, LONGEST_HOLD)}"
        seconds = min(wait, LONGEST_HOLD) + 90.0
        return self._ask("POST", f"/v1/actions/{_segment(name)}/run", {"args": args}, headers, seconds)

    def result(self, id_: str) -> JsonObject:
        """How a call ended, or that it has not."""
        return self._ask("GET", f"/v1/action-approvals/{_segment(id_)}/result")

    def _ask(
        self,
        method: str,
        path: str,
        body: JsonObject | None = None,
        headers: Mapping[str, str] | None = None,
        seconds: float = 30.0,
    ) -> JsonObject:
        if not self._greeted:
            # The token is shown only to the gate it belongs to.
            greeted(self._wire, self._found)
            self._greeted = True
        return self._wire.ask(method, path, body, headers={**self._headers, **(headers or {})}, seconds=seconds)


class ApproverClient:
    """What the holder of an enrolled key may ask. A session is opened when it is needed, and anew when it ended.

    `meet` is told address, ledger and instance of the gate before anything is signed for it, and may raise.
    """

    def __init__(  # noqa: PLR0913  # who asks whom, and how it is called
        self,
        found: FoundGate,
        key: UnlockedKey,
        *,
        surface: str = "cli",
        name: str = "",
        meet: Callable[[str, str, str], None] | None = None,
        transport: httpx.BaseTransport | None = None,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        self._found = found
        self._meet = meet
        self._wire = _wire(found, transport)
        self.name = name
        self._key = key
        self._surface = surface
        self._clock = clock
        self._token = ""
        self.instance = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the session and hangs up."""
        if self._token:
            with suppress(RuntimeFault):
                self._wire.ask("DELETE", "/v1/approver/session", headers=self._headers)
        self._token = ""
        self._wire.close()

    def waiting(self) -> tuple[Request, ...]:
        """What waits, oldest first."""
        items = self._ask("GET", "/v1/action-approvals").get("items")
        if not isinstance(items, list):
            raise Untrustworthy("the gate sent no list of requests")
        return tuple(read_gate_request(item, self.instance, self.name) for item in items)

    def item(self, id_: str) -> Request:
        """One request, waiting or lately ended."""
        return self._read(self._ask("GET", f"/v1/action-approvals/{_segment(id_)}"), id_)

    def refresh(self, id_: str, edits: JsonObject | None = None) -> Request:
        """The request with its preview fetched again, or as it would be with edited inputs."""
        body: JsonObject = {} if edits is None else {"edited_payload": edits}
        answer = self._ask("POST", f"/v1/action-approvals/{_segment(id_)}/refresh", body, seconds=40.0)
        return self._read(answer.get("item"), id_)

    def decide(
        self, item: Request, verdict: Verdict, *, reason: str = "", edits: JsonObject | None = None
    ) -> RequestState:
        """Answers exactly what the item shows; returns the state the request is in then.

        An answer that was lost on the way is sent once more, unchanged: the gate takes the same decision only once.
        """
        body = canonical(self.decision(item, verdict, reason=reason, edits=edits))
        path = f"/v1/action-approvals/{_segment(item.id)}/decide"
        try:
            answer = self._ask("POST", path, body)
        except Unanswered:
            answer = self._ask("POST", path, body)
        return _state(answer)

    def decision(
        self, item: Request, verdict: Verdict, *, reason: str = "", edits: JsonObject | None = None
    ) -> JsonObject:
        """The body of a decision, signed; several of them make a batch."""
        statement = item.statement(verdict, reason=reason, edits=edits, surface=self._surface, now=self._clock())
        envelope: Envelope = sign(statement, self._key)
        body: JsonObject = {"approved": verdict is Verdict.APPROVE, "reason": reason, "envelope": envelope.fields()}
        return body if edits is None else body | {"edited_payload": edits}

    def decide_batch(self, decisions: Mapping[str, JsonObject]) -> JsonObject:
        """Several signed decisions by request id; each stands or falls by itself."""
        return self._ask(
            "POST",
            "/v1/action-approvals/batch/decide",
            {"items": [{"id": id_, **body} for id_, body in decisions.items()]},
        )

    def watch(self, after: int = 0) -> Iterator[SourceEvent | None]:
        """Every change as it comes, None for each heartbeat; ends when the gate ends it. `after` resumes."""
        self._ensure_session()
        query = {"surface": self._surface}
        try:
            yield from self._watched(after, query)
        except NotAllowed as error:
            if error.status != 401:
                raise
            self._open_session()
            yield from self._watched(after, query)

    def history(self, **filters: str | int | list[str]) -> JsonObject:
        """A page of the past; the parameters are those of `GET /v1/history`."""
        return self._ask("GET", "/v1/history", query=filters)

    def past(self, id_: str) -> JsonObject:
        """Everything the ledger has of one request."""
        return self._ask("GET", f"/v1/history/{_segment(id_)}")

    def status(self) -> JsonObject:
        """How the gate is."""
        return self._ask("GET", "/v1/status")

    def vault(self) -> VaultState:
        """A gate keeps no secrets of its own."""
        return VaultState.NONE

    def unlock_vault(self, passphrase: bytearray) -> None:
        """There is nothing to unlock."""

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}"}

    def _read(self, value: Json, id_: str) -> Request:
        """The request that was asked for; an answer given to another one would be an answer to that."""
        item = read_gate_request(value, self.instance, self.name)
        if item.id != id_:
            raise Untrustworthy("the gate sent another request than the one it was asked for", item.id)
        return item

    def _watched(self, after: int, query: Query) -> Iterator[SourceEvent | None]:
        resume = {"Last-Event-ID": str(after)} if after else {}
        with self._wire.stream("/v1/action-approvals/watch", {**self._headers, **resume}, query) as chunks:
            yield from read_events(chunks, self.instance, LIMITS, self.name)

    def _ask(
        self,
        method: str,
        path: str,
        body: JsonObject | bytes | None = None,
        *,
        query: Query | None = None,
        seconds: float = 30.0,
    ) -> JsonObject:
        self._ensure_session()
        try:
            return self._wire.ask(method, path, body, headers=self._headers, query=query, seconds=seconds)
        except NotAllowed as error:
            if error.status != 401:
                raise
            self._open_session()
            return self._wire.ask(method, path, body, headers=self._headers, query=query, seconds=seconds)

    def _ensure_session(self) -> None:
        if not self._token:
            self._open_session()

    def _open_session(self) -> None:
        """Signs a challenge. It names the gate, so a signature given to one gate is of no use at another."""
        asked = self._wire.ask("POST", "/v1/approver/challenge", {})
        challenge, instance, ledger = (asked.get(name) for name in ("challenge", "instance", "ledger"))
        if not isinstance(challenge, str) or not isinstance(instance, str) or not isinstance(ledger, str):
            raise Untrustworthy("the gate sent no challenge")
        _check_instance(self._found, instance)
        if self._meet is not None:
            self._meet(self._found.url, ledger, instance)
        signature = base64.b64encode(self._key.sign(session_proof(challenge, instance, ledger))).decode()
        proof: JsonObject = {"challenge": challenge, "keyid": self._key.public.fingerprint, "signature": signature}
        token = self._wire.ask("POST", "/v1/approver/session", proof).get("token")
        if not isinstance(token, str):
            raise Untrustworthy("the gate sent no session")
        self._wire.untold.add(token)
        self._token, self.instance = token, instance


def _segment(name: str) -> str:
    """A name as part of a path. What cannot be one is asked for anyway, so that the gate says it does not exist."""
    return quote(name, safe="") or "-"


def _introduced(asker: Asker) -> dict[str, str]:
    pairs = (
        ("X-Aileron-Agent", asker.agent),
        ("X-Aileron-Session-Id", asker.session),
        ("X-Aileron-Folder", asker.folder),
    )
    return {name: inline(value) for name, value in pairs if value}


def _state(answer: JsonObject) -> RequestState:
    state = answer.get("state")
    if not isinstance(state, str) or state not in set(RequestState):
        raise Untrustworthy("the gate did not say what became of the decision")
    return RequestState(state)

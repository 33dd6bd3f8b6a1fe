"""The HTTP clients for a gate: one for agents and one for approvers.

They raise the errors in `aileron_tui.runtime.errors`:

RuntimeFault
├── NoGate
├── NoReply
├── InvalidReply
├── UntrustedGate
└── Rejected
    ├── NotAllowed
    ├── NotFound
    ├── NotWaiting
    ├── PromptChanged
    └── LimitExceeded
"""

import base64
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Final, Self, TypeVar
from urllib.parse import quote

import httpx

from aileron_tui.core.call_hint import CallHint
from aileron_tui.core.decision import Statement, Verdict, read_statement
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, canonical
from aileron_tui.core.prompt import Asker
from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config import LONGEST_OP
from aileron_tui.runtime.errors import InvalidReply, NoGate, NoReply, NotAllowed, RuntimeFault
from aileron_tui.runtime.gate_discovery import START, FoundGate
from aileron_tui.runtime.health_reply import ask_health
from aileron_tui.runtime.http_connection import HttpConnection, Query
from aileron_tui.runtime.request_reader import read_gate_request
from aileron_tui.runtime.source_events import LIMITS, SourceEvent, read_events
from aileron_tui.runtime.vault import VaultState
from aileron_tui.signing.approvers import Approver
from aileron_tui.signing.envelope import Envelope, sign
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.signing.session_proof import session_proof

if TYPE_CHECKING:  # a console draws its first frame before it needs rules
    from aileron_tui.accounts.vault import DataKey
    from aileron_tui.core.rule import Rule
    from aileron_tui.core.rule_change import RuleChange
    from aileron_tui.core.rule_list import ListedRule, RuleOffers

T = TypeVar("T")

LONGEST_WAIT: Final = 300
DECIDE_SECONDS: Final = 150.0
"""How long the reply to a decision may take: the gate waits for ops that run on the same connector."""

PRESENCE_SECONDS: Final = 5.0
_RUN_SECONDS: Final = LONGEST_OP + 60.0
"""How much longer the reply to a call may take, because an action that needs no approval runs first."""
_UNLOCK: Final = "/v1/accounts/unlock"


def connect_as_approver(found: FoundGate, transport: httpx.BaseTransport | None = None) -> HttpConnection:
    """A connection for an approver, through the gate's Unix socket if it has one; agents cannot keep that one busy."""
    own = bool(found.instance)
    return HttpConnection(found.url, hint=START, own_user_only=own, unix_socket=found.socket, transport=transport)


def _connect_as_agent(found: FoundGate, token: str, transport: httpx.BaseTransport | None = None) -> HttpConnection:
    # The gate of this home runs as this user. A gate given by its URL may belong to another user on purpose.
    return HttpConnection(found.url, hint=START, secret=token, own_user_only=bool(found.instance), transport=transport)


def verified_instance(connection: HttpConnection, found: FoundGate) -> str:
    """Returns the instance id of the gate, after checking that it is the gate that was found. Sends no secret."""
    health = ask_health(connection)
    instance = health.get("instance")
    if health.get("service") != "aileron" or not isinstance(instance, str):
        raise InvalidReply(f"the program at {found.url} is not a gate", hint=START)
    check_instance(found, instance)
    return instance


def check_instance(found: FoundGate, instance: str) -> None:
    """Refuses a gate that is not the one that was found."""
    if found.instance not in ("", instance):
        detail = f"{found.url} is now {instance}, not {found.instance}"
        raise NoGate("another gate has replaced the one that was found", detail, "Try again.")


class AgentClient:
    """The client for agents."""

    def __init__(self, found: FoundGate, token: str, *, transport: httpx.BaseTransport | None = None) -> None:
        self._found = found
        self._connection = _connect_as_agent(found, token, transport)
        self._headers = {"Authorization": f"Bearer {token}"}
        self._verified = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def actions(self) -> JsonObject:
        """The actions that can be called."""
        return self._ask("GET", "/v1/actions")

    def action(self, name: str) -> JsonObject:
        """One action with its inputs."""
        return self._ask("GET", f"/v1/actions/{_path_segment(name)}")

    def run(self, name: str, args: JsonObject, *, asker: Asker | None = None, wait: int = 0) -> JsonObject:
        """Calls an action. With `wait`, the reply may take that many seconds; disconnecting withdraws the request."""
        headers = _asker_headers(asker or Asker())
        if wait > 0:
            headers["Prefer"] = f"wait={min(wait, LONGEST_WAIT)}"
        seconds = min(wait, LONGEST_WAIT) + _RUN_SECONDS
        return self._ask("POST", f"/v1/actions/{_path_segment(name)}/run", {"args": args}, headers, seconds)

    def result(self, id_: str, *, wait: int = 0) -> JsonObject:
        """The result of a call, or its state while it is open. With `wait`, the reply may take that many seconds."""
        headers = {"Prefer": f"wait={min(wait, LONGEST_WAIT)}"} if wait > 0 else {}
        path = f"/v1/action-approvals/{_path_segment(id_)}/result"
        return self._ask("GET", path, None, headers, min(wait, LONGEST_WAIT) + 30.0)

    def _ask(
        self,
        method: str,
        path: str,
        body: JsonObject | None = None,
        headers: Mapping[str, str] | None = None,
        seconds: float = 30.0,
    ) -> JsonObject:
        if not self._verified:
            # The token is sent only to the gate it belongs to.
            verified_instance(self._connection, self._found)
            self._verified = True
        return self._connection.ask(method, path, body, headers={**self._headers, **(headers or {})}, seconds=seconds)


class ApproverClient:
    """The client for approvers with an enrolled key. Opens a session when needed, and a new one when it has expired.

    `check_gate` gets the address, ledger and instance of the gate before anything is signed, and raises to refuse it.
    `data_key` returns the key of the secrets of accounts, which is sent if the gate needs it, or None.
    """

    def __init__(  # noqa: PLR0913  # who calls, which gate, and under which name
        self,
        found: FoundGate,
        key: UnlockedKey,
        *,
        surface: str = "cli",
        name: str = "",
        check_gate: Callable[[str, str, str], None] | None = None,
        data_key: Callable[[UnlockedKey], "DataKey | None"] | None = None,
        transport: httpx.BaseTransport | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._found = found
        self._check_gate = check_gate
        self._data_key = data_key
        self._connection = connect_as_approver(found, transport)
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
        """Ends the session and closes the connection."""
        if self._token:
            with suppress(RuntimeFault):
                self._connection.ask("DELETE", "/v1/approver/session", headers=self._headers)
        self._token = ""
        self._connection.close()

    @property
    def call_hint(self) -> CallHint | None:
        """How agents call this gate, None for one that is not of this home."""
        found = self._found
        return CallHint(found.url, str(found.token_file or "")) if found.instance else None

    def waiting(self) -> tuple[Request, ...]:
        """The waiting requests, oldest first."""
        items = self._ask("GET", "/v1/action-approvals").get("items")
        if not isinstance(items, list):
            raise InvalidReply("the gate's reply contains no list of requests")
        return tuple(read_gate_request(item, self.instance, self.name) for item in items)

    def item(self, id_: str) -> Request:
        """One request that is waiting or ended recently."""
        return self._read(self._ask("GET", f"/v1/action-approvals/{_path_segment(id_)}"), id_)

    def refresh(self, id_: str, edits: JsonObject | None = None) -> Request:
        """Fetches the preview again, or builds the prompt for edited inputs; returns the request with that prompt."""
        body: JsonObject = {} if edits is None else {"edited_payload": edits}
        answer = self._ask("POST", f"/v1/action-approvals/{_path_segment(id_)}/refresh", body, seconds=40.0)
        return self._read(answer.get("item"), id_)

    def fetched(self, id_: str) -> Json:
        """Everything that the preview op returns now, including what no row shows."""
        path = f"/v1/action-approvals/{_path_segment(id_)}/fetched"
        return self._ask("GET", path, seconds=40.0).get("fetched")

    def extend(self, request: Request) -> Request:
        """Signs and sends five more minutes to answer; returns the request with its new deadline.

        If the deadline is no longer the one that the request shows, somebody else has just extended it.
        """
        now = self.item(request.id)
        if now.expires_at != request.expires_at:
            return now
        envelope = sign(now.extension(surface=self._surface, now=self._clock()), self._key)
        path = f"/v1/action-approvals/{_path_segment(request.id)}/extend"
        return self._read(self._ask("POST", path, {"envelope": envelope.fields()}).get("item"), request.id)

    def report_presence(self, *, awake: bool, reading: str) -> None:
        """Says whether somebody is at this surface, and the id of the request they read, "" if none.

        Only for the session that is open: it must not need the key, which may be locked.
        """
        body: JsonObject = {"surface": self._surface, "awake": awake, "reading": reading or None}
        if self._token:
            self._connection.ask("POST", "/v1/approver/presence", body, headers=self._headers, seconds=PRESENCE_SECONDS)

    def decide(
        self, request: Request, verdict: Verdict, *, reason: str = "", edits: JsonObject | None = None
    ) -> RequestState:
        """Signs and sends a decision on exactly what the request shows; returns the new state of the request.

        If the reply is lost, sends the same decision once more; the gate applies it only once. Any error after that is
        NoReply, because the gate may have taken the first one.
        """
        return self._send_decision(request.id, self.decision(request, verdict, reason=reason, edits=edits))

    def statement(
        self, request: Request, verdict: Verdict, *, reason: str = "", edits: JsonObject | None = None
    ) -> Statement:
        """What is to be signed to answer exactly what the request shows."""
        return request.statement(verdict, reason=reason, edits=edits, surface=self._surface, now=self._clock())

    def decide_signed(self, request: Request, envelope: Envelope, approver: Approver) -> RequestState:  # noqa: ARG002  # the gate knows it
        """Sends a decision that another key has signed."""
        return self._send_decision(request.id, _decision_body(read_statement(envelope.payload), envelope))

    def _send_decision(self, id_: str, decision: JsonObject) -> RequestState:
        body = canonical(decision)
        path = f"/v1/action-approvals/{_path_segment(id_)}/decide"
        try:
            answer = self._ask("POST", path, body, seconds=DECIDE_SECONDS)
        except NoReply as lost:
            try:
                return _state(self._ask("POST", path, body, seconds=DECIDE_SECONDS))
            except AileronError as error:
                raise NoReply(lost.title, str(error), lost.hint) from error
        return _state(answer)

    def decision(
        self, request: Request, verdict: Verdict, *, reason: str = "", edits: JsonObject | None = None
    ) -> JsonObject:
        """The body of a signed decision; several of them make a batch."""
        statement = self.statement(request, verdict, reason=reason, edits=edits)
        return _decision_body(statement, sign(statement, self._key))

    def decide_batch(self, decisions: Mapping[str, JsonObject]) -> JsonObject:
        """Sends several signed decisions by request id; each is accepted or refused independently."""
        return self._ask(
            "POST",
            "/v1/action-approvals/batch/decide",
            {"items": [{"id": id_, **body} for id_, body in decisions.items()]},
            seconds=DECIDE_SECONDS * max(1, len(decisions)),
        )

    def watch(self, after: int = 0) -> Iterator[SourceEvent | None]:
        """Yields every change after event `after` as it happens, and None for each heartbeat, until the gate stops."""
        self._ensure_session()
        query = {"surface": self._surface}
        try:
            yield from self._events(after, query)
        except NotAllowed as error:
            if error.status != 401:
                raise
            self._open_session()
            yield from self._events(after, query)

    def history(self, **filters: str | int | list[str]) -> JsonObject:
        """A page of the history; the parameters are those of `GET /v1/history`."""
        return self._ask("GET", "/v1/history", query=filters)

    def past(self, id_: str) -> JsonObject:
        """Everything the ledger has about one request."""
        return self._ask("GET", f"/v1/history/{_path_segment(id_)}")

    def rules(self) -> tuple["ListedRule", ...]:
        """All rules, newest first."""
        from aileron_tui.core.rule_list import read_listed  # noqa: PLC0415  # not needed before the first frame

        items = self._ask("GET", "/v1/rules").get("rules")
        if not isinstance(items, list):
            raise InvalidReply("the gate's reply contains no list of rules")
        return _checked(lambda: tuple(read_listed(item, f"$.rules[{index}]") for index, item in enumerate(items)))

    def rule_offers(self, id_: str) -> "RuleOffers":
        """The rules that can be made from a request, narrowest first, and what each would have answered."""
        from aileron_tui.core.rule_list import read_offers  # noqa: PLC0415  # not needed before the first frame

        reply = self._ask("GET", f"/v1/action-approvals/{_path_segment(id_)}/rules", seconds=60.0)
        return _checked(lambda: read_offers(reply))

    def make_rule(self, rule: "Rule") -> None:
        """Signs a rule and makes it."""
        from aileron_tui.core.rule_change import made  # noqa: PLC0415  # not needed before the first frame

        self._change_rule(lambda head, time: made(rule, head, time))

    def rule_statement(self, rule: "Rule") -> "RuleChange":
        """What is to be signed to make a rule."""
        from aileron_tui.core.rule_change import made  # noqa: PLC0415  # not needed before the first frame

        return made(rule, self._rules_head(), timestamp(self._clock()))

    def make_signed_rule(self, envelope: Envelope) -> None:
        """Makes a rule that another key has signed."""
        self._ask("POST", "/v1/rules", {"envelope": envelope.fields()})

    def end_rule(self, id_: str) -> None:
        """Signs the end of a rule and ends it."""
        from aileron_tui.core.rule_change import ended  # noqa: PLC0415  # not needed before the first frame

        self._change_rule(lambda head, time: ended(id_, head, time))

    def _change_rule(self, change: Callable[[str, str], "RuleChange"]) -> None:
        statement = change(self._rules_head(), timestamp(self._clock()))
        self.make_signed_rule(sign(statement, self._key))

    def _rules_head(self) -> str:
        head = self._ask("GET", "/v1/rules").get("head")
        if not isinstance(head, str):
            raise InvalidReply("the gate's reply contains no head")
        return head

    def status(self) -> JsonObject:
        """The status of the gate."""
        return self._ask("GET", "/v1/status")

    def unlock_accounts(self, key: "DataKey") -> None:
        """Sends the key of the secrets of accounts, only to a gate of this user on this machine."""
        if not self._found.instance:
            raise NoGate("accounts can be unlocked only on the gate of this home")
        self._ask("POST", _UNLOCK, _unlock_body(key))

    def vault(self) -> VaultState:
        """Always NONE, because a gate has no vault."""
        return VaultState.NONE

    def unlock_vault(self, passphrase: bytearray) -> None:
        """Does nothing, because a gate has no vault."""

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}"}

    def _read(self, value: Json, id_: str) -> Request:
        """Reads the request in a reply, and checks that it is the one that was asked for."""
        request = read_gate_request(value, self.instance, self.name)
        if request.id != id_:
            raise InvalidReply("the gate sent a different request from the one asked for", request.id)
        return request

    def _events(self, after: int, query: Query) -> Iterator[SourceEvent | None]:
        resume = {"Last-Event-ID": str(after)} if after else {}
        with self._connection.stream("/v1/action-approvals/watch", {**self._headers, **resume}, query) as chunks:
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
            return self._connection.ask(method, path, body, headers=self._headers, query=query, seconds=seconds)
        except NotAllowed as error:
            if error.status != 401:
                raise
            self._open_session()
            return self._connection.ask(method, path, body, headers=self._headers, query=query, seconds=seconds)

    def _ensure_session(self) -> None:
        if not self._token:
            self._open_session()

    def _open_session(self) -> None:
        """Opens a session by signing a challenge that names the gate, so the signature is useless at another gate."""
        reply = self._connection.ask("POST", "/v1/approver/challenge", {})
        challenge, instance, ledger = (reply.get(name) for name in ("challenge", "instance", "ledger"))
        if not isinstance(challenge, str) or not isinstance(instance, str) or not isinstance(ledger, str):
            raise InvalidReply("the gate's reply contains no challenge")
        check_instance(self._found, instance)
        if self._check_gate is not None:
            self._check_gate(self._found.url, ledger, instance)
        signature = base64.b64encode(self._key.sign(session_proof(challenge, instance, ledger))).decode()
        proof: JsonObject = {"challenge": challenge, "keyid": self._key.public.fingerprint, "signature": signature}
        opened = self._connection.ask("POST", "/v1/approver/session", proof)
        token = opened.get("token")
        if not isinstance(token, str):
            raise InvalidReply("the gate's reply contains no session token")
        self._connection.redact.add(token)
        self._token, self.instance = token, instance
        if opened.get("accounts") == "locked" and self._data_key is not None:
            with suppress(AileronError):  # the gate says so to whoever needs an account
                if found := self._data_key(self._key):
                    self._connection.ask("POST", _UNLOCK, _unlock_body(found), headers=self._headers)


def _unlock_body(key: "DataKey") -> JsonObject:
    return {"key": base64.b64encode(key.reveal()).decode()}


def _path_segment(name: str) -> str:
    """Escapes a name for a URL path. An empty name becomes "-", so that the gate replies that it does not exist."""
    return quote(name, safe="") or "-"


def _checked(read: Callable[[], T]) -> T:
    """What `read` returns, or InvalidReply if it cannot read it."""
    try:
        return read()
    except JsonError as error:
        raise InvalidReply("the gate sent a rule that cannot be read", str(error)) from None


def _asker_headers(asker: Asker) -> dict[str, str]:
    pairs = (
        ("X-Aileron-Agent", asker.says),
        ("X-Aileron-Session-Id", asker.session),
        ("X-Aileron-Folder", asker.folder),
    )
    return {name: inline(value) for name, value in pairs if value}


def _decision_body(statement: Statement, envelope: Envelope) -> JsonObject:
    approved = statement.verdict is Verdict.APPROVE
    body: JsonObject = {"approved": approved, "reason": statement.reason, "envelope": envelope.fields()}
    return body if statement.edits is None else body | {"edited_payload": statement.edits}


def _state(answer: JsonObject) -> RequestState:
    state = answer.get("state")
    if not isinstance(state, str) or state not in set(RequestState):
        raise InvalidReply("the gate did not say what happened to the decision")
    return RequestState(state)

"""The verbs: what they send, what they believe, and how each failure is told."""

import base64
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonError
from aileron_tui.core.prompt import Asker
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.errors import (
    InvalidReply,
    LimitExceeded,
    NoGate,
    NoReply,
    NotAllowed,
    NotFound,
    NotWaiting,
    PromptChanged,
    Rejected,
    RuntimeFault,
)
from aileron_tui.runtime.gate_client import AgentClient, ApproverClient
from aileron_tui.runtime.gate_discovery import FoundGate
from aileron_tui.runtime.request_reader import read_gate_request
from aileron_tui.signing.approvers import Approver, Approvers
from aileron_tui.signing.envelope import verify
from aileron_tui.signing.extensions import verify_extension
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from aileron_tui.signing.session_proof import session_proof
from tests.runtime.examples import INSTANCE, LEDGER, URL, FakeGate, item, prompt

Answer = Callable[[httpx.Request], httpx.Response]
NOW = datetime(2026, 5, 12, 10, 16, tzinfo=UTC)
FOUND = FoundGate(URL, INSTANCE)


@pytest.fixture
def key() -> Iterator[UnlockedKey]:
    with for_this_run("laptop") as unlocked:
        yield unlocked


def fixed(status: int = 200, body: Any = None, **headers: str) -> Answer:
    return lambda _: httpx.Response(status, json=body if body is not None else {}, headers=headers)


def agent(gate: FakeGate, found: FoundGate = FOUND) -> AgentClient:
    return AgentClient(found, "secret", transport=gate.transport)


def approver(gate: FakeGate, key: UnlockedKey, found: FoundGate = FOUND) -> ApproverClient:
    return ApproverClient(found, key, transport=gate.transport, clock=lambda: NOW)


def test_an_agent_introduces_itself_and_waits() -> None:
    gate = FakeGate(fixed(202, {"status": "pending_approval", "approval_id": "act-1"}))
    with agent(gate) as client:
        answer = client.run(
            "send-draft", {"draft_id": "r-1"}, asker=Asker(says="zoë", session="s-1", folder="/a\nb"), wait=5000
        )
    assert answer["approval_id"] == "act-1"
    sent = gate.last
    assert (sent.method, sent.url.path) == ("POST", "/v1/actions/send-draft/run")
    assert json.loads(sent.content) == {"args": {"draft_id": "r-1"}}
    assert sent.headers["authorization"] == "Bearer secret"
    assert sent.headers["prefer"] == "wait=300"
    raw = dict(sent.headers.raw)
    assert raw[b"X-Aileron-Agent"] == "zoë".encode()
    assert raw[b"X-Aileron-Folder"] == "/a⏎b".encode()


def test_the_token_is_shown_only_to_the_gate_it_belongs_to() -> None:
    gate = FakeGate(fixed())
    with agent(gate, FoundGate(URL, "gate-another")) as client, pytest.raises(NoGate):
        client.actions()
    assert [request.headers.get("authorization") for request in gate.asked] == [None]


def test_what_is_no_gate_is_told_apart() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json={"hello": "world"}))
    with AgentClient(FoundGate(URL), "secret", transport=transport) as client, pytest.raises(InvalidReply):
        client.actions()


def test_a_name_cannot_leave_its_place() -> None:
    gate = FakeGate(fixed(404, {"error": {"code": "not_found", "message": "no"}}))
    with agent(gate) as client, pytest.raises(NotFound):
        client.action("../action-approvals")
    assert gate.last.url.raw_path == b"/v1/actions/..%2Faction-approvals"


def test_the_failure_of_an_action_is_an_answer() -> None:
    failure = {"error": {"class": "external_api_error", "message": "404", "retriable": False, "boundary": "external"}}
    with agent(FakeGate(fixed(502, failure))) as client:
        assert client.run("get-draft", {}) == failure


def test_a_number_that_cannot_be_carried_is_not_sent() -> None:
    with agent(FakeGate(fixed())) as client, pytest.raises(JsonError):
        client.run("x", {"n": 2**60 + 1})


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (401, "unauthorized", NotAllowed),
        (403, "forbidden", NotAllowed),
        (404, "not_found", NotFound),
        (409, "INVALID_STATE", NotWaiting),
        (409, "PROMPT_CHANGED", PromptChanged),
        (409, "PREVIEW_PENDING", Rejected),
        (413, "body_too_large", LimitExceeded),
        (429, "too_many_requests", LimitExceeded),
        (500, "", Rejected),
    ],
)
def test_every_refusal_has_its_kind(status: int, code: str, kind: type[Rejected]) -> None:
    body = {"error": {"code": code, "message": "because"}, "state": "denied", "item": 7}
    with agent(FakeGate(fixed(status, body, **{"retry-after": "3"}))) as client, pytest.raises(Rejected) as error:
        client.actions()
    assert type(error.value) is kind
    assert (error.value.status, error.value.code, error.value.retry_after) == (status, code, 3)
    assert "because" in str(error.value)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (httpx.Response(200, text="<html>"), InvalidReply),
        (httpx.Response(200, content=b"{", headers={"content-type": "application/json"}), InvalidReply),
        (httpx.Response(200, json=[]), InvalidReply),
        (httpx.Response(302, headers={"location": "http://attacker.example/"}), Rejected),
        (httpx.Response(503, text="Service Unavailable"), Rejected),
        (httpx.ConnectError("refused"), NoGate),
        (httpx.ConnectTimeout("slow"), NoGate),
        (httpx.ReadTimeout("slow"), NoReply),
        (httpx.RemoteProtocolError("hung up"), NoReply),
    ],
    ids=lambda value: str(value)[:40],
)
def test_every_other_failure_too(answer: httpx.Response | Exception, kind: type[RuntimeFault]) -> None:
    def act(_: httpx.Request) -> httpx.Response:
        if isinstance(answer, Exception):
            raise answer
        return answer

    gate = FakeGate(act)
    with agent(gate) as client, pytest.raises(kind):
        client.actions()
    assert len(gate.asked) == 2  # the greeting and one question: nothing is followed, nothing repeated


def test_an_approver_proves_the_key_once(key: UnlockedKey) -> None:
    gate = FakeGate(fixed(200, {"items": [item()]}))
    with approver(gate, key) as client:
        assert [one.prompt for one in client.waiting()] == [prompt()]
        client.waiting()
        assert client.instance == INSTANCE
    proof = json.loads(next(one for one in gate.asked if one.url.path == "/v1/approver/session").content)
    assert proof["keyid"] == key.public.fingerprint
    assert key.public.accepts(base64.b64decode(proof["signature"]), session_proof("c-1", INSTANCE, LEDGER))
    assert gate.sessions == 1
    assert gate.last.headers["authorization"] == "Bearer t-1"
    assert gate.asked[-1].method == "DELETE"


def test_a_session_that_ended_is_opened_anew(key: UnlockedKey) -> None:
    def act(request: httpx.Request) -> httpx.Response:
        if request.headers["authorization"] == "Bearer t-1":
            return httpx.Response(401, json={"error": {"code": "unauthorized", "message": "ended"}})
        return httpx.Response(200, json={"items": []})

    gate = FakeGate(act)
    with approver(gate, key) as client:
        assert client.waiting() == ()
    assert gate.sessions == 2


def test_no_challenge_of_another_gate_is_signed(key: UnlockedKey) -> None:
    gate = FakeGate(fixed())
    with approver(gate, key, FoundGate(URL, "gate-another")) as client, pytest.raises(NoGate):
        client.waiting()
    assert gate.sessions == 0


def test_a_decision_is_signed_over_what_was_shown(key: UnlockedKey) -> None:
    gate = FakeGate(fixed(200, {"id": "act-1", "state": "denied"}))
    shown = read_gate_request(item())
    with approver(gate, key) as client:
        assert client.decide(shown, Verdict.DENY, reason="no") is RequestState.DENIED
    body = json.loads(gate.last.content)
    assert (body["approved"], body["reason"]) == (False, "no")
    approvers = Approvers({key.public.fingerprint: Approver("laptop", key.public, "")})
    statement = verify(
        body["envelope"],
        approvers,
        now=NOW,
        instance=INSTANCE,
        request=shown.id,
        digest=prompt().digest,
        seen_nonce=lambda _: False,
    )
    assert (statement.verdict, statement.reason, statement.surface) == (Verdict.DENY, "no", "cli")


def test_a_lost_answer_is_asked_for_with_the_very_same_decision(key: UnlockedKey) -> None:
    seen: list[bytes] = []

    def act(request: httpx.Request) -> httpx.Response:
        seen.append(request.content)
        if len(seen) == 1:
            raise httpx.RemoteProtocolError("hung up")
        return httpx.Response(200, json={"id": "act-1", "state": "approved"})

    with approver(FakeGate(act), key) as client:
        assert client.decide(read_gate_request(item()), Verdict.APPROVE) is RequestState.APPROVED
    assert len(seen) == 2
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    "second",
    [
        httpx.ConnectError("refused"),
        httpx.Response(409, json={"error": {"code": "INVALID_STATE", "message": "x"}, "state": "interrupted"}),
        httpx.Response(403, json={"error": {"code": "not_admitted", "message": "x"}}),
        httpx.Response(200, text="<html>"),
        httpx.Response(200, json={"id": "act-1"}),
    ],
    ids=["dead", "restarted", "ledger grew", "garbled", "no state"],
)
def test_no_error_of_the_repeat_says_that_the_first_one_was_not_taken(
    key: UnlockedKey, second: httpx.Response | Exception
) -> None:
    answers = iter([httpx.ReadError("reset"), second])

    def act(_: httpx.Request) -> httpx.Response:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with approver(FakeGate(act), key) as client, pytest.raises(NoReply):
        client.decide(read_gate_request(item()), Verdict.APPROVE)
    assert not list(answers)


def test_an_edited_request_is_decided_by_its_new_prompt(key: UnlockedKey) -> None:
    edited = prompt(args={"draft_id": "r-2"})
    gate = FakeGate(lambda request: httpx.Response(200, json={"item": item(edited), "state": "approved"}))
    with approver(gate, key) as client:
        fresh = client.refresh(item()["id"], {"draft_id": "r-2"})
        assert json.loads(gate.last.content) == {"edited_payload": {"draft_id": "r-2"}}
        body = client.decision(fresh, Verdict.APPROVE, edits={"draft_id": "r-2"})
        assert body["edited_payload"] == {"draft_id": "r-2"}
        client.decide_batch({fresh.id: body})
    assert json.loads(gate.last.content)["items"][0]["id"] == fresh.id


def test_five_more_minutes_are_signed_for_the_deadline_on_screen(key: UnlockedKey) -> None:
    shown = item(extendable_until="2026-05-12T10:40:00.000000Z")
    longer = shown | {"expires_at": "2026-05-12T10:25:30.000000Z"}
    gate = FakeGate(lambda request: httpx.Response(200, json={"item": longer} if request.method == "POST" else shown))
    with approver(gate, key) as client:
        extended = client.extend(read_gate_request(shown))
    assert extended.expires_at == longer["expires_at"]
    sent = next(request for request in gate.asked if request.url.path.endswith("/extend"))
    approvers = Approvers({key.public.fingerprint: Approver("laptop", key.public, "")})
    envelope = json.loads(sent.content)["envelope"]
    extension, _, _ = verify_extension(envelope, approvers, instance=INSTANCE, request=extended.id)
    assert (extension.before, extension.expires) == (shown["expires_at"], longer["expires_at"])


def test_a_deadline_that_somebody_else_extended_is_not_extended_again(key: UnlockedKey) -> None:
    shown = item(extendable_until="2026-05-12T10:40:00.000000Z")
    gate = FakeGate(fixed(200, shown | {"expires_at": "2026-05-12T10:25:30.000000Z"}))
    with approver(gate, key) as client:
        assert client.extend(read_gate_request(shown)).expires_at == "2026-05-12T10:25:30.000000Z"
    assert not any(request.url.path.endswith("/extend") for request in gate.asked)


@pytest.mark.parametrize("limit", ["", "2026-05-12T10:20:30.000000Z", "soon"])
def test_a_deadline_that_cannot_be_extended_is_not_signed(key: UnlockedKey, limit: str) -> None:
    shown = item(extendable_until=limit)
    gate = FakeGate(fixed(200, shown))
    with approver(gate, key) as client, pytest.raises(AileronError, match="not extended"):
        client.extend(read_gate_request(shown))
    assert not any(request.url.path.endswith("/extend") for request in gate.asked)


def test_an_item_that_lies_is_refused(key: UnlockedKey) -> None:
    lie = item(digest="sha256:" + "00" * 32)
    with approver(FakeGate(fixed(200, lie)), key) as client, pytest.raises(InvalidReply):
        client.item("act-1")


def test_another_request_than_the_one_asked_for_is_refused(key: UnlockedKey) -> None:
    with approver(FakeGate(fixed(200, item())), key) as client, pytest.raises(InvalidReply, match="different request"):
        client.item("act-1")
    with approver(FakeGate(fixed(200, {"item": item()})), key) as client, pytest.raises(InvalidReply):
        client.refresh("act-1", {"draft_id": "r-2"})


def test_a_locked_key_opens_nothing(key: UnlockedKey) -> None:
    gate = FakeGate(fixed())
    key.lock()
    with approver(gate, key) as client, pytest.raises(Exception, match="locked"):
        client.waiting()
    assert gate.sessions == 0


def test_watching(key: UnlockedKey) -> None:
    stream = b'id: 7\nevent: snapshot\ndata: {"items": []}\n\n: heartbeat\n\n'
    gate = FakeGate(lambda _: httpx.Response(200, content=stream, headers={"content-type": "text/event-stream"}))
    with approver(gate, key) as client:
        events = list(client.watch(6))
    assert [event and event.id for event in events] == [7, None]
    assert gate.last.headers["last-event-id"] == "6"
    assert gate.last.url.params["surface"] == "cli"


def test_history_passes_its_filters_on(key: UnlockedKey) -> None:
    gate = FakeGate(fixed(200, {"items": [], "next": None}))
    with approver(gate, key) as client:
        client.history(outcome=["denied", "expired"], limit=5)
    assert gate.last.url.query == b"outcome=denied&outcome=expired&limit=5"

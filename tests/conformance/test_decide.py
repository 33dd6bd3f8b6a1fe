"""Answering: codes, the one decision of each request, and what the agent and the record are told.

A test that answers uses up one waiting request, which is denied unless the run may approve."""

import time
import uuid
from typing import Any

import pytest

from tests.conformance.wire import ENVELOPE, LIST, NOBODY, Wire, moment, refused

ORDER = ["pending_approval", "awaiting_vault", "running", "completed", "failed"]


def events_about(wire: Wire, id_: str) -> dict[str, Any]:
    """The events of a request by type. A run that was approved has none of its own."""
    found = wire.get("/v1/audit", limit="1000")["events"]
    return {one["event_type"]: one for one in found if one["payload"].get("aileron.approval.id") == id_}


def test_a_denial(wire: Wire) -> None:
    """Uses up one request."""
    item = wire.spare()
    wire.deny(item["id"], reason="no, and here is why: <&> é")
    assert item["id"] not in [one["id"] for one in wire.waiting()]
    assert wire.result(item["id"]) == {"status": "denied", "reason": "no, and here is why: <&> é"}


def test_the_second_answer_is_told_that_there_was_a_first(wire: Wire) -> None:
    """Uses up one request."""
    item = wire.spare()
    wire.deny(item["id"], reason="first")
    for approved in (True, False):
        refused(wire.decide(item["id"], approved=approved, reason="second"), 404, "not_found")
    assert wire.result(item["id"]) == {"status": "denied", "reason": "first"}


def test_what_it_does_not_know_beside_the_answer_is_ignored(wire: Wire) -> None:
    """Uses up one request."""
    item = wire.spare()
    wire.deny(item["id"], reason="signed", envelope=ENVELOPE, not_known_to_anybody=[1, {"a": None}])
    assert wire.result(item["id"]) == {"status": "denied", "reason": "signed"}


def test_an_empty_reason_is_no_reason(wire: Wire) -> None:
    """Uses up one request."""
    item = wire.spare()
    wire.deny(item["id"], reason="")
    assert wire.result(item["id"]) == {"status": "denied"}


def test_a_body_that_forgets_the_answer_is_a_denial(wire: Wire) -> None:
    """Uses up one request. It is why the answer is always written out."""
    item = wire.spare()
    assert wire.http.post(f"{LIST}/{item['id']}/decide", json={}).status_code in (200, 204)
    assert wire.result(item["id"])["status"] == "denied"


@pytest.mark.parametrize(
    "body", [b"", b"not json", b"[]", b'{"approved":"true"}', b'{"approved":true,"reason":1}', b'{"approved":']
)
def test_a_body_that_is_none_decides_nothing(wire: Wire, body: bytes) -> None:
    refused(wire.http.post(f"{LIST}/{NOBODY}/decide", content=body), 400, "invalid_request")
    waiting = wire.waiting()
    if waiting:
        refused(wire.http.post(f"{LIST}/{waiting[0]['id']}/decide", content=body), 400, "invalid_request")
        assert wire.waiting()[0]["id"] == waiting[0]["id"]


def test_nobodys_request(wire: Wire) -> None:
    refused(wire.decide(NOBODY, approved=False, reason=""), 404, "not_found")
    refused(wire.http.get(f"{LIST}/{NOBODY}/result"), 404, "not_found")


def test_the_record_of_a_denial(wire: Wire) -> None:
    """Uses up one request."""
    item = wire.spare()
    wire.deny(item["id"], reason="for the record", envelope=ENVELOPE)
    events = events_about(wire, item["id"])
    denied = events["approval.denied"]
    assert "approval.approved" not in events
    assert denied["actor"]["type"] == "human"
    assert moment(denied["timestamp"]) >= moment(item["requested_at"])
    payload = denied["payload"]
    assert payload["aileron.approval.decision"] == "denied"
    assert payload["aileron.approval.reason"] == "for the record"
    assert payload["aileron.approval.edited"] is False
    assert isinstance(payload["aileron.approval.wait_ms"], int)
    assert payload["aileron.approval.action"] == item["action_name"]
    assert payload.get("aileron.session.id", "") == item.get("session_id", "")
    if "approval.requested" in events:
        assert events["approval.requested"]["actor"]["type"] == "agent"
    assert wire.get(f"/v1/audit/{denied['audit_id']}") == denied


def test_the_record_says_that_something_was_edited(wire: Wire) -> None:
    """Uses up one draft: it is denied."""
    item = wire.spare("comms_draft")
    wire.deny(item["id"], edited_payload={"body": "something else"})
    assert events_about(wire, item["id"])["approval.denied"]["payload"]["aileron.approval.edited"] is True


@pytest.mark.parametrize(
    ("kind", "edit"),
    [("action", None), ("comms_send", None), ("comms_draft", {"body": "edited"}), ("http_request", None)],
)
def test_an_approval(wire: Wire, kind: str, edit: dict[str, str] | None) -> None:
    """Uses up one request of each kind: it is approved, and may run."""
    if not wire.may_approve:
        pytest.skip("approves: needs --may-approve")
    item = wire.spare(kind)
    with wire.stream() as stream:
        stream.snapshot()
        body: dict[str, Any] = {"approved": True, "reason": "", "envelope": ENVELOPE}
        answer = wire.decide(item["id"], **body, **({"edited_payload": edit} if edit else {}))
        assert answer.status_code in (200, 204), answer.text
        assert answer.content == b""
        said = stream.about("resolved", item["id"])
        assert said["approved"] is True
        assert not said.get("reason")
    refused(wire.decide(item["id"], approved=False, reason=""), 404, "not_found")
    payload = events_about(wire, item["id"])["approval.approved"]["payload"]
    assert payload["aileron.approval.decision"] == "approved"
    assert payload["aileron.approval.edited"] is (edit is not None)
    follow(wire, item["id"])
    assert events_about(wire, item["id"]).keys() <= {"approval.requested", "approval.approved"}


def follow(wire: Wire, id_: str) -> None:
    """The result only ever goes forward. One that never ends is fine: a seeded request has nobody to run it."""
    seen = "awaiting_vault"
    for _ in range(10):
        told = wire.result(id_)
        assert ORDER.index(told["status"]) >= ORDER.index(seen)
        seen = told["status"]
        if seen == "completed":
            assert str(uuid.UUID(told["audit_id"])) == told["audit_id"]
            assert isinstance(told.get("result", ""), str)
            return
        if seen == "failed":
            assert isinstance(told.get("reason", ""), str)
            assert "reason" in told or isinstance(told["failure"]["error"]["class"], str)
            return
        assert set(told) == {"status"}
        time.sleep(0.1)

"""What a console reads beside the queue: the record, sessions, actions, the vault, the daemon itself."""

import itertools
import uuid

import pytest

from tests.conformance.wire import Wire, body_of, moment, refused


def test_the_record(wire: Wire) -> None:
    events = wire.get("/v1/audit")["events"]
    assert len(events) <= 100
    for event in events:
        assert str(uuid.UUID(event["audit_id"])) == event["audit_id"]
        assert isinstance(event["event_type"], str)
        assert isinstance(event["actor"]["type"], str)
        assert isinstance(event["payload"], dict)
    seconds = [moment(event["timestamp"])[0] for event in events]
    # Written in the order of arrival, which may differ a little from that of the clock.
    assert all(newer >= older - 1 for newer, older in itertools.pairwise(seconds))


def test_a_short_record(wire: Wire) -> None:
    events = wire.get("/v1/audit", limit="5")["events"]
    assert len(events) <= 5
    if not events:
        pytest.skip("the record is empty")
    newest = events[0]
    assert newest in wire.get("/v1/audit", since=newest["timestamp"])["events"]
    assert wire.get("/v1/audit", audit_id=newest["audit_id"])["events"] == [newest]
    assert len(wire.get("/v1/audit", limit="100000")["events"]) >= len(events)


def test_an_entry_that_is_not_in_the_record(wire: Wire) -> None:
    refused(wire.http.get("/v1/audit/audit-00000000-0000-4000-8000-000000000000"), 404, "not_found")


def test_sessions(wire: Wire) -> None:
    answer = wire.http.get("/v1/sessions")
    if answer.status_code == 503:
        refused(answer, 503, "sessions_disabled")
        pytest.skip("this daemon keeps no sessions")
    items = body_of(answer)["items"]
    for session in items:
        assert isinstance(session["id"], str)
        assert isinstance(session["agent"], str)
        assert isinstance(session["working_dir"], str)
        moment(session["started_at"])
    for session in items[:3]:
        assert wire.get(f"/v1/sessions/{session['id']}")["id"] == session["id"]
    refused(wire.http.get("/v1/sessions/00000000000000000000000000"), 404, "session_not_found")


def test_actions(wire: Wire) -> None:
    items = wire.get("/v1/actions")["items"]
    for action in items:
        assert isinstance(action["name"], str)
        for connector in action["requires"]["connectors"]:
            assert {"name", "version", "hash"} <= connector.keys()
        for one in action.get("inputs") or []:
            assert {"name", "type"} <= one.keys()
    for action in items[:1]:
        assert wire.get(f"/v1/actions/{action['name']}")["name"] == action["name"]
    refused(wire.http.get("/v1/actions/no-such-action-at-all"), 404, "not_found")


def test_status_and_vault_agree(wire: Wire) -> None:
    status = wire.get("/v1/status")
    assert isinstance(status["version"], str)
    assert status["vault_state"] in ("missing", "locked", "unlocked", "dev")
    vault = wire.get("/v1/vault/status")
    assert vault["state"] in ("missing", "locked", "unlocked")
    assert vault["locked"] is (vault["state"] != "unlocked")
    assert "listen_addr" not in status
    assert isinstance(status.get("gateway_url", ""), str)
    assert status["vault_state"] == "dev" or status["vault_state"] == vault["state"]


def test_a_vault_that_is_not_locked_is_not_unlocked(wire: Wire) -> None:
    state = wire.get("/v1/vault/status")["state"]
    if state == "locked":
        pytest.skip("the vault is locked; no passphrase is tried on it")
    answer = wire.http.post("/v1/vault/unlock", json={"passphrase": "conformance"})
    if answer.status_code == 409:
        assert body_of(answer) == {"locked": False, "state": "unlocked"}
    elif state == "missing":
        refused(answer, 404, "no_local_vault_file")
    else:
        refused(answer, 503, "no_local_vault")


def test_a_vault_is_not_unlocked_without_a_passphrase(wire: Wire) -> None:
    refused(wire.http.post("/v1/vault/unlock", json={}), 400, "missing_passphrase")


def test_bindings(wire: Wire) -> None:
    answer = wire.http.get("/v1/bindings")
    if answer.status_code == 423:
        pytest.skip("the vault is locked, and with it the bindings")
    for binding in body_of(answer)["items"]:
        assert isinstance(binding["name"], str)
        assert isinstance(binding["kind"], str)

"""A decision on the fake daemon, and what follows from it."""

import json
import re
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.listener import answer
from tests.daemon.process import PATIENCE, FakeDaemon
from tests.daemon.samples import GOOGLE, SESSION

LIST = "/v1/action-approvals"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,8}[1-9])?\+02:00")


# Deciding


def test_the_first_decision_counts(daemon: FakeDaemon) -> None:
    id_ = daemon.register()
    response, body = answer(daemon, "POST", f"{LIST}/{id_}/decide", daemon.headers, b'{"approved":true,"reason":""}')
    assert (response.status, body) == (204, b"")
    assert "Content-Length" not in response.headers
    status, said = daemon.decide(id_, approved=False)
    assert (status, said["error"]["code"]) == (404, "not_found")
    unknown = daemon.decide("act-20260101T000000-0000000000000000", approved=True)[1]
    assert unknown["error"]["message"].replace("act-20260101T000000-0000000000000000", id_) == said["error"]["message"]
    assert [one["applied"] for one in daemon.decisions(id_)] == [True, False]
    assert len(daemon.effects(id_)) == 1


@pytest.mark.parametrize(
    ("body", "approved"),
    [
        (b"{}", False),
        (b"null", False),
        (b'{"approved":null}', False),
        (b'{"reason":"x"}', False),
        (b'{"Approved":true}', True),
        (b'{"approved":false,"approved":true}', True),
        (b'{"approved":true,"envelope":{"payload":"x"},"more":[1]}', True),
        (b' \n{"approved":true} trailing', True),
        (b'{"approved":true,"reason":null,"edited_payload":null}', True),
    ],
)
def test_bodies_are_read_as_go_reads_them(daemon: FakeDaemon, body: bytes, approved: bool) -> None:
    id_ = daemon.register()
    assert daemon.ask("POST", f"{LIST}/{id_}/decide", body)[0] == 204
    assert daemon.result(id_)["status"] == ("completed" if approved else "denied")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"approved",
        b"[]",
        b'"x"',
        b'{"approved":true',
        b'{"approved":"true"}',
        b'{"approved":1}',
        b'{"approved":true,"reason":7}',
        b'{"approved":true,"edited_payload":"body"}',
        b'{"approved":true,"edited_payload":[]}',
        b'{"approved":true,"x":NaN}',
    ],
)
def test_bodies_that_are_none(daemon: FakeDaemon, body: bytes) -> None:
    id_ = daemon.register()
    for target in (id_, "unknown"):
        status, said = daemon.ask("POST", f"{LIST}/{target}/decide", body)
        assert (status, said["error"]["code"]) == (400, "invalid_request")
    assert daemon.pending() == [id_]


def test_the_body_of_a_decision_is_kept_as_it_came(daemon: FakeDaemon) -> None:
    id_ = daemon.register()
    daemon.decide(id_, approved=True, envelope={"payload": "abc"})
    (kept,) = daemon.decisions(id_)
    assert kept["body"] == '{"approved": true, "envelope": {"payload": "abc"}}'
    assert kept["said"]["envelope"] == {"payload": "abc"}
    assert (kept["applied"], kept["status"]) == (True, 204)


def test_only_a_draft_is_changed_by_an_edit(daemon: FakeDaemon) -> None:
    for kind in ("comms_draft", "comms_send", "action", "http_request"):
        id_ = daemon.register(kind)
        asked = daemon.entry(id_)["args"]
        daemon.decide(id_, approved=True, edited_payload={"body": "changed"})
        changed = {"draft_body": "changed"} if kind == "comms_draft" else {}
        assert daemon.effects(id_)[0]["args"] == asked | changed


@pytest.mark.parametrize(
    ("policy", "decision"),
    [
        ({}, "allow_once"),
        ({"save_policy": ""}, "allow_once"),
        ({"save_policy": "project"}, "allow_project"),
        ({"save_policy": "user"}, "allow_user"),
        ({"save_policy": "universe"}, "allow_once"),
        ({"save_policy": 7}, "allow_once"),
    ],
)
def test_a_shell_is_answered(daemon: FakeDaemon, policy: dict[str, Any], decision: str) -> None:
    answers: list[Any] = []
    body = {"command": "ls", "reason": "ls"}
    agent = threading.Thread(target=lambda: answers.append(daemon.ask("POST", "/v1/sessions/s/approvals/shell", body)))
    agent.start()
    daemon.wait_until(lambda: bool(daemon.pending()))
    (item,) = daemon.items()
    assert item["args"] == body
    daemon.decide(item["id"], approved=True, edited_payload=policy)
    agent.join(PATIENCE)
    assert answers == [(200, {"decision": decision})]
    assert daemon.effects(item["id"])[0]["decision"] == decision


def test_a_denied_shell(daemon: FakeDaemon) -> None:
    id_ = daemon.register("shell")
    daemon.decide(id_, approved=False, edited_payload={"save_policy": "user"})
    assert daemon.effects(id_) == []
    assert daemon.result(id_) == {"status": "denied"}


# What follows


def test_results(daemon: FakeDaemon) -> None:
    id_ = daemon.register(outcome="running")
    assert daemon.result(id_) == {"status": "pending_approval"}
    daemon.decide(id_, approved=True)
    assert daemon.result(id_) == {"status": "running"}
    daemon.finish(id_, result='{"ok":true}')
    told = daemon.result(id_)
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", told.pop("audit_id"))
    assert told == {"status": "completed", "result": '{"ok":true}'}

    failure = {"error": {"class": "network_error", "message": "no", "retriable": True, "boundary": "external"}}
    id_ = daemon.register(outcome="failed", failure=failure)
    daemon.decide(id_, approved=True)
    assert daemon.result(id_) == {"status": "failed", "failure": failure}
    id_ = daemon.register(outcome="failed", error_message="out of luck")
    daemon.decide(id_, approved=True)
    assert daemon.result(id_) == {"status": "failed", "reason": "out of luck"}
    id_ = daemon.register()
    daemon.decide(id_, approved=False, reason="no")
    assert daemon.result(id_) == {"status": "denied", "reason": "no"}
    id_ = daemon.register(outcome="nothing")
    daemon.decide(id_, approved=True)
    assert daemon.result(id_) == {"status": "running"}
    assert daemon.effects(id_) == []
    status, said = daemon.ask("GET", f"{LIST}/unknown/result")
    assert (status, said["error"]["code"]) == (404, "not_found")


def test_a_run_takes_its_time(daemon: FakeDaemon) -> None:
    id_ = daemon.register(run_time=0.05)
    daemon.decide(id_, approved=True)
    assert daemon.result(id_) == {"status": "running"}
    daemon.wait_until(lambda: daemon.result(id_)["status"] == "completed")


def test_a_locked_vault_holds_an_approved_action(daemon: FakeDaemon) -> None:
    daemon.switch(vault="locked")
    assert daemon.ask("GET", "/v1/vault/status")[1] == {"locked": True, "state": "locked"}
    assert daemon.ask("GET", "/v1/status")[1]["vault_state"] == "locked"
    id_ = daemon.register()
    assert daemon.decide(id_, approved=True)[0] == 204
    assert daemon.result(id_) == {"status": "awaiting_vault"}
    assert daemon.effects(id_) == []
    for body, status, code in (
        ({}, 400, "missing_passphrase"),
        ({"passphrase": 7}, 400, "invalid_request"),
        ({"passphrase": "guess"}, 401, "wrong_passphrase"),
        ({"passphrase": "open sesame"}, 200, ""),
        ({"passphrase": "open sesame"}, 409, ""),
    ):
        answer, said = daemon.ask("POST", "/v1/vault/unlock", body)
        assert (answer, said.get("error", {}).get("code", "")) == (status, code)
    assert daemon.result(id_)["status"] == "completed"
    assert len(daemon.effects(id_)) == 1
    assert said == {"locked": False, "state": "unlocked"}
    for vault, wanted in (("missing", (404, "no_local_vault_file")), ("dev", (503, "no_local_vault"))):
        daemon.switch(vault=vault)
        status, said = daemon.ask("POST", "/v1/vault/unlock", {"passphrase": "x"})
        assert (status, said["error"]["code"]) == wanted
        assert daemon.ask("GET", "/v1/vault/status")[1]["locked"] is (vault == "missing")


@pytest.mark.parametrize("kind", ["comms_send", "comms_draft", "http_request"])
def test_a_locked_vault_holds_nothing_but_actions(daemon: FakeDaemon, kind: str) -> None:
    daemon.switch(vault="locked")
    id_ = daemon.register(kind)
    daemon.decide(id_, approved=True)
    assert daemon.result(id_)["status"] == "completed"
    assert len(daemon.effects(id_)) == 1


def test_an_empty_edited_body_sends_the_original(daemon: FakeDaemon) -> None:
    id_ = daemon.register("comms_draft")
    daemon.decide(id_, approved=True, edited_payload={"body": ""})
    (effect,) = daemon.effects(id_)
    assert effect["args"]["draft_body"] == "Yes.\nSince noon."


def test_an_agent_runs_an_action(daemon: FakeDaemon) -> None:
    run = "/v1/actions/send-draft/run"
    status, said = daemon.ask("POST", run, {"args": {"draft_id": "r-9"}}, {"X-Aileron-Session-Id": "s-9"})
    assert status == 202
    assert said["status"] == "pending_approval"
    (item,) = daemon.items()
    assert (item["id"], item["session_id"], item["args"]) == (said["approval_id"], "s-9", {"draft_id": "r-9"})
    assert item["preview"]["fields"][2] == {"label": "Body", "value": "message.snippet", "multiline": True}
    assert item["input_fields"] == [{"label": "Draft id", "value": "r-9"}]
    assert said["review_url"].endswith(f"/approvals?focus={item['id']}")
    assert daemon.ask("POST", "/v1/actions/list-drafts/run", {})[0] == 200
    assert daemon.ask("POST", "/v1/actions/list-drafts/run")[0] == 400
    for name, body, wanted in (
        ("no-such-action", b"{}", (404, "not_found")),
        ("old-action", b"not json", (409, "action_disabled")),
        ("send-draft", b"not json", (400, "invalid_body")),
    ):
        status, said = daemon.ask("POST", f"/v1/actions/{name}/run", body)
        assert (status, said["error"]["code"]) == wanted
    daemon.switch(vault="locked")
    status, said = daemon.ask("POST", "/v1/actions/no-such-action/run", b"")
    assert (status, said["error"]["class"]) == (412, "binding_required")
    assert said["error"]["details"] == {"required": "vault.passphrase"}


def test_actions_tell_no_labels(daemon: FakeDaemon) -> None:
    (action,) = [one for one in daemon.ask("GET", "/v1/actions")[1]["items"] if one["name"] == "send-draft"]
    assert action["inputs"] == [{"name": "draft_id", "type": "string", "description": "The draft to send."}]
    assert daemon.ask("GET", "/v1/actions/send-draft") == (200, action)
    assert daemon.ask("GET", "/v1/actions/nothing")[0] == 404


# The record


def test_audit(daemon: FakeDaemon) -> None:
    id_ = daemon.register()
    daemon.decide(id_, approved=False, reason="no", edited_payload={})
    other = daemon.register("shell")
    daemon.decide(other, approved=True)
    events = daemon.ask("GET", "/v1/audit")[1]["events"]
    mine = [one for one in events if one["payload"]["aileron.approval.id"] == id_]
    assert [one["event_type"] for one in mine] == ["approval.denied", "approval.requested"]
    assert events.index(mine[0]) > 0
    asked = {
        "aileron.approval.id": id_,
        "aileron.approval.kind": "action",
        "aileron.approval.action": "send-draft",
        "aileron.connector.fqn": GOOGLE,
        "aileron.session.id": SESSION,
    }
    assert mine[1]["payload"] == asked
    assert mine[1]["actor"] == {"type": "agent", "id": "agent"}
    assert isinstance(mine[0]["payload"].pop("aileron.approval.wait_ms"), int)
    answered = {"decision": "denied", "edited": True, "reason": "no"}
    assert mine[0]["payload"] == asked | {f"aileron.approval.{key}": value for key, value in answered.items()}
    assert mine[0]["actor"] == {"type": "human", "id": "user"}
    assert TIME.fullmatch(mine[0]["timestamp"])
    audit_id = mine[0]["audit_id"]
    assert daemon.ask("GET", f"/v1/audit/{audit_id}")[1]["event_type"] == "approval.denied"
    assert daemon.ask("GET", "/v1/audit/audit-0")[0] == 404


def test_audit_filters(daemon: FakeDaemon) -> None:
    def found(query: str) -> list[Any]:
        events: list[Any] = daemon.ask("GET", f"/v1/audit?{query}")[1]["events"]
        return events

    failure = {"error": {"class": "network_error", "message": "no", "retriable": True, "boundary": "external"}}
    id_ = daemon.register(outcome="failed", failure=failure, connector_fqn="github://someone/unique")
    daemon.decide(id_, approved=True)
    daemon.register_many(1100, "comms_send", burst=True, connector_fqn="github://someone/many")
    assert len(found("")) == 100
    assert len(found("limit=1050")) == 1050
    assert len(found("limit=3")) == 3
    assert len(found("limit=105")) == 105
    assert [one["event_type"] for one in found("connector_fqn=github://someone/unique")] == [
        "approval.approved",
        "approval.requested",
    ]
    approved = found("connector_fqn=github://someone/unique")[0]
    assert found(f"audit_id={approved['audit_id']}") == [approved]
    newest = found("limit=1")[0]
    since = newest["timestamp"].replace("+", "%2B")
    assert newest in found(f"since={since}")
    assert approved not in found(f"since={since}&limit=1000")
    assert daemon.ask("GET", "/v1/audit?limit=many")[0] == 400


def test_the_audit_file_has_gos_own_names(home: Path) -> None:
    with FakeDaemon(home) as daemon:
        daemon.register()
        path = home / ".aileron" / "audit.jsonl"
        assert set(json.loads(path.read_bytes())["event"]) == {"EventID", "EventType", "Actor", "Payload", "Timestamp"}
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        before = daemon.ask("GET", "/v1/audit")
        daemon.restart()
        assert daemon.ask("GET", "/v1/audit") == before


def test_sessions(daemon: FakeDaemon) -> None:
    daemon.session("s-2", agent="codex", working_dir="/src")
    assert daemon.ask("GET", f"/v1/sessions/{SESSION}")[1]["agent"] == "claude"
    assert daemon.ask("GET", "/v1/sessions/s-2")[1]["working_dir"] == "/src"
    status, said = daemon.ask("GET", "/v1/sessions/none")
    assert (status, said["error"]["code"]) == (404, "session_not_found")
    assert all("ended_at" not in one for one in daemon.ask("GET", "/v1/sessions?active_only=true")[1]["items"])
    assert {one["agent"] for one in daemon.ask("GET", "/v1/sessions?agent=codex")[1]["items"]} == {"codex"}


def test_bindings_and_status(daemon: FakeDaemon) -> None:
    (binding,) = daemon.ask("GET", "/v1/bindings")[1]["items"]
    assert binding["name"] == "oauth2/google/alice"
    told = daemon.ask("GET", "/v1/status")[1]
    assert told["vault_state"] == "unlocked"
    assert told["gateway_url"] == daemon.url
    assert "listen_addr" not in told


def test_many_deciders_one_decision(daemon: FakeDaemon) -> None:
    ids = daemon.register_many(50)
    statuses: dict[str, list[int]] = {id_: [] for id_ in ids}

    def decider(approved: bool) -> None:
        for id_ in ids:
            statuses[id_].append(daemon.decide(id_, approved=approved)[0])

    deciders = [threading.Thread(target=decider, args=(number % 2 == 0,)) for number in range(4)]
    for one in deciders:
        one.start()
    for one in deciders:
        one.join(PATIENCE)
    for id_ in ids:
        assert sorted(statuses[id_]) == [204, 404, 404, 404]
        (applied,) = [one for one in daemon.decisions(id_) if one["applied"]]
        assert len(daemon.effects(id_)) == applied["said"]["approved"]

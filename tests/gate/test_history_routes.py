"""The history over HTTP: search with filters, and Aileron's audit events."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.times import timestamp
from aileron_tui.gate import history_routes
from aileron_tui.ledger.open_store import open_ledger
from aileron_tui.ledger.sqlite import reader as sqlite_reader
from aileron_tui.runtime.request_reader import read_gate_request
from tests.gate.conftest import GateEnv, dig, run_async
from tests.gate.served_gate import SEND, WAITING, ServedGate, error_code, served_gate
from tests.ledger.scenes import DIGEST, Scene


async def lived(served: ServedGate) -> list[str]:
    """Three requests: one executed, one denied, one waiting; and a call that needed nobody."""
    ids = []
    for draft, verdict in (("r-12345", Verdict.APPROVE), ("r-18220", Verdict.DENY), ("r-20417", None)):
        asked = await served.agent.post(
            SEND, json={"args": {"draft_id": draft}}, headers={"X-Aileron-Session-Id": "s-1"}
        )
        id_ = asked.json()["approval_id"]
        item = await served.previewed_request(id_)
        if verdict:
            reason = "wrong people" if verdict is Verdict.DENY else ""
            body = served.env.decision(item, verdict, reason=reason)
            assert (await served.approver.post(f"{WAITING}/{id_}/decide", json=body)).status_code == 200
            await served.result(id_)
        ids.append(id_)
    assert (await served.agent.post("/v1/actions/list-drafts/run", json={})).status_code == 200
    return ids


def test_history_is_filtered_and_paged(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            executed, denied, waiting = await lived(served)

            async def ids(**query: Any) -> list[str]:
                answer = await served.approver.get("/v1/history", params=query)
                assert answer.status_code == 200, answer.text
                return [item["id"] for item in answer.json()["items"]]

            assert await ids() == [waiting, denied, executed]
            assert await ids(outcome="denied") == [denied]
            assert await ids(outcome=["denied", "executed"]) == [denied, executed]
            assert await ids(text="r-12345") == [executed]
            assert await ids(text="wrong people") == [denied]
            assert await ids(action="nothing") == []
            assert await ids(since="2999-01-01") == []
            assert await ids(until="2999-01-01T00:00:00Z") == [waiting, denied, executed]
            first = (await served.approver.get("/v1/history", params={"limit": 2})).json()
            assert [item["id"] for item in first["items"]] == [waiting, denied]
            rest = (await served.approver.get("/v1/history", params={"limit": 2, "before": first["next"]})).json()
            assert ([item["id"] for item in rest["items"]], rest["next"]) == ([executed], None)

    run_async(main())


def test_an_edited_approval_shows_the_original_call(env: GateEnv) -> None:
    asked = {"draft_id": "r-12345", "subject": "Old", "body": "One"}
    edits = {"subject": "Zebra"}

    async def main() -> None:
        async with served_gate(env) as served:
            made = await served.agent.post("/v1/actions/update-draft/run", json={"args": asked})
            id_ = made.json()["approval_id"]
            before = await served.previewed_request(id_)
            assert "edited_from" not in before
            fresh = await served.approver.post(f"{WAITING}/{id_}/refresh", json={"edited_payload": edits})
            body = served.env.decision(fresh.json()["item"], edits=edits)
            assert (await served.approver.post(f"{WAITING}/{id_}/decide", json=body)).status_code == 200
            await served.result(id_)
            item = read_gate_request((await served.approver.get(f"{WAITING}/{id_}")).json())
            assert item.edited_from is not None
            assert item.edited_from.fields() == before["prompt"]
            assert item.edit == {"asked": asked, "approved": asked | edits, "changed": ["subject"]}
            past = (await served.approver.get(f"/v1/history/{id_}")).json()
            assert past["request"]["edited"] is True
            assert past["edit"] == item.edit
            found = (await served.approver.get("/v1/history", params={"text": "zebra"})).json()["items"]
            assert [one["id"] for one in found] == [id_]

    run_async(main())
    assert env.service.mailbox.drafts["r-12345"].header("Subject") == "Zebra"


def test_one_request_with_everything_in_the_ledger(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            executed, *_ = await lived(served)
            past = (await served.approver.get(f"/v1/history/{executed}")).json()
            assert (past["request"]["id"], past["request"]["outcome"]) == (executed, "executed")
            kinds = [entry["kind"] for entry in past["entries"]]
            assert kinds[0] == "request.made"
            assert "op.executed" in kinds
            missing = await served.approver.get("/v1/history/act-nobody")
            assert (missing.status_code, error_code(missing)) == (404, "not_found")

    run_async(main())


@pytest.mark.parametrize(
    "query",
    [
        {"limit": "0"},
        {"limit": "501"},
        {"limit": "x"},
        {"before": "-1"},
        {"outcome": "maybe"},
        {"since": "yesterday"},
        {"text": "x" * 1001},
        {"limit": ["1", "2"]},
    ],
    ids=lambda query: repr(query)[:30],
)
def test_an_invalid_query_is_refused(env: GateEnv, query: dict[str, Any]) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            answer = await served.approver.get("/v1/history", params=query)
            assert (answer.status_code, error_code(answer)) == (400, "invalid_query")

    run_async(main())


def test_audit_events_have_the_format_of_aileron(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            executed, denied, waiting = await lived(served)
            events = (await served.approver.get("/v1/audit")).json()["events"]
            assert {frozenset(event) for event in events} == {
                frozenset(("audit_id", "event_type", "timestamp", "actor", "payload"))
            }
            assert len({event["audit_id"] for event in events}) == len(events)
            approvals = [
                (event["event_type"], event["payload"].get("aileron.approval.id"), event["actor"]["type"])
                for event in reversed(events)
                if event["event_type"].startswith("approval.")
            ]
            assert approvals == [
                ("approval.requested", executed, "agent"),
                ("approval.approved", executed, "human"),
                ("approval.requested", denied, "agent"),
                ("approval.denied", denied, "human"),
                ("approval.requested", waiting, "agent"),
            ]
            requested = next(event for event in events if event["event_type"] == "approval.requested")
            assert requested["payload"]["aileron.session.id"] == "s-1"
            assert requested["payload"]["aileron.connector.fqn"] == "local://aileron/mail"
            no = next(event for event in events if event["event_type"] == "approval.denied")
            assert no["payload"]["aileron.approval.reason"] == "wrong people"
            assert no["payload"]["aileron.approval.decision"] == "denied"
            # The id that the agent got with its result is found here.
            end = (await served.approver.get(f"/v1/audit/audit-{executed}")).json()
            assert end["event_type"] == "execution.succeeded"
            assert (await served.approver.get(f"/v1/audit/{no['audit_id']}")).json() == no
            for odd in ("audit-0", "audit-999999", "x", "audit-act-nothing"):
                assert (await served.approver.get(f"/v1/audit/{odd}")).status_code == 404
            limited = (await served.approver.get("/v1/audit", params={"limit": "1"})).json()["events"]
            assert limited == events[:1]
            only = {"connector_fqn": "local://aileron/mail", "audit_id": no["audit_id"]}
            assert (await served.approver.get("/v1/audit", params=only)).json()["events"] == [no]
            assert (await served.approver.get("/v1/audit", params={"limit": "1001"})).status_code == 400

    run_async(main())


CONNECTORS = ("local://a/often", "local://a/rare")


@pytest.mark.parametrize("few", [1000, 2])
@pytest.mark.parametrize(
    "query",
    [
        {"connector": CONNECTORS[0]},
        {"connector": CONNECTORS[1]},
        {"connector": "local://a/none"},
        {"class_": "network_error"},
        {"class_": "approval_timeout"},
        {"class_": "NETWORK%ERROR"},
        {"connector": CONNECTORS[1], "class_": "network_error"},
        {"audit_id": "audit-run-31"},
        {"audit_id": "audit-run-11", "class_": "network_error"},
        {"audit_id": "audit-3", "since": "2030"},
    ],
    ids=str,
)
def test_a_rare_event_is_found_without_reading_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: dict[str, Any], few: int
) -> None:
    path = tmp_path / "d" / "ledger.db"
    with open_ledger(path, role="test") as ledger:
        for number in range(60):
            id_ = f"act-{number}"
            connector: JsonObject = {"name": CONNECTORS[number % 20 == 7], "version": "1", "hash": ""}
            ledger.append(EntryKind.REQUESTED, {"action": "x", "connector": connector, "args": {}}, id_)
            if number % 20 == 3:
                ledger.append(EntryKind.EXPIRED, {}, id_)
            if number % 20 == 11:
                ledger.append(EntryKind.RUNNING, {"gated": False, "action": "y"}, f"run-{number}")
                ledger.append(EntryKind.FAILED, {"gated": False, "error": "network_error: no route"}, f"run-{number}")
    whole: list[Any] = dig(history_routes.audit(path, history_routes.AuditQuery(limit=1000)), "events")
    wanted = history_routes.AuditQuery(limit=1000, **query)
    expected = [one for one in whole if history_routes._matches(one, wanted) and one["timestamp"] >= wanted.since]
    read: list[int] = []

    def counted(path: Path, seq: int, data: bytes) -> Entry:
        read.append(seq)
        return original(path, seq, data)

    original = sqlite_reader.read_entry
    monkeypatch.setattr(sqlite_reader, "read_entry", counted)
    monkeypatch.setattr(sqlite_reader, "_FEW", few)
    assert history_routes.audit(path, wanted)["events"] == expected
    if few == 1000 and not {CONNECTORS[0], "NETWORK%ERROR"} & set(query.values()):
        assert len(read) <= 2 * len(expected) + 3


def test_status(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            status = (await served.approver.get("/v1/status")).json()
            assert (status["instance"], status["waiting"], status["approvers"]) == (served.gate.instance, 0, ["tester"])

    run_async(main())


def test_audit_events_still_say_who_answered_a_request_that_was_reduced(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "ledger.db")
    scene.ask("act-1")
    scene.decide("act-1", edits={"note": "shorter"})
    scene.step(EntryKind.RUNNING, "act-1", digest=DIGEST)
    scene.step(EntryKind.EXECUTED, "act-1")
    scene.denied("act-2", reason="wrong people")
    scene.clock.now += timedelta(days=31)
    assert scene.ledger.reduce(timestamp(scene.clock.now - timedelta(days=30)), "30d").requests == 2
    listed = history_routes.audit(scene.close(), history_routes.read_audit({}))["events"]
    assert isinstance(listed, list)
    answers = {dig(event, "event_type"): dig(event, "payload") for event in listed}
    approved, denied = answers["approval.approved"], answers["approval.denied"]
    assert (approved["aileron.approval.id"], approved["aileron.approval.edited"]) == ("act-1", True)
    assert (denied["aileron.approval.id"], denied["aileron.approval.surface"]) == ("act-2", "tui")
    assert approved["aileron.signing.key_id"] == denied["aileron.signing.key_id"] == scene.key.public.fingerprint
    assert "wrong people" not in str(listed)

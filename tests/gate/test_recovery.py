"""What a gate does at start after it was killed."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from aileron_tui.core.decision import Verdict, read_statement
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.states import RequestState
from aileron_tui.demo.sample_service import ServiceFault
from aileron_tui.files.config import Policy
from aileron_tui.gate.gate import LEDGER_FILE, OUTBOX_FILE, Gate
from aileron_tui.gate.gate_request import GateRequest
from aileron_tui.ledger.open_store import open_ledger, open_reader, open_results
from aileron_tui.ledger.store import EntryDraft, StoredResult
from aileron_tui.signing.envelope import read_envelope, sign
from tests.gate.conftest import ASKER, GateEnv, ask, dig, previewed_request, result_of, run_async
from tests.gate.test_flow import sound


def outcome(env: GateEnv, id_: str) -> str:
    with open_reader(env.data / LEDGER_FILE) as reader:
        record = reader.find(id_)
        assert record is not None
        return record.outcome


def waiting_request(env: GateEnv, edits: JsonObject | None = None) -> tuple[str, str]:
    """A request left waiting by a gate that stopped: its id and the envelope that would approve it."""

    async def work() -> tuple[str, str]:
        async with env.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await previewed_request(gate, id_)
            if edits:
                item = dig((await gate.refresh(id_, {"edited_payload": edits})).body, "item")
            return id_, json.dumps(sign(env.statement(item, edits=edits), env.key).fields())

    return run_async(work())


def left_running(env: GateEnv, edits: JsonObject | None = None) -> str:
    """A request that was approved and started by a gate that was then gone."""
    id_, envelope = waiting_request(env, edits)
    with open_ledger(env.data / LEDGER_FILE, role="test") as ledger:
        decided = EntryDraft(EntryKind.DECIDED, {"envelope": json.loads(envelope)}, id_)
        digest = read_statement(read_envelope(envelope.encode()).payload).digest
        ledger.append_all([decided, EntryDraft(EntryKind.RUNNING, {"digest": digest}, id_)])
    return id_


def test_waiting_requests_keep_waiting_with_a_new_preview(env: GateEnv) -> None:
    id_, _ = waiting_request(env)
    before = len(env.service.calls)

    async def work() -> None:
        async with env.gate() as gate:
            assert [item["id"] for item in gate.waiting()] == [id_]
            item = await previewed_request(gate, id_)
            assert len(env.service.calls) == before + 1
            assert (await ask(gate)).body["approval_id"] == id_
            assert (await gate.decide(id_, env.decision(item))).status == 200
            assert (await result_of(gate, id_))["status"] == "completed"

    run_async(work())
    assert len(env.service.sent) == 1
    assert sound(env)


def test_all_of_many_waiting_requests_get_a_new_preview(env: GateEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that cannot be shown keeps no other one waiting."""
    agents = ("agent-1", "agent-2", "agent-3")

    async def make() -> None:
        async with env.gate() as gate:
            for number in range(30):
                args: JsonObject = {"draft_id": f"r-{number}"}
                assert (await gate.call("send-draft", args, ASKER, agent=agents[number % 3])).status == 202

    async def restart() -> None:
        async with env.gate() as gate:
            items = gate.waiting()
            assert [dig(item, "args", "draft_id") for item in items] == [f"r-{number}" for number in range(30)]
            broken = str(items[0]["id"])
            render = GateRequest.render

            def render_some(request: GateRequest) -> None:
                if request.id == broken:
                    raise RuntimeError("cannot be shown")
                render(request)

            monkeypatch.setattr(GateRequest, "render", render_some)
            for item in items[1:]:
                assert dig(await previewed_request(gate, str(item["id"])), "preview", "unavailable")

    run_async(make())
    run_async(restart())


def test_a_decision_for_the_old_instance_is_refused(env: GateEnv) -> None:
    id_, envelope = waiting_request(env)

    async def work() -> None:
        async with env.gate() as gate:
            await previewed_request(gate, id_)
            reply = await gate.decide(id_, {"approved": True, "envelope": json.loads(envelope)})
            assert (reply.status, dig(reply.body, "error", "code")) == (403, "wrong_instance")

    run_async(work())
    assert env.service.sent == ()


def test_a_request_that_expired_in_the_meantime_is_expired(env: GateEnv) -> None:
    env.policy = Policy(timeout=1)
    id_, _ = waiting_request(env)

    async def work() -> None:
        await asyncio.sleep(1.1)
        async with env.gate() as gate:
            answer = await result_of(gate, id_)
            assert dig(answer, "failure", "error", "class") == "approval_timeout"

    run_async(work())
    assert outcome(env, id_) == RequestState.EXPIRED


def test_a_running_request_is_interrupted_and_asked_again(env: GateEnv) -> None:
    id_ = left_running(env)

    async def work() -> None:
        async with env.gate() as gate:
            answer = (await gate.result(id_, agent="agent-1")).body
            error = dig(answer, "failure", "error")
            assert (error["class"], error["retriable"]) == ("outcome_unknown", False)
            (again,) = gate.waiting()
            assert again["asked_again"] == id_
            assert error["details"] == {"asked_again": again["id"]}
            assert env.service.sent == ()
            item = await previewed_request(gate, str(again["id"]))
            await gate.decide(str(again["id"]), env.decision(item, Verdict.DENY))

    run_async(work())
    assert outcome(env, id_) == RequestState.INTERRUPTED
    assert env.service.sent == ()
    assert sound(env)


def test_an_edited_call_that_is_asked_again_is_still_marked_as_edited(env: GateEnv) -> None:
    left_running(env, {"draft_id": "r-18220"})

    async def work() -> JsonObject:
        async with env.gate() as gate:
            (again,) = gate.waiting()
            return again

    for _ in range(2):  # what was asked is also known after another crash
        again = run_async(work())
        assert again["args"] == {"draft_id": "r-18220"}
        assert dig(again, "edited_from", "args") == {"draft_id": "r-12345"}


EDITED: dict[str, Any] = {"draft_id": "r-18220"}


def left_unknown(env: GateEnv) -> str:
    """A request that was edited and approved, and whose outcome nobody knows."""
    id_ = left_running(env, EDITED)
    with open_ledger(env.data / LEDGER_FILE, role="test") as ledger:
        ledger.append(EntryKind.UNKNOWN, {"error": "network_error"}, id_)
    return id_


async def cautions(env: GateEnv, gate: Gate) -> list[str]:
    """What the prompts of the call that the agent made first and of the edited one name."""
    named = []
    for args in ({}, EDITED):
        id_ = str((await ask(gate, **args)).body["approval_id"])
        item = await previewed_request(gate, id_)
        named.append(str(item.get("asked_again", "")))
        await gate.decide(id_, env.decision(item, Verdict.DENY))
        await result_of(gate, id_)
    return named


def cautions_after_a_restart(env: GateEnv) -> list[str]:
    async def work() -> list[str]:
        async with env.gate() as gate:
            return await cautions(env, gate)

    return run_async(work())


def test_an_edited_call_that_may_have_taken_effect_says_so_after_a_restart(env: GateEnv) -> None:
    id_ = left_unknown(env)
    assert cautions_after_a_restart(env) == [id_, id_]


@pytest.mark.parametrize("edits", [None, {"draft_id": "r-31007"}], ids=["the same", "another"])
def test_only_the_success_of_the_same_call_ends_the_caution(env: GateEnv, edits: JsonObject | None) -> None:
    id_ = left_running(env, EDITED)
    named = [id_, id_] if edits else ["", ""]

    async def work() -> None:
        async with env.gate() as gate:
            (again,) = gate.waiting()
            item = await previewed_request(gate, str(again["id"]))
            if edits:
                item = dig((await gate.refresh(str(again["id"]), {"edited_payload": edits})).body, "item")
            assert (await gate.decide(str(again["id"]), env.decision(item, edits=edits))).status == 200
            assert (await result_of(gate, str(again["id"])))["status"] == "completed"
            assert await cautions(env, gate) == named

    run_async(work())
    assert cautions_after_a_restart(env) == named


def test_a_repeated_call_is_not_marked_as_edited_because_the_earlier_one_was(env: GateEnv) -> None:
    id_ = left_unknown(env)

    async def work() -> JsonObject:
        async with env.gate() as gate:
            await ask(gate, **EDITED)
            (item,) = gate.waiting()
            return item

    for _ in range(2):  # before and after a restart
        item = run_async(work())
        assert (item["asked_again"], item["args"]) == (id_, EDITED)
        assert "edited_from" not in item


def test_a_stored_outcome_is_not_lost(env: GateEnv) -> None:
    """The crash came after the op ran and before the ledger said so."""
    id_ = left_running(env)
    outbox = open_results(env.data / OUTBOX_FILE)
    outbox.put(StoredResult(id_, {"status": "completed", "audit_id": "a", "result": "{}"}), "call", "2999-01-01")
    outbox.close()

    async def work() -> None:
        async with env.gate() as gate:
            assert (await gate.result(id_, agent="agent-1")).body["status"] == "completed"
            assert gate.waiting() == []

    run_async(work())
    assert outcome(env, id_) == RequestState.EXECUTED


def test_a_denial_whose_result_was_not_stored_is_still_delivered(env: GateEnv) -> None:
    id_, _ = waiting_request(env)

    async def work() -> str:
        async with env.gate() as gate:
            item = await previewed_request(gate, id_)
            return json.dumps(sign(env.statement(item, Verdict.DENY, reason="no"), env.key).fields())

    envelope = run_async(work())
    with open_ledger(env.data / LEDGER_FILE, role="test") as ledger:
        ledger.append(EntryKind.DECIDED, {"envelope": json.loads(envelope)}, id_)

    async def collect() -> None:
        async with env.gate() as gate:
            reply = await ask(gate)
            assert (reply.status, reply.body) == (200, {"status": "denied", "reason": "no"})

    run_async(collect())


def test_a_request_whose_action_is_gone_is_withdrawn(env: GateEnv) -> None:
    id_, _ = waiting_request(env)
    (env.manifests / "actions" / "send-draft.md").unlink()

    async def work() -> None:
        async with env.gate() as gate:
            assert gate.waiting() == []
            answer = (await gate.result(id_, agent="agent-1")).body
            assert "changed or removed" in dig(answer, "failure", "error", "message")

    run_async(work())
    assert outcome(env, id_) == RequestState.WITHDRAWN


def test_a_changed_folder_is_reloaded_without_losing_other_requests(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await previewed_request(gate, id_)
            (env.manifests / "actions" / "delete-draft.md").unlink()
            while gate.action("delete-draft"):
                await asyncio.sleep(0.05)
            assert (await ask(gate, "delete-draft")).status == 404
            assert (await gate.decide(id_, env.decision(item))).status == 200
            assert (await result_of(gate, id_))["status"] == "completed"

    run_async(work())
    assert len(env.service.sent) == 1


def test_a_clean_stop_lets_running_ops_finish(env: GateEnv) -> None:
    async def work() -> str:
        async with env.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await previewed_request(gate, id_)
            env.service.latency_seconds = 0.5
            await gate.decide(id_, env.decision(item))
            return id_

    assert outcome(env, run_async(work())) == RequestState.EXECUTED
    assert len(env.service.sent) == 1


def test_an_upstream_that_closes_the_connection_leaves_the_outcome_unknown(
    env: GateEnv,
) -> None:
    async def work() -> str:
        async with env.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await previewed_request(gate, id_)
            env.service.faults["send"] = ServiceFault.HANG_UP
            await gate.decide(id_, env.decision(item))
            answer = await result_of(gate, id_)
            assert dig(answer, "failure", "error", "class") == "outcome_unknown"
            assert dig(answer, "failure", "error", "details", "cause") == "network_error"
            return id_

    assert outcome(env, run_async(work())) == RequestState.UNKNOWN
    assert len(env.service.sent) == 1


def test_previews_are_stored_only_if_configured(env: GateEnv) -> None:
    text = "Here's the recap from this week's standup"
    waiting_request(env)
    with open_reader(env.data / LEDGER_FILE) as reader:
        assert not any(text.encode() in data for _, data, _ in reader.rows())
    assert not any(text.encode() in path.read_bytes() for path in env.data.iterdir() if path.is_file())
    env.policy = replace(env.policy, keep_previews=True)

    async def work() -> None:
        async with env.gate() as gate:
            await previewed_request(gate, str(gate.waiting()[0]["id"]))

    run_async(work())
    with open_reader(env.data / LEDGER_FILE) as reader:
        assert any(text.encode() in data for _, data, _ in reader.rows())


def test_old_results_are_deleted_sooner_once_delivered(env: GateEnv) -> None:
    outbox = open_results(env.data / OUTBOX_FILE)
    for name, ended in (("old", "2026-01-01"), ("new", "2026-02-01")):
        for given in ("given", "uncollected"):
            outbox.put(StoredResult(f"{name}-{given}", {"status": "denied"}), "call", ended)
        outbox.deliver(f"{name}-given")
    outbox.forget("2026-02-02", "2026-01-15")
    left = [name for name in ("old-given", "old-uncollected", "new-given", "new-uncollected") if outbox.find(name)]
    outbox.close()
    assert left == ["new-uncollected"]

"""What a gate finds after it was stopped hard, and what it does about it."""

import asyncio
import json
from dataclasses import replace

from aileron_tui.core.decision import Verdict, read_statement
from aileron_tui.core.entry_chain import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.states import RequestState
from aileron_tui.demo.sample_service import ServiceFault
from aileron_tui.files.config import Policy
from aileron_tui.gate.gate import LEDGER_FILE, OUTBOX_FILE
from aileron_tui.ledger.store import (
    EntryDraft,
    StoredResult,
    open_ledger,
    open_reader,
    open_results,
)
from aileron_tui.signing.envelope import read_envelope, sign
from tests.gate.conftest import Bench, ask, dig, ending, shown, until
from tests.gate.test_flow import sound


def outcome(bench: Bench, id_: str) -> str:
    with open_reader(bench.data / LEDGER_FILE) as reader:
        record = reader.find(id_)
        assert record is not None
        return record.outcome


def waiting_request(bench: Bench, edits: JsonObject | None = None) -> tuple[str, str]:
    """A request left waiting by a gate that stopped: its id and the envelope that would approve it."""

    async def work() -> tuple[str, str]:
        async with bench.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await shown(gate, id_)
            if edits:
                item = dig((await gate.refresh(id_, {"edited_payload": edits})).body, "item")
            return id_, json.dumps(sign(bench.statement(item, edits=edits), bench.key).fields())

    return until(work())


def left_running(bench: Bench, edits: JsonObject | None = None) -> str:
    """A request that was approved and started by a gate that was then gone."""
    id_, envelope = waiting_request(bench, edits)
    with open_ledger(bench.data / LEDGER_FILE, role="test") as ledger:
        decided = EntryDraft(EntryKind.DECIDED, {"envelope": json.loads(envelope)}, id_)
        digest = read_statement(read_envelope(envelope.encode()).payload).digest
        ledger.append_all([decided, EntryDraft(EntryKind.RUNNING, {"digest": digest}, id_)])
    return id_


def test_what_waited_waits_on_with_a_fresh_preview(bench: Bench) -> None:
    id_, _ = waiting_request(bench)
    before = len(bench.service.calls)

    async def work() -> None:
        async with bench.gate() as gate:
            assert [item["id"] for item in gate.waiting()] == [id_]
            item = await shown(gate, id_)
            assert len(bench.service.calls) == before + 1
            assert (await ask(gate)).body["approval_id"] == id_
            assert (await gate.decide(id_, bench.answer(item))).status == 200
            assert (await ending(gate, id_))["status"] == "completed"

    until(work())
    assert len(bench.service.sent) == 1
    assert sound(bench)


def test_a_decision_for_the_old_instance_is_worth_nothing(bench: Bench) -> None:
    id_, envelope = waiting_request(bench)

    async def work() -> None:
        async with bench.gate() as gate:
            await shown(gate, id_)
            reply = await gate.decide(id_, {"approved": True, "envelope": json.loads(envelope)})
            assert (reply.status, dig(reply.body, "error", "code")) == (403, "wrong_instance")

    until(work())
    assert bench.service.sent == ()


def test_what_expired_meanwhile_is_expired(bench: Bench) -> None:
    bench.policy = Policy(timeout=1)
    id_, _ = waiting_request(bench)

    async def work() -> None:
        await asyncio.sleep(1.1)
        async with bench.gate() as gate:
            answer = await ending(gate, id_)
            assert dig(answer, "failure", "error", "class") == "approval_timeout"

    until(work())
    assert outcome(bench, id_) == RequestState.EXPIRED


def test_what_ran_without_a_known_end_is_interrupted_and_asked_again(bench: Bench) -> None:
    id_ = left_running(bench)

    async def work() -> None:
        async with bench.gate() as gate:
            answer = (await gate.result(id_)).body
            error = dig(answer, "failure", "error")
            assert (error["class"], error["retriable"]) == ("outcome_unknown", False)
            (again,) = gate.waiting()
            assert again["asked_again"] == id_
            assert error["details"] == {"asked_again": again["id"]}
            assert bench.service.sent == ()
            item = await shown(gate, str(again["id"]))
            await gate.decide(str(again["id"]), bench.answer(item, Verdict.DENY))

    until(work())
    assert outcome(bench, id_) == RequestState.INTERRUPTED
    assert bench.service.sent == ()
    assert sound(bench)


def test_an_edited_call_that_is_asked_again_is_not_called_the_agents(bench: Bench) -> None:
    left_running(bench, {"draft_id": "r-18220"})

    async def work() -> JsonObject:
        async with bench.gate() as gate:
            (again,) = gate.waiting()
            return again

    for _ in range(2):  # what was asked is also known after another crash
        again = until(work())
        assert again["args"] == {"draft_id": "r-18220"}
        assert dig(again, "edited_from", "args") == {"draft_id": "r-12345"}


def test_an_outcome_that_was_kept_is_not_lost(bench: Bench) -> None:
    """The crash came after the op ran and before the ledger said so."""
    id_ = left_running(bench)
    outbox = open_results(bench.data / OUTBOX_FILE)
    outbox.put(StoredResult(id_, {"status": "completed", "audit_id": "a", "result": "{}"}), "call", "2999-01-01")
    outbox.close()

    async def work() -> None:
        async with bench.gate() as gate:
            assert (await gate.result(id_)).body["status"] == "completed"
            assert gate.waiting() == []

    until(work())
    assert outcome(bench, id_) == RequestState.EXECUTED


def test_a_denial_whose_answer_was_not_kept_is_collected_all_the_same(bench: Bench) -> None:
    id_, _ = waiting_request(bench)

    async def work() -> str:
        async with bench.gate() as gate:
            item = await shown(gate, id_)
            return json.dumps(sign(bench.statement(item, Verdict.DENY, reason="no"), bench.key).fields())

    envelope = until(work())
    with open_ledger(bench.data / LEDGER_FILE, role="test") as ledger:
        ledger.append(EntryKind.DECIDED, {"envelope": json.loads(envelope)}, id_)

    async def collect() -> None:
        async with bench.gate() as gate:
            reply = await ask(gate)
            assert (reply.status, reply.body) == (200, {"status": "denied", "reason": "no"})

    until(collect())


def test_a_request_whose_action_is_gone_is_withdrawn(bench: Bench) -> None:
    id_, _ = waiting_request(bench)
    (bench.manifests / "actions" / "send-draft.md").unlink()

    async def work() -> None:
        async with bench.gate() as gate:
            assert gate.waiting() == []
            answer = (await gate.result(id_)).body
            assert "no longer installed" in dig(answer, "failure", "error", "message")

    until(work())
    assert outcome(bench, id_) == RequestState.WITHDRAWN


def test_a_changed_folder_is_loaded_anew_without_losing_requests(bench: Bench) -> None:
    async def work() -> None:
        async with bench.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await shown(gate, id_)
            (bench.manifests / "actions" / "send-draft.md").unlink()
            while gate.action("send-draft"):
                await asyncio.sleep(0.05)
            assert (await ask(gate)).status == 404
            assert (await gate.decide(id_, bench.answer(item))).status == 200
            assert (await ending(gate, id_))["status"] == "completed"

    until(work())
    assert len(bench.service.sent) == 1


def test_a_clean_stop_lets_what_runs_finish(bench: Bench) -> None:
    async def work() -> str:
        async with bench.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await shown(gate, id_)
            bench.service.latency_seconds = 0.5
            await gate.decide(id_, bench.answer(item))
            return id_

    assert outcome(bench, until(work())) == RequestState.EXECUTED
    assert len(bench.service.sent) == 1


def test_an_upstream_that_hangs_up_is_a_failure_and_nothing_is_repeated(bench: Bench) -> None:
    async def work() -> None:
        async with bench.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await shown(gate, id_)
            bench.service.faults["*"] = ServiceFault.HANG_UP
            await gate.decide(id_, bench.answer(item))
            answer = await ending(gate, id_)
            assert dig(answer, "failure", "error", "class") == "network_error"

    until(work())
    assert len(bench.service.sent) == 1


def test_previews_are_kept_only_where_the_user_says_so(bench: Bench) -> None:
    text = "Here's the recap from this week's standup"
    waiting_request(bench)
    with open_reader(bench.data / LEDGER_FILE) as reader:
        assert not any(text.encode() in data for _, data, _ in reader.rows())
    assert not any(text.encode() in path.read_bytes() for path in bench.data.iterdir() if path.is_file())
    bench.policy = replace(bench.policy, keep_previews=True)

    async def work() -> None:
        async with bench.gate() as gate:
            await shown(gate, str(gate.waiting()[0]["id"]))

    until(work())
    with open_reader(bench.data / LEDGER_FILE) as reader:
        assert any(text.encode() in data for _, data, _ in reader.rows())


def test_answers_are_forgotten_once_given_or_when_nobody_comes(bench: Bench) -> None:
    outbox = open_results(bench.data / OUTBOX_FILE)
    for name, ended in (("old", "2026-01-01"), ("new", "2026-02-01")):
        for given in ("given", "uncollected"):
            outbox.put(StoredResult(f"{name}-{given}", {"status": "denied"}), "call", ended)
        outbox.deliver(f"{name}-given")
    outbox.forget("2026-02-02", "2026-01-15")
    left = [name for name in ("old-given", "old-uncollected", "new-given", "new-uncollected") if outbox.find(name)]
    outbox.close()
    assert left == ["new-uncollected"]

"""Races: an agent disconnects while its request is being recorded, and two clients fetch one result."""

import asyncio
import threading
import time
from collections.abc import Sequence

import pytest

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.states import RequestState
from aileron_tui.gate.gate import LEDGER_FILE, OUTBOX_FILE
from aileron_tui.ledger.head import Head
from aileron_tui.ledger.history_filter import HistoryFilter
from aileron_tui.ledger.open_store import open_reader, open_results
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from aileron_tui.ledger.store import EntryDraft, StoredResult
from tests.gate.conftest import GateEnv, ask, previewed_request, run_async
from tests.gate.test_recovery import left_running


@pytest.mark.parametrize("joins", [False, True], ids=["", "and an identical call joins it"])
def test_a_request_is_withdrawn_if_its_agent_disconnects_while_it_is_recorded(
    env: GateEnv, monkeypatch: pytest.MonkeyPatch, joins: bool
) -> None:
    """It keeps waiting if an identical call has joined it by then."""
    writing, go_on = threading.Event(), threading.Event()
    append = SqliteLedger.append_all

    def slow(ledger: SqliteLedger, drafts: Sequence[EntryDraft]) -> Head:
        if any(draft.kind == EntryKind.REQUESTED for draft in drafts) and not writing.is_set():
            writing.set()
            go_on.wait(10)
        return append(ledger, drafts)

    async def work() -> None:
        monkeypatch.setattr(SqliteLedger, "append_all", slow)
        async with env.gate() as gate:
            held = asyncio.create_task(ask(gate, wait=30))
            assert await asyncio.to_thread(writing.wait, 10)
            held.cancel()
            with pytest.raises(asyncio.CancelledError):
                await held
            if joins:
                joined = asyncio.create_task(ask(gate))
                await asyncio.sleep(0.05)
            go_on.set()
            if joins:
                id_ = str((await joined).body["approval_id"])
                await asyncio.sleep(0.3)
                assert [item["id"] for item in gate.waiting()] == [id_]
                return
            with open_reader(env.data / LEDGER_FILE) as reader:
                while not (page := reader.page(HistoryFilter(), limit=1)):
                    await asyncio.sleep(0.01)
            while (item := gate.find_request(page[0].id)) is None or item["state"] != RequestState.WITHDRAWN:
                await asyncio.sleep(0.01)
            # The same call is asked about again, because nobody decided about the first.
            reply = await asyncio.wait_for(ask(gate), 5)
            assert (reply.status, reply.body["status"]) == (202, "pending_approval")

    run_async(work())
    assert env.service.sent == ()


def test_only_one_of_two_clients_gets_an_undelivered_result(env: GateEnv) -> None:
    async def work() -> None:
        async with env.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            await gate.decide(id_, env.decision(await previewed_request(gate, id_)))
            while (item := gate.find_request(id_)) and item["state"] != RequestState.EXECUTED:
                await asyncio.sleep(0.01)
            replies = await asyncio.gather(ask(gate), ask(gate), ask(gate))
            assert sorted(reply.status for reply in replies) == [200, 202, 202]
            assert len({reply.body["approval_id"] for reply in replies if reply.status == 202}) == 1

    run_async(work())
    assert len(env.service.sent) == 1


def test_a_stored_outcome_counts_even_if_the_action_is_gone(env: GateEnv) -> None:
    id_ = left_running(env)
    outbox = open_results(env.data / OUTBOX_FILE)
    outbox.put(StoredResult(id_, {"status": "completed", "audit_id": "a", "result": "{}"}), "call", "2999-01-01")
    outbox.close()
    (env.manifests / "actions" / "send-draft.md").unlink()

    async def work() -> None:
        async with env.gate() as gate:
            assert (await gate.result(id_, agent="agent-1")).body["status"] == "completed"

    run_async(work())
    with open_reader(env.data / LEDGER_FILE) as reader:
        record = reader.find(id_)
    assert record is not None
    assert record.outcome == RequestState.EXECUTED


def test_a_request_made_while_a_reload_is_recorded_is_resolved_again(
    env: GateEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was made with the manifests before, and is not recorded yet when the others are resolved again."""
    reloading, go_on = threading.Event(), threading.Event()
    append = SqliteLedger.append_all

    def slow(ledger: SqliteLedger, drafts: Sequence[EntryDraft]) -> Head:
        if any(draft.kind == EntryKind.CONFIG_CHANGED for draft in drafts):
            reloading.set()
            go_on.wait(10)
        elif any(draft.kind == EntryKind.REQUESTED for draft in drafts):
            time.sleep(0.2)
        return append(ledger, drafts)

    async def work() -> None:
        monkeypatch.setattr(SqliteLedger, "append_all", slow)
        async with env.gate() as gate:
            (env.manifests / "actions" / "send-draft.md").unlink()
            assert await asyncio.to_thread(reloading.wait, 10)
            asking = asyncio.create_task(ask(gate))
            await asyncio.sleep(0.1)
            go_on.set()
            id_ = str((await asking).body["approval_id"])
            for _ in range(500):
                if (item := gate.find_request(id_)) and item["state"] != RequestState.PENDING:
                    break
                await asyncio.sleep(0.01)
            assert item is not None
            assert item["state"] == RequestState.WITHDRAWN

    run_async(work())

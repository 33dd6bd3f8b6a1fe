"""Things that happen at the same moment: an agent leaves while its request is being written, two collect one answer."""

import asyncio
import threading
from collections.abc import Sequence

import pytest

from aileron_tui.core.entry_chain import EntryKind
from aileron_tui.core.states import RequestState
from aileron_tui.gate.gate import LEDGER_FILE, OUTBOX_FILE
from aileron_tui.ledger.head import Head
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from aileron_tui.ledger.store import (
    EntryDraft,
    StoredResult,
    open_reader,
    open_results,
)
from tests.gate.conftest import Bench, ask, shown, until
from tests.gate.test_recovery import left_running


def test_an_agent_that_leaves_while_its_request_is_written_takes_it_with_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing, go_on = threading.Event(), threading.Event()
    append = SqliteLedger.append_all

    def slow(ledger: SqliteLedger, drafts: Sequence[EntryDraft]) -> Head:
        if any(draft.kind == EntryKind.REQUESTED for draft in drafts) and not writing.is_set():
            writing.set()
            go_on.wait(10)
        return append(ledger, drafts)

    async def work() -> None:
        monkeypatch.setattr(SqliteLedger, "append_all", slow)
        async with bench.gate() as gate:
            held = asyncio.create_task(ask(gate, wait=30))
            await asyncio.to_thread(writing.wait, 10)
            held.cancel()
            with pytest.raises(asyncio.CancelledError):
                await held
            go_on.set()
            while gate.waiting():
                await asyncio.sleep(0.01)
            # The same call is answered: it collects what became of the first.
            reply = await asyncio.wait_for(ask(gate), 5)
            assert (reply.status, reply.body["status"]) == (200, "failed")

    until(work())
    assert bench.service.sent == ()


def test_of_two_who_come_for_one_answer_one_gets_it(bench: Bench) -> None:
    async def work() -> None:
        async with bench.gate() as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            await gate.decide(id_, bench.answer(await shown(gate, id_)))
            while (item := gate.item(id_)) and item["state"] != RequestState.EXECUTED:
                await asyncio.sleep(0.01)
            replies = await asyncio.gather(ask(gate), ask(gate), ask(gate))
            assert sorted(reply.status for reply in replies) == [200, 202, 202]
            assert len({reply.body["approval_id"] for reply in replies if reply.status == 202}) == 1

    until(work())
    assert len(bench.service.sent) == 1


def test_an_outcome_that_was_kept_counts_even_if_the_action_is_gone(bench: Bench) -> None:
    id_ = left_running(bench)
    outbox = open_results(bench.data / OUTBOX_FILE)
    outbox.put(StoredResult(id_, {"status": "completed", "audit_id": "a", "result": "{}"}), "call", "2999-01-01")
    outbox.close()
    (bench.manifests / "actions" / "send-draft.md").unlink()

    async def work() -> None:
        async with bench.gate() as gate:
            assert (await gate.result(id_)).body["status"] == "completed"

    until(work())
    with open_reader(bench.data / LEDGER_FILE) as reader:
        record = reader.find(id_)
    assert record is not None
    assert record.outcome == RequestState.EXECUTED

"""The file of results is removed, replaced or put back from a copy: nothing runs unseen, and nothing is told twice."""

import asyncio
import shutil
from pathlib import Path

import pytest

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.gate.gate import LEDGER_FILE, OUTBOX_FILE, Gate
from aileron_tui.ledger.open_store import open_reader
from tests.gate.conftest import GateEnv, ask, code, dig, previewed_request, result_of, run_async
from tests.gate.served_gate import served_gate


async def approve(env: GateEnv, gate: Gate, id_: str = "") -> str:
    """Asks, unless this request waits, and approves; the agent fetches nothing."""
    id_ = id_ or str((await ask(gate)).body["approval_id"])
    item = await previewed_request(gate, id_)
    assert (await gate.decide(id_, env.decision(item))).status == 200
    while gate.status()["running"]:
        await asyncio.sleep(0.01)
    return id_


def remove(path: Path) -> None:
    path.unlink()


def replace_with_a_copy(path: Path) -> None:
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    copy.rename(path)


def remove_the_log(path: Path) -> None:
    Path(f"{path}-wal").unlink()


@pytest.mark.parametrize("attack", [remove, replace_with_a_copy, remove_the_log])
def test_nothing_is_approved_while_results_would_be_lost(env: GateEnv, attack: object) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            id_ = str((await ask(served.gate)).body["approval_id"])
            item = await previewed_request(served.gate, id_)
            assert callable(attack)
            attack(env.data / OUTBOX_FILE)
            reply = await served.anonymous.get("/v1/health")
            assert reply.status_code == 503
            assert "no longer the file of results that was opened" in reply.json()["reason"]
            refused = await served.gate.decide(id_, env.decision(item))
            assert (refused.status, code(refused)) == (503, "not_recorded")

    run_async(work())
    assert not env.service.sent


def test_what_ran_is_not_called_unknown_when_its_result_is_gone(env: GateEnv) -> None:
    async def first() -> str:
        async with env.gate() as gate:
            return await approve(env, gate)

    async def second(id_: str) -> None:
        async with env.gate() as gate:
            reply = await gate.result(id_, agent="agent-1")
            assert dig(reply.body, "error", "message") == f"{id_} is executed, and no result is stored for it"
            other = await gate.result(id_, agent="agent-2")
            assert dig(other.body, "error", "message") == f"no request with id {id_}"

    id_ = run_async(first())
    (env.data / OUTBOX_FILE).unlink()
    run_async(second(id_))


def test_an_older_copy_answers_no_new_call(env: GateEnv) -> None:
    """The copy is from before the result was delivered."""
    path = env.data / OUTBOX_FILE
    copy = env.folder / "copy"

    async def run() -> str:
        async with env.gate() as gate:
            return await approve(env, gate)

    async def fetch(id_: str) -> None:
        async with env.gate() as gate:
            assert (await result_of(gate, id_))["status"] == "completed"

    async def call_again() -> None:
        async with env.gate() as gate:
            again = await ask(gate)
            assert (again.status, again.body["status"]) == (202, "pending_approval")

    id_ = run_async(run())
    shutil.copy(path, copy)
    run_async(fetch(id_))
    shutil.copy(copy, path)
    run_async(call_again())
    with open_reader(env.data / LEDGER_FILE) as reader:
        assert [entry.kind for entry in reader.entries()].count(EntryKind.REQUESTED) == 2


def test_results_of_another_ledger_answer_no_call(env: GateEnv) -> None:
    before, results = env.folder / "before", env.folder / "results"
    shutil.copytree(env.data, before)

    async def run() -> None:
        async with env.gate() as gate:
            await approve(env, gate)

    async def call_again() -> None:
        async with env.gate() as gate:
            assert (await ask(gate)).status == 202

    run_async(run())
    shutil.copy(env.data / OUTBOX_FILE, results)
    shutil.rmtree(env.data)
    shutil.copytree(before, env.data)
    shutil.copy(results, env.data / OUTBOX_FILE)
    run_async(call_again())


def test_a_result_that_nobody_fetched_is_still_the_answer(env: GateEnv) -> None:
    async def run() -> None:
        async with env.gate() as gate:
            await approve(env, gate)

    async def call_again() -> None:
        async with env.gate() as gate:
            assert (await ask(gate)).body["status"] == "completed"
            assert (await ask(gate)).status == 202

    run_async(run())
    run_async(call_again())
    assert len(env.service.sent) == 1

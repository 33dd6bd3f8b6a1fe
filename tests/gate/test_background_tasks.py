"""A part of the gate that works in the background and ends says so: in the log, and to whoever asks for its health."""

import asyncio
import logging
from typing import Any

import pytest

from aileron_tui.gate import gate as gate_module
from aileron_tui.gate.gate import Gate
from tests.gate.conftest import GateEnv, ask, code, run_async
from tests.gate.failing_disk import eventually
from tests.gate.served_gate import served_gate

TASKS = (
    "reloading the manifests",
    "checking deadlines and files",
    "reporting the gate's health",
    "recording outcomes again",
    "alerting people",
    "returning freed memory",
    "deleting old results",
    "removing what is older than [ledger] keep",
    "checking for silent doors",
    "checking for revoked agents",
)


def tasks_of(gate: Gate) -> dict[str, asyncio.Task[Any]]:
    return {task.get_name(): task for task in gate._gate_state._tasks}


def test_every_task_is_known_here(env: GateEnv) -> None:
    env.keep = "30d"

    async def work() -> None:
        async with env.gate() as gate:
            assert set(tasks_of(gate)) == set(TASKS)

    run_async(work())


@pytest.mark.parametrize("name", TASKS)
def test_a_task_that_ends_makes_the_gate_fail(env: GateEnv, name: str, caplog: pytest.LogCaptureFixture) -> None:
    env.keep = "30d"

    async def work() -> None:
        async with served_gate(env) as served:
            assert (await served.anonymous.get("/v1/health")).status_code == 200
            tasks_of(served.gate)[name].cancel()
            await eventually(lambda: bool(served.gate.problem))
            reply = await served.anonymous.get("/v1/health")
            assert (reply.status_code, reply.json()["reason"]) == (503, f"{name} has ended; restart the gate")
            assert f"{name} has ended before the gate was stopped" in caplog.text

    run_async(work())


def test_the_thread_of_the_ledger_that_ends_makes_the_gate_fail(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            recorder = served.gate._gate_state.recorder
            recorder._jobs.put(None)
            await eventually(lambda: not recorder._thread.is_alive())
            reply = await served.anonymous.get("/v1/health")
            assert (reply.status_code, reply.json()["reason"]) == (503, "the thread that writes the ledger has ended")
            refused = await asyncio.wait_for(ask(served.gate), 5)
            assert (refused.status, code(refused)) == (503, "not_recorded")

    run_async(work())


def test_a_step_that_is_cancelled_from_inside_does_not_end_its_task(
    env: GateEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a step waits for may be cancelled, for example the work of a thread pool."""
    monkeypatch.setattr(gate_module, "_UPKEEP_SECONDS", 0.01)
    steps: list[int] = []

    async def work() -> None:
        gate = Gate(env.setup())
        keep_up = gate._keep_up

        async def cancelled_once() -> None:
            steps.append(1)
            if len(steps) == 1:
                raise asyncio.CancelledError
            await keep_up()

        monkeypatch.setattr(gate, "_keep_up", cancelled_once)
        await gate.start()
        try:
            await eventually(lambda: "checking deadlines and files failed" in gate.problem)
            await eventually(lambda: len(steps) > 1 and not gate.problem)
        finally:
            await gate.stop()

    run_async(work())


def test_a_gate_that_is_stopped_says_nothing_about_its_tasks(env: GateEnv, caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        with caplog.at_level(logging.ERROR):
            async with env.gate() as gate:
                assert not gate.problem
            await asyncio.sleep(0)

    run_async(work())
    assert caplog.text == ""

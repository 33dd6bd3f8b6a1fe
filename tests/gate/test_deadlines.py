"""An approval after the deadline, whatever the clocks do: it never counts, and the request has expired."""

from dataclasses import replace
from datetime import timedelta

import pytest

from aileron_tui.core.states import RequestState
from aileron_tui.gate import gate as gate_module
from aileron_tui.gate.gate import LEDGER_FILE, Gate
from aileron_tui.gate.gate_state import GateState
from aileron_tui.ledger.full_check import audit
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.signing.recorded_signers import RecordedSigners
from tests.gate.conftest import GateEnv, ask, code, dig, previewed_request, result_of, run_async
from tests.gate.failing_disk import eventually
from tests.gate.machine import Machine


def sleep_over_the_end(machine: Machine) -> None:
    machine.slept += 301


def sleep_and_set_the_clock_back(machine: Machine) -> None:
    machine.slept += 301
    machine.set_by -= timedelta(hours=1)


def set_the_clock_forward(machine: Machine) -> None:
    machine.set_by += timedelta(minutes=59)


@pytest.mark.parametrize("change", [sleep_over_the_end, sleep_and_set_the_clock_back, set_the_clock_forward])
def test_an_approval_after_the_deadline_runs_nothing(env: GateEnv, change: object, boot: str) -> None:
    machine = Machine(boot=boot)

    async def work() -> str:
        async with env.gate(**machine.options()) as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await previewed_request(gate, id_)
            assert callable(change)
            change(machine)
            reply = await gate.decide(id_, env.decision(item))
            assert (reply.status, code(reply), reply.body.get("state")) == (409, "INVALID_STATE", "expired")
            assert dig(await result_of(gate, id_), "failure", "error", "class") == "approval_timeout"
            return id_

    check_expired(env, run_async(work()))


def test_the_ledger_refuses_a_late_approval_even_if_the_gate_does_not_notice(
    env: GateEnv, monkeypatch: pytest.MonkeyPatch, boot: str
) -> None:
    machine = Machine(boot=boot)
    monkeypatch.setattr(GateState, "is_late", lambda *_: False)

    async def work() -> None:
        async with env.gate(**machine.options()) as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            item = await previewed_request(gate, id_)
            machine.slept += 301
            machine.set_by -= timedelta(seconds=301)  # the wall clock shows nothing of it
            reply = await gate.decide(id_, env.decision(item))
            assert (reply.status, code(reply)) == (409, "INVALID_STATE")

    run_async(work())
    assert not env.service.sent


def test_a_request_expires_by_itself_after_a_sleep(env: GateEnv, monkeypatch: pytest.MonkeyPatch, boot: str) -> None:
    """The timers of the event loop stop while the machine sleeps."""
    monkeypatch.setattr(gate_module, "_UPKEEP_SECONDS", 0.05)
    machine = Machine(boot=boot)

    async def work() -> str:
        async with env.gate(**machine.options()) as gate:
            id_ = str((await ask(gate)).body["approval_id"])
            await previewed_request(gate, id_)
            machine.slept += 301
            await eventually(lambda: not gate.waiting())
            await result_of(gate, id_)
            return id_

    check_expired(env, run_async(work()))


async def leave_waiting(gate: Gate) -> str:
    id_ = str((await ask(gate)).body["approval_id"])
    await previewed_request(gate, id_)
    return id_


@pytest.mark.parametrize("case", ["restarted machine", "late by the clock", "late by the other clock"])
def test_what_waited_too_long_has_expired_after_a_restart(env: GateEnv, case: str, boot: str) -> None:
    machine = Machine(boot=boot)

    async def first() -> str:
        async with env.gate(**machine.options()) as gate:
            return await leave_waiting(gate)

    async def second(id_: str) -> None:
        async with env.gate(**machine.options()) as gate:
            assert gate.waiting() == []
            assert dig(await result_of(gate, id_), "failure", "error", "class") == "approval_timeout"

    id_ = run_async(first())
    if case == "restarted machine":
        machine.boot = "boot-2"
    elif case == "late by the clock":
        machine.set_by += timedelta(seconds=301)
    else:
        machine.slept += 301
        machine.set_by -= timedelta(seconds=301)
    run_async(second(id_))
    check_expired(env, id_)


@pytest.mark.parametrize("boot", ["boot-1", ""], ids=["known", "unknown"])
def test_what_still_has_time_waits_on_after_a_restart_of_the_gate(env: GateEnv, boot: str) -> None:
    machine = Machine(boot=boot)

    async def first() -> str:
        async with env.gate(**machine.options()) as gate:
            return await leave_waiting(gate)

    async def second(id_: str) -> None:
        async with env.gate(**machine.options()) as gate:
            item = await previewed_request(gate, id_)
            assert (await gate.decide(id_, env.decision(item))).status == 200
            assert (await result_of(gate, id_))["status"] == "completed"

    run_async(second(run_async(first())))
    assert len(env.service.sent) == 1


def test_a_clock_that_was_ahead_and_is_corrected_leaves_new_requests_their_time(env: GateEnv) -> None:
    machine = Machine(set_by=timedelta(hours=1))

    async def work() -> None:
        async with env.gate(**machine.options()) as gate:
            await leave_waiting(gate)
            machine.set_by = timedelta(0)
            other = str((await ask(gate, draft_id="19df4136f28569d2")).body["approval_id"])
            item = await previewed_request(gate, other)
            assert (await gate.decide(other, env.decision(item))).status == 200

    env.policy = replace(env.policy, timeout=60)
    run_async(work())


def check_expired(env: GateEnv, id_: str) -> None:
    assert not env.service.sent
    with open_reader(env.data / LEDGER_FILE) as reader:
        record = reader.find(id_)
        assert record is not None
        assert record.outcome == RequestState.EXPIRED
        assert audit(reader, RecordedSigners()).fault is None

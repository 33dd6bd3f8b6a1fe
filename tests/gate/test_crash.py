"""Kills a gate at every named step, and a few times at random. `python -m tests.gate.crash` runs longer."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from aileron_tui.core.states import RequestState
from tests.gate.crash import DOUBLE_CRASHES, STEPS, random_runs
from tests.gate.gate_harness import GateHarness, Plan, gate_harness
from tests.gate.gate_process import GateAddress


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, compiled: Path) -> Iterator[GateHarness]:
    root = tmp_path_factory.mktemp("crash")
    (root / "home").mkdir(0o700)
    shutil.copytree(compiled, root / "home" / "cache")
    with gate_harness(root) as harness:
        yield harness


@pytest.fixture
def harness(shared: GateHarness) -> GateHarness:
    shared.clear()
    return shared


@pytest.mark.parametrize("plan", STEPS, ids=lambda plan: plan.name)
def test_a_crash_loses_and_repeats_nothing(harness: GateHarness, plan: Plan) -> None:
    harness.crash_at(plan)


@pytest.mark.parametrize(("first", "second", "found"), DOUBLE_CRASHES)
def test_a_crash_during_recovery_loses_and_repeats_nothing(
    harness: GateHarness, first: str, second: str, found: RequestState
) -> None:
    harness.crash_twice(first, second, found)


def test_an_extended_request_waits_on_after_a_crash(harness: GateHarness) -> None:
    found: dict[str, str] = {}

    def extend(address: GateAddress) -> None:
        id_ = harness.call(harness.agent(address), harness.draft())
        approver = harness.approver(address)
        for _ in range(2):
            status, reply = approver.extend(approver.previewed_request(id_))
            assert status == 200, reply
            found[id_] = reply["item"]["expires_at"]

    def check(address: GateAddress) -> None:
        waiting = harness.approver(address).waiting()
        assert {item["id"]: item["expires_at"] for item in waiting} == found
        harness.finish_all(address)

    harness.run_once(Plan("a run that is killed", timeout=30), extend)
    harness.run_once(Plan("the next run", timeout=30), check)


def test_random_crashes_lose_and_repeat_nothing(harness: GateHarness) -> None:
    random_runs(harness, random.Random(7), 12)

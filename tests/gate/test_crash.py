"""`kill -9` at every named step, and a few times by chance. `python -m tests.gate.crash` goes on for longer."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from aileron_tui.core.states import RequestState
from tests.gate.crash import DOUBLE_CRASHES, STEPS, random_runs
from tests.gate.gate_harness import GateHarness, Plan, gate_harness


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
def test_a_gate_that_dies_leaves_everything_in_order(harness: GateHarness, plan: Plan) -> None:
    harness.crash_at(plan)


@pytest.mark.parametrize(("first", "second", "found"), DOUBLE_CRASHES)
def test_a_gate_that_dies_while_it_recovers_leaves_everything_in_order(
    harness: GateHarness, first: str, second: str, found: RequestState
) -> None:
    harness.crash_twice(first, second, found)


def test_a_gate_may_die_at_any_moment(harness: GateHarness) -> None:
    random_runs(harness, random.Random(7), 12)

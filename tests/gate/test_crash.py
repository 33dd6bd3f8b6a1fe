"""`kill -9` at every named step, and a few times by chance. `python -m tests.gate.crash` goes on for longer."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from aileron_tui.core.states import RequestState
from tests.gate.crash import STEPS, TWICE, journey
from tests.gate.lives import Plan, World, world


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, compiled: Path) -> Iterator[World]:
    root = tmp_path_factory.mktemp("lives")
    (root / "home").mkdir(0o700)
    shutil.copytree(compiled, root / "home" / "cache")
    with world(root) as here:
        yield here


@pytest.fixture
def here(shared: World) -> World:
    shared.clear()
    return shared


@pytest.mark.parametrize("plan", STEPS, ids=lambda plan: plan.name)
def test_a_gate_that_dies_leaves_everything_in_order(here: World, plan: Plan) -> None:
    here.step(plan)


@pytest.mark.parametrize(("first", "second", "found"), TWICE)
def test_a_gate_that_dies_while_it_recovers_leaves_everything_in_order(
    here: World, first: str, second: str, found: RequestState
) -> None:
    here.twice(first, second, found)


def test_a_gate_may_die_at_any_moment(here: World) -> None:
    journey(here, random.Random(7), 12)

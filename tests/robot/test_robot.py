"""The robot operator on the real console: what it read is what ran, and what the screen says is what happened.

It waits for screens half of the time, so its runs share the processors with the other tests, from their beginning on.
"""

import os
from pathlib import Path

import pytest

from tests.robot.families import FAMILIES
from tests.robot.runs import Figures, Key, keys_of, lint, run_all

CASES = 12 * len(FAMILIES)
"""Enough to have every kind of case of each family."""
MOST_STUCK = 3
"""The robot waits for a screen only so long. Where other tests kept the console from it, it must succeed by itself."""
SECONDS = 900
"""For a slow machine; two processors take five or six minutes beside the other tests."""


def run(wanted: list[Key], broken: str = "") -> Figures:
    return run_all(wanted, jobs=2 * (os.cpu_count() or 2), broken=broken, quiet=False)


def test_every_generated_bundle_passes_lint(tmp_path: Path) -> None:
    assert not lint(keys_of(sorted(FAMILIES), CASES), tmp_path)


@pytest.mark.slow
@pytest.mark.first
@pytest.mark.timeout(SECONDS)
def test_nothing_differs_from_the_screen() -> None:
    wanted = keys_of(sorted(FAMILIES), CASES)
    figures = run(wanted)
    stuck = [result.key for result in figures.differences if result.is_stuck]
    assert len(figures.differences) == len(stuck) <= MOST_STUCK, figures.table()
    again = run_all(stuck, jobs=1, quiet=False)
    assert not again.differences, again.table()
    assert {result.key for result in again.results} == {*stuck}
    assert {result.key for result in figures.results} == {*wanted}
    assert len(figures.results) >= 300


@pytest.mark.slow
@pytest.mark.first
@pytest.mark.timeout(SECONDS)
@pytest.mark.parametrize(("broken", "family"), [("overlay", "collisions"), ("never fetch again", "changed-outside")])
def test_a_broken_gate_is_found(broken: str, family: str) -> None:
    """Raw inputs replace the inputs that a step defines, or a preview counts for ever: only in the gate's process."""
    figures = run(keys_of([family], 6), broken)
    assert any("not what was ordered" in item for result in figures.differences for item in result.differences)

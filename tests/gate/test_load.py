"""A small load test. `python -m tests.gate.load` runs it at full size."""

import shutil
from pathlib import Path

import pytest

from tests.gate.gate_harness import gate_harness
from tests.gate.load import MIB, LoadSize, load


def test_many_agents_lose_nothing_and_all_watchers_see_the_same(tmp_path: Path, compiled: Path) -> None:
    (tmp_path / "home").mkdir(0o700)
    shutil.copytree(compiled, tmp_path / "home" / "cache")
    with gate_harness(tmp_path) as harness:
        measurements = load(harness, LoadSize(agents=25, calls=4, watchers=5, waves=2))
    before, first, second = measurements.memory
    assert second - first < max(24 * MIB, first - before), "memory grows with every wave"
    assert measurements.quantile("status, throughout", 0.9) < 1.0


def test_the_load_test_notices_a_lost_request(tmp_path: Path, compiled: Path) -> None:
    (tmp_path / "home").mkdir(0o700)
    shutil.copytree(compiled, tmp_path / "home" / "cache")
    with gate_harness(tmp_path) as harness:
        harness.observed.accepted["act-that-never-was"] = "r-1"
        with pytest.raises(AssertionError, match="was accepted and is lost"):
            load(harness, LoadSize(agents=1, calls=2, watchers=1, waves=1))

"""A crowd at one gate: nothing is lost and everyone sees the same. `python -m tests.gate.load` has the full size."""

import shutil
from pathlib import Path

import pytest

from tests.gate.lives import world
from tests.gate.load import MIB, Size, load


def test_a_crowd_loses_nothing_and_sees_the_same(tmp_path: Path, compiled: Path) -> None:
    (tmp_path / "home").mkdir(0o700)
    shutil.copytree(compiled, tmp_path / "home" / "cache")
    with world(tmp_path) as here:
        figures = load(here, Size(agents=25, calls=4, watchers=5, waves=2))
    before, first, second = figures.memory
    assert second - first < max(24 * MIB, first - before), "memory grows with every wave"
    assert figures.quantile("status, all the while", 0.9) < 1.0


def test_the_check_would_notice_a_lost_request(tmp_path: Path, compiled: Path) -> None:
    (tmp_path / "home").mkdir(0o700)
    shutil.copytree(compiled, tmp_path / "home" / "cache")
    with world(tmp_path) as here:
        here.told.accepted["act-that-never-was"] = "r-1"
        with pytest.raises(AssertionError, match="was accepted and is lost"):
            load(here, Size(agents=1, calls=2, watchers=1, waves=1))

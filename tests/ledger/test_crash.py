"""Short runs of what `python -m tests.ledger.crash` and `tests.ledger.reduction_crash` do at length."""

from pathlib import Path

import pytest

from tests.ledger import reduction_crash
from tests.ledger.crash import torment


@pytest.mark.parametrize("rounds", [5, pytest.param(15, marks=pytest.mark.slow)])
def test_a_killed_writer_loses_nothing_it_acknowledged(tmp_path: Path, rounds: int) -> None:
    acknowledged, killed = torment(tmp_path / "data" / "ledger.db", rounds=rounds, seed=7)
    assert killed == rounds
    assert acknowledged >= rounds


@pytest.mark.parametrize("rounds", [4, pytest.param(15, marks=pytest.mark.slow)])
def test_a_killed_reduction_leaves_a_good_ledger(tmp_path: Path, rounds: int) -> None:
    assert reduction_crash.torment(tmp_path / "data" / "ledger.db", rounds=rounds, seed=7) == rounds * 16

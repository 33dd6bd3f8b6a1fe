"""A short run of what `python -m tests.ledger.crash` does at length."""

from pathlib import Path

import pytest

from tests.ledger.crash import torment


@pytest.mark.parametrize("rounds", [5, pytest.param(15, marks=pytest.mark.slow)])
def test_a_killed_writer_loses_nothing_it_acknowledged(tmp_path: Path, rounds: int) -> None:
    acknowledged, killed = torment(tmp_path / "data" / "ledger.db", rounds=rounds, seed=7)
    assert killed == rounds
    assert acknowledged >= rounds

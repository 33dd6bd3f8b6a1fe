"""A short run of what `python -m tests.ledger.crash` does at length."""

from pathlib import Path

from tests.ledger.crash import torment


def test_a_killed_writer_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    acknowledged, killed = torment(tmp_path / "data" / "ledger.db", rounds=15, seed=7)
    assert killed == 15
    assert acknowledged >= 15

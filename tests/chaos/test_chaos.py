"""A bounded number of chaos rounds. `python -m tests.chaos` runs 500."""

import pytest

from tests.chaos.rounds import Batch, run_rounds
from tests.compiled import shared_cache

ROUNDS = range(1, 26)


@pytest.mark.slow
def test_nothing_that_must_hold_is_violated(
    tmp_path_factory: pytest.TempPathFactory, capfd: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path_factory.mktemp("c")  # short, because the gate's socket is below it
    summary = run_rounds(root, Batch(ROUNDS, workers=4, cache=shared_cache(tmp_path_factory)))
    assert summary.rounds == len(ROUNDS)
    assert not summary.failed, capfd.readouterr().out

"""A short soak. `python -m tests.soak` runs 45 minutes and also judges whether anything grows."""

import threading

import pytest

from tests.compiled import shared_cache
from tests.soak.soak import SoakSize, run_soak


@pytest.mark.slow
def test_nothing_is_lost_or_run_twice_or_without_approval(tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("s")  # short, because the gate's socket is below it
    size = SoakSize(minutes=1 / 3, rate=5, timeout=6, sample_seconds=2)
    report = run_soak(root, size, cache=shared_cache(tmp_path_factory))
    assert report.fields["violations"] == []
    assert all(report.fields["calls"].values()), report.fields["calls"]
    assert report.fields["counts"]["signed decisions"] > 40
    assert report.fields["minutes"][0]["memory"] > 0
    assert not report.failed


class InterruptedAfter(threading.Event):
    """Is set once it was waited for some times, which a soak does before each call."""

    def __init__(self, calls: int) -> None:
        super().__init__()
        self._left = calls

    def wait(self, timeout: float | None = None) -> bool:
        self._left -= 1
        if self._left < 0:
            self.set()
        return super().wait(timeout)


@pytest.mark.slow
def test_an_interrupted_soak_still_checks_and_reports(tmp_path_factory: pytest.TempPathFactory) -> None:
    size = SoakSize(minutes=60, rate=5, timeout=6, sample_seconds=1, console=False)
    report = run_soak(
        tmp_path_factory.mktemp("s"), size, cache=shared_cache(tmp_path_factory), interrupted=InterruptedAfter(30)
    )
    assert report.fields["interrupted"]
    assert not report.failed, report.fields["violations"]
    assert sum(report.fields["calls"].values()) == 30

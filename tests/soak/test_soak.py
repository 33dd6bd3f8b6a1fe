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


@pytest.mark.slow
def test_an_interrupted_soak_still_checks_and_reports(tmp_path_factory: pytest.TempPathFactory) -> None:
    root, interrupted = tmp_path_factory.mktemp("s"), threading.Event()
    size = SoakSize(minutes=60, rate=5, timeout=6, sample_seconds=1, console=False)
    timer = threading.Timer(8, interrupted.set)
    timer.start()
    report = run_soak(root, size, cache=shared_cache(tmp_path_factory), interrupted=interrupted)
    timer.join()
    assert report.fields["interrupted"]
    assert not report.failed, report.fields["violations"]
    assert 0 < sum(report.fields["calls"].values()) < size.calls

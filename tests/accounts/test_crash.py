"""A few rounds of the crash test of accounts; `make crash` runs many."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("rounds", [3, pytest.param(30, marks=pytest.mark.slow)])
def test_nothing_is_half_bound_after_kill_9(rounds: int) -> None:
    line = [sys.executable, "-m", "tests.accounts.crash", "--rounds", str(rounds), "--seed", "1"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{rounds} processes killed, nothing half bound" in done.stdout

"""A short crash test; `python -m tests.gated.crash` runs a long one."""

import random
from collections import Counter
from pathlib import Path

import pytest

from tests.gated.answered_gate import answered_gate
from tests.gated.crash import kill_often


def test_a_killed_program_runs_nothing_twice_or_unapproved_or_lost(tmp_path: Path) -> None:
    ends: Counter[str] = Counter()
    for number in range(5):  # on a slow machine, a program may be killed before anything runs
        with answered_gate(tmp_path / f"home-{number}") as gate:
            ends += kill_often(gate, 3, random.Random(17))
        if ends["executed, ran"]:
            return
    pytest.fail(str(ends))

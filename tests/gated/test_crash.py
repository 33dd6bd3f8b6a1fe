"""A short crash test; `python -m tests.gated.crash` runs a long one."""

import random
from pathlib import Path

from tests.gated.answered_gate import answered_gate
from tests.gated.crash import kill_often


def test_a_killed_program_runs_nothing_twice_or_unapproved_or_lost(tmp_path: Path) -> None:
    with answered_gate(tmp_path / "home") as gate:
        ends = kill_often(gate, 3, random.Random(17))
    assert ends["executed, ran"] > 0, ends

"""Crash test: `python -m tests.gated.crash --rounds 100` kills a program with gated functions at random moments.

Each run first resumes what the runs before it left behind. In the end, what the program did is compared with what the
operator answered and with what the ledger says.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from aileron_tui.core.decision import Verdict
from aileron_tui.core.request import Request
from aileron_tui.ledger.file_names import FILE
from aileron_tui.ledger.full_check import audit
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.signing.recorded_signers import RecordedSigners
from tests.gated.answered_gate import AnsweredGate, Reply, answered_gate, until

COMMAND = (sys.executable, "-m", "tests.gated.killed_program")
EDITED = 7
"""The amount that the operator writes into some calls."""


class Operator:
    """Approves, edits or denies, each after a while; remembers what was allowed."""

    def __init__(self, random_: random.Random) -> None:
        self._random = random_
        self._due: dict[str, float] = {}
        self.allowed: dict[int, int] = {}
        self.number_of: dict[str, int] = {}

    def __call__(self, request: Request) -> Reply | None:
        number = request.prompt.args["number"]
        assert isinstance(number, int)
        self.number_of[request.id] = number
        due = self._due.setdefault(request.id, time.monotonic() + self._random.uniform(0, 0.25))
        if time.monotonic() < due:
            return None
        kind = self._random.random()
        if kind < 0.2:
            return Reply(Verdict.DENY)
        self.allowed[number] = EDITED if kind < 0.4 else 100
        edits = {**request.prompt.args, "amount": EDITED} if kind < 0.4 else None
        return Reply(Verdict.APPROVE, edits=edits)


def kill_often(gate: AnsweredGate, rounds: int, random_: random.Random) -> Counter[str]:
    """Kills the program in each round, and checks everything in the end; returns how the calls ended."""
    operator = gate.operator = Operator(random_)
    journal = gate.root / "journal"
    for number in range(rounds):
        _run_and_kill(gate, journal, number * 10_000, random_.uniform(0.0, 0.9))
    gate.operator = lambda _: Reply(Verdict.DENY)
    subprocess.run([*COMMAND, str(journal)], env=gate.environment, check=True)
    return check(gate, operator, journal.read_text().splitlines())


def _run_and_kill(gate: AnsweredGate, journal: Path, first: int, seconds: float) -> None:
    before = journal.read_text() if journal.exists() else ""
    with subprocess.Popen(
        [*COMMAND, str(journal), str(first)], env=gate.environment, stderr=subprocess.PIPE
    ) as process:
        if seconds > 0.1:  # the first moments are those in which Python starts
            until(lambda: (journal.exists() and len(journal.read_text()) > len(before)) or None, "the first line")
        time.sleep(seconds)
        process.kill()
        assert process.stderr is not None
        assert process.stderr.read() == b""


def check(gate: AnsweredGate, operator: Operator, lines: list[str]) -> Counter[str]:
    """Never twice, never unapproved, never lost without a word."""
    ran = [tuple(map(int, line.split()[1:])) for line in lines if line.startswith("ran ")]
    twice = [call for call, count in Counter(number for number, _ in ran).items() if count > 1]
    assert not twice, f"ran twice: {twice}"
    for number, amount in ran:
        assert operator.allowed.get(number) == amount, f"{number} ran with {amount}: {operator.allowed.get(number)}"
    numbers = {number for number, _ in ran}
    told_unknown = {line.split()[1] for line in lines if line.startswith("unknown ")}
    ends: Counter[str] = Counter()
    for id_, number in operator.number_of.items():
        outcome = gate.record(id_).outcome
        ends[f"{outcome}, {'ran' if number in numbers else 'not run'}"] += 1
        if number in numbers:
            assert outcome in ("executed", "handed over", "unknown"), f"{id_} ran and is {outcome}"
        if outcome == "executed":
            assert number in numbers, f"{id_} is {outcome} and did not run"
        if outcome in ("handed over", "unknown"):
            assert id_ in told_unknown, f"nobody was told that the outcome of {id_} is unknown"
        assert outcome not in ("pending", "approved"), f"{id_} was left {outcome}"
    with open_reader(gate.data / FILE) as reader:
        report = audit(reader, RecordedSigners())
    assert report.fault is None, report.fault
    return ends


def main(words: list[str]) -> int:
    """Runs the crash test."""
    parser = argparse.ArgumentParser(prog="python -m tests.gated.crash", description=__doc__)
    parser.add_argument("--rounds", type=int, default=100, help="how often the program is killed (%(default)s)")
    parser.add_argument("--seed", type=int, default=None, help="random seed, to repeat an earlier run")
    options = parser.parse_args(words)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**32)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gated-") as folder, answered_gate(Path(folder) / "home") as gate:
        ends = kill_often(gate, options.rounds, random.Random(seed))
        sys.stdout.write(f"seed {seed}: killed {options.rounds} times in {time.monotonic() - began:.0f} s\n")
        sys.stdout.writelines(f"{count:6}  {words}\n" for words, count in ends.most_common())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

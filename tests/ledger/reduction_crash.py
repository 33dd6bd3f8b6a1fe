"""Kills a process that reduces a ledger again and again: the ledger verifies after each kill, and all of it is reduced.

python -m tests.ledger.reduction_crash --rounds 100
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.times import timestamp
from aileron_tui.ledger.sqlite import body_removal
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from tests.ledger.scenes import START, Scene, check
from tests.stepping_clock import SteppingClock

SECRET = b"xylophone"

_LONGEST_LIFE = 0.15
_REQUESTS = 4
_LATER = START + timedelta(days=60)
_ROOT = Path(__file__).parents[2]


def main() -> int:
    """Runs the rounds and says what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        reduced = torment(Path(folder) / "data" / "ledger.db", options.rounds, options.seed)
    sys.stdout.write(f"killed {options.rounds} times, {reduced} entries reduced, the ledger is good\n")
    return 0


def torment(path: Path, rounds: int, seed: int) -> int:
    """Fills a ledger, and kills whoever reduces it. Returns how many entries were reduced when it was done."""
    chance = random.Random(seed)
    scene = Scene(path)
    for number in range(rounds * _REQUESTS):
        scene.approved(f"act-a{number}", note=f"xylophone {'x' * chance.randint(0, 6000)}")
        scene.denied(f"act-d{number}", reason=f"xylophone {number}")
        call: JsonObject = {"gated": False, "args": {"note": "xylophone"}}
        scene.ledger.append(EntryKind.RUNNING, call, f"run-{number}")
    scene.close()
    reduced = 0
    for number in range(rounds):
        _life(path, chance.uniform(0, _LONGEST_LIFE))
        report = check(path, noted=True)
        if report.fault or report.reduced < reduced:
            raise AssertionError(f"round {number}: {report.fault}, {report.reduced} entries are reduced")
        reduced = report.reduced
    reduce(path)
    report = check(path, noted=True)
    left = [file.name for file in path.parent.iterdir() if SECRET in file.read_bytes()]
    if report.fault or left or report.reduced != rounds * _REQUESTS * 4:
        raise AssertionError(f"at the end: {report.fault}, {report.reduced} entries are reduced, contents in {left}")
    return report.reduced


def _life(path: Path, seconds: float) -> None:
    """One process that reduces the ledger, killed some time after it began."""
    words = [sys.executable, "-m", "tests.ledger.reduction_crash", "reduce", str(path)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, cwd=_ROOT)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.stdout.close()
    process.wait()


def reduce(path: Path) -> None:
    """Reduces a ledger in the smallest steps, and says when it begins."""
    body_removal.MOST_READ = 5  # type: ignore[misc]  # as many commits as possible
    with SqliteLedger(path, clock=SteppingClock(_LATER)) as ledger:
        sys.stdout.write("began\n")
        sys.stdout.flush()
        before, after = timestamp(_LATER - timedelta(days=30)), 0
        while True:
            after = ledger.reduce(before, "30d", after).next
            if not after:
                break
        more = ledger.erase()
        while more:
            more = ledger.erase(go_on=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["reduce"]:
        reduce(Path(sys.argv[2]))
    else:
        sys.exit(main())

"""Kills a writer again and again in the middle of its work: nothing it acknowledged may be missing.

python -m tests.ledger.crash --rounds 200
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from tests.ledger.scenes import DIGEST, Scene, check

_LONGEST_LIFE = 0.12
_ROOT = Path(__file__).parents[2]


def main() -> int:
    """Runs the rounds and says what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        acknowledged, killed = torment(Path(folder) / "data" / "ledger.db", options.rounds, options.seed)
    sys.stdout.write(f"{options.rounds} rounds, {killed} killed, {acknowledged} acknowledged entries, none lost\n")
    return 0


def torment(path: Path, rounds: int, seed: int) -> tuple[int, int]:
    """Starts and kills writers; after each, looks for every acknowledged entry and verifies the whole ledger."""
    chance = random.Random(seed)
    SqliteLedger(path).close()
    acknowledged: list[str] = []
    killed = 0
    for number in range(rounds):
        heads, died = _life(path, chance.uniform(0, _LONGEST_LIFE))
        acknowledged += heads
        killed += died
        _compare(path, acknowledged, number)
    return len(acknowledged), killed


def _life(path: Path, seconds: float) -> tuple[list[str], bool]:
    """One writer, killed some time after its first acknowledgement; what it acknowledged, and whether it was killed."""
    writer = subprocess.Popen(
        [sys.executable, "-m", "tests.ledger.crash", "write", str(path)], stdout=subprocess.PIPE, cwd=_ROOT
    )
    assert writer.stdout is not None
    first = writer.stdout.readline()
    time.sleep(seconds)
    writer.send_signal(signal.SIGKILL)
    rest = writer.stdout.read()
    writer.stdout.close()
    died = writer.wait() == -signal.SIGKILL
    # A line counts as acknowledged only when all of it was said.
    lines = (first + rest).split(b"\n")[:-1]
    return [line.decode() for line in lines], died


def _compare(path: Path, acknowledged: list[str], number: int) -> None:
    report = check(path, noted=True)
    if report.fault:
        raise AssertionError(f"round {number}: {report.fault}")
    with SqliteLedger(path, wait=1.0) as ledger:
        here = {f"{seq}:sha256:{raw.hex()}" for seq, raw in ledger._db.execute("SELECT seq, hash FROM entries")}
    lost = [head for head in acknowledged if head not in here]
    if lost:
        raise AssertionError(f"round {number}: acknowledged and gone: {lost[:3]}")


def write(path: Path) -> None:
    """Records requests until it is killed, saying each head once it is durable."""
    scene = Scene(path)
    while True:
        request = os.urandom(8).hex()
        steps = (
            lambda name: scene.ask(name, body="x" * random.randint(0, 3000)),
            scene.show,
            scene.decide,
            partial(scene.step, EntryKind.RUNNING, digest=DIGEST),
            partial(scene.step, EntryKind.EXECUTED),
        )
        for step in steps:
            sys.stdout.write(f"{step(request)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"]:
        write(Path(sys.argv[2]))
    else:
        sys.exit(main())

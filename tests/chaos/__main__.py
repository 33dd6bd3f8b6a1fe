"""Chaos test: `python -m tests.chaos` runs 500 rounds, `python -m tests.chaos --seed N` repeats one of them."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.chaos.rounds import run_rounds, say


def main(words: list[str]) -> int:
    """Runs the rounds; returns 1 if anything was violated."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--rounds", type=int, default=500, help="number of rounds (%(default)s)")
    parser.add_argument("--first", type=int, default=None, help="the seed of the first round; the others follow")
    parser.add_argument("--seed", type=int, default=None, help="repeat only the round with this seed")
    parser.add_argument("--workers", type=int, default=(os.cpu_count() or 1) + 2, help="gates at a time (%(default)s)")
    parser.add_argument("--cache", type=Path, default=None, help="a folder of compiled connectors, to start faster")
    options = parser.parse_args(words)
    first = options.first if options.first is not None else random.SystemRandom().randrange(2**31)
    seeds = [first + n for n in range(options.rounds)] if options.seed is None else [options.seed]
    root, began = Path(tempfile.mkdtemp(prefix="chaos-")), time.monotonic()
    say(f"seeds from {seeds[0]}")
    try:
        summary = run_rounds(
            root, seeds, min(options.workers, len(seeds)), cache=options.cache, verbose=options.seed is not None
        )
    finally:
        shutil.rmtree(root, ignore_errors=True)
    for line in summary.lines():
        say(line)
    say(f"{time.monotonic() - began:.0f} s")
    return 1 if summary.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

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

from tests.chaos.rounds import Batch, run_rounds, say


def main(words: list[str]) -> int:
    """Runs the rounds; returns 1 if anything was violated."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--rounds", type=int, default=500, help="number of rounds (%(default)s)")
    parser.add_argument("--soaks", type=int, default=4, help="number of long rounds besides (%(default)s)")
    parser.add_argument("--first", type=int, default=None, help="the seed of the first round; the others follow")
    parser.add_argument("--seed", type=int, default=None, help="repeat only the round with this seed")
    parser.add_argument("--soak", action="store_true", help="with --seed: repeat the long round with this seed")
    parser.add_argument("--workers", type=int, default=(os.cpu_count() or 1) + 2, help="gates at a time (%(default)s)")
    parser.add_argument("--cache", type=Path, default=None, help="a folder of compiled connectors, to start faster")
    options = parser.parse_args(words)
    if options.seed is not None:
        soaks = [options.seed] if options.soak else []
        batch = Batch([] if soaks else [options.seed], soaks, 1, options.cache, verbose=True)
    else:
        first = options.first if options.first is not None else random.SystemRandom().randrange(2**31)
        say(f"seeds from {first}")
        batch = Batch(
            range(first, first + options.rounds), range(first, first + options.soaks), options.workers, options.cache
        )
    root, began = Path(tempfile.mkdtemp(prefix="chaos-")), time.monotonic()
    try:
        summary = run_rounds(root, batch)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    for line in summary.lines():
        say(line)
    say(f"{time.monotonic() - began:.0f} s")
    return 1 if summary.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

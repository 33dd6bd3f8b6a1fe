"""Runs the robot: `python -m tests.robot --cases 3000`, or one case again with `--family F --seed N`."""

import argparse
import sys

from tests.robot.families import FAMILIES
from tests.robot.runs import keys_of, run_all


def main() -> int:
    """Runs the cases and prints each difference and the figures of each family."""
    parser = argparse.ArgumentParser(prog="python -m tests.robot", description="Run the robot operator.")
    parser.add_argument("--cases", type=int, default=300, help="number of cases (default: 300)")
    parser.add_argument("--seed", type=int, help="run only this seed")
    parser.add_argument("--first", type=int, default=0, help="first seed (default: 0)")
    parser.add_argument("--family", choices=sorted(FAMILIES), action="append", help="run only this family")
    parser.add_argument("--jobs", type=int, default=4, help="number of consoles at the same time (default: 4)")
    parser.add_argument("--broken", default="", help="run a gate that is broken on purpose")
    parser.add_argument("--quiet", action="store_true", help="print the figures and one line for each difference")
    options = parser.parse_args()
    families = options.family or sorted(FAMILIES)
    if options.seed is not None:
        keys = [(family, options.seed) for family in families]
    else:
        keys = keys_of(families, options.cases, options.first)
    figures = run_all(keys, options.jobs, options.broken, quiet=options.quiet)
    sys.stdout.write(f"{figures.table()}\n")
    return 1 if figures.differences else 0


if __name__ == "__main__":
    sys.exit(main())

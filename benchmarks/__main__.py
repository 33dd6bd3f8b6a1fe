"""Runs the benchmarks: `python -m benchmarks [NAME…]`. Exits with 1 if a ratio is over its limit."""

import sys
import time
from importlib import import_module
from pkgutil import iter_modules

import benchmarks


def main(words: list[str]) -> int:
    """Prints one line for each measurement; returns 1 if a ratio is over its limit."""
    names = [module.name for module in iter_modules(benchmarks.__path__) if not module.name.startswith("_")]
    if unknown := sorted(set(words) - set(names)):
        print(f"unknown benchmark: {', '.join(unknown)}; use one of {', '.join(names)}", file=sys.stderr)
        return 2
    over = 0
    for name in words or names:
        started = time.perf_counter()
        for title, ratio, limit, note in import_module(f"benchmarks.{name}").measure():
            good = ratio <= limit
            over += not good
            print(f"{'ok  ' if good else 'OVER'} {ratio:8.2f} of {limit:<6g} {title:<58} {note}", flush=True)
        print(f"     {name}: {time.perf_counter() - started:.0f} s", flush=True)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

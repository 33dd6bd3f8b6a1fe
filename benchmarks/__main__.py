"""Runs the benchmarks: `python -m benchmarks [NAME…]`. Exits with 1 if a figure is over its limit.

A benchmark during which others used the machine is repeated once; of each measurement, the quieter one counts.
"""

import argparse
import difflib
import json
import signal
import sys
import time
from pathlib import Path

import benchmarks
from benchmarks import _machine, _report
from benchmarks._report import Finished
from benchmarks._runner import quieter, run


def main(words: list[str]) -> int:
    """Prints each measurement and a table of all. Returns 0, 1 for a miss, 2 for wrong words, 130 for ctrl+c."""
    names = benchmarks.names()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(names)}; without any, all of them")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results to this file")
    parser.add_argument(
        "--quick", action="store_true", help="smaller sizes and fewer rounds: only checks that it works"
    )
    parser.add_argument("--once", action="store_true", help="do not repeat a benchmark that was disturbed")
    options = parser.parse_args(words)
    if unknown := [name for name in options.names if name not in names]:
        for name in unknown:
            near = difflib.get_close_matches(name, names, 1, 0.5)
            hint = f"did you mean {near[0]}?" if near else f"use one of {', '.join(names)}"
            print(f"unknown benchmark {name}: {hint}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    _machine.adopt_orphans()
    return _run(options.names or names, options)


def _run(names: list[str], options: argparse.Namespace) -> int:
    began = time.monotonic()
    finished: list[Finished] = []
    interrupted = False
    try:
        for name in names:
            finished.append(Finished(name))
            _run_one(finished, options)
            _machine.reap_orphans()
    except KeyboardInterrupt:
        interrupted = True
    seconds = time.monotonic() - began
    print(f"\n{_report.table(finished)}\n\n{_report.summary(finished, seconds)}", flush=True)
    if interrupted:
        print("Interrupted; nothing is left running.", file=sys.stderr)
        return 130
    if options.json:
        written = json.dumps(_report.document(finished, seconds, quick=options.quick), indent=1, ensure_ascii=False)
        options.json.write_text(written + "\n", "utf-8")
    return 1 if any(one.misses for one in finished) else 0


def _run_one(finished: list[Finished], options: argparse.Namespace) -> None:
    """Runs the last of these benchmarks, and once more if it was disturbed."""
    first = finished[-1]
    run(first.name, quick=options.quick, say=_say, into=first)
    if first.disturbed and not options.once:
        _say(f"      {first.name}: {first.seconds:.0f} s, disturbed; once more")
        again = Finished(first.name)
        run(first.name, quick=options.quick, say=_say, into=again)
        finished[-1] = quieter(first, again)
    _say(f"      {first.name}: {finished[-1].seconds:.0f} s {finished[-1].trouble}".rstrip())


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Soak: `python -m tests.soak` keeps a gate at work for 45 minutes, and checks that nothing is lost and nothing grows.

Several agents call it at a steady rate, an operator decides with signed decisions, and a console is attached. Memory,
descriptors, threads, processor time, file sizes and response times are measured all the time. Pressing ctrl+c ends it
early, with all checks and everything that was measured so far.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.soak.soak import SoakSize, run_soak

INTERRUPTED = 130


def main(words: list[str]) -> int:
    """Runs the soak; returns 1 if anything was violated or grew."""
    size = SoakSize()
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=_minutes, default=size.minutes, help="how long to make calls (%(default)s)")
    parser.add_argument("--rate", type=_rate, default=size.rate, help="calls per second (%(default)s)")
    parser.add_argument("--report", type=Path, default=None, metavar="FILE", help="write the report to this JSON file")
    parser.add_argument("--no-console", action="store_true", help="attach no console")
    options = parser.parse_args(words)
    size = SoakSize(options.minutes, options.rate, console=not options.no_console)
    interrupted, began = threading.Event(), time.monotonic()

    def say(text: str) -> None:
        sys.stdout.write(f"{time.monotonic() - began:6.0f} s  {text}\n")
        sys.stdout.flush()

    def stop(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a second one does not wait
        interrupted.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    root = Path(tempfile.mkdtemp(prefix="soak-"))
    try:
        say(f"{size.calls} calls by {size.agents} agents at {size.rate:g} per second")
        report = run_soak(root, size, say=say, interrupted=interrupted)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    for line in report.lines():
        sys.stdout.write(f"{line}\n")
    if options.report:
        report.write(options.report)
    if report.failed:
        return 1
    return INTERRUPTED if interrupted.is_set() else 0


def _minutes(text: str) -> float:
    return _between(text, 0.1, 24 * 60)


def _rate(text: str) -> float:
    return _between(text, 0.5, 20)


def _between(text: str, least: float, most: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not least <= value <= most:
        raise argparse.ArgumentTypeError(f"must be a number from {least:g} to {most:g}")
    return value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

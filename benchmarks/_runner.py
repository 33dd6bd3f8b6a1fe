"""Runs benchmarks one after the other, each in a process of its own, and watches the machine meanwhile."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from select import select
from typing import Final

from benchmarks import _machine
from benchmarks._report import Finished, Measured, line
from benchmarks._result import Result

LONGEST: Final = 900.0
"""Seconds after which a benchmark hangs."""
ENDING: Final = 20.0
"""Seconds that a benchmark has to end what it started, once it is interrupted."""
SHORTEST: Final = 0.5
"""Results that follow each other within this many seconds were measured together."""


def run(name: str, *, quick: bool, say: Callable[[str], None], into: Finished) -> None:
    """Runs a benchmark and adds what it measures. Raises KeyboardInterrupt once everything it started has ended."""
    began = time.monotonic()
    reading, writing = os.pipe()
    environment = {**os.environ, **({"BENCHMARKS_QUICK": "1"} if quick else {})}
    command = [sys.executable, "-X", "faulthandler", "-m", "benchmarks._child", name, str(writing)]
    # In a session of its own, so that ctrl+c reaches only this process, which then ends the benchmark in order.
    child = subprocess.Popen(
        command,
        pass_fds=[writing],
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        env=environment,
        start_new_session=True,
    )
    os.close(writing)
    try:
        into.trouble = _read(reading, began + LONGEST, say, into)
        if into.trouble:
            child.send_signal(signal.SIGABRT)  # prints where every thread is
        elif code := child.wait(ENDING):
            into.trouble = f"ended with exit code {code}"
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)
        into.trouble = "interrupted"
        raise
    finally:
        with suppress(subprocess.TimeoutExpired):
            child.wait(ENDING)
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # whatever it left behind
        child.wait()
        os.close(reading)
        into.seconds = time.monotonic() - began


def _read(descriptor: int, deadline: float, say: Callable[[str], None], into: Finished) -> str:
    """Reads results until the benchmark has ended. Returns why it has not, if it has not."""
    before = _machine.sample()
    machine = _machine.Disturbance(None, None)
    rest = b""
    while True:
        if not select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
            return f"did not end within {LONGEST / 60:.0f} minutes"
        if not (data := os.read(descriptor, 1 << 16)):
            return ""
        *lines, rest = (rest + data).split(b"\n")
        now = _machine.sample()
        if not before or not now or now.clock - before.clock >= SHORTEST:
            machine, before = _machine.disturbance(before, now), now
        for one in lines:
            measured = Measured(Result.read(json.loads(one)), machine)
            into.measured.append(measured)
            say(line(measured.result, measured.machine))


def quieter(first: Finished, second: Finished) -> Finished:
    """For each measurement, that of the run in which others used less of the machine; whatever it found."""
    if second.trouble or len(first.measured) != len(second.measured):
        return first if second.trouble else second
    chosen = [
        one if _disturbed(one) < _disturbed(other) else other
        for one, other in zip(first.measured, second.measured, strict=True)
    ]
    return Finished(first.name, chosen, first.seconds + second.seconds, "", repeated=True)


def _disturbed(measured: Measured) -> float:
    return (measured.machine.others or 0.0) + (measured.machine.stolen or 0.0)
